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
#include "ops/btree/compare.h"

/*
 * The first entry of a position, if it and the first column of the index are integers:
 * then most tuples are told from the position by these alone.
 */
typedef struct FirstInteger
{
	int			bytes;			/* of the column; 0: ask core */
	bool		desc;
	bool		only;			/* the position has no other entry */
	int64		value;
} FirstInteger;

static inline FirstInteger
first_integer(BTScanInsert position)
{
	const ScanKeyData *sk = &position->scankeys[0];
	FirstInteger first = {0};
	int			bytes;

	if (position->keysz == 0 || (sk->sk_flags & SK_ISNULL) != 0 ||
		!anago_compares_integers(sk->sk_func.fn_oid, &first.bytes, &bytes))
		return first;
	Assert(sk->sk_attno == 1);
	first.desc = (sk->sk_flags & SK_BT_DESC) != 0;
	first.only = position->keysz == 1 && position->scantid == NULL;
	first.value = anago_integer(sk->sk_argument, bytes);
	return first;
}

/* As _bt_compare(); not of the first child of an inner page. */
static inline int32
compare(Relation rel, BTScanInsert position, const FirstInteger *first,
		Page page, OffsetNumber offnum)
{
	IndexTuple	itup = (IndexTuple) PageGetItem(page, PageGetItemId(page, offnum));

	if (first->bytes > 0 && !IndexTupleHasNulls(itup))
	{
		const char *at = (const char *) itup + MAXALIGN(sizeof(IndexTupleData));
		int64		column = first->bytes == sizeof(int32) ?
			*(const int32 *) at : *(const int64 *) at;

		if (first->value != column)
			return (first->value > column) != first->desc ? 1 : -1;
		if (first->only && !BTreeTupleIsPivot(itup))
			return 0;
	}
	return _bt_compare(rel, position, page, offnum);
}

OffsetNumber
anago_bt_search(Relation rel, BTScanInsert position, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber low = P_FIRSTDATAKEY(opaque);
	OffsetNumber high = PageGetMaxOffsetNumber(page);
	int32		right_of = position->nextkey ? 0 : 1;
	FirstInteger first = first_integer(position);

	if (high < low)
		return low;				/* empty, or only a high key */

	/* all before low are before the position, all from high on are not */
	high++;
	if (!P_ISLEAF(opaque))
		low++;					/* the first child counts as minus infinity */
	while (high > low)
	{
		OffsetNumber mid = low + (high - low) / 2;

		if (compare(rel, position, &first, page, mid) >= right_of)
			low = mid + 1;
		else
			high = mid;
	}
	return P_ISLEAF(opaque) ? low : OffsetNumberPrev(low);
}

static inline bool
reaches(Relation rel, BTScanInsert position, const FirstInteger *first,
		Page page, OffsetNumber offnum)
{
	return compare(rel, position, first, page, offnum) >=
		(position->nextkey ? 0 : 1);
}

bool
anago_bt_reaches(Relation rel, BTScanInsert position, Page page,
				 OffsetNumber offnum)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	FirstInteger first = first_integer(position);

	return (!P_ISLEAF(opaque) && offnum == P_FIRSTDATAKEY(opaque)) ||
		reaches(rel, position, &first, page, offnum);
}

OffsetNumber
anago_bt_search_from(Relation rel, BTScanInsert position, Page page,
					 OffsetNumber from)
{
	int			low = from;
	int			end = PageGetMaxOffsetNumber(page) + 1;
	int			high = from;
	FirstInteger first = first_integer(position);

	Assert(P_ISLEAF(BTPageGetOpaque(page)));
	for (int length = 1; high < end && reaches(rel, position, &first, page, high);
		 length *= 2)
	{
		low = high + 1;
		high = Min(low + length - 1, end);
	}
	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (reaches(rel, position, &first, page, mid))
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
