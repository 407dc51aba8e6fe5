/*-------------------------------------------------------------------------
 *
 * segfile.c
 *	  File descriptors of relation segments.  See segfile.h.
 *
 * Sets of four entries, least recently used one first out.  fd.c grants
 * external descriptors up to a third of the process's limit; when it declines,
 * the oldest one of the whole cache is given back first.
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

void
anago_segfiles_new_batch(AnagoSegFiles *files)
{
	files->batch = files->clock + 1;
}

static void
segfile_close(AnagoSegFiles *files, AnagoSegFile *file)
{
	Assert(file->used != 0 && files->nopen > 0);
	close(file->fd);
	ReleaseExternalFD();
	file->used = 0;
	files->nopen--;
}

/* Least recently used open entry of file[0..n-1], or NULL. */
static AnagoSegFile *
segfile_oldest(AnagoSegFile *file, int n)
{
	AnagoSegFile *oldest = NULL;

	for (int i = 0; i < n; i++)
		if (file[i].used != 0 && (oldest == NULL || file[i].used < oldest->used))
			oldest = &file[i];
	return oldest;
}

/* Entry of the set that can be filled now, or NULL if all are in use. */
static AnagoSegFile *
segfile_make_room(AnagoSegFiles *files, AnagoSegFile *set)
{
	AnagoSegFile *victim;

	for (int i = 0; i < ANAGO_SEGFILES_WAYS; i++)
		if (set[i].used == 0)
			return &set[i];

	victim = segfile_oldest(set, ANAGO_SEGFILES_WAYS);
	if (victim->used >= files->batch)
		return NULL;
	segfile_close(files, victim);
	return victim;
}

/* Permission for one more descriptor; 0 or what anago_segfile_get returns. */
static int
segfile_acquire(AnagoSegFiles *files)
{
	while (!AcquireExternalFD())
	{
		AnagoSegFile *victim = segfile_oldest(&files->files[0][0], ANAGO_SEGFILES);

		if (victim == NULL)
			return ANAGO_SEGFILE_NONE;
		if (victim->used >= files->batch)
			return ANAGO_SEGFILE_BUSY;
		segfile_close(files, victim);
	}
	return 0;
}

static int
segfile_open(AnagoSegFiles *files, AnagoSegFile *set, AnagoLocator locator,
			 BlockNumber segno)
{
	AnagoSegFile *file;
	char		path[MAXPGPATH];
	int			fd;
	int			ret;

	file = segfile_make_room(files, set);
	if (file == NULL)
		return ANAGO_SEGFILE_BUSY;
	ret = segfile_acquire(files);
	if (ret < 0)
		return ret;

	anago_segment_path(path, sizeof(path), locator, segno);
	fd = BasicOpenFile(path, O_RDONLY | PG_BINARY | O_CLOEXEC);
	if (fd < 0)
	{
		ReleaseExternalFD();
		return ANAGO_SEGFILE_NONE;
	}
	files->nopen++;
	file->locator = locator;
	file->segno = segno;
	file->fd = fd;
	file->used = ++files->clock;
	return fd;
}

int
anago_segfile_get(AnagoSegFiles *files, AnagoLocator locator, BlockNumber segno)
{
	uint32		hash = murmurhash32(ANAGO_LOCATOR_NUMBER(locator) * 31 + segno);
	AnagoSegFile *set = files->files[hash % ANAGO_SEGFILES_SETS];

	for (int i = 0; i < ANAGO_SEGFILES_WAYS; i++)
	{
		AnagoSegFile *file = &set[i];

		if (file->used != 0 && file->segno == segno &&
			ANAGO_LOCATOR_EQUALS(file->locator, locator))
		{
			file->used = ++files->clock;
			return file->fd;
		}
	}
	return segfile_open(files, set, locator, segno);
}

void
anago_segfiles_close(AnagoSegFiles *files)
{
	for (int i = 0; i < ANAGO_SEGFILES && files->nopen > 0; i++)
	{
		AnagoSegFile *file = &files->files[0][0] + i;

		if (file->used != 0)
			segfile_close(files, file);
	}
	Assert(files->nopen == 0);
}

#endif							/* HAVE_LIBURING */
