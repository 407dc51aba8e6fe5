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
anago_sched_counters_add(AnagoSchedCounters *to, const AnagoSchedCounters *from)
{
	to->tasks += from->tasks;
	to->stalls += from->stalls;
	to->live_peak = Max(to->live_peak, from->live_peak);
}

void
anago_page_counters_add(AnagoPageCounters *to, const AnagoPageCounters *from)
{
	to->hits += from->hits;
	to->reads += from->reads;
	to->shared_reads += from->shared_reads;
	to->collected += from->collected;
	to->sync_reads += from->sync_reads;
	for (int i = 0; i < ANAGO_SYNC_REASONS; i++)
		to->sync[i] += from->sync[i];
	to->inflight_sum += from->inflight_sum;
	to->inflight_peak = Max(to->inflight_peak, from->inflight_peak);
	to->latency_sum_us += from->latency_sum_us;
	to->blocked_waits += from->blocked_waits;
}

static void
add_step(AnagoStepCounters *to, const AnagoStepCounters *from)
{
	to->probes += from->probes;
	to->descents += from->descents;
	to->tids += from->tids;
	to->fetched += from->fetched;
	to->index_only += from->index_only;
	to->filtered += from->filtered;
	to->rows += from->rows;
}

void
anago_counters_add(AnagoCounters *to, const AnagoCounters *from)
{
	to->started |= from->started;
	if (to->method[0] == '\0')
		strlcpy(to->method, from->method, sizeof(to->method));
	anago_sched_counters_add(&to->sched, &from->sched);
	anago_page_counters_add(&to->pages, &from->pages);
	to->memory += from->memory;
	to->given += from->given;
	to->fallbacks += from->fallbacks;
	to->nsteps = Max(to->nsteps, from->nsteps);
	for (int i = 0; i < from->nsteps; i++)
		add_step(&to->steps[i], &from->steps[i]);
}
