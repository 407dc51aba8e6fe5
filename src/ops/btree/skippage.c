/*-------------------------------------------------------------------------
 *
 * skippage.c
 *	  Skip scans: which pages may have matches, as separators say.
 *
 * A probe goes along level 2 of the index, and has a range task walk each page
 * of level 1 that may have matches, between the separators that level 2 has
 * around it.  Where the next such page is not on the page of level 2 at hand, it
 * is found by a descent, mostly through copies.  For page splits and deletions
 * the same is true as for a leaf and its separators (range.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "executor/executor.h"

#include "ops/btree/btpage.h"
#include "ops/btree/descend.h"
#include "ops/btree/kinds.h"
#include "ops/btree/skip.h"
#include "ops/btree/skippage.h"
#include "pipeline/state.h"

typedef enum Answer
{
	MATCH_HERE,
	MATCH_FURTHER,				/* from keys->seek on */
	MATCH_NOWHERE
} Answer;

/* Where may matches be from a separator on? */
static Answer
ask(AnagoProbe *probe, IndexTuple separator, int natts)
{
	AnagoStep  *step = probe->step;
	AnagoSkipPlace place;

	if (anago_skip_fits(&step->keys, &probe->keys, step->indexrel, separator,
						natts, &place))
		return MATCH_HERE;
	return anago_skip_seek(&step->keys, &probe->keys, step->indexrel, &place) ?
		MATCH_FURTHER : MATCH_NOWHERE;
}

/* The first pivot of an inner page is before everything, as is no separator. */
static Answer
ask_of(AnagoProbe *probe, IndexTuple separator)
{
	Relation	indexrel = probe->step->indexrel;
	MemoryContext old;
	Answer		answer;

	ResetExprContext(probe->step->op.pipeline->econtext);
	old = MemoryContextSwitchTo(probe->step->op.pipeline->econtext->ecxt_per_tuple_memory);
	answer = ask(probe, separator,
				 separator == NULL ? 0 : BTreeTupleGetNAtts(separator, indexrel));
	MemoryContextSwitchTo(old);
	return answer;
}

static inline IndexTuple
pivot(Page page, OffsetNumber off)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, off));
}

/* --- forward, level 1 --- */

/* Children behind `off` are of no interest, nor is the next page. */
static void
end_span(AnagoSpan *span)
{
	if (anago_span_is_shared(span))
		return;
	span->batch.piece = OffsetNumberNext(span->batch.last);
	span->batch.more = false;
}

bool
anago_skip_child(AnagoProbe *probe, AnagoSpan *span, IndexTuple lower)
{
	AnagoStep  *step = probe->step;
	Page		page = (Page) anago_span_at(span)->page;
	OffsetNumber child = span->child;
	OffsetNumber upper = anago_bt_upper_pivot(page, child);
	bool		first = child == P_FIRSTDATAKEY(BTPageGetOpaque(page));

	switch (ask_of(probe, first ? lower : pivot(page, child)))
	{
		case MATCH_HERE:
			return true;
		case MATCH_NOWHERE:
			end_span(span);
			return false;
		case MATCH_FURTHER:
			break;
	}
	if (upper == InvalidOffsetNumber ||
		!anago_bt_reaches(step->indexrel, &step->keys.seek, page, upper))
		return true;
	if (upper != P_HIKEY && !anago_span_is_shared(span))
		span->batch.piece = Max(span->batch.piece,
								anago_bt_search(step->indexrel, &step->keys.seek, page));
	return false;
}

/* --- backward, on any level --- */

/* May matches be from a child on, and before the pivot at `end` (if any)? */
static bool
may_match(AnagoProbe *probe, Page page, OffsetNumber child, OffsetNumber end,
		  IndexTuple lower)
{
	AnagoStep  *step = probe->step;
	bool		first = child == P_FIRSTDATAKEY(BTPageGetOpaque(page));
	Answer		answer = ask_of(probe, first ? lower : pivot(page, child));

	if (answer != MATCH_FURTHER)
		return answer == MATCH_HERE;
	return end == InvalidOffsetNumber ||
		!anago_bt_reaches(step->indexrel, &step->keys.seek, page, end);
}

/*
 * A key says where behind it a match can be, and not where before it.  But it says
 * that there is none between it and another one; so the last one is found by a
 * binary search.
 */
OffsetNumber
anago_skip_last_child(AnagoProbe *probe, Page page, OffsetNumber first,
					  OffsetNumber last, IndexTuple lower)
{
	OffsetNumber end = anago_bt_upper_pivot(page, last);
	int			none = last + 1;	/* there is no match from here to the end */
	int			some = last;	/* there may be from here */

	for (int length = 1; !may_match(probe, page, some, end, lower); length *= 2)
	{
		if (some == first)
			return InvalidOffsetNumber;
		none = some;
		some = Max(some - length, first);
	}
	while (none - some > 1)
	{
		int			mid = some + (none - some) / 2;

		if (may_match(probe, page, mid, end, lower))
			some = mid;
		else
			none = mid;
	}
	return some;
}

/* --- forward, above --- */

void
anago_skip_cut(AnagoStep *step, AnagoSpan *span, Page page, IndexTuple upper)
{
	if (upper == NULL || !span->batch.more)
		return;
	if (anago_bt_compare_bound(step->indexrel, upper, page) > 0)
		span->own = true;
	else
	{
		span->batch.more = false;
		anago_span_at(span)->ends = false;
	}
}

bool
anago_skips_inner(const AnagoStep *step)
{
	return anago_skips(&step->keys) && step->heapkeyspace &&
		step->range->keep != NULL && step->root_level >= 2;
}

void
anago_skip_begin(AnagoProbe *probe, AnagoNextRun *next)
{
	if (next->upper != NULL)
	{
		anago_bound_free(probe->step->op.pipeline, next->lower);
		next->lower = next->upper;
		next->upper = NULL;
	}
	next->first = InvalidBlockNumber;
	next->blkno = probe->step->root;
}

/*
 * The position of a separator: pivots that are not greater are before it.  That
 * of a key with a TID is behind it; one that has been truncated, to which no
 * other key is equal, is so by itself (_bt_compare).
 */
static BTScanInsert
position_of(AnagoStep *step, IndexTuple separator)
{
	BTScanInsert position = _bt_mkscankey(step->indexrel, separator);

	position->nextkey = position->scantid != NULL;
	return position;
}

static void
descend_to(AnagoProbe *probe, AnagoNextRun *next, Page page, BTScanInsert position)
{
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber child;

	if (!anago_descend(step, position, page, &child, &next->blkno) ||
		opaque->btpo_level > 2)
		return;
	next->first = next->blkno;
	next->blkno = InvalidBlockNumber;
	if (child > P_FIRSTDATAKEY(opaque))
	{
		anago_bound_free(pipeline, next->lower);
		next->lower = anago_bound_copy(pipeline, page, OffsetNumberPrev(child));
	}
	next->upper = anago_bt_upper_pivot(page, child) == InvalidOffsetNumber ? NULL :
		anago_bound_copy(pipeline, page, child);
	next->end = next->upper == NULL ? 1 : 0;
}

void
anago_skip_descend(AnagoProbe *probe, AnagoNextRun *next, Page page)
{
	AnagoStep  *step = probe->step;
	BTScanInsert position;

	switch (ask_of(probe, next->lower))
	{
		case MATCH_FURTHER:
			descend_to(probe, next, page, &step->keys.seek);
			return;
		case MATCH_NOWHERE:
			next->blkno = InvalidBlockNumber;
			next->none = true;
			next->end = 1;
			return;
		case MATCH_HERE:
			break;
	}
	if (next->lower == NULL)
	{
		descend_to(probe, next, page, &step->keys.start);
		return;
	}
	position = position_of(step, next->lower);
	descend_to(probe, next, page, position);
	pfree(position);
}
