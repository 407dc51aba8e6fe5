/*-------------------------------------------------------------------------
 *
 * backward.c
 *	  The walk of an index range from its end to its start.
 *
 * Leaves are taken from the level above, as in range.c, from the right to the
 * left; what a leaf task reads is the same stretch, pages that were split off to
 * the right among it, and only then the matches are turned round.  So no left
 * link is needed on the leaf level.  Nor on level 1: the page on the left of one
 * is the page which ends where this one begins, and that is found by a descent.
 *
 *		level 2			 [ -inf | K | T ]
 *							|	  |	  '--> [ T | V | X ]		first: the end
 *							|	  '------> [ K | M | R ]		then: up to T
 *							'----------->  [ -inf | C | F ]		then: up to K
 *
 * On the way down the separator on the left of where we go is kept: the lower
 * bound of the page that we come to (span->low), and the upper bound of the
 * next one (span->upto).
 *
 * Concurrent changes.  A page that was split is left by its right link, as
 * ever.  If the page that ended at `upto` has been deleted, what it had of the
 * key space has gone to the page right of it, whose leaves have been taken; the
 * descent comes to that page, or to a leaf of it, once more.  It reaches beyond
 * the bound: that tells a leaf task to leave it alone.  What is below the bound
 * there has come since, and is not for our snapshot.
 *
 * Skip scans.  On each level the last child is looked for that may have matches
 * (skippage.c); the separator right of it is what is to come then ends at.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "ops/btree/backward.h"
#include "ops/btree/btpage.h"
#include "ops/btree/combos.h"
#include "ops/btree/descend.h"
#include "ops/btree/skip.h"
#include "ops/btree/skippage.h"

static void
backward_start(AnagoWalk *walk)
{
	walk->span = anago_span_create(walk->probe->step->op.pipeline, walk->combo,
								   walk->combo_end);
}

/* `off`: the separator at the left of where the walk goes. */
static void
keep_low(AnagoWalk *walk, Page page, OffsetNumber off)
{
	AnagoStep  *step = walk->probe->step;
	AnagoSpan  *span = walk->span;
	IndexTuple	separator = (IndexTuple) PageGetItem(page, PageGetItemId(page, off));

	anago_bound_free(step->op.pipeline, span->low);
	span->low = anago_bound_dup(step->op.pipeline, separator);
	span->goes_left = !anago_bt_reaches(step->indexrel, &step->keys.start, page, off);
}

/* Is what the walk looks for right of this page? */
static bool
is_right(AnagoWalk *walk, Page page)
{
	AnagoStep  *step = walk->probe->step;

	if (walk->span->upto == NULL)
		return anago_bt_is_right(step->indexrel, &step->keys.end, page);
	return P_IGNORE(BTPageGetOpaque(page)) ||
		anago_bt_compare_bound(step->indexrel, walk->span->upto, page) > 0;
}

static OffsetNumber
last_child(AnagoWalk *walk, Page page)
{
	AnagoStep  *step = walk->probe->step;

	if (walk->span->upto == NULL)
		return anago_bt_search(step->indexrel, &step->keys.end, page);
	return anago_bt_search_left(step->indexrel, walk->span->upto, page);
}

/*
 * Skipping: *child becomes the last one, up to itself, that may have matches, and
 * what is right of it is behind us; false: none has.
 */
static bool
skip_to(AnagoWalk *walk, Page page, OffsetNumber *child)
{
	AnagoStep  *step = walk->probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	AnagoSpan  *span = walk->span;
	OffsetNumber found;

	if (!anago_skips(&step->keys))
		return true;
	found = anago_skip_last_child(walk->probe, page,
								  P_FIRSTDATAKEY(BTPageGetOpaque(page)), *child,
								  span->low);
	if (found == InvalidOffsetNumber)
		return false;
	if (found < *child)
	{
		anago_bound_free(pipeline, span->upto);
		span->upto = anago_bound_copy(pipeline, page, found);
	}
	*child = found;
	return true;
}

/* An inner page has nothing, and what is left of it comes next. */
static void
leave_page(AnagoWalk *walk)
{
	AnagoStep  *step = walk->probe->step;

	if (walk->span->goes_left)
	{
		anago_backward_turn(walk);
		walk->blkno = step->root;
		return;
	}
	anago_span_free(step->op.pipeline, walk->span);
	walk->span = NULL;
	walk->blkno = InvalidBlockNumber;
}

/* A page of level 1: its children are taken from the last one on. */
static void
take_page(AnagoWalk *walk, Page page, OffsetNumber last)
{
	AnagoStep  *step = walk->probe->step;
	AnagoSpan  *span = walk->span;
	AnagoBatch *batch = &span->batch;
	AnagoSpanPage *at = anago_span_at(span);
	OffsetNumber first = P_FIRSTDATAKEY(BTPageGetOpaque(page));

	if (!span->goes_left)
		first = Min(anago_bt_search(step->indexrel, &step->keys.start, page), last);
	if (first == last && !span->goes_left && span->upto == NULL &&
		!anago_span_is_shared(span) && !anago_skips(&step->keys))
	{
		walk->blkno = anago_child_block(page, last);
		anago_span_free(step->op.pipeline, span);
		walk->span = NULL;
		return;
	}
	batch->piece = first;
	batch->last = last;
	batch->more = span->goes_left;
	batch->seq++;
	at->mirror = first + last;
	at->next = batch->more ? step->root : InvalidBlockNumber;
	at->ends = !batch->more;
	at->from_start = !span->goes_left;
	memcpy(at->page, page, BLCKSZ);
	span->child = InvalidOffsetNumber;
	if (anago_span_is_shared(span))
		anago_span_install(step->op.pipeline, span);
	anago_sched_expect(step->op.pipeline->sched, walk->task.depth, sizeof(AnagoSpan));
	walk->blkno = InvalidBlockNumber;
}

static void
backward_see(AnagoWalk *walk, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber child;

	if (is_right(walk, page))
	{
		if (!P_IGNORE(opaque))
			keep_low(walk, page, P_HIKEY);
		walk->blkno = opaque->btpo_next;
		return;
	}
	child = last_child(walk, page);
	if (!skip_to(walk, page, &child))
	{
		leave_page(walk);
		return;
	}
	if (opaque->btpo_level == 1)
	{
		take_page(walk, page, child);
		return;
	}
	if (child > P_FIRSTDATAKEY(opaque))
		keep_low(walk, page, child);
	walk->blkno = anago_child_block(page, child);
}

void
anago_backward_turn(AnagoWalk *walk)
{
	AnagoSpan  *span = walk->span;

	anago_bound_free(walk->probe->step->op.pipeline, span->upto);
	span->upto = span->low;
	span->low = NULL;
	span->goes_left = false;
	span->begun = InvalidOffsetNumber;
}

/*
 * The child for which a task was spawned last, whoever did that: of a shared page
 * all children have one.
 */
static OffsetNumber
begun_last(const AnagoSpan *span)
{
	if (!anago_span_is_shared(span))
		return span->begun;
	return span->child < span->batch.last ? OffsetNumberNext(span->child) :
		InvalidOffsetNumber;
}

bool
anago_backward_skip_child(AnagoWalk *walk)
{
	AnagoSpan  *span = walk->span;
	AnagoBatch *batch = &span->batch;
	int			mirror = anago_span_at(span)->mirror;
	OffsetNumber found;

	found = anago_skip_last_child(walk->probe, (Page) anago_span_at(span)->page,
								  mirror - batch->last, span->child, span->low);
	if (found == span->child)
		return true;
	batch->piece = found == InvalidOffsetNumber ? batch->last + 1 : mirror - found;
	return false;
}

/* Skipping, each child has a bound, as it has forward (parent.c). */
static IndexTuple
skipping_bound(AnagoWalk *walk, Page page)
{
	AnagoPipeline *pipeline = walk->probe->step->op.pipeline;
	AnagoSpan  *span = walk->span;

	if (span->child == span->batch.last && span->upto != NULL)
		return anago_bound_dup(pipeline, span->upto);
	return anago_bt_upper_pivot(page, span->child) == InvalidOffsetNumber ? NULL :
		anago_bound_copy(pipeline, page, span->child);
}

/*
 * The bound is where the child begins that was begun last, for the reasons that
 * range.c has; the first of all has none.
 */
bool
anago_backward_stretch(AnagoWalk *walk, int *from, int *to, IndexTuple *bound)
{
	AnagoStep  *step = walk->probe->step;
	AnagoSpan  *span = walk->span;
	Page		page = (Page) anago_span_at(span)->page;
	OffsetNumber before = begun_last(span);
	OffsetNumber next;

	if (*to - *from > 1)
	{
		anago_walk_bind(walk);
		if (!anago_combo_child(walk->probe, page, span->child, from, to, &next))
			return false;
	}
	*bound = NULL;
	if (anago_skips(&step->keys))
		*bound = skipping_bound(walk, page);
	else if (before != InvalidOffsetNumber)
		*bound = anago_bound_dup(step->op.pipeline, (IndexTuple)
										PageGetItem(page, PageGetItemId(page, before)));
	else if (span->upto != NULL)
		*bound = anago_bound_dup(step->op.pipeline, span->upto);
	span->begun = span->child;
	return true;
}

const AnagoRangeKind anago_range_backward = {
	.name = "backward",
	.task = {"index range", anago_parent_run},
	.start = backward_start,
	.see = backward_see,
};
