/*-------------------------------------------------------------------------
 *
 * measure.c
 *	  What a device does.  See measure.h.
 *
 * A loop keeps `depth` reads in flight: each that is over is followed by the next
 * one, until time is up.  What counts is what was over by then; those that are
 * still on their way are waited for, so that they don't get into the next figure.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/relation.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "utils/rel.h"

#include "device/measure.h"

/* Most reads for one figure, as a bound of what a fast device is asked for. */
#define MAX_READS		200000

/* Reads in order: how many are in flight, of what size. */
#define IN_ORDER_DEPTH	4
#define IN_ORDER_BYTES	ANAGO_PROBE_MAX_BYTES

/* Pages that are cached: how many, and how often. */
#define CACHED_PAGES	256
#define CACHED_ROUNDS	4

/* Where the next read is. */
typedef struct Source
{
	const AnagoFiles *files;
	bool		in_order;
	off_t		next;			/* of the first file, if in order */
} Source;

typedef struct Loop
{
	const AnagoProbeOps *probe;
	Source	   *source;
	double		deadline;
	double		issued[ANAGO_PROBE_MAX_DEPTH];	/* when, by slot */
	int			inflight;
	int64		reads;			/* over by the deadline */
	int64		begun;
	double		latency;		/* of these, the sum */
	double		until;			/* when the last of these was seen */
} Loop;

static void
next_read(Source *source, AnagoProbeRead *read)
{
	const AnagoFile *file = &source->files->file[0];
	off_t		bytes = (off_t) file->blocks * BLCKSZ;

	if (!source->in_order)
	{
		anago_files_pick(source->files, read);
		return;
	}
	if (source->next + IN_ORDER_BYTES > bytes)
		source->next = 0;
	read->fd = file->fd;
	read->direct = file->direct;
	read->offset = source->next;
	read->bytes = IN_ORDER_BYTES;
	source->next += IN_ORDER_BYTES;
}

static void
issue(Loop *loop, int slot)
{
	AnagoProbeRead read;

	next_read(loop->source, &read);
	loop->issued[slot] = loop->probe->now();
	loop->probe->issue(slot, &read);
	loop->begun++;
	loop->inflight++;
}

/* One is over: count it, and begin another one if there is time. */
static void
one_over(Loop *loop, int slot, double now)
{
	loop->inflight--;
	if (now > loop->deadline && loop->reads > 0)
		return;
	loop->reads++;
	loop->latency += now - loop->issued[slot];
	loop->until = now;
	if (now < loop->deadline && loop->begun < MAX_READS)
		issue(loop, slot);
}

static void
run(Loop *loop, int depth)
{
	int			slots[ANAGO_PROBE_MAX_DEPTH];

	for (int slot = 0; slot < depth; slot++)
		issue(loop, slot);
	loop->probe->submit();
	while (loop->inflight > 0)
	{
		int			n;
		double		now;

		CHECK_FOR_INTERRUPTS();
		n = loop->probe->wait(slots, depth);
		if (n < 0)
		{
			errno = -n;
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read a file of the tablespace: %m")));
		}
		now = loop->probe->now();
		for (int i = 0; i < n; i++)
			one_over(loop, slots[i], now);
		loop->probe->submit();
	}
}

static AnagoMeasured
measure(const AnagoProbeOps *probe, Source *source, int depth, double us)
{
	Loop	   *loop = palloc0(sizeof(Loop));
	double		start = probe->now();
	AnagoMeasured result;

	Assert(depth > 0 && depth <= ANAGO_PROBE_MAX_DEPTH);
	loop->probe = probe;
	loop->source = source;
	loop->deadline = start + us;
	run(loop, depth);
	result.per_second = loop->reads * 1e6 / Max(loop->until - start, 1.0);
	result.latency_us = loop->latency / Max(loop->reads, 1);
	pfree(loop);
	return result;
}

AnagoMeasured
anago_measure_random(const AnagoProbeOps *probe, const AnagoFiles *files,
					 int depth, double us)
{
	Source		source = {.files = files};

	return measure(probe, &source, depth, us);
}

double
anago_measure_in_order(const AnagoProbeOps *probe, const AnagoFiles *files,
					   double us)
{
	Source		source = {.files = files, .in_order = true};

	return measure(probe, &source, IN_ORDER_DEPTH, us).per_second *
		IN_ORDER_BYTES / 1e6;
}

/* The first round brings them into the cache. */
double
anago_measure_kernel_page(const AnagoFiles *files)
{
	int			fd = anago_files_open_cached(files);
	int			pages = Min((int) files->file[0].blocks, CACHED_PAGES);
	PGAlignedBlock block;
	double		start = 0;

	for (int round = 0; round <= CACHED_ROUNDS; round++)
	{
		CHECK_FOR_INTERRUPTS();
		if (round == 1)
			start = anago_probe_clock();
		for (int i = 0; i < pages; i++)
			if (pread(fd, block.data, BLCKSZ, (off_t) i * BLCKSZ) < 0)
				ereport(ERROR,
						(errcode_for_file_access(),
						 errmsg("could not read a file of the tablespace: %m")));
	}
	start = anago_probe_clock() - start;
	CloseTransientFile(fd);
	return start / (CACHED_ROUNDS * pages);
}

double
anago_measure_buffer_page(const AnagoFiles *files)
{
	Relation	rel = relation_open(files->file[0].relid, NoLock);
	int			pages = Min((int) files->file[0].blocks, CACHED_PAGES);
	double		start = 0;

	pages = Min(pages, NBuffers / 16);
	for (int round = 0; round <= CACHED_ROUNDS; round++)
	{
		CHECK_FOR_INTERRUPTS();
		if (round == 1)
			start = anago_probe_clock();
		for (int i = 0; i < pages; i++)
			ReleaseBuffer(ReadBuffer(rel, i));
	}
	start = anago_probe_clock() - start;
	relation_close(rel, NoLock);
	return start / (CACHED_ROUNDS * pages);
}
