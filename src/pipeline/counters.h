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

#include "counts.h"
#include "pipeline/desc.h"

/*
 * Flat, so that it can stand in the segment of a parallel query, where it ends
 * behind the query's own steps.
 */
typedef struct AnagoCounters
{
	bool		started;		/* a row has been asked for */
	char		method[16];		/* of I/O; "": none was needed */
	AnagoCounts run;
	int			nsteps;			/* of the following */
	AnagoStepCounts steps[ANAGO_MAX_STEPS];
} AnagoCounters;

/* Bytes of one in shared memory. */
static inline Size
anago_counters_size(int nsteps)
{
	return offsetof(AnagoCounters, steps) + sizeof(AnagoStepCounts) * nsteps;
}

/* Those of two processes, or of two times, together. */
extern void anago_counters_add(AnagoCounters *to, const AnagoCounters *from);

#endif							/* ANAGO_COUNTERS_H */
