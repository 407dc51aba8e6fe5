/*-------------------------------------------------------------------------
 *
 * read.h
 *	  Reads: their states, their queues and their waiters.  Private to page/.
 *
 * A read is one block on its way to one or more waiters:
 *
 *		(free) -- want --> WANTED -- issued --> INFLIGHT -- done --> DONE
 *							  |										 |
 *							  +------------- alone ----------------->+
 *																	 |
 *		(free) <-- last waiter leaves -- COLLECTED <---- finish -----+
 *
 * At the end of a scan all of them are freed, in whatever state.
 *
 * WANTED to DONE it is in the table `inflight`, so that further requests for
 * the block find it.  WANTED reads are in one FIFO queue for each priority,
 * and `nonempty` has a bit for each queue with a read in it:
 *
 *		nonempty	queues[6]:  block 17 -> block 4		issued first
 *		{6, 2}		queues[2]:  block 99
 *
 * The first of the woken waiters to come back finishes the read and has its
 * buffer; the others find the block in shared buffers, or read it themselves
 * should it be gone again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_READ_H
#define ANAGO_READ_H

#include "postgres.h"

#include "lib/ilist.h"
#include "portability/instr_time.h"

#include "io/io.h"
#include "page/adapt.h"
#include "page/inflight.h"
#include "page/waiter.h"
#include "resource/lease.h"

#define ANAGO_QUEUE_WORDS	(ANAGO_PRIORITIES / 64)

typedef enum AnagoReadState
{
	READ_FREE,
	READ_WANTED,
	READ_INFLIGHT,
	READ_DONE,
	READ_COLLECTED
} AnagoReadState;

struct AnagoRead
{
	AnagoIoRead io;				/* first, so that the method's is ours */
	AnagoBlockKey key;
	AnagoReadState state;
	bool		alone;			/* DONE, but was not issued */
	int			inflight;		/* with it, when it was issued */
	uint8		priority;		/* highest of its waiters' */
	AnagoWaiter *waiters;		/* WANTED, INFLIGHT: who waits */
	int			nwaiters;		/* waiting, or woken and still to come */
	instr_time	issued;
	dlist_node	node;			/* FREE: free; WANTED: queues[priority]; else
								 * active */
};

struct AnagoPages
{
	AnagoIo    *io;				/* NULL until the first miss after a reset */
	MemoryContext io_context;	/* its, and that of all reads; NULL as io is */
	const char *method;			/* name of it or the latest one; "": none yet */
	bool		synchronous;	/* every request is answered at once */
	AnagoWakeCallback wake;
	void	   *wake_arg;
	MemoryContext context;

	AnagoLease	lease;			/* of the budgets above */
	int			max_inflight;
	int			capacity;		/* the method's; <= max_inflight */
	int			window;			/* 1 <= window <= capacity */
	int64		used_before;	/* blocks used until the latest reset */
	double		latency_us;		/* of the latest finished read, */
	AnagoMean	latency;		/* and of those before it */
	int			nwanted;		/* reads WANTED */
	int			ninflight;		/* reads INFLIGHT */
	int			ndone;			/* reads DONE */

	AnagoHitRun hit_run;
	AnagoCutoff cutoff;
	AnagoInflight *inflight;	/* NULL as io is */
	dlist_head	active;			/* reads INFLIGHT, DONE, COLLECTED */
	dlist_head	free;
	uint64		nonempty[ANAGO_QUEUE_WORDS];
	dlist_head	queues[ANAGO_PRIORITIES];

	AnagoCounts *counts;
};

/* Reads in the table. */
static inline int
anago_reads_open(const AnagoPages *pages)
{
	return pages->nwanted + pages->ninflight + pages->ndone;
}

static inline void
anago_count_sync(AnagoPages *pages, AnagoSyncReason reason)
{
	pages->counts->sync_reads++;
	((int64 *) pages->counts)[reason]++;
	/* what the kernel has in its page cache is no affair of the device */
	if (reason != ANAGO_SYNC_CACHED)
		anago_lease_in_place(&pages->lease);
}

/* The transitions. */
extern AnagoRead *anago_read_want(AnagoPages *pages, Relation rel,
								  const AnagoBlockKey *key, uint8 priority);
extern void anago_read_issued(AnagoPages *pages, AnagoRead *read, instr_time now);
extern void anago_read_done(AnagoPages *pages, AnagoRead *read, instr_time now);
extern void anago_read_alone(AnagoPages *pages, AnagoRead *read);
extern Buffer anago_read_finish(AnagoPages *pages, AnagoRead *read);
extern void anago_read_leave(AnagoPages *pages, AnagoRead *read);
extern void anago_reads_free_all(AnagoPages *pages);

/* Take the wanted read to be issued next out of its queue, or put it back. */
extern AnagoRead *anago_read_dequeue(AnagoPages *pages);
extern void anago_read_requeue(AnagoPages *pages, AnagoRead *read);

/* Add a waiter to a WANTED or INFLIGHT read. */
extern void anago_waiter_add(AnagoPages *pages, AnagoRead *read, AnagoWaiter *waiter);

#endif							/* ANAGO_READ_H */
