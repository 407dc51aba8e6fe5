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
 * that few files are opened.
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

/* Blocks that are looked for. */
#define STRETCHES		8
#define IN_STRETCH		8

/* How long a share is kept, and of how many relations. */
#define KEEP_MS			5000
#define KEEP_RELATIONS	1024

typedef struct ResidentShare
{
	Oid			relid;			/* hash key */
	char		status;			/* simplehash's */
	TimestampTz at;
	double		share;
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

/* How many of the blocks of a stretch, around this one, are cached. */
static int
resident_in_stretch(Relation rel, BlockNumber around, BlockNumber pages)
{
	BlockNumber first = around - around % RELSEG_SIZE;
	BlockNumber end = pages - first > RELSEG_SIZE ? first + RELSEG_SIZE : pages;
	bool		opened = false;
	int			fd = -1;
	int			resident = 0;

	for (int i = 0; i < IN_STRETCH; i++)
	{
		BlockNumber blkno = random_block(first, end);

		if (BufferIsValid(anago_touch_locate(rel, blkno)))
		{
			resident++;
			continue;
		}
		if (!opened)
			fd = open_segment(rel, blkno);
		opened = true;
		resident += is_in_kernel(fd, blkno);
	}
	if (fd >= 0)
		close(fd);
	return resident;
}

static double
look(Oid relid, BlockNumber pages)
{
	Relation	rel = RelationIdGetRelation(relid);
	int			resident = 0;

	if (rel == NULL)
		return 0;
	if (!RelationUsesLocalBuffers(rel))
		for (int i = 0; i < STRETCHES; i++)
		{
			BlockNumber from = (uint64) pages * i / STRETCHES;
			BlockNumber to = (uint64) pages * (i + 1) / STRETCHES;

			resident += resident_in_stretch(rel, random_block(from, Max(to, from + 1)),
											pages);
		}
	RelationClose(rel);
	return (double) resident / (STRETCHES * IN_STRETCH);
}

static void
keep(Oid relid, double share)
{
	ResidentShare *known;
	bool		found;

	if (shares == NULL)
		shares = kept_create(TopMemoryContext, 64, NULL);
	else if (shares->members >= KEEP_RELATIONS)
		kept_reset(shares);
	known = kept_insert(shares, relid, &found);
	known->at = anago_survey_now();
	known->share = share;
}

bool
anago_survey_kept(Oid relid, double *share)
{
	const ResidentShare *known = shares == NULL ? NULL : kept_lookup(shares, relid);

	if (known == NULL || TimestampDifferenceExceeds(known->at, anago_survey_now(), KEEP_MS))
		return false;
	*share = known->share;
	return true;
}

double
anago_survey_resident(Oid relid, BlockNumber pages)
{
	double		share;

	if (pages == 0)
		return 0;
	if (anago_survey_kept(relid, &share))
		return share;
	share = look(relid, pages);
	keep(relid, share);
	return share;
}
