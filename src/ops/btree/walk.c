/*-------------------------------------------------------------------------
 *
 * walk.c
 *	  The walk of an index by one task.  See walk.h, and for what may happen to
 *	  pages meanwhile range.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "compat.h"
#include "ops/btree/btpage.h"
#include "ops/btree/descend.h"
#include "ops/btree/firsts.h"
#include "ops/btree/leaf.h"
#include "ops/btree/merged.h"
#include "ops/btree/probe.h"
#include "ops/btree/root.h"
#include "ops/btree/skip.h"
#include "ops/btree/walk.h"

/* So many moves to the right in one descent say that copies are too old. */
#define STALE_MOVES		4

/* The part of one leaf in what the next ones are expected to have. */
#define LEAVES_COUNTED	8

AnagoWalk *
anago_walk_spawn(AnagoProbe *probe, const AnagoTaskOps *ops, int depth)
{
	AnagoSched *sched = probe->step->op.pipeline->sched;
	AnagoWalk  *walk = (AnagoWalk *) anago_sched_spawn(sched, ops, depth);

	if (probe->step->ordered)
		anago_sched_own_place(sched, &walk->task);
	probe->tasks++;
	walk->probe = probe;
	return walk;
}

void
anago_walk_start(AnagoWalk *walk, int combo, AnagoNextRun *run)
{
	AnagoStep  *step = walk->probe->step;

	anago_root_ensure(step);
	walk->combo = combo;
	walk->combo_end = Max(run->end, combo + 1);
	walk->blkno = run->first == InvalidBlockNumber ? step->root : run->first;
	walk->lower = run->lower;
	run->lower = NULL;
	if (run->upper != NULL)
		walk->bound = anago_bound_dup(step->op.pipeline, run->upper);
	walk->from_start = true;
	if (step->range->start != NULL)
		step->range->start(walk);
	step->op.counters.descents++;
	if (!step->look)
		pgstat_count_index_scan(step->indexrel);
}

/* --- inner pages --- */

/* The range starts right of this page; true if it does. */
static bool
move_right(AnagoWalk *walk, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	AnagoStep  *step = walk->probe->step;

	if (!anago_starts_right(step, page, walk->from_start))
		return false;
	if (!P_IGNORE(opaque) && ++walk->moves > STALE_MOVES)
		step->stale = true;
	walk->moved_right = true;
	walk->blkno = opaque->btpo_next;
	return true;
}

/*
 * Moved right so far, is the task on a page that is another one's?  Backward it
 * may begin there (backward.c).
 */
static bool
is_past_bound(const AnagoWalk *walk, Page page)
{
	return walk->bound != NULL &&
		(walk->moved_right || walk->probe->step->backward) &&
		anago_bt_compare_bound(walk->probe->step->indexrel, walk->bound, page) < 0;
}

static void
drop_span(AnagoWalk *walk)
{
	if (walk->span != NULL)
		anago_span_free(walk->probe->step->op.pipeline, walk->span);
	walk->span = NULL;
}

/* `page` is locked, or a copy. */
static void
see_inner(AnagoWalk *walk, Page page)
{
	AnagoStep  *step = walk->probe->step;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber child;

	if (step->range->see != NULL)
	{
		step->range->see(walk, page);
		return;
	}
	if (move_right(walk, page))
		return;
	if (is_past_bound(walk, page))
	{
		walk->blkno = InvalidBlockNumber;
		drop_span(walk);
		return;
	}
	child = anago_first_child(step, page, walk->from_start);
	if (opaque->btpo_level == 1 && step->heapkeyspace && step->range->keep != NULL &&
		(!walk->from_start || walk->span != NULL ||
		 anago_bt_goes_on(step->indexrel, &step->keys.end, page, child)))
	{
		step->range->keep(walk, page, child);
		return;
	}
	walk->blkno = anago_child_block(page, child);
}

/* --- leaves --- */

/* An average, in which the last few leaves count most. */
static void
count_matches(AnagoStep *step, int n)
{
	step->leaf_matches += (n - step->leaf_matches) /
		(step->leaf_matches > 0 ? LEAVES_COUNTED : 1);
}

void
anago_walk_expect(AnagoWalk *walk)
{
	AnagoStep  *step = walk->probe->step;

	if (step->ordered)
		anago_order_expect(anago_sched_order(step->op.pipeline->sched),
						   walk->task.place,
						   walk->matches ? walk->matches->n - walk->next_match : 0);
}

static void
stand_at_first(AnagoWalk *walk)
{
	walk->next_visible = walk->next_match = walk->u.ahead.located = 0;
	anago_walk_expect(walk);
}

static void
push_matches(AnagoWalk *walk, AnagoMatches *matches)
{
	AnagoStep  *step = walk->probe->step;

	if (step->ordered)
		count_matches(step, matches ? matches->n : 0);
	if (matches == NULL)
		return;
	matches->left = walk->matches;
	walk->matches = matches;
	stand_at_first(walk);
	anago_sched_expect(step->op.pipeline->sched, walk->task.depth, matches->size);
}

void
anago_walk_drop_matches(AnagoWalk *walk)
{
	AnagoMatches *matches = walk->matches;

	walk->matches = matches->left;
	anago_matches_release(walk->probe->step, matches);
	stand_at_first(walk);
}

/* What it has for the range, or NULL. */
static AnagoMatches *
see_leaf(AnagoWalk *walk, Buffer buf)
{
	AnagoStep  *step = walk->probe->step;
	Page		page = BufferGetPage(buf);
	BTPageOpaque opaque = BTPageGetOpaque(page);
	AnagoMatches *matches;
	bool		goes_on;

	if (move_right(walk, page))
		return NULL;
	if (is_past_bound(walk, page))
	{
		/* it may have the stretch of a deleted one; nobody else may come here */
		if (anago_skips(&step->keys))
			PredicateLockPage(step->indexrel, walk->blkno,
							  step->op.pipeline->snapshot);
		walk->blkno = InvalidBlockNumber;
		return NULL;
	}
	if (step->desc->look != ANAGO_LOOK_MATCHES)
	{
		/* that it has been read is all */
		anago_probe_came_to_page(walk->probe);
		walk->blkno = InvalidBlockNumber;
		return NULL;
	}
	PredicateLockPage(step->indexrel, walk->blkno, step->op.pipeline->snapshot);
	matches = anago_leaf_collect(walk->probe, buf, walk->from_start,
								 walk->combo, walk->combo_end, &goes_on);
	if (matches != NULL && step->desc->firsts.merged > 0)
		anago_merged_add(walk->probe, page, matches, goes_on);
	if (matches != NULL && step->desc->most > 0)
		matches = anago_matches_keep_most(step, matches,
										  anago_firsts_take(walk->probe, matches->n),
										  &goes_on);
	push_matches(walk, matches);
	if (!goes_on ||
		(walk->bound != NULL &&
		 anago_bt_compare_bound(step->indexrel, walk->bound, page) <= 0))
		walk->blkno = InvalidBlockNumber;
	else
		walk->blkno = opaque->btpo_next;
	walk->from_start = false;
	walk->moved_right = true;
	return matches;
}

void
anago_walk_copies(AnagoWalk *walk)
{
	AnagoStep  *step = walk->probe->step;
	Page		page;

	anago_walk_bind(walk);
	while (walk->blkno != InvalidBlockNumber &&
		   (page = anago_inner_find(step->inner, walk->blkno)) != NULL)
		see_inner(walk, page);
}

void
anago_walk_page(AnagoWalk *walk, Buffer buf)
{
	AnagoStep  *step = walk->probe->step;
	Page		page;
	AnagoMatches *matches = NULL;

	anago_walk_bind(walk);
	page = anago_lock_page(step, buf);
	if (!P_ISLEAF(BTPageGetOpaque(page)))
	{
		anago_inner_add(step->inner, walk->blkno, page);
		see_inner(walk, page);
	}
	else
		matches = see_leaf(walk, buf);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	if (matches != NULL)
		anago_leaf_prepare(step, matches);
	ReleaseBuffer(buf);
}

void
anago_walk_free_bounds(AnagoWalk *walk)
{
	AnagoPipeline *pipeline = walk->probe->step->op.pipeline;

	anago_bound_free(pipeline, walk->bound);
	anago_bound_free(pipeline, walk->lower);
	walk->bound = walk->lower = NULL;
}

void
anago_walk_end(AnagoWalk *walk)
{
	while (walk->matches != NULL)
		anago_walk_drop_matches(walk);
	drop_span(walk);
	anago_walk_free_bounds(walk);
}
