/*-------------------------------------------------------------------------
 *
 * read.c
 *	  Reads: the only code that changes their state.  See read.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"

#include "page/read.h"

/* Reads are allocated that many at a time. */
#define READS_PER_CHUNK		32

/* ---- queues ---- */

static void
queue_push(AnagoPages *pages, AnagoRead *read, bool first)
{
	int			priority = read->priority;

	Assert(read->state == READ_WANTED);
	if (first)
		dlist_push_head(&pages->queues[priority], &read->node);
	else
		dlist_push_tail(&pages->queues[priority], &read->node);
	pages->nonempty[priority / 64] |= UINT64CONST(1) << (priority % 64);
	pages->nwanted++;
}

static void
queue_remove(AnagoPages *pages, AnagoRead *read)
{
	int			priority = read->priority;

	Assert(read->state == READ_WANTED);
	dlist_delete(&read->node);
	if (dlist_is_empty(&pages->queues[priority]))
		pages->nonempty[priority / 64] &= ~(UINT64CONST(1) << (priority % 64));
	pages->nwanted--;
}

AnagoRead *
anago_read_dequeue(AnagoPages *pages)
{
	int			word = ANAGO_QUEUE_WORDS - 1;
	int			priority;
	AnagoRead  *read;

	Assert(pages->nwanted > 0);
	while (pages->nonempty[word] == 0)
		word--;
	Assert(word >= 0);
	priority = word * 64 + pg_leftmost_one_pos64(pages->nonempty[word]);
	read = dlist_head_element(AnagoRead, node, &pages->queues[priority]);
	queue_remove(pages, read);
	return read;
}

void
anago_read_requeue(AnagoPages *pages, AnagoRead *read)
{
	queue_push(pages, read, true);
}

/* ---- waiters ---- */

void
anago_waiter_add(AnagoPages *pages, AnagoRead *read, AnagoWaiter *waiter)
{
	Assert(read->state == READ_WANTED || read->state == READ_INFLIGHT);
	Assert(!waiter->waiting && waiter->read == NULL);

	waiter->read = read;
	waiter->waiting = true;
	waiter->next = read->waiters;
	read->waiters = waiter;
	read->nwaiters++;

	if (read->state == READ_WANTED && waiter->priority > read->priority)
	{
		queue_remove(pages, read);
		read->priority = waiter->priority;
		queue_push(pages, read, false);
	}
}

static void
wake_waiters(AnagoPages *pages, AnagoRead *read)
{
	AnagoWaiter *waiter = read->waiters;

	Assert(read->nwaiters > 0);
	read->waiters = NULL;
	while (waiter != NULL)
	{
		AnagoWaiter *next = waiter->next;

		Assert(waiter->waiting && waiter->read == read);
		waiter->waiting = false;
		waiter->next = NULL;
		pages->wake(pages->wake_arg, waiter);
		waiter = next;
	}
}

/* ---- transitions ---- */

static AnagoRead *
read_alloc(AnagoPages *pages)
{
	if (dlist_is_empty(&pages->free))
	{
		AnagoRead  *chunk = MemoryContextAllocZero(pages->io_context,
												   sizeof(AnagoRead) * READS_PER_CHUNK);

		for (int i = 0; i < READS_PER_CHUNK; i++)
			dlist_push_tail(&pages->free, &chunk[i].node);
	}
	return dlist_container(AnagoRead, node, dlist_pop_head_node(&pages->free));
}

/* (free) -> WANTED.  A waiter must be added. */
AnagoRead *
anago_read_want(AnagoPages *pages, Relation rel, const AnagoBlockKey *key,
				uint8 priority)
{
	AnagoRead  *read = read_alloc(pages);

	Assert(read->state == READ_FREE);
	read->io.rel = rel;
	read->io.blkno = key->blkno;
	read->io.slot = -1;
	read->io.issue = ANAGO_IO_ISSUED;
	read->io.inlined = false;
	read->key = *key;
	read->state = READ_WANTED;
	read->alone = false;
	read->priority = priority;
	read->waiters = NULL;
	read->nwaiters = 0;
	anago_inflight_insert(pages->inflight, key, read);
	queue_push(pages, read, false);
	return read;
}

/* WANTED, dequeued -> INFLIGHT */
void
anago_read_issued(AnagoPages *pages, AnagoRead *read, instr_time now)
{
	AnagoCounts *counts = pages->counts;

	Assert(read->state == READ_WANTED && read->nwaiters > 0);
	read->state = READ_INFLIGHT;
	read->issued = now;
	dlist_push_tail(&pages->active, &read->node);
	pages->ninflight++;
	read->inflight = pages->ninflight;
	if (read->io.issue != ANAGO_IO_ISSUED)
		return;

	counts->reads++;
	counts->inflight_sum += pages->ninflight;
	counts->inflight_peak = Max(counts->inflight_peak, pages->ninflight);
}

/* A read is no longer INFLIGHT. */
static void
leave_flight(AnagoPages *pages)
{
	pages->ninflight--;
	anago_lease_done(&pages->lease);
}

/*
 * For what is known of the device (device/): reads for which it was waited, alone
 * or with others.
 */
static void
count_device(AnagoCounts *counts, const AnagoRead *read, double us)
{
	if (read->io.inlined || us < ANAGO_CUTOFF_DEVICE_US)
		return;
	if (read->inflight == 1)
	{
		counts->alone_reads++;
		counts->alone_us += (int64) (us + 0.5);
	}
	else
	{
		counts->together_reads++;
		counts->together_us += (int64) (us + 0.5);
		counts->together_inflight += read->inflight;
	}
}

/* INFLIGHT -> DONE; wakes the waiters. */
void
anago_read_done(AnagoPages *pages, AnagoRead *read, instr_time now)
{
	Assert(read->state == READ_INFLIGHT);
	read->state = READ_DONE;
	leave_flight(pages);
	pages->ndone++;

	if (read->io.issue == ANAGO_IO_ISSUED)
	{
		INSTR_TIME_SUBTRACT(now, read->issued);
		pages->latency_us = INSTR_TIME_GET_MICROSEC(now);
		anago_mean_add(&pages->latency, pages->latency_us);
		pages->counts->latency_us += (int64) (pages->latency_us + 0.5);
		anago_cutoff_async_read(&pages->cutoff, read->io.inlined);
		if (!pages->io->ops->simulated)
			count_device(pages->counts, read, pages->latency_us);
	}
	wake_waiters(pages, read);
}

/* WANTED, dequeued -> DONE: there is nothing that it could overlap with. */
void
anago_read_alone(AnagoPages *pages, AnagoRead *read)
{
	Assert(read->state == READ_WANTED);
	read->state = READ_DONE;
	read->alone = true;
	dlist_push_tail(&pages->active, &read->node);
	pages->ndone++;
	anago_count_sync(pages, ANAGO_SYNC_ALONE);
	wake_waiters(pages, read);
}

static void
count_collected(AnagoPages *pages, const AnagoRead *read)
{
	if (read->alone)
		return;					/* counted already */
	switch (read->io.issue)
	{
		case ANAGO_IO_ISSUED:
			pages->counts->collected++;
			break;
		case ANAGO_IO_NO_DESCRIPTOR:
			anago_count_sync(pages, ANAGO_SYNC_NO_DESCRIPTOR);
			break;
		case ANAGO_IO_NO_RING:
			anago_count_sync(pages, ANAGO_SYNC_NO_RING);
			break;
	}
}

/* DONE -> COLLECTED.  May raise the error of a failed read. */
Buffer
anago_read_finish(AnagoPages *pages, AnagoRead *read)
{
	Buffer		buffer;

	Assert(read->state == READ_DONE);
	if (read->alone)
		buffer = ReadBuffer(read->io.rel, read->io.blkno);
	else
		buffer = pages->io->ops->finish(pages->io, &read->io);
	Assert(BufferIsValid(buffer));
	count_collected(pages, read);

	anago_inflight_remove(pages->inflight, &read->key);
	read->state = READ_COLLECTED;
	pages->ndone--;
	return buffer;
}

/* One waiter fewer; with the last one: COLLECTED -> (free). */
void
anago_read_leave(AnagoPages *pages, AnagoRead *read)
{
	Assert(read->nwaiters > 0 && read->state == READ_COLLECTED);
	if (--read->nwaiters > 0)
		return;
	dlist_delete(&read->node);
	read->state = READ_FREE;
	dlist_push_head(&pages->free, &read->node);
}

/* The method has it. */
static inline bool
read_is_issued(const AnagoRead *read)
{
	return read->state == READ_INFLIGHT ||
		(read->state == READ_DONE && !read->alone);
}

/* All of a list of reads -> (free), whoever waits for them. */
static void
free_list(AnagoPages *pages, dlist_head *list)
{
	while (!dlist_is_empty(list))
	{
		AnagoRead  *read = dlist_container(AnagoRead, node, dlist_pop_head_node(list));

		if (read_is_issued(read))
			pages->io->ops->forget(pages->io, &read->io);
		if (read->state == READ_INFLIGHT)
			leave_flight(pages);
		read->state = READ_FREE;
		dlist_push_head(&pages->free, &read->node);
	}
}

void
anago_reads_free_all(AnagoPages *pages)
{
	free_list(pages, &pages->active);
	for (int i = 0; i < ANAGO_PRIORITIES && pages->nwanted > 0; i++)
		free_list(pages, &pages->queues[i]);

	memset(pages->nonempty, 0, sizeof(pages->nonempty));
	pages->nwanted = pages->ninflight = pages->ndone = 0;
	if (pages->inflight != NULL)
		anago_inflight_reset(pages->inflight);
}
