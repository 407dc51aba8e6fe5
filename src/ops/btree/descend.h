/*-------------------------------------------------------------------------
 *
 * descend.h
 *	  The way down a B-tree to where a range begins: the rule of it.
 *
 * Whoever walks brings the pages, locked or as copies: the tasks of range.c one
 * by one as they arrive, static.c in place.  From the root on, and for each page
 * that comes:
 *
 *		the range starts right of it (it was split, or deleted)?  move right
 *		else go down, or stop, at the first child that has part of the range
 *
 * from_start: the page was come to from above or from the left, so that what it
 * has may lie before the range; else all of it is behind the range's start.
 * The keys are bound.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_DESCEND_H
#define ANAGO_DESCEND_H

#include "postgres.h"

#include "access/nbtree.h"

#include "ops/btree/btpage.h"
#include "ops/btree/btree.h"

static inline bool
anago_starts_right(AnagoStep *step, Page page, bool from_start)
{
	return P_IGNORE(BTPageGetOpaque(page)) ||
		(from_start &&
		 anago_bt_is_right(step->indexrel, &step->keys.start, page));
}

/* Of an inner page on which the range starts, or that is behind its start. */
static inline OffsetNumber
anago_first_child(AnagoStep *step, Page page, bool from_start)
{
	return from_start ?
		anago_bt_search(step->indexrel, &step->keys.start, page) :
		P_FIRSTDATAKEY(BTPageGetOpaque(page));
}

static inline BlockNumber
anago_child_block(Page page, OffsetNumber child)
{
	return BTreeTupleGetDownLink((IndexTuple)
								 PageGetItem(page, PageGetItemId(page, child)));
}

#endif							/* ANAGO_DESCEND_H */
