/*-------------------------------------------------------------------------
 *
 * parent.c
 *	  The leaves of a range, taken from the level above them.
 *
 * On that level a walk sees how many leaves the range has: if only one, it goes
 * on as that leaf's reader, else it spawns a leaf task for each child and moves
 * right on that level.
 *
 *	level 1				 [ A | D | F ] -----------> [ H | ...
 *						   |   |   |
 *	level 0		-> [ A..C ] -> [ D..E ] -> [ F..G ] -> [ H..
 *						leaf task	leaf task	leaf task	bounds: D, F, H
 *
 * So the leaves of a wide range are read all at once instead of one after the
 * other along their right links.  See range.c for why this is right.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "pgstat.h"

#include "ops/btree/backward.h"
#include "ops/btree/btpage.h"
#include "ops/btree/fetch.h"
#include "ops/btree/near.h"
#include "ops/btree/probe.h"
#include "ops/btree/skip.h"
#include "ops/btree/skippage.h"
#include "ops/btree/walk.h"

/* Keep a page of level 1, whose children are spawned as there is room. */
static void
keep_level1(AnagoWalk *walk, Page page, OffsetNumber child)
{
	AnagoStep  *step = walk->probe->step;

	if (walk->span == NULL)
		walk->span = anago_span_create(step->op.pipeline, walk->combo,
									   walk->combo_end);
	anago_span_page(step, walk->span, page, child, walk->from_start);
	anago_skip_cut(step, walk->span, page, walk->bound);
	anago_sched_expect(step->op.pipeline->sched, walk->task.depth, sizeof(AnagoSpan));
	walk->from_start = false;
	walk->moved_right = true;
	walk->blkno = InvalidBlockNumber;
}

/* Nobody has come to the first page of the source's item yet. */
static void
begin_at_root(AnagoWalk *walk)
{
	AnagoStep  *step = walk->probe->step;

	walk->blkno = step->root;
	walk->from_start = true;
	step->op.counters.descents++;
	pgstat_count_index_scan(step->indexrel);
}

/* The next child of a wide range; else what comes instead is under way. */
static bool
next_child(AnagoWalk *walk)
{
	switch (anago_span_next(walk->probe, walk->span))
	{
		case ANAGO_TAKEN_PIECE:
			return true;
		case ANAGO_TAKEN_LAST:
			if (walk->span->batch.seq == 0)
			{
				begin_at_root(walk);
				return false;
			}
			if (walk->probe->step->backward)
				anago_backward_turn(walk);
			walk->blkno = anago_span_at(walk->span)->next;
			return false;
		case ANAGO_TAKEN_END:
			anago_span_free(walk->probe->step->op.pipeline, walk->span);
			walk->span = NULL;
			return false;
	}
	pg_unreachable();
}

/* Until it is known what a leaf has: as much as others had. */
static void
expect_matches(AnagoWalk *leaf)
{
	const AnagoStep *step = leaf->probe->step;

	if (step->ordered)
		anago_order_expect(anago_sched_order(step->op.pipeline->sched),
						   leaf->task.place, (int) step->leaf_matches + 1);
}

/*
 * Spawn the leaf task of the child that has been taken; none if it has no part
 * in any combination.
 *
 * The bound of its stretch is where the next child begins that has: should the
 * leaf be deleted, the page right of it has its stretch of the key space, and a
 * serializable transaction must look for it there.  For the same reason the
 * last one of a range, which has no neighbour, has no bound.  A skip scan's have
 * all, and take that lock where they stop (walk.c).
 */
static void
spawn_leaf(AnagoWalk *walk)
{
	AnagoSpan  *span = walk->span;
	AnagoSpanPage *at = anago_span_at(span);
	Page		page = (Page) at->page;
	IndexTuple	pivot = (IndexTuple)
		PageGetItem(page, PageGetItemId(page, span->child));
	int			combo = walk->combo;
	int			combo_end = walk->combo_end;
	OffsetNumber next = OffsetNumberNext(span->child);
	bool		skips = anago_skips(&walk->probe->step->keys);
	IndexTuple	bound = NULL;
	AnagoWalk  *leaf;

	if (skips && !(walk->probe->step->backward ? anago_backward_skip_child(walk) :
				   anago_skip_child(walk->probe, span, walk->lower)))
		return;
	if (walk->probe->step->backward)
	{
		if (!anago_backward_stretch(walk, &combo, &combo_end, &bound))
			return;
	}
	else if (combo_end - combo > 1)
	{
		anago_walk_bind(walk);
		if (!anago_combo_child(walk->probe, page, span->child,
							   &combo, &combo_end, &next))
			return;
		next = Min(next, OffsetNumberNext(span->batch.last));
		span->batch.piece = Max(span->batch.piece, next);
	}
	if (!walk->probe->step->backward &&
		(next <= span->batch.last || !at->ends ||
		 (skips && anago_bt_upper_pivot(page, span->child) != InvalidOffsetNumber)))
		bound = anago_bound_copy(walk->probe->step->op.pipeline, page,
								 OffsetNumberPrev(next));
	leaf = anago_walk_spawn(walk->probe, &anago_leaf_task,
							ANAGO_DEPTH_LEAF(walk->probe->step));
	leaf->combo = combo;
	leaf->combo_end = combo_end;
	leaf->blkno = BTreeTupleGetDownLink(pivot);
	leaf->from_start = at->from_start;
	leaf->bound = bound;
	expect_matches(leaf);
}

AnagoVerdict
anago_parent_run(AnagoTask *task)
{
	AnagoWalk  *walk = (AnagoWalk *) task;
	AnagoProbe *probe = walk->probe;
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	AnagoVerdict verdict;
	Buffer		buf;

	ANAGO_BEGIN(task);
	while ((walk->blkno != InvalidBlockNumber || walk->span != NULL) &&
		   !probe->done)
	{
		anago_walk_copies(walk);
		if (walk->blkno != InvalidBlockNumber)
		{
			if (anago_near_leaf(walk))
			{
				ANAGO_SUSPEND(task, ANAGO_NAP);
				if (probe->done)
					break;
			}
			ANAGO_AWAIT_NEAR_PAGE(task, buf, step, step->indexrel, walk->blkno,
								  anago_near_hint(walk));
			anago_walk_page(walk, buf);
		}
		while (walk->blkno == InvalidBlockNumber && walk->span != NULL &&
			   !probe->done)
		{
			if (anago_span_is_shared(walk->span))
				ANAGO_AWAIT_USE(task, pipeline->sched);
			ANAGO_AWAIT_ROOM(task, pipeline->sched, ANAGO_DEPTH_LEAF(step));
			if (!next_child(walk))
				break;
			spawn_leaf(walk);
			ANAGO_SUSPEND(task, ANAGO_YIELD);
		}
		if (anago_walk_has_matches(walk))
			ANAGO_CALL(task, verdict, anago_fetch(walk));
	}
	anago_walk_end(walk);
	ANAGO_END_OF_PROBE(task, step, probe);
}

const AnagoRangeKind anago_range_parent = {
	.name = "parent",
	.task = {"index range", anago_parent_run},
	.keep = keep_level1,
};
