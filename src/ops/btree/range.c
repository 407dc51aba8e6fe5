/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Index range: the walk of one B-tree for one probe.
 *
 * Three kinds of task, each with a greater depth than the one before:
 *
 *		probe	one for each outer row; spawns a range for each run of
 *				combinations of IN-list elements (combos.c), and is itself the
 *				last of them; or for each page of level 1 (skip.h)
 *		range	descends from the root to the leaf where its range starts, and
 *				goes on from there, or from the level above (walk.h)
 *		leaf	reads one leaf and those that were split off from it
 *
 * Concurrent changes.  A page may change between the moment we learn of it and
 * the moment it has come:
 *
 * - It was split.  The new page stands right of it, and its high key is what
 *	 the page's was.  A leaf task therefore moves right until the high key
 *	 reaches the bound of its stretch, the separator that it was given from level
 *	 1; a page that it comes to and that reaches beyond that bound is another
 *	 task's.
 * - It was deleted.  Then no entry on it was visible to our snapshot, and its
 *	 right link still leads on; the rule above keeps the task from taking what
 *	 is its neighbour's.  It can't have been recycled for another use: that
 *	 waits until no snapshot as old as ours exists (nbtree README, "Placing
 *	 deleted pages in the FSM").  The same holds for the root that the scan
 *	 started with.
 * - Entries moved between pages only by such splits, always to the right.
 *
 * The separators of an index of before version 12 (no heapkeyspace) may be
 * equal to each other; its wide ranges are walked along right links.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/btree/combos.h"
#include "ops/btree/distribute.h"
#include "ops/btree/fan.h"
#include "ops/btree/fill.h"
#include "ops/btree/heap.h"
#include "ops/btree/inner.h"
#include "ops/btree/leaf.h"
#include "ops/btree/matches.h"
#include "ops/btree/members.h"
#include "ops/btree/probe.h"
#include "ops/btree/range.h"
#include "ops/btree/root.h"
#include "ops/btree/walk.h"

static AnagoVerdict probe_run(AnagoTask *task);

static const AnagoTaskOps probe_ops = {"index probe", probe_run};

void
anago_range_spawn(AnagoProbe *probe)
{
	AnagoStep  *step = probe->step;
	AnagoWalk  *walk = anago_walk_spawn(probe, &probe_ops, ANAGO_DEPTH_PROBE(step));

	if (step->gets_places)
		anago_sched_own_place(step->op.pipeline->sched, &walk->task);
	if (!anago_probe_is_shared_source(probe))
		walk->combo_end = probe->keys.ncombos;
}

/* --- how a range begins --- */

void
anago_range_prepare(AnagoProbe *probe)
{
	anago_root_ensure(probe->step);
	anago_keys_bind(&probe->step->keys, &probe->keys, 0, 1);
}

void
anago_range_spawn_span(AnagoProbe *probe, AnagoSpan *span)
{
	AnagoWalk  *walk;

	anago_root_ensure(probe->step);
	walk = anago_walk_spawn(probe, &anago_range_parent.task,
							ANAGO_DEPTH_RANGE(probe->step));
	walk->combo = span->combo;
	walk->combo_end = span->combo_end;
	walk->blkno = InvalidBlockNumber;
	walk->span = span;
}

/*
 * Is there another combination to be started, for this probe or in the next of
 * several tables?  Those of the source are shared by the processes of a parallel
 * query, each of which claims some.
 */
static bool
more_combos(AnagoWalk *walk)
{
	if (walk->probe->done)
		return false;
	if (walk->combo < walk->combo_end)
		return true;
	if (anago_members_go_on(&walk->probe))
	{
		walk->combo = 0;
		walk->combo_end = walk->probe->keys.ncombos;
		return true;
	}
	return anago_probe_is_shared_source(walk->probe) &&
		anago_distribution(walk->probe->step)->claim(walk->probe, &walk->combo,
													 &walk->combo_end);
}

/* Is what is left the last run, and none to come from elsewhere? */
static bool
is_last_run(const AnagoWalk *walk)
{
	AnagoProbe *probe = walk->probe;

	if (probe->step->backward)
		return walk->combo_end - walk->u.next.end == walk->combo &&
			!anago_probe_is_shared_source(probe);
	return walk->u.next.end == probe->keys.ncombos && !anago_fan_has_next(probe);
}

/* The first combination of the run, which is the task's no longer. */
static int
take_run(AnagoWalk *walk)
{
	AnagoNextRun *next = &walk->u.next;
	int			from = walk->combo;

	if (walk->probe->step->backward)
	{
		from = walk->combo_end - next->end;
		next->end = walk->combo_end;
		walk->combo_end = from;
	}
	else
		walk->combo = next->end;
	return from;
}

static void
start_run(AnagoWalk *walk)
{
	AnagoStep  *step = walk->probe->step;
	AnagoWalk  *run = anago_walk_spawn(walk->probe, &step->range->task,
									   ANAGO_DEPTH_RANGE(step));
	int			from = take_run(walk);

	anago_walk_start(run, from, &walk->u.next);
}

static AnagoVerdict
probe_run(AnagoTask *task)
{
	AnagoWalk  *walk = (AnagoWalk *) task;
	AnagoProbe *probe = walk->probe;
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	Buffer		buf;

	ANAGO_BEGIN(task);
	while (more_combos(walk))
	{
		probe = walk->probe;
		step = probe->step;
		anago_runs_begin(probe, &walk->u.next, walk->combo);
		while (anago_runs_find(probe, &walk->u.next, walk->combo, walk->combo_end))
		{
			ANAGO_AWAIT_STEP_PAGE(task, buf, step, step->indexrel,
								  walk->u.next.blkno);
			anago_runs_see(probe, &walk->u.next, buf, walk->combo, walk->combo_end);
		}
		if (walk->u.next.none)
		{
			anago_runs_end(pipeline, &walk->u.next);
			walk->combo = walk->combo_end;
			continue;
		}
		ANAGO_AWAIT_ROOM(task, pipeline->sched, ANAGO_DEPTH_RANGE(step));
		/* no other is to come: the task itself becomes that run's */
		if (is_last_run(walk))
		{
			anago_walk_start(walk, take_run(walk), &walk->u.next);
			anago_sched_become(pipeline->sched, task, &step->range->task,
							   ANAGO_DEPTH_RANGE(step));
			return ANAGO_AGAIN;
		}
		start_run(walk);
		ANAGO_SUSPEND(task, ANAGO_YIELD);
	}
	anago_runs_end(pipeline, &walk->u.next);
	probe = walk->probe;
	step = probe->step;
	ANAGO_END_OF_PROBE(task, step, probe);
}
