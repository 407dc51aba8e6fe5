/*-------------------------------------------------------------------------
 *
 * heap.c
 *	  Heap fetch: the matches of a probe that are in one heap block.
 *
 * All wanted tuples of a block are looked up under one share lock; then the
 * lock goes, and with the pin alone the visible ones are deformed and tested.
 * A pin suffices for that: it keeps VACUUM from removing them (bufmgr README,
 * "Buffer Access Rules").
 *
 * In the last step a match goes straight to the executor while the block
 * stays pinned, as in a stock index scan; the next call goes on behind it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

#include "compat.h"
#include "ops/btree/behind.h"
#include "ops/btree/fill.h"
#include "ops/btree/heap.h"
#include "ops/btree/matches.h"
#include "ops/btree/near.h"
#include "ops/btree/probe.h"
#include "pipeline/row.h"

typedef struct HeapTask
{
	AnagoTask	task;
	AnagoProbe *probe;
	AnagoMatches *matches;
	int			next;			/* of matches->tids, to be looked up */
	int			to;
} HeapTask;

StaticAssertDecl(sizeof(HeapTask) <= ANAGO_TASK_SIZE, "task fits its slot");

/* --- one block --- */

/* Tuples that one visit may look up: each may become a probe of the next step. */
static int
visit_limit(AnagoStep *step)
{
	int			room = anago_op_room(step->op.next);

	return Max(Min(room, MaxHeapTuplesPerPage), 1);
}

/*
 * Look up matches->tids[from .. to - 1], or as many of them as the visit may
 * hold; returns where it ended.  Takes over the pin.
 */
static int
visit_begin(AnagoProbe *probe, AnagoMatches *matches, int from, int to, Buffer buf)
{
	AnagoStep  *step = probe->step;
	AnagoVisit *visit = step->visit;
	Snapshot	snapshot = step->op.pipeline->snapshot;
	int			limit = visit_limit(step);
	bool		all_dead;

	Assert(!BufferIsValid(visit->buf));
	visit->buf = buf;
	visit->n = visit->next = 0;
	if (step->look)
	{
		anago_probe_came_to_page(probe);
		if (step->behind != NULL)
			anago_behind_see(probe, matches, from, to, buf);
		return to;
	}

	anago_heap_prune_opt(step->heap, buf, &step->vmbuffer);
	anago_step_leave_map(step);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	anago_check_snapshot_age(snapshot, step->heap, BufferGetPage(buf));
	for (; from < to && visit->n < limit; from++)
	{
		ItemPointerData tid = matches->tids[from];
		HeapTuple	tuple = &visit->tuples[visit->n];

		if (!heap_hot_search_buffer(&tid, step->heap, buf, snapshot, tuple,
									&all_dead, true))
		{
			if (all_dead)
				anago_matches_kill(step, matches, from);
			continue;
		}
		visit->which[visit->n++] = from;
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	anago_row_bind(step->op.pipeline, probe->row);
	return from;
}

static void
visit_end(AnagoStep *step)
{
	ReleaseBuffer(step->visit->buf);
	step->visit->buf = InvalidBuffer;
}

/*
 * Is there no memory any more for rows of this block?  Then it is better asked
 * for a second time: a row may be as large as it likes.
 */
static inline bool
has_become_short(const AnagoStep *step)
{
	return anago_sched_is_short(step->op.pipeline->sched) &&
		anago_op_room(step->op.next) <= 0;
}

bool
anago_heap_next(AnagoProbe *probe, AnagoMatches *matches, int *to)
{
	AnagoStep  *step = probe->step;
	AnagoVisit *visit = step->visit;

	while (visit->next < visit->n && !probe->done)
	{
		int			i = visit->next++;

		if (i > 0 && has_become_short(step))
		{
			*to = visit->which[i];
			break;
		}
		step->op.counters.fetched++;
		pgstat_count_heap_fetch(step->indexrel);
		/* an emitted row may have been materialized by the executor */
		anago_row_bind(step->op.pipeline, probe->row);
		if (step->desc->index_only)
			anago_fill_from_index(probe, matches->itups[visit->which[i]],
								  &visit->tuples[i].t_self);
		else
			anago_fill_from_heap(probe, &visit->tuples[i]);
		if (anago_probe_match(probe))
			return true;
	}
	visit_end(step);
	return false;
}

int
anago_heap_visit(AnagoProbe *probe, AnagoMatches *matches, int from, int to, Buffer hint)
{
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	BlockNumber blkno = ItemPointerGetBlockNumber(&matches->tids[from]);
	Buffer		buf;

	if (anago_op_room(step->op.next) <= 0)
		return from;
	buf = anago_near_again(step, step->heap, blkno, hint);
	if (!BufferIsValid(buf))
		buf = anago_page_try(pipeline->pages, step->heap, blkno);
	if (!BufferIsValid(buf))
		return from;
	return visit_begin(probe, matches, from, to, buf);
}

/* --- the task --- */

static AnagoVerdict
heap_run(AnagoTask *task)
{
	HeapTask   *self = (HeapTask *) task;
	AnagoProbe *probe = self->probe;
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	Buffer		buf;

	ANAGO_BEGIN(task);
	while (self->next < self->to && !probe->done)
	{
		ANAGO_AWAIT_NEXT(task, &step->op);
		ANAGO_AWAIT_STEP_PAGE(task, buf, step, step->heap,
							  ItemPointerGetBlockNumber(&self->matches->tids[self->next]));
		if (probe->done)
		{
			ReleaseBuffer(buf);
			break;
		}
		if (has_become_short(step))
		{
			ReleaseBuffer(buf);
			continue;
		}
		self->next = visit_begin(probe, self->matches, self->next, self->to, buf);
		while (anago_heap_next(probe, self->matches, &self->next))
			ANAGO_PASS_ON(task, &step->op, probe->row);
		while (anago_behind_are_left(step))
		{
			ANAGO_AWAIT_ROOM(task, pipeline->sched, anago_behind_depth(step));
			anago_behind_spawn(step);
		}
	}
	anago_matches_release(step, self->matches);
	ANAGO_END_OF_PROBE(task, step, probe);
}

static const AnagoTaskOps heap_ops = {"heap fetch", heap_run};

static void
heap_init(AnagoTask *task, AnagoProbe *probe, AnagoMatches *matches, int from, int to)
{
	HeapTask   *self = (HeapTask *) task;

	Assert(from < to && to <= matches->n);
	self->probe = probe;
	self->matches = matches;
	self->next = from;
	self->to = to;
}

void
anago_heap_spawn(AnagoProbe *probe, AnagoMatches *matches, int from, int to)
{
	AnagoSched *sched = probe->step->op.pipeline->sched;
	AnagoTask  *task = anago_sched_spawn(sched, &heap_ops,
										 ANAGO_DEPTH_HEAP(probe->step));

	if (probe->step->ordered)
		anago_sched_own_place(sched, task);
	probe->tasks++;
	matches->refs++;
	heap_init(task, probe, matches, from, to);
}

void
anago_heap_become(AnagoTask *task, AnagoProbe *probe, AnagoMatches *matches,
				  int from, int to)
{
	anago_sched_become(probe->step->op.pipeline->sched, task, &heap_ops,
					   ANAGO_DEPTH_HEAP(probe->step));
	heap_init(task, probe, matches, from, to);
}

void
anago_heap_abandon(AnagoStep *step)
{
	if (BufferIsValid(step->visit->buf))
		visit_end(step);
}
