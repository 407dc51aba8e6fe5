/*-------------------------------------------------------------------------
 *
 * waiter.h
 *	  Who waits for a page, and why one was read in place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_WAITER_H
#define ANAGO_WAITER_H

#include "postgres.h"

#include "counts.h"

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

/*
 * Why a block was read by ReadBuffer(), with nothing on its way meanwhile: which
 * of the counters counts it.
 */
#define SYNC_REASON(name)	(offsetof(AnagoCounts, sync_##name) / sizeof(int64))

typedef enum AnagoSyncReason
{
	ANAGO_SYNC_METHOD = SYNC_REASON(method),	/* method sync, anago.mode = serial,
												 * temporary table */
	ANAGO_SYNC_ALONE = SYNC_REASON(alone),	/* the only one wanted, with nothing
											 * else to do */
	ANAGO_SYNC_CACHED = SYNC_REASON(cached),	/* the kernel's page cache was warm
												 * (adapt.h) */
	ANAGO_SYNC_UNFORESEEN = SYNC_REASON(unforeseen),	/* it was taken to be in
														 * shared buffers */
	ANAGO_SYNC_NO_DESCRIPTOR = SYNC_REASON(no_descriptor),	/* for a hint read */
	ANAGO_SYNC_NO_RING = SYNC_REASON(no_ring)	/* the ring broke */
} AnagoSyncReason;

#endif							/* ANAGO_WAITER_H */
