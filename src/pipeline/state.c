/*-------------------------------------------------------------------------
 *
 * state.c
 *	  What the operators of one pipeline share: what has been counted of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "io/io.h"
#include "pipeline/state.h"
#include "shared/share.h"

/*
 * Most bytes that were allocated at one time since the last rescan.  Rows, the
 * greater part, have a peak of their own; all else of a scan only grows.
 */
static Size
peak_memory(const AnagoPipeline *pipeline)
{
	return MemoryContextMemAllocated(pipeline->whole, true) -
		MemoryContextMemAllocated(pipeline->context, false) +
		Max(pipeline->memory.peak, MemoryContextMemAllocated(pipeline->context, false));
}

/* Memory is about to be given back. */
void
anago_pipeline_keep_peak(AnagoPipeline *pipeline)
{
	pipeline->memory_peak = Max(pipeline->memory_peak, peak_memory(pipeline));
	pipeline->memory.peak = 0;
}

/* `counters` may be pipeline->counters itself. */
void
anago_pipeline_count(const AnagoPipeline *pipeline, AnagoCounters *counters)
{
	AnagoCounts *run = &counters->run;

	/* what stands in shared memory has room for these steps alone */
	if (counters != pipeline->counters)
		memcpy(counters, pipeline->counters, anago_counters_size(pipeline->nsteps));
	counters->nsteps = pipeline->nsteps;
	run->step_rows = 0;
	for (int i = 0; i < pipeline->nsteps; i++)
	{
		const AnagoOp *op = anago_pipeline_op(pipeline, i);

		counters->steps[i] = op->counters;
		if (op->kind->count != NULL)
			op->kind->count(op, &counters->steps[i]);
		run->rows = counters->steps[i].rows;
		run->step_rows += run->rows;
	}
	run->given_up = run->reads - run->collected;
	if (pipeline->sched == NULL)
		return;

	counters->started = true;
	if (anago_pages_method(pipeline->pages)[0] != '\0')
		strlcpy(counters->method, anago_pages_method(pipeline->pages),
				sizeof(counters->method));
	run->memory = Max(run->memory,
					  Max(pipeline->memory_peak, peak_memory(pipeline)));
}

void
anago_pipeline_publish(AnagoPipeline *pipeline)
{
	AnagoCounters now;
	LWLock	   *lock;

	if (pipeline->peers.published == NULL)
		return;
	anago_pipeline_count(pipeline, &now);
	now.run.fallbacks += anago_io_fallbacks();

	/* against the leader, which may be taking them at any moment */
	lock = &anago_share_self(pipeline->peers.share)->lock;
	LWLockAcquire(lock, LW_EXCLUSIVE);
	memcpy(pipeline->peers.published, &now, anago_counters_size(pipeline->nsteps));
	LWLockRelease(lock);
}

void *
anago_pipeline_grow(AnagoPipeline *pipeline, void *list, int *room, int first)
{
	int			most = Max(*room * 2, first);

	anago_memory_fix(&pipeline->memory, sizeof(void *) * (most - *room));
	*room = most;
	return list == NULL ? MemoryContextAlloc(pipeline->whole, sizeof(void *) * most) :
		repalloc(list, sizeof(void *) * most);
}

int
anago_op_short_of(const AnagoOp *op)
{
	while (op->next != NULL && anago_op_room(op->next) <= 0 &&
		   anago_sched_room(op->pipeline->sched, op->depth) > 0)
		op = op->next;
	/* where there is room the task would be let go on at once, again and again */
	Assert(op->next == NULL || anago_sched_room(op->pipeline->sched, op->depth) <= 0);
	return op->depth;
}
