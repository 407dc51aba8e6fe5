/*-------------------------------------------------------------------------
 *
 * seek.c
 *	  The combination of IN-list elements that a leaf's tuple belongs to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/btree/compare.h"
#include "ops/btree/seek.h"

static inline int32
compare_scalar(ScanKey sk, Datum column, bool isnull, Datum value)
{
	if (!(sk->sk_flags & SK_ISNULL))
		return anago_compare(sk, column, isnull, value);
	if (isnull)
		return 0;
	return (sk->sk_flags & SK_BT_NULLS_FIRST) ? 1 : -1;
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
			bool		found = anago_find_element(sk, column, isnull,
												   array->elems, array->n, &at);

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
