/*-------------------------------------------------------------------------
 *
 * btpage.h
 *	  Questions asked of one B-tree page that the caller has locked.
 *
 * Comparison is core's _bt_compare(); how pages hang together is described in
 * PostgreSQL's src/backend/access/nbtree/README (Lehman and Yao, "Efficient
 * Locking for Concurrent Operations on B-Trees", 1981, with right links and
 * high keys; Lanin and Shasha 1986 for deletion).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BTPAGE_H
#define ANAGO_BTPAGE_H

#include "postgres.h"

#include "access/nbtree.h"

/*
 * Leaf page: offset of the first tuple after the position, which may be one
 * past the last.  Inner page: offset of the child that has the position.
 */
extern OffsetNumber anago_bt_search(Relation rel, BTScanInsert position,
									Page page);

/*
 * Leaf page: the same, of the tuples from offset `from` on; quick where the
 * position is near.
 */
extern OffsetNumber anago_bt_search_from(Relation rel, BTScanInsert position,
										 Page page, OffsetNumber from);

/*
 * Whether the position lies at or beyond the key of the pivot tuple at
 * `offnum` (P_HIKEY: the upper bound of the page), so that what is right of
 * that pivot is of interest to a walk that ends at the position.
 */
extern bool anago_bt_reaches(Relation rel, BTScanInsert position, Page page,
							 OffsetNumber offnum);

/* Whether the position is not on this page but right of it. */
extern bool anago_bt_is_right(Relation rel, BTScanInsert position, Page page);

/*
 * How the upper bound of a leaf relates to `bound`, a pivot tuple that was
 * read from the level above: negative when the page reaches beyond it, zero
 * when it ends there, positive when more pages below the bound follow.
 */
extern int	anago_bt_compare_bound(Relation rel, IndexTuple bound, Page page);

/*
 * Inner page: offset of the last child that begins left of `bound`, a pivot
 * tuple.
 */
extern OffsetNumber anago_bt_search_left(Relation rel, IndexTuple bound, Page page);

/*
 * Whether a range that ends at position `end` goes on right of a child of an
 * inner page, on that page or the next one.
 */
extern bool anago_bt_goes_on(Relation rel, BTScanInsert end, Page page,
							 OffsetNumber child);

/* The pivot tuple right of a child, or InvalidOffsetNumber: plus infinity. */
static inline OffsetNumber
anago_bt_upper_pivot(Page page, OffsetNumber child)
{
	if (child < PageGetMaxOffsetNumber(page))
		return OffsetNumberNext(child);
	return P_RIGHTMOST(BTPageGetOpaque(page)) ? InvalidOffsetNumber : P_HIKEY;
}

#endif							/* ANAGO_BTPAGE_H */
