/*-------------------------------------------------------------------------
 *
 * stats.h
 *	  Counters over all queries, of the server where that is possible.
 *
 * On PostgreSQL 17 and later the counters are of the server.  Before, they are
 * if anago is in shared_preload_libraries, and else of the process.  They
 * start at zero with the server (or process) and are not kept over restarts.
 *
 * To count is never a reason for an error.  The server's counters are looked
 * for at the beginning of a query, where a failure can be caught; a process
 * that cannot have them (yet) counts by itself, and adds that to the server's
 * when it has found them.
 *
 * Invariant: a counter is only ever added to or, by a reset, set to zero; no
 * lock is taken.  Figures read during a query's end may be of one query more
 * in one column than in another.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_STATS_H
#define ANAGO_STATS_H

#include "postgres.h"

#include "counts.h"

/* From _PG_init. */
extern void anago_stats_init(void);

/*
 * At the beginning of a query: look for the server's counters, if this process
 * has not found them.  May run a subtransaction; raises no error but that of a
 * cancel.
 */
extern void anago_stats_prepare(void);

/*
 * Is this the first time in the server that `what` is said, with this key, of
 * which the latest is remembered?  `what` is below ANAGO_STATS_SAYINGS.
 */
#define ANAGO_STATS_SAYINGS		8
extern bool anago_stats_first(int what, uint64 key);

/* Reads that a device was waited for, since the counters were last reset. */
typedef struct AnagoReadsSeen
{
	int64		alone;			/* with none other of the process in flight */
	int64		alone_us;		/* time from issue to completion, of all these */
	int64		together;		/* with others */
	int64		together_us;
	int64		in_flight;		/* sum of reads in flight when they were issued */
} AnagoReadsSeen;

extern void anago_stats_seen(AnagoReadsSeen *seen);

/* At the end of a query; allocates nothing, raises no error. */
extern void anago_stats_add(const AnagoCounts *counts);

#endif							/* ANAGO_STATS_H */
