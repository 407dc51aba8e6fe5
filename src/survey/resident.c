/*-------------------------------------------------------------------------
 *
 * resident.c
 *	  What share of a table or index is cached.
 *
 * Some blocks at random places are looked for in shared buffers, and those that
 * are not there in the kernel's page cache, where it can be asked about one
 * block for a microsecond: cachestat(2), Linux 6.5.  (It takes milliseconds for
 * a file of a gigabyte; mincore(2) needs a mapping, several microseconds for
 * each block.)  On other systems, and with direct I/O, shared buffers are all
 * that is known.  Neither brings a block in or keeps it from going.
 *
 * A share of n blocks has a standard error of at most 0.5 / sqrt(n), 0.06, and of
 * next to nothing where all or none are cached.
 *
 * Blocks are picked in stretches, those of each within one segment file, so
 * that few files are opened.  Of small relations fewer are picked: there is little to
 * be wrong about, and of partitions there may be a thousand, each with its indexes, to be
 * looked at for one query.
 *
 * Temporary tables are not looked at, and count as cached: their pages are asked for one
 * by one (page/page.c), so that there is nothing to gain by a pipeline, and this session
 * has just written them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "storage/fd.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "page/touch.h"
#include "survey/survey.h"

/* Blocks that are looked for; and of relations of fewer blocks than so many. */
#define STRETCHES		8
#define IN_STRETCH		8
#define SAMPLE			(STRETCHES * IN_STRETCH)
#define FEW_PAGES		1024
#define SAMPLE_OF_FEW	16

/* How long a share is kept, and of how many relations: a thousand partitions have two each, or more. */
#define KEEP_MS			5000
#define KEEP_RELATIONS	8192

typedef struct ResidentShare
{
	Oid			relid;			/* hash key */
	char		status;			/* simplehash's */
	TimestampTz until;			/* it is asked for again */
	double		share;
	double		in_buffers;		/* of all blocks */
} ResidentShare;

#define SH_PREFIX		kept
#define SH_ELEMENT_TYPE ResidentShare
#define SH_KEY_TYPE		Oid
#define SH_KEY			relid
#define SH_HASH_KEY(tb, key)	murmurhash32(key)
#define SH_EQUAL(tb, a, b)		((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static kept_hash *shares = NULL;

/* --- the kernel --- */

#if defined(__linux__) && !defined(__alpha__)
#define HAVE_CACHESTAT
#ifndef SYS_cachestat
#define SYS_cachestat	451		/* the same wherever system calls are numbered anew */
#endif
#endif

#ifdef HAVE_CACHESTAT

/* As in linux/mman.h of 6.5; all but the first figure are of no interest. */
typedef struct CacheRange
{
	uint64		offset;
	uint64		length;
} CacheRange;

typedef struct CacheState
{
	uint64		cached;			/* pages */
	uint64		others[4];
} CacheState;

static bool kernel_tells = true;

static bool
is_in_kernel(int fd, BlockNumber blkno)
{
	CacheRange	range = {(uint64) (blkno % RELSEG_SIZE) * BLCKSZ, BLCKSZ};
	CacheState	state;

	if (fd < 0 || !kernel_tells)
		return false;
	if (syscall(SYS_cachestat, fd, &range, &state, 0) != 0)
	{
		kernel_tells = false;
		return false;
	}
	return state.cached > 0;
}

static int
open_segment(Relation rel, BlockNumber blkno)
{
	char		path[MAXPGPATH];

	if (!kernel_tells || anago_direct_io())
		return -1;
	anago_segment_path(path, sizeof(path), ANAGO_REL_LOCATOR(rel),
					   blkno / RELSEG_SIZE);
	return BasicOpenFile(path, O_RDONLY | PG_BINARY | O_CLOEXEC);
}

#else

static bool
is_in_kernel(int fd, BlockNumber blkno)
{
	return false;
}

static int
open_segment(Relation rel, BlockNumber blkno)
{
	return -1;
}
#endif

/* --- the sample --- */

static BlockNumber
random_block(BlockNumber first, BlockNumber end)
{
	return first + (BlockNumber) (pg_prng_double(&pg_global_prng_state) * (end - first));
}

/* Of a sample, blocks that were found. */
typedef struct Found
{
	int			looks;
	int			in_buffers;
	int			in_kernel;
} Found;

/* So many of a stretch, around this block. */
static void
look_in_stretch(Relation rel, BlockNumber around, BlockNumber pages, int looks,
				Found *found)
{
	BlockNumber first = around - around % RELSEG_SIZE;
	BlockNumber end = pages - first > RELSEG_SIZE ? first + RELSEG_SIZE : pages;
	bool		opened = false;
	int			fd = -1;

	found->looks += looks;
	for (int i = 0; i < looks; i++)
	{
		BlockNumber blkno = random_block(first, end);

		if (BufferIsValid(anago_touch_locate(rel, blkno)))
		{
			found->in_buffers++;
			continue;
		}
		if (!opened)
			fd = open_segment(rel, blkno);
		opened = true;
		found->in_kernel += is_in_kernel(fd, blkno);
	}
	if (fd >= 0)
		close(fd);
}

static void
look_in_stretches(Relation rel, BlockNumber pages, Found *found)
{
	for (int i = 0; i < STRETCHES; i++)
	{
		BlockNumber from = (uint64) pages * i / STRETCHES;
		BlockNumber to = (uint64) pages * (i + 1) / STRETCHES;

		look_in_stretch(rel, random_block(from, to), pages, IN_STRETCH, found);
	}
}

static Found
look(Oid relid, BlockNumber pages)
{
	Relation	rel = RelationIdGetRelation(relid);
	Found		found = {0};

	if (rel == NULL)
		return found;
	if (RelationUsesLocalBuffers(rel))
		found.looks = found.in_kernel = 1;
	else if (pages > RELSEG_SIZE)
		look_in_stretches(rel, pages, &found);
	else
		look_in_stretch(rel, 0, pages, pages < FEW_PAGES ? SAMPLE_OF_FEW : SAMPLE, &found);
	RelationClose(rel);
	return found;
}

static void
keep(Oid relid, Found found)
{
	ResidentShare *known;
	bool		was_known;

	if (shares == NULL)
		shares = kept_create(TopMemoryContext, 64, NULL);
	else if (shares->members >= KEEP_RELATIONS)
		kept_reset(shares);
	known = kept_insert(shares, relid, &was_known);
	known->until = TimestampTzPlusMilliseconds(anago_survey_now(), KEEP_MS);
	known->share = (double) (found.in_buffers + found.in_kernel) / Max(found.looks, 1);
	known->in_buffers = (double) found.in_buffers / Max(found.looks, 1);
}

/* NULL: it has not been looked up lately. */
static const ResidentShare *
kept_share(Oid relid)
{
	const ResidentShare *known = shares == NULL ? NULL : kept_lookup(shares, relid);

	return known != NULL && anago_survey_now() < known->until ? known : NULL;
}

bool
anago_survey_kept(Oid relid, double *share)
{
	const ResidentShare *known = kept_share(relid);

	if (known != NULL)
		*share = known->share;
	return known != NULL;
}

/* Looked up now, if need be. */
static const ResidentShare *
share_of(Oid relid, BlockNumber pages)
{
	const ResidentShare *known = kept_share(relid);

	if (known == NULL)
	{
		keep(relid, look(relid, pages));
		known = kept_lookup(shares, relid);
	}
	return known;
}

double
anago_survey_resident(Oid relid, BlockNumber pages)
{
	return pages == 0 ? 0 : share_of(relid, pages)->share;
}

double
anago_survey_in_buffers(Oid relid, BlockNumber pages)
{
	return pages == 0 ? 0 : share_of(relid, pages)->in_buffers;
}
