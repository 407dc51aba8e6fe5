/*-------------------------------------------------------------------------
 *
 * counters.c
 *	  What a process has done for a query.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "io/io.h"
#include "ops/query.h"

static void
add_sched(AnagoSchedCounters *to, const AnagoSchedCounters *from)
{
	to->tasks += from->tasks;
	to->stalls += from->stalls;
	to->live_peak = Max(to->live_peak, from->live_peak);
}

static void
add_pages(AnagoPageCounters *to, const AnagoPageCounters *from)
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

/* Peaks are of one process each: the greatest is kept. */
void
anago_counters_add(AnagoCounters *to, const AnagoCounters *from)
{
	to->started |= from->started;
	if (to->method[0] == '\0')
		strlcpy(to->method, from->method, sizeof(to->method));
	add_sched(&to->sched, &from->sched);
	add_pages(&to->pages, &from->pages);
	to->memory += from->memory;
	to->given += from->given;
	to->fallbacks += from->fallbacks;
	to->nsteps = Max(to->nsteps, from->nsteps);
	for (int i = 0; i < from->nsteps; i++)
		add_step(&to->steps[i], &from->steps[i]);
}

/*
 * Most bytes that were allocated at one time since the last rescan.  Rows, the
 * greater part, have a peak of their own; all else of a scan only grows.
 */
static Size
peak_memory(const AnagoQuery *query)
{
	return MemoryContextMemAllocated(query->whole, true) -
		MemoryContextMemAllocated(query->context, false) +
		Max(query->memory.peak, MemoryContextMemAllocated(query->context, false));
}

/* Memory is about to be given back. */
void
anago_query_keep_peak(AnagoQuery *query)
{
	query->memory_peak = Max(query->memory_peak, peak_memory(query));
	query->memory.peak = 0;
}

/* `counters` may be query->before itself. */
void
anago_query_count(const AnagoQuery *query, AnagoCounters *counters)
{
	/* what stands in shared memory has room for these steps alone */
	if (counters != query->before)
		memcpy(counters, query->before, anago_counters_size(query->nsteps));
	counters->nsteps = query->nsteps;
	for (int i = 0; i < query->nsteps; i++)
		counters->steps[i] = anago_query_op(query, i)->counters;
	counters->given = query->given;
	if (query->sched == NULL)
		return;

	counters->started = true;
	if (anago_pages_method(query->pages)[0] != '\0')
		strlcpy(counters->method, anago_pages_method(query->pages),
				sizeof(counters->method));
	add_sched(&counters->sched, anago_sched_counters(query->sched));
	add_pages(&counters->pages, anago_pages_counters(query->pages));
	counters->memory = Max(counters->memory,
						   Max(query->memory_peak, peak_memory(query)));
}

void
anago_query_publish(AnagoQuery *query)
{
	if (query->published == NULL)
		return;
	anago_query_count(query, query->published);
	query->published->fallbacks += anago_io_fallbacks();
}
