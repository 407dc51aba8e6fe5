/*-------------------------------------------------------------------------
 *
 * compare.c
 *	  A column's value among ordered elements.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/btree/compare.h"

bool
anago_find_element(ScanKey sk, Datum column, bool isnull, const Datum *elems,
				   int n, int *at)
{
	int			low = *at;
	int			high = *at;
	int32		cmp = 1;

	for (int64 length = 1; high < n; length *= 2)
	{
		cmp = anago_compare(sk, column, isnull, elems[high]);
		if (cmp <= 0)
			break;
		low = high + 1;
		high = (int) Min((int64) low + length - 1, (int64) n);
	}
	while (low < high)
	{
		int			mid = low + (high - low) / 2;
		int32		mid_cmp = anago_compare(sk, column, isnull, elems[mid]);

		if (mid_cmp <= 0)
		{
			high = mid;
			cmp = mid_cmp;
		}
		else
			low = mid + 1;
	}
	*at = high;
	return high < n && cmp == 0;
}
