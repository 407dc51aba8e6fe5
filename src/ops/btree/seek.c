/*-------------------------------------------------------------------------
 *
 * seek.c
 *	  The combination of IN-list elements that a leaf's tuple belongs to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgroids.h"

#include "ops/btree/seek.h"

/* Most lists are of integers; those need no call of a function. */
static inline int32
compare_values(ScanKey sk, Datum left, Datum right)
{
	switch (sk->sk_func.fn_oid)
	{
		case F_BTINT4CMP:
			return (DatumGetInt32(left) > DatumGetInt32(right)) -
				(DatumGetInt32(left) < DatumGetInt32(right));
		case F_BTINT8CMP:
			return (DatumGetInt64(left) > DatumGetInt64(right)) -
				(DatumGetInt64(left) < DatumGetInt64(right));
		default:
			return DatumGetInt32(FunctionCall2Coll(&sk->sk_func, sk->sk_collation,
												   left, right));
	}
}

/* A column and a value, in the order of the index (as in _bt_compare). */
static inline int32
compare(ScanKey sk, Datum column, bool isnull, Datum value)
{
	int32		cmp;

	if (isnull)
		return (sk->sk_flags & SK_BT_NULLS_FIRST) ? -1 : 1;
	cmp = compare_values(sk, column, value);
	if (sk->sk_flags & SK_BT_DESC)
		INVERT_COMPARE_RESULT(cmp);
	return cmp;
}

static inline int32
compare_scalar(ScanKey sk, Datum column, bool isnull, Datum value)
{
	if (!(sk->sk_flags & SK_ISNULL))
		return compare(sk, column, isnull, value);
	if (isnull)
		return 0;
	return (sk->sk_flags & SK_BT_NULLS_FIRST) ? 1 : -1;
}

/*
 * The first element, from *at on, that the column is not behind; true if it is
 * equal.  It is often near, so steps of growing length come before the binary
 * search.
 */
static bool
find_element(ScanKey sk, Datum column, bool isnull, const AnagoArray *array,
			 int *at)
{
	int			low = *at;
	int			high = *at;
	int32		cmp = 1;

	for (int64 length = 1; high < array->n; length *= 2)
	{
		cmp = compare(sk, column, isnull, array->elems[high]);
		if (cmp <= 0)
			break;
		low = high + 1;
		high = (int) Min((int64) low + length - 1, (int64) array->n);
	}
	while (low < high)
	{
		int			mid = low + (high - low) / 2;
		int32		mid_cmp = compare(sk, column, isnull, array->elems[mid]);

		if (mid_cmp <= 0)
		{
			high = mid;
			cmp = mid_cmp;
		}
		else
			low = mid + 1;
	}
	*at = high;
	return high < array->n && cmp == 0;
}

int
anago_seek(const AnagoKeys *keys, const AnagoKeyValues *values, TupleDesc desc,
		   IndexTuple itup, AnagoSeek *seek, bool *equal)
{
	int			ncolumns = anago_seek_columns(keys, values);
	int			combo = 0;
	int			more = values->ncombos;	/* that have all elements up to here */
	int			list = 0;
	int			valid = seek->valid;

	*equal = false;
	for (int i = 0; i < ncolumns; i++)
	{
		ScanKey		sk = (ScanKey) &keys->start.scankeys[i];
		int			which = keys->start_key[i];
		bool		isnull;
		Datum		column = index_getattr(itup, i + 1, desc, &isnull);

		if (list < values->narrays && keys->array_entry[list] == i)
		{
			const AnagoArray *array = &values->arrays[which];
			int			at = list < valid ? seek->at[list] : 0;
			bool		found = find_element(sk, column, isnull, array, &at);

			/* with another element here, lists behind begin anew */
			if (list < valid && at != seek->at[list])
				valid = list;
			seek->at[list++] = at;
			seek->valid = list;
			if (at == array->n)
				return combo + more;
			more /= array->n;
			combo += at * more;
			if (!found)
				return combo;
		}
		else
		{
			int32		cmp = compare_scalar(sk, column, isnull,
											 values->values[which]);

			if (cmp != 0)
			{
				seek->valid = list;
				return cmp > 0 ? combo + more : combo;
			}
		}
	}
	*equal = true;
	return combo;
}
