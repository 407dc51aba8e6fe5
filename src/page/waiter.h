/*-------------------------------------------------------------------------
 *
 * waiter.h
 *	  Who waits for a page, and what is counted of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_WAITER_H
#define ANAGO_WAITER_H

#include "postgres.h"

typedef struct AnagoPages AnagoPages;
typedef struct AnagoRead AnagoRead;

/* Whoever waits for a page.  Embedded in the caller's task; zero it once. */
typedef struct AnagoWaiter
{
	struct AnagoWaiter *next;	/* next waiter of the same read */
	AnagoRead  *read;			/* read waited for or, once woken, to be
								 * collected; NULL: neither */
	bool		waiting;		/* is in that read's list */
	uint8		priority;		/* higher is issued first; < ANAGO_PRIORITIES */
} AnagoWaiter;

#define ANAGO_PRIORITIES	128

/* Called for each waiter whose block is near; must not call back in here. */
typedef void (*AnagoWakeCallback) (void *arg, AnagoWaiter *waiter);

/* Why a block was read by ReadBuffer(), with nothing on its way meanwhile. */
typedef enum AnagoSyncReason
{
	ANAGO_SYNC_METHOD,			/* method sync, anago.mode = serial, temporary
								 * table */
	ANAGO_SYNC_ALONE,			/* the only one wanted, with nothing else to do */
	ANAGO_SYNC_CACHED,			/* the kernel's page cache was warm (adapt.h) */
	ANAGO_SYNC_UNFORESEEN,		/* it was taken to be in shared buffers */
	ANAGO_SYNC_NO_DESCRIPTOR,	/* no file descriptor for a hint read */
	ANAGO_SYNC_NO_RING			/* the ring broke */
} AnagoSyncReason;

#define ANAGO_SYNC_REASONS	(ANAGO_SYNC_NO_RING + 1)

/* What happened since anago_pages_begin; times in microseconds. */
typedef struct AnagoPageCounters
{
	int64		hits;			/* blocks found in shared buffers */
	int64		reads;			/* reads issued */
	int64		collected;		/* of these, reads that a task came for */
	int64		shared_reads;	/* waiters that joined another's read */
	int64		sync_reads;		/* blocks read by ReadBuffer() alone, */
	int64		sync[ANAGO_SYNC_REASONS];	/* and why */
	int64		inflight_sum;	/* sum over issued reads of reads in flight
								 * then */
	int64		inflight_peak;
	double		latency_sum_us; /* from issue to seen complete, all reads */
	int64		blocked_waits;	/* times the process slept for a read */
} AnagoPageCounters;

/* Reads issued that no task came for: a LIMIT was reached, a match found... */
static inline int64
anago_reads_given_up(const AnagoPageCounters *counters)
{
	return counters->reads - counters->collected;
}

#endif							/* ANAGO_WAITER_H */
