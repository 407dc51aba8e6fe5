/*-------------------------------------------------------------------------
 *
 * parking.h
 *	  Which processes of parallel queries are at work, and which are parked.
 *
 * Of each query so many processes may work, first the leader, as others' rows go
 * through it, then those that work already, then those that are parked.
 *
 *		query	weight	have use for a CPU	limit 6		parked
 *		  A		  1		L w w w				2				w w
 *		  B		  2		L w w w w w			4				w w
 *		  C		  1		L w w, exempt		3
 *
 * The limit is divided as that of reads is (level.h): by weight, one at least, and no more
 * than a query has use for.  A process has use for a CPU if it runs, or would if it were
 * let; not if it sleeps outside of its run loop, for a full queue or a barrier, say.
 * So where all that are not parked sleep, one that is parked works: a query always gets
 * on.
 *
 * Reads of a query that has a limit of its own are divided among its processes.
 *
 * Pure functions; neither this header nor parking.c includes postgres.h
 * (t/resource_test.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PARKING_H
#define ANAGO_PARKING_H

#include <stdbool.h>

#include "resource/level.h"

/* A process that has use for a CPU. */
typedef struct AnagoWorker
{
	int			process;		/* its number, */
	int			query;			/* and the query's: that of the leader */
	double		weight;			/* of the query */
	int			most;			/* the query's own limit of processes; 0: none */
	bool		exempt;			/* of the common limit */
	bool		was_parked;
	bool		park;			/* what is decided */
} AnagoWorker;

/*
 * Decide for n workers, which are put in another order; `limit` is the common one, 0:
 * none.  `claims` is room for as many.
 */
extern void anago_parking_decide(AnagoWorker *workers, int n, int limit,
								 AnagoClaim *claims);

/*
 * Divide a query's reads among its processes: what each of them wants is replaced by
 * what it may have, one at least.
 */
extern void anago_parking_divide_reads(int *wants, int n, int reads, AnagoClaim *claims);

#endif							/* ANAGO_PARKING_H */
