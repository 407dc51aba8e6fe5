/*-------------------------------------------------------------------------
 *
 * fetch.c
 *	  The rows of one leaf's matches.  See fetch.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "ops/btree/behind.h"
#include "ops/btree/fetch.h"
#include "ops/btree/fill.h"
#include "ops/btree/heap.h"
#include "ops/btree/near.h"
#include "ops/btree/probe.h"
#include "pipeline/row.h"

/* --- from the index --- */

/*
 * Index-only: is there a match left that needs no heap fetch?  Stand on it.  In
 * order, only what comes next counts.
 */
static bool
find_visible(AnagoWalk *walk)
{
	AnagoMatches *matches = walk->matches;

	if (matches->visible == NULL || walk->probe->done || walk->probe->step->look)
		return false;
	if (walk->probe->step->ordered)
	{
		walk->next_visible = walk->next_match;
		if (walk->next_match >= matches->n || !matches->visible[walk->next_match])
			return false;
		walk->next_match++;
		return true;
	}
	while (walk->next_visible < matches->n && !matches->visible[walk->next_visible])
		walk->next_visible++;
	return walk->next_visible < matches->n;
}

/* Put that match into the wide slot; true if it is to go on. */
static bool
take_visible(AnagoWalk *walk)
{
	AnagoProbe *probe = walk->probe;
	AnagoMatches *matches = walk->matches;
	int			i = walk->next_visible++;

	if (probe->done)
		return false;
	probe->step->op.counters.index_only++;
	anago_row_bind(probe->step->op.pipeline, probe->row);
	anago_fill_from_index(probe, matches->itups[i], &matches->tids[i]);
	return anago_probe_match(probe);
}

/* --- from the heap --- */

/* Is there a match left to be fetched from the heap?  It is next_match then. */
static bool
find_run(AnagoWalk *walk)
{
	AnagoMatches *matches = walk->matches;

	if (matches->visible == NULL)
		anago_matches_touch(walk->probe->step, matches, walk->next_match, &walk->u.ahead);
	else if (walk->probe->step->ordered)
		return walk->next_match < matches->n && !matches->visible[walk->next_match];
	else
		while (walk->next_match < matches->n && matches->visible[walk->next_match])
			walk->next_match++;
	return walk->next_match < matches->n;
}

/* Look up the run of matches at next_match in place, if that needs no wait. */
static bool
visit_run(AnagoWalk *walk)
{
	int			from = walk->next_match;
	int			to = walk->probe->step->visits->run(walk->matches, from);

	walk->next_match = anago_heap_visit(walk->probe, walk->matches, from, to,
										anago_near_hint(walk));
	return walk->next_match > from;
}

/*
 * Have a heap task look up the run of matches at next_match.  True: nothing is
 * left to do but that, and the task has become the heap task.
 */
static bool
hand_on_run(AnagoWalk *walk)
{
	int			from = walk->next_match;

	walk->next_match = walk->probe->step->visits->run(walk->matches, from);
	anago_walk_expect(walk);
	if (walk->next_match == walk->matches->n && walk->matches->left == NULL &&
		walk->blkno == InvalidBlockNumber)
	{
		anago_walk_free_bounds(walk);
		anago_heap_become(&walk->task, walk->probe, walk->matches, from,
						  walk->next_match);
		return true;
	}
	anago_heap_spawn(walk->probe, walk->matches, from, walk->next_match);
	return false;
}

/* In order, matches of both sorts take turns. */
static bool
are_left(const AnagoWalk *walk)
{
	return walk->probe->step->ordered && !walk->probe->done &&
		walk->next_match < walk->matches->n;
}

AnagoVerdict
anago_fetch(AnagoWalk *walk)
{
	AnagoTask  *task = &walk->task;
	AnagoProbe *probe = walk->probe;
	AnagoStep  *step = probe->step;

	ANAGO_BEGIN(walk);
	do
	{
		while (find_visible(walk))
		{
			ANAGO_AWAIT_NEXT_IN(walk, task, &step->op);
			if (take_visible(walk))
				ANAGO_PASS_ON(walk, &step->op, probe->row);
		}
		while (!probe->done && find_run(walk))
		{
			CHECK_FOR_INTERRUPTS();
			if (anago_near_match(walk))
			{
				ANAGO_SUSPEND(walk, ANAGO_NAP);
				if (probe->done)
					break;
				anago_near_tuple(walk);
			}
			if (visit_run(walk))
			{
				while (anago_heap_next(probe, walk->matches, &walk->next_match))
					ANAGO_PASS_ON(walk, &step->op, probe->row);
				while (anago_behind_are_left(step))
				{
					ANAGO_AWAIT_ROOM_IN(walk, task, step->op.pipeline->sched,
										anago_behind_depth(step));
					anago_behind_spawn(step);
				}
				if (!anago_sched_has_deeper(step->op.pipeline->sched, task->depth) &&
					anago_pages_are_idle(step->op.pipeline->pages))
					continue;
			}
			else
			{
				ANAGO_AWAIT_ROOM_IN(walk, task, step->op.pipeline->sched,
									ANAGO_DEPTH_HEAP(step));
				if (hand_on_run(walk))
					return ANAGO_AGAIN;
			}
			ANAGO_SUSPEND(walk, ANAGO_YIELD);
		}
		if (!are_left(walk))
			anago_walk_drop_matches(walk);
	} while (walk->matches != NULL);
	walk->resume = 0;
	ANAGO_END(walk);
}
