/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  What a process has done for a pipeline: sums.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pipeline/counters.h"

void
anago_counters_add(AnagoCounters *to, const AnagoCounters *from)
{
	to->started |= from->started;
	if (to->method[0] == '\0')
		strlcpy(to->method, from->method, sizeof(to->method));
	anago_counts_add(&to->run, &from->run);
	to->nsteps = Max(to->nsteps, from->nsteps);
	for (int i = 0; i < from->nsteps; i++)
		anago_step_counts_add(&to->steps[i], &from->steps[i]);
}
