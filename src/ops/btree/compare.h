/*-------------------------------------------------------------------------
 *
 * compare.h
 *	  A column's value and the entry of a position, in the order of the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_COMPARE_H
#define ANAGO_COMPARE_H

#include "postgres.h"

#include "access/nbtree.h"
#include "utils/fmgroids.h"

/*
 * Does a comparison function compare two integers, and of how many bytes each?
 * Most values are, dates and timestamps among them, and need no call of a function.
 */
static inline bool
anago_compares_integers(Oid function, int *left, int *right)
{
	switch (function)
	{
		case F_BTINT4CMP:
		case F_DATE_CMP:
			*left = *right = sizeof(int32);
			return true;
		case F_BTINT8CMP:
		case F_TIMESTAMP_CMP:
		case F_TIMESTAMPTZ_CMP:
			*left = *right = sizeof(int64);
			return true;
		case F_BTINT84CMP:
			*left = sizeof(int64);
			*right = sizeof(int32);
			return true;
		case F_BTINT48CMP:
			*left = sizeof(int32);
			*right = sizeof(int64);
			return true;
		default:
			return false;
	}
}

static inline int64
anago_integer(Datum value, int bytes)
{
	return bytes == sizeof(int32) ? DatumGetInt32(value) : DatumGetInt64(value);
}

static inline int32
anago_compare_values(FmgrInfo *func, Oid collation, Datum left, Datum right)
{
	int			left_bytes;
	int			right_bytes;

	if (anago_compares_integers(func->fn_oid, &left_bytes, &right_bytes))
	{
		int64		a = anago_integer(left, left_bytes);
		int64		b = anago_integer(right, right_bytes);

		return (a > b) - (a < b);
	}
	return DatumGetInt32(FunctionCall2Coll(func, collation, left, right));
}

/* A column and a value that is not NULL, as in _bt_compare. */
static inline int32
anago_compare(ScanKey sk, Datum column, bool isnull, Datum value)
{
	int32		cmp;

	if (isnull)
		return (sk->sk_flags & SK_BT_NULLS_FIRST) ? -1 : 1;
	cmp = anago_compare_values(&sk->sk_func, sk->sk_collation, column, value);
	if (sk->sk_flags & SK_BT_DESC)
		INVERT_COMPARE_RESULT(cmp);
	return cmp;
}

/*
 * The first of the ordered elements `elems`, from *at on, that the column is
 * not behind; true if it is equal.  It is often near, so steps of growing length
 * come before the binary search.
 */
extern bool anago_find_element(ScanKey sk, Datum column, bool isnull,
							   const Datum *elems, int n, int *at);

#endif							/* ANAGO_COMPARE_H */
