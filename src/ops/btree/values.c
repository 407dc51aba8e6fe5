/*-------------------------------------------------------------------------
 *
 * values.c
 *	  Index conditions: the values of one probe, and what is done with them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "lib/qunique.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ops/btree/keys.h"
#include "ops/btree/skip.h"
#include "ops/btree/tighten.h"

/* --- evaluation --- */

static int
compare_elements(const void *a, const void *b, void *arg)
{
	AnagoKey   *key = (AnagoKey *) arg;
	int32		cmp = DatumGetInt32(FunctionCall2Coll(&key->elemcmp,
													  key->elemcollation,
													  *(const Datum *) a,
													  *(const Datum *) b));

	return key->reverse ? -cmp : cmp;
}

/* Elements of an array datum that is ours to keep; NULLs dropped. */
static void
split_array(AnagoKey *key, ArrayType *array, AnagoArray *out)
{
	bool	   *nulls;
	Datum	   *elems;
	int			nelems;
	int			n = 0;
	int16		len;
	bool		byval;
	char		align;

	/* the operator may be declared for a pseudotype such as anyenum */
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align,
					  &elems, &nulls, &nelems);
	for (int i = 0; i < nelems; i++)
		if (!nulls[i])
			elems[n++] = elems[i];
	if (key->searchable && n > 1)
	{
		qsort_arg(elems, n, sizeof(Datum), compare_elements, key);
		n = (int) qunique_arg(elems, n, sizeof(Datum), compare_elements, key);
	}
	out->n = n;
	out->elems = elems;
	pfree(nulls);
}

/* Evaluate one value; false if nothing can match it. */
static bool
eval_key(const AnagoKeys *keys, int i, ExprContext *econtext,
		 MemoryContext context, AnagoKeyValues *out)
{
	AnagoKey   *key = &keys->key[i];
	bool		isnull;
	Datum		value;
	MemoryContext old;

	if (key->expr == NULL)
		return true;
	value = ExecEvalExprSwitchContext(key->expr, econtext, &isnull);
	if (isnull)
	{
		if (key->desc->kind != ANAGO_KEY_ROW_MORE && key->desc->kind != ANAGO_KEY_ENTRY)
			return false;
		if (out->nulls == NULL)
			out->nulls = MemoryContextAllocZero(context, sizeof(bool) * keys->n);
		out->nulls[i] = true;
		return true;
	}

	old = MemoryContextSwitchTo(context);
	if (key->desc->kind == ANAGO_KEY_ARRAY)
	{
		ArrayType  *array = DatumGetArrayTypePCopy(value);

		if (out->arrays == NULL)
			out->arrays = palloc0(sizeof(AnagoArray) * keys->n);
		split_array(key, array, &out->arrays[i]);
		value = PointerGetDatum(array);
	}
	else if (key->copy && !key->typbyval)
		value = datumCopy(value, false, key->typlen);
	MemoryContextSwitchTo(old);

	out->values[i] = value;
	return key->desc->kind != ANAGO_KEY_ARRAY || out->arrays[i].n > 0;
}

/* How many combinations there are, and how many columns bound them. */
static void
count_combos(const AnagoKeys *keys, AnagoKeyValues *out)
{
	int64		ncombos = 1;

	out->prefix = -1;
	out->narrays = 0;
	for (int i = 0; i < keys->narrays; i++)
	{
		int			which = keys->array[i];
		int64		more = ncombos * out->arrays[which].n;

		/* one list alone is walked however long it is */
		if (ncombos > 1 && more > ANAGO_MAX_COMBOS)
		{
			out->prefix = keys->key[which].desc->attno - 1;
			break;
		}
		ncombos = more;
		out->narrays++;
	}
	out->ncombos = (int) ncombos;
}

void
anago_keys_eval_none(const AnagoKeys *keys, AnagoKeyValues *out)
{
	out->arrays = NULL;
	out->nulls = NULL;
	out->target = InvalidBlockNumber;
	out->ncombos = 0;
	out->prefix = -1;
	out->start_which = out->end_which = -1;
	memset(out->values, 0, sizeof(Datum) * keys->n);
}

void
anago_keys_eval(const AnagoKeys *keys, ExprContext *econtext,
				MemoryContext context, AnagoKeyValues *out)
{
	anago_keys_eval_none(keys, out);
	if (keys->never)
		return;
	for (int i = 0; i < keys->n; i++)
		if (!eval_key(keys, i, econtext, context, out))
			return;
	if (keys->ngroups > 0 && !anago_groups_tighten(keys, out))
		return;
	count_combos(keys, out);
}

void
anago_keys_free(const AnagoKeys *keys, AnagoKeyValues *values)
{
	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (DatumGetPointer(values->values[i]) == NULL || key->expr == NULL)
			continue;
		if (key->desc->kind == ANAGO_KEY_ARRAY)
		{
			pfree(values->arrays[i].elems);
			pfree(DatumGetPointer(values->values[i]));
		}
		else if (key->copy && !key->typbyval)
			pfree(DatumGetPointer(values->values[i]));
	}
	if (values->arrays != NULL)
		pfree(values->arrays);
	if (values->nulls != NULL)
		pfree(values->nulls);
}

/* --- use --- */

static void
bind_scalars(const AnagoKeys *keys, const AnagoKeyValues *values,
			 BTScanInsert position, const int *map)
{
	for (int i = 0; i < position->keysz; i++)
		if (map[i] != ANAGO_EDGE_NULL)
			position->scankeys[i].sk_argument = values->values[map[i]];
}

/* Columns of an entry to be inserted, in its position: which are NULL? */
static void
bind_nulls(const AnagoKeys *keys, const AnagoKeyValues *values,
		   BTScanInsert position, const int *map)
{
	for (int i = 0; i < position->keysz; i++)
	{
		if (values->nulls != NULL && values->nulls[map[i]])
			position->scankeys[i].sk_flags |= SK_ISNULL;
		else
			position->scankeys[i].sk_flags &= ~SK_ISNULL;
	}
}

/*
 * Entries of the same key stand in the order of their rows' places (heapkeyspace).  If
 * the new one's is not known it is taken for the last.
 */
static void
bind_target(AnagoKeys *keys, const AnagoKeyValues *values)
{
	keys->start.scantid = NULL;
	if (!keys->by_target || !keys->start.heapkeyspace ||
		values->target == InvalidBlockNumber)
		return;
	ItemPointerSet(&keys->target, values->target, FirstOffsetNumber);
	keys->start.scantid = &keys->target;
	keys->start.nextkey = false;
}

/* The elements of a combination: the last list is the fastest. */
static void
bind_elements(const AnagoKeys *keys, const AnagoKeyValues *values, int combo,
			  BTScanInsert position)
{
	for (int i = values->narrays - 1; i >= 0; i--)
	{
		const AnagoArray *array = &values->arrays[keys->array[i]];

		position->scankeys[keys->array_entry[i]].sk_argument =
			array->elems[combo % array->n];
		combo /= array->n;
	}
}

/* Stops where the combination of all lists before is the one bound already. */
void
anago_keys_bind_combo(AnagoKeys *keys, const AnagoKeyValues *values, int combo)
{
	for (int i = values->narrays - 1; i >= 0; i--)
	{
		const AnagoArray *array = &values->arrays[keys->array[i]];
		int			entry = keys->array_entry[i];
		int			before = combo / array->n;
		Datum		elem = array->elems[combo - before * array->n];

		keys->start.scankeys[entry].sk_argument = elem;
		keys->end.scankeys[entry].sk_argument = elem;
		if (before == keys->bound[i])
			break;
		keys->bound[i] = before;
		combo = before;
	}
}

/* Another condition than the first one gives the last entry of a position. */
static void
replace_bound(AnagoKeys *keys, const AnagoKeyValues *values,
			  BTScanInsert position, int which, bool is_end)
{
	ScanKey		sk = &position->scankeys[position->keysz - 1];
	const AnagoKey *key = &keys->key[which];
	bool		inclusive = key->strategy == BTLessEqualStrategyNumber ||
		key->strategy == BTGreaterEqualStrategyNumber;

	sk->sk_func = key->colcmp;
	sk->sk_subtype = key->righttype;
	sk->sk_argument = values->values[which];
	position->nextkey = inclusive == is_end;
}

/*
 * Where a further member of a row comparison is NULL, a position cannot have
 * an entry for it.  It ends behind the first member, all entries that are equal
 * there lie in the range, and the recheck does the rest.
 */
static void
shorten_row(BTScanInsert position, int row_keysz, bool nextkey)
{
	if (row_keysz == 0)
		return;
	position->keysz = row_keysz;
	position->nextkey = nextkey;
}

void
anago_keys_bind(AnagoKeys *keys, const AnagoKeyValues *values, int from, int to)
{
	Assert(from < to && to <= values->ncombos);
	if (anago_skips(keys))
	{
		anago_skip_bind(keys, values);
		return;
	}
	if (values->prefix >= 0)
	{
		keys->start.keysz = keys->end.keysz = values->prefix;
		keys->start.nextkey = false;
		keys->end.nextkey = true;
	}
	else
	{
		keys->start.keysz = keys->start_keysz;
		keys->end.keysz = keys->end_keysz;
		keys->start.nextkey = keys->start_nextkey;
		keys->end.nextkey = keys->end_nextkey;
		if (values->nulls != NULL)
		{
			shorten_row(&keys->start, keys->start_row_keysz, false);
			shorten_row(&keys->end, keys->end_row_keysz, true);
		}
	}
	bind_scalars(keys, values, &keys->start, keys->start_key);
	bind_scalars(keys, values, &keys->end, keys->end_key);
	if (keys->of_entry)
	{
		bind_nulls(keys, values, &keys->start, keys->start_key);
		bind_nulls(keys, values, &keys->end, keys->end_key);
		bind_target(keys, values);
	}
	if (values->narrays > 0)
	{
		bind_elements(keys, values, from, &keys->start);
		bind_elements(keys, values, to - 1, &keys->end);
		for (int i = 0; i < values->narrays; i++)
			keys->bound[i] = -1;
	}
	if (keys->bounds == NULL || values->prefix >= 0)
		return;
	if (values->start_which >= 0 && keys->start_row_keysz == 0)
		replace_bound(keys, values, &keys->start, values->start_which, false);
	if (values->end_which >= 0 && keys->end_row_keysz == 0)
		replace_bound(keys, values, &keys->end, values->end_which, true);
}

/* Is one of the sorted elements equal to a column value? */
static bool
array_search(AnagoKey *key, const AnagoArray *array, Datum datum)
{
	int			low = 0;
	int			high = array->n;

	while (low < high)
	{
		int			mid = low + (high - low) / 2;
		int32		cmp = DatumGetInt32(FunctionCall2Coll(&key->colcmp,
														  key->elemcollation,
														  datum,
														  array->elems[mid]));

		if (cmp == 0)
			return true;
		if ((cmp > 0) != key->reverse)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

static inline bool
op_matches(AnagoKey *key, Datum datum, Datum value)
{
	return DatumGetBool(FunctionCall2Coll(&key->opfn, key->desc->collation,
										  datum, value));
}

static bool
array_matches(AnagoKey *key, const AnagoArray *array, Datum datum)
{
	if (key->searchable)
		return array_search(key, array, datum);
	for (int i = 0; i < array->n; i++)
		if (op_matches(key, datum, array->elems[i]))
			return true;
	return false;
}

/*
 * A row comparison, whose first member is key `which`: the first members that
 * differ decide, and a NULL before that makes it unknown.
 */
static bool
row_matches(AnagoKeys *keys, const AnagoKeyValues *values, int which,
			Relation indexrel, IndexTuple itup)
{
	StrategyNumber strategy = keys->key[which].strategy;
	int32		cmp = 0;

	for (int i = which; cmp == 0; i++)
	{
		AnagoKey   *key = &keys->key[i];
		bool		isnull;
		Datum		datum;

		if (i > which &&
			(i == keys->n || key->desc->kind != ANAGO_KEY_ROW_MORE))
			break;
		datum = index_getattr(itup, key->desc->attno,
							  RelationGetDescr(indexrel), &isnull);
		if (isnull || (values->nulls != NULL && values->nulls[i]))
			return false;
		cmp = DatumGetInt32(FunctionCall2Coll(&key->colcmp, key->desc->collation,
											  datum, values->values[i]));
	}
	if (cmp == 0)
		return strategy == BTLessEqualStrategyNumber ||
			strategy == BTGreaterEqualStrategyNumber;
	return (cmp < 0) == (strategy == BTLessStrategyNumber ||
						 strategy == BTLessEqualStrategyNumber);
}

/* Is one element of this list bound now? */
static inline bool
is_bound(const AnagoKey *key, const AnagoKeyValues *values)
{
	return key->combines &&
		(values->prefix < 0 || key->desc->attno <= values->prefix);
}

static bool
key_matches(AnagoKeys *keys, const AnagoKeyValues *values, int which,
			Relation indexrel, IndexTuple itup)
{
	AnagoKey   *key = &keys->key[which];
	bool		isnull;
	Datum		datum = index_getattr(itup, key->desc->attno,
									  RelationGetDescr(indexrel), &isnull);

	switch (key->desc->kind)
	{
		case ANAGO_KEY_IS_NULL:
			return isnull;
		case ANAGO_KEY_IS_NOT_NULL:
			return !isnull;
		case ANAGO_KEY_OP:
			return !isnull && op_matches(key, datum, values->values[which]);
		case ANAGO_KEY_ARRAY:
			if (isnull)
				return false;
			if (is_bound(key, values))
				return op_matches(key, datum,
								  keys->start.scankeys[key->desc->attno - 1].sk_argument);
			return array_matches(key, &values->arrays[which], datum);
		case ANAGO_KEY_ROW:
			return row_matches(keys, values, which, indexrel, itup);
		case ANAGO_KEY_ROW_MORE:
		case ANAGO_KEY_ENTRY:
			return true;
	}
	pg_unreachable();
}

bool
anago_keys_recheck(AnagoKeys *keys, const AnagoKeyValues *values,
				   Relation indexrel, IndexTuple itup)
{
	if (values->prefix >= 0)
	{
		for (int i = 0; i < keys->n; i++)
			if (!key_matches(keys, values, i, indexrel, itup))
				return false;
		return true;
	}
	for (int i = 0; i < keys->nrecheck; i++)
		if (!key_matches(keys, values, keys->recheck[i], indexrel, itup))
			return false;
	return true;
}
