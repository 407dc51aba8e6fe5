/*-------------------------------------------------------------------------
 *
 * btpage.c
 *	  Questions asked of one B-tree page that the caller has locked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "utils/rel.h"

#include "ops/btree/btpage.h"

OffsetNumber
anago_bt_search(Relation rel, BTScanInsert position, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber low = P_FIRSTDATAKEY(opaque);
	OffsetNumber high = PageGetMaxOffsetNumber(page);
	int32		right_of = position->nextkey ? 0 : 1;

	if (high < low)
		return low;				/* empty, or only a high key */

	/* all before low are before the position, all from high on are not */
	high++;
	while (high > low)
	{
		OffsetNumber mid = low + (high - low) / 2;

		if (_bt_compare(rel, position, page, mid) >= right_of)
			low = mid + 1;
		else
			high = mid;
	}
	/* the first pivot of an inner page counts as minus infinity */
	return P_ISLEAF(opaque) ? low : OffsetNumberPrev(low);
}

bool
anago_bt_reaches(Relation rel, BTScanInsert position, Page page,
				 OffsetNumber offnum)
{
	return _bt_compare(rel, position, page, offnum) >=
		(position->nextkey ? 0 : 1);
}

OffsetNumber
anago_bt_search_from(Relation rel, BTScanInsert position, Page page,
					 OffsetNumber from)
{
	int			low = from;
	int			end = PageGetMaxOffsetNumber(page) + 1;
	int			high = from;

	for (int length = 1; high < end && anago_bt_reaches(rel, position, page, high);
		 length *= 2)
	{
		low = high + 1;
		high = Min(low + length - 1, end);
	}
	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (anago_bt_reaches(rel, position, page, mid))
			low = mid + 1;
		else
			high = mid;
	}
	return (OffsetNumber) low;
}

bool
anago_bt_goes_on(Relation rel, BTScanInsert end, Page page, OffsetNumber child)
{
	if (child < PageGetMaxOffsetNumber(page))
		return anago_bt_reaches(rel, end, page, OffsetNumberNext(child));
	return !P_RIGHTMOST(BTPageGetOpaque(page)) &&
		anago_bt_reaches(rel, end, page, P_HIKEY);
}

bool
anago_bt_is_right(Relation rel, BTScanInsert position, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);

	if (P_RIGHTMOST(opaque))
		return false;
	return P_IGNORE(opaque) || anago_bt_reaches(rel, position, page, P_HIKEY);
}

/*
 * Separators are copied upward byte for byte when a page splits, and the
 * right half of a split inherits the high key, so that equality of bytes is
 * the normal way to find that a page ends at the bound.  Otherwise compare as
 * an insertion would.
 */
static int
compare_pivot(Relation rel, IndexTuple bound, Page page, OffsetNumber off)
{
	IndexTuple	pivot = (IndexTuple) PageGetItem(page, PageGetItemId(page, off));
	Size		size = IndexTupleSize(bound);
	BTScanInsert key;
	int			result;

	if (IndexTupleSize(pivot) == size &&
		BTreeTupleGetNAtts(pivot, rel) == BTreeTupleGetNAtts(bound, rel) &&
		memcmp((char *) pivot + sizeof(ItemPointerData),
			   (char *) bound + sizeof(ItemPointerData),
			   size - sizeof(ItemPointerData)) == 0)
		return 0;

	key = _bt_mkscankey(rel, bound);
	result = _bt_compare(rel, key, page, off);

	/*
	 * To _bt_compare() what the bound has truncated does not matter; here it
	 * is minus infinity, less than what the other has in its place.
	 */
	if (result == 0 &&
		(BTreeTupleGetNAtts(pivot, rel) > key->keysz ||
		 (key->scantid == NULL && BTreeTupleGetHeapTID(pivot) != NULL)))
		result = -1;
	pfree(key);
	return result;
}

int
anago_bt_compare_bound(Relation rel, IndexTuple bound, Page page)
{
	if (P_RIGHTMOST(BTPageGetOpaque(page)))
		return -1;
	return compare_pivot(rel, bound, page, P_HIKEY);
}

OffsetNumber
anago_bt_search_left(Relation rel, IndexTuple bound, Page page)
{
	OffsetNumber low = OffsetNumberNext(P_FIRSTDATAKEY(BTPageGetOpaque(page)));
	OffsetNumber high = OffsetNumberNext(PageGetMaxOffsetNumber(page));

	/* the first pivot counts as minus infinity */
	while (low < high)
	{
		OffsetNumber mid = low + (high - low) / 2;

		if (compare_pivot(rel, bound, page, mid) > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return OffsetNumberPrev(low);
}
