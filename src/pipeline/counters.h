/*-------------------------------------------------------------------------
 *
 * counters.h
 *	  What a process has done for a pipeline.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_COUNTERS_H
#define ANAGO_COUNTERS_H

#include "postgres.h"

#include "page/page.h"
#include "pipeline/desc.h"
#include "sched/sched.h"

/* Counters of one operator; which of them mean something is its affair. */
typedef struct AnagoStepCounters
{
	int64		probes;			/* rows that came in */
	int64		descents;		/* index descents */
	int64		tids;			/* index entries that matched */
	int64		fetched;		/* tuples visible in the heap */
	int64		index_only;		/* tuples answered from the index alone */
	int64		filtered;		/* rows removed by filters */
	int64		rows;			/* rows that went on */
} AnagoStepCounters;

/*
 * What one process has done for a query.  Flat, so that it can stand in the
 * segment of a parallel query, where it ends behind the query's own steps.
 */
typedef struct AnagoCounters
{
	bool		started;		/* a row has been asked for */
	char		method[16];		/* of I/O; "": none was needed */
	AnagoSchedCounters sched;
	AnagoPageCounters pages;
	int64		memory;			/* bytes, at the peak */
	int64		given;			/* rows handed to other processes */
	int64		fallbacks;		/* by a worker: I/O methods refused */
	int			nsteps;			/* of the following */
	AnagoStepCounters steps[ANAGO_MAX_STEPS];
} AnagoCounters;

/* Bytes of one in shared memory. */
static inline Size
anago_counters_size(int nsteps)
{
	return offsetof(AnagoCounters, steps) + sizeof(AnagoStepCounters) * nsteps;
}

/* Sums; peaks are of one process each: the greatest is kept. */
extern void anago_counters_add(AnagoCounters *to, const AnagoCounters *from);
extern void anago_sched_counters_add(AnagoSchedCounters *to,
									 const AnagoSchedCounters *from);
extern void anago_page_counters_add(AnagoPageCounters *to,
									const AnagoPageCounters *from);

#endif							/* ANAGO_COUNTERS_H */
