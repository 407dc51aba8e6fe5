/*-------------------------------------------------------------------------
 *
 * files.c
 *	  Files of a tablespace, and blocks at random places of these.  See files.h.
 *
 * One pass over pg_class finds the relations of the tablespace by what the system
 * says of their first segment file; those of which most is there are locked, if
 * that can be had at once, and all their segments count.  A segment is opened
 * for each part of them, so that of a table of terabytes the files are spread.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "device/files.h"

/* Relations that are looked at. */
#define CANDIDATES	32

/* fd.c grants a third of max_safe_fds to such as us; half of that. */
#define DESCRIPTORS_SHARE	6

typedef struct Candidate
{
	Oid			relid;
	off_t		bytes;			/* of the first segment file */
} Candidate;

typedef struct Candidates
{
	int			n;
	Candidate	largest[CANDIDATES];	/* the largest first */
} Candidates;

/* ---- which relations ---- */

static bool
has_files_there(Form_pg_class class, Oid tablespace)
{
	Oid			of = OidIsValid(class->reltablespace) ?
		class->reltablespace : MyDatabaseTableSpace;

	return of == tablespace &&
		class->relpersistence != RELPERSISTENCE_TEMP &&
		OidIsValid(class->relfilenode) &&
		(class->relkind == RELKIND_RELATION || class->relkind == RELKIND_INDEX ||
		 class->relkind == RELKIND_MATVIEW || class->relkind == RELKIND_TOASTVALUE);
}

static void
keep_candidate(Candidates *all, Oid relid, off_t bytes)
{
	int			at;

	if (all->n == CANDIDATES && all->largest[all->n - 1].bytes >= bytes)
		return;
	at = all->n < CANDIDATES ? all->n++ : CANDIDATES - 1;
	for (; at > 0 && all->largest[at - 1].bytes < bytes; at--)
		all->largest[at] = all->largest[at - 1];
	all->largest[at].relid = relid;
	all->largest[at].bytes = bytes;
}

static void
find_candidates(Oid tablespace, Candidates *all)
{
	Relation	classes = table_open(RelationRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(classes, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	all->n = 0;
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);
		AnagoLocator locator = {tablespace, MyDatabaseId, class->relfilenode};
		char		path[MAXPGPATH];
		struct stat file;

		CHECK_FOR_INTERRUPTS();
		if (!has_files_there(class, tablespace))
			continue;
		anago_segment_path(path, sizeof(path), locator, 0);
		if (stat(path, &file) == 0 && file.st_size >= BLCKSZ)
			keep_candidate(all, class->oid, file.st_size);
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
}

/* ---- their segments ---- */

/* Segments of a relation that is locked, one after the other. */
static void
add_segments(Relation rel, AnagoFile *segments, int *n, int max)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);

	for (BlockNumber first = 0; first < blocks && *n < max; first += RELSEG_SIZE)
	{
		AnagoFile  *segment = &segments[(*n)++];

		segment->relid = RelationGetRelid(rel);
		segment->segno = first / RELSEG_SIZE;
		segment->blocks = Min(blocks - first, (BlockNumber) RELSEG_SIZE);
		segment->fd = -1;
	}
}

/* As many segments as there are, up to some thousand. */
#define MOST_SEGMENTS	(CANDIDATES * 128)

static int
find_segments(const Candidates *all, Oid tablespace, AnagoFile *segments)
{
	int			n = 0;

	for (int i = 0; i < all->n; i++)
	{
		Relation	rel;

		if (!ConditionalLockRelationOid(all->largest[i].relid, AccessShareLock))
			continue;
		rel = try_relation_open(all->largest[i].relid, NoLock);
		if (rel == NULL)
			continue;
		if (has_files_there(rel->rd_rel, tablespace))
			add_segments(rel, segments, &n, MOST_SEGMENTS);
		relation_close(rel, NoLock);
	}
	return n;
}

/* ---- open files ---- */

static void
path_of(const AnagoFile *file, char *path, Size size)
{
	Relation	rel = relation_open(file->relid, NoLock);

	anago_segment_path(path, size, ANAGO_REL_LOCATOR(rel), file->segno);
	relation_close(rel, NoLock);
}

static int
open_file(const char *path, int flags)
{
	return OpenTransientFile(path, O_RDONLY | PG_BINARY | O_CLOEXEC | flags);
}

/* Some file systems open a file for direct I/O, and refuse the first read. */
static bool
can_read_direct(int fd)
{
	static pg_attribute_aligned(4096) char block[BLCKSZ];

	return pread(fd, block, BLCKSZ, 0) == BLCKSZ;
}

static void
open_segment(AnagoFile *file, bool through_cache)
{
	char		path[MAXPGPATH];

	path_of(file, path, sizeof(path));
	file->direct = false;
#ifdef O_DIRECT
	if (!through_cache)
	{
		file->fd = open_file(path, O_DIRECT);
		if (file->fd >= 0 && can_read_direct(file->fd))
		{
			file->direct = true;
			return;
		}
		if (file->fd >= 0)
			CloseTransientFile(file->fd);
	}
#endif
	file->fd = open_file(path, 0);
	if (file->fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
}

AnagoFiles *
anago_files_open(Oid tablespace, uint64 least, bool through_cache)
{
	AnagoFiles *files = palloc0(sizeof(AnagoFiles));
	AnagoFile  *segments = palloc(sizeof(AnagoFile) * MOST_SEGMENTS);
	Candidates	all;
	uint64		blocks = 0;
	int			n;
	int			wanted;

	find_candidates(tablespace, &all);
	n = find_segments(&all, tablespace, segments);
	for (int i = 0; i < n; i++)
		blocks += segments[i].blocks;
	if (n == 0 || blocks < least)
		return files;

	wanted = Min(n, Max(Min(ANAGO_FILES_MAX, max_safe_fds / DESCRIPTORS_SHARE), 1));
	files->direct = true;
	for (int i = 0; i < wanted; i++)
	{
		AnagoFile  *file = &files->file[files->n++];

		*file = segments[(int) ((int64) i * n / wanted)];
		open_segment(file, through_cache);
		files->blocks += file->blocks;
		files->direct &= file->direct;
	}
	pfree(segments);
	return files;
}

void
anago_files_close(AnagoFiles *files)
{
	for (int i = 0; i < files->n; i++)
		CloseTransientFile(files->file[i].fd);
	pfree(files);
}

int
anago_files_open_cached(const AnagoFiles *files)
{
	char		path[MAXPGPATH];
	int			fd;

	path_of(&files->file[0], path, sizeof(path));
	fd = open_file(path, 0);
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	return fd;
}

void
anago_files_pick(const AnagoFiles *files, AnagoProbeRead *read)
{
	uint64		block = pg_prng_uint64_range(&pg_global_prng_state, 0, files->blocks - 1);
	const AnagoFile *file = files->file;

	for (; block >= file->blocks; file++)
		block -= file->blocks;
	read->fd = file->fd;
	read->direct = file->direct;
	read->offset = (off_t) block * BLCKSZ;
	read->bytes = BLCKSZ;
}
