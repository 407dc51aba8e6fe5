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

/* Most values are integers; those need no call of a function. */
static inline int32
anago_compare_values(FmgrInfo *func, Oid collation, Datum left, Datum right)
{
	switch (func->fn_oid)
	{
		case F_BTINT4CMP:
			return (DatumGetInt32(left) > DatumGetInt32(right)) -
				(DatumGetInt32(left) < DatumGetInt32(right));
		case F_BTINT8CMP:
			return (DatumGetInt64(left) > DatumGetInt64(right)) -
				(DatumGetInt64(left) < DatumGetInt64(right));
		default:
			return DatumGetInt32(FunctionCall2Coll(func, collation, left, right));
	}
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
