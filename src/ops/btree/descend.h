/*-------------------------------------------------------------------------
 *
 * descend.h
 *	  The way down a B-tree to where something begins: the rule of it.
 *
 * Whoever walks brings the pages, locked or as copies: the tasks of range.c one
 * by one as they arrive, static.c in place.  From the root on, and for each page
 * that comes:
 *
 *		it begins right of the page (which was split, or deleted)?  move right
 *		else go down, or stop, at the first child that has part of it
 *
 * That is anago_descend(), for a position, which combos.c and skippage.c go down to
 * for the runs of a probe.  A range task's walk, which may be past its start, asks
 * the two questions one by one.
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

#include "compat.h"
#include "ops/btree/btpage.h"
#include "ops/btree/btree.h"
#include "pipeline/state.h"

/* A page that has been read, pinned: lock it, and see that it can be used. */
static inline Page
anago_lock_page(AnagoStep *step, Buffer buf)
{
	Page		page = BufferGetPage(buf);

	LockBuffer(buf, BT_READ);
	_bt_checkpage(step->indexrel, buf);
	anago_check_snapshot_age(step->op.pipeline->snapshot, step->indexrel, page);
	return page;
}

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

/*
 * One page further to a position.  *blkno is the next one: of the child *child,
 * or (false) the page on the right of this.
 */
static inline bool
anago_descend(AnagoStep *step, BTScanInsert position, Page page,
			  OffsetNumber *child, BlockNumber *blkno)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);

	if (P_IGNORE(opaque) || anago_bt_is_right(step->indexrel, position, page))
	{
		*blkno = opaque->btpo_next;
		return false;
	}
	*child = anago_bt_search(step->indexrel, position, page);
	*blkno = anago_child_block(page, *child);
	return true;
}

#endif							/* ANAGO_DESCEND_H */
