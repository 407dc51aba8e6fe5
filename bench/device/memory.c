/*
 * memory.c
 *	  The image's contents, held in memory as far as there is room for them.
 *
 * A read whose data must come from the local disk first is in time only if that
 * disk is quick just then.  That the page cache has them is not enough: where
 * the kernel reclaims cold pages before memory is short (DAMON, on many virtual
 * machines) a quarter of an image is gone in ten seconds.  So the image is
 * mapped and locked, by mlock2(2) with MLOCK_ONFAULT: what is touched stays.
 * It is a sparse file, of which only what exists is touched: all there is at
 * the start, then what is written, and what had to be read from the disk.
 *
 * memory_hold() may be called by any thread.
 */
#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the memory that is available at the start, so much may be locked. */
#define SHARE_MAX		0.5

/* Memory is touched in steps of so much, so that the bound is kept. */
#define STEP			((off_t) 16 << 20)
#define PAGE			4096

static char *image;				/* NULL: nothing can be held */
static uint64_t most;			/* bytes that may be */
static _Atomic uint64_t held;	/* bytes that are; too many until counted anew */

/* Bytes that programs can still have, by the kernel's estimate; 0: unknown. */
static uint64_t
available(void)
{
	FILE	   *file = fopen("/proc/meminfo", "r");
	char		line[128];
	unsigned long long kib = 0;

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL &&
		   sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
		;
	fclose(file);
	return kib * 1024;
}

/* Bytes of files that are mapped and there: the image, and little besides. */
static uint64_t
resident(void)
{
	FILE	   *file = fopen("/proc/self/statm", "r");
	unsigned long long pages = 0;

	if (file == NULL)
		return held;
	if (fscanf(file, "%*u %*u %llu", &pages) != 1)
		pages = held / PAGE;
	fclose(file);
	return pages * PAGE;
}

/* Map and lock the image, and touch what there is of it. */
void
memory_hold_image(int image_fd, uint64_t image_size)
{
	off_t		offset = 0;

	image = mmap(NULL, image_size, PROT_READ, MAP_SHARED, image_fd, 0);
	if (image == MAP_FAILED || mlock2(image, image_size, MLOCK_ONFAULT) != 0)
	{
		fprintf(stderr, "delayfs: the image is not held in memory: %s\n",
				strerror(errno));
		if (image != MAP_FAILED)
			munmap(image, image_size);
		image = NULL;
		return;
	}
	most = available() * SHARE_MAX;
	while ((offset = lseek(image_fd, offset, SEEK_DATA)) >= 0)
	{
		off_t		end = lseek(image_fd, offset, SEEK_HOLE);

		for (; offset < end; offset += STEP)
			memory_hold(offset, end - offset < STEP ? end - offset : STEP);
		offset = end;
	}
}

/* Hold a range of the image, if there is room for it. */
void
memory_hold(off_t offset, size_t size)
{
	off_t		begin = offset / PAGE * PAGE;
	size_t		length = offset + size - begin;

	if (image == NULL)
		return;
	/* What was written again was counted again, and holes give room back. */
	if (held + length > most)
		held = resident();
	if (held + length <= most &&
		madvise(image + begin, length, MADV_POPULATE_READ) == 0)
		held += length;
}
