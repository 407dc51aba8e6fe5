/*-------------------------------------------------------------------------
 *
 * segfile.c
 *	  File descriptors of relation segments.  See segfile.h.
 *
 * Sets of four entries, least recently used one first out.  At the bound, or
 * where fd.c or the kernel declines, the oldest one of the whole cache is
 * given back first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef HAVE_LIBURING

#include <fcntl.h>
#include <unistd.h>

#include "common/hashfn.h"
#include "storage/fd.h"

#include "io/segfile.h"

/* fd.c grants a third of max_safe_fds to such as us; we take half of that. */
#define SEGFILES_SHARE	6

typedef struct SegFile
{
	AnagoLocator locator;
	BlockNumber segno;
	int			fd;
	uint64		used;			/* time of last use; 0: entry is empty */
} SegFile;

static struct
{
	uint64		clock;			/* counts uses */
	uint64		batch;			/* clock when the current batch began */
	int			nopen;
	SegFile		sets[ANAGO_SEGFILES_SETS][ANAGO_SEGFILES_WAYS];
}			files;

void
anago_segfiles_new_batch(void)
{
	files.batch = files.clock + 1;
}

static int
segfiles_limit(void)
{
	return Max(Min(ANAGO_SEGFILES, max_safe_fds / SEGFILES_SHARE), 1);
}

static void
segfile_close(SegFile *file)
{
	Assert(file->used != 0 && files.nopen > 0);
	close(file->fd);
	ReleaseExternalFD();
	file->used = 0;
	files.nopen--;
}

/*
 * Close the least recently used of file[0..n-1]; 0, or what
 * anago_segfile_get() returns if that cannot be.
 */
static int
segfile_close_oldest(SegFile *file, int n)
{
	SegFile    *oldest = NULL;

	for (int i = 0; i < n; i++)
		if (file[i].used != 0 && (oldest == NULL || file[i].used < oldest->used))
			oldest = &file[i];
	if (oldest == NULL)
		return ANAGO_SEGFILE_NONE;
	if (oldest->used >= files.batch)
		return ANAGO_SEGFILE_BUSY;
	segfile_close(oldest);
	return 0;
}

static int
segfiles_shrink(void)
{
	return segfile_close_oldest(&files.sets[0][0], ANAGO_SEGFILES);
}

/* Entry of the set that can be filled now, or NULL if all are in use. */
static SegFile *
segfile_make_room(SegFile *set)
{
	for (;;)
	{
		for (int i = 0; i < ANAGO_SEGFILES_WAYS; i++)
			if (set[i].used == 0)
				return &set[i];
		if (segfile_close_oldest(set, ANAGO_SEGFILES_WAYS) < 0)
			return NULL;
	}
}

/* Permission for one more descriptor; 0 or what anago_segfile_get() returns. */
static int
segfile_acquire(void)
{
	while (files.nopen >= segfiles_limit() || !AcquireExternalFD())
	{
		int			ret = segfiles_shrink();

		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * A descriptor, or what anago_segfile_get() returns.  When the process or the
 * system has none left, fd.c has closed all of its own before it says so.
 */
static int
segfile_open_path(const char *path)
{
	int			fd;

	while ((fd = BasicOpenFile(path, O_RDONLY | PG_BINARY | O_CLOEXEC)) < 0)
	{
		int			ret;

		if (errno != EMFILE && errno != ENFILE)
			return ANAGO_SEGFILE_NONE;
		ret = segfiles_shrink();
		if (ret < 0)
			return ret;
	}
	return fd;
}

static int
segfile_open(SegFile *set, AnagoLocator locator, BlockNumber segno)
{
	SegFile    *file;
	char		path[MAXPGPATH];
	int			fd;

	anago_segment_path(path, sizeof(path), locator, segno);
	file = segfile_make_room(set);
	if (file == NULL)
		return ANAGO_SEGFILE_BUSY;
	fd = segfile_acquire();
	if (fd < 0)
		return fd;
	fd = segfile_open_path(path);
	if (fd < 0)
	{
		ReleaseExternalFD();
		return fd;
	}
	files.nopen++;
	file->locator = locator;
	file->segno = segno;
	file->fd = fd;
	file->used = ++files.clock;
	return fd;
}

int
anago_segfile_get(AnagoLocator locator, BlockNumber segno)
{
	uint32		hash = murmurhash32(ANAGO_LOCATOR_NUMBER(locator) * 31 + segno);
	SegFile    *set = files.sets[hash % ANAGO_SEGFILES_SETS];

	for (int i = 0; i < ANAGO_SEGFILES_WAYS; i++)
	{
		SegFile    *file = &set[i];

		if (file->used != 0 && file->segno == segno &&
			ANAGO_LOCATOR_EQUALS(file->locator, locator))
		{
			file->used = ++files.clock;
			return file->fd;
		}
	}
	return segfile_open(set, locator, segno);
}

void
anago_segfiles_close(void)
{
	for (int i = 0; i < ANAGO_SEGFILES && files.nopen > 0; i++)
	{
		SegFile    *file = &files.sets[0][0] + i;

		if (file->used != 0)
			segfile_close(file);
	}
	Assert(files.nopen == 0);
}

#endif							/* HAVE_LIBURING */
