/*-------------------------------------------------------------------------
 *
 * keys.c
 *	  Index conditions: how they bound the walk of a B-tree, and their values.
 *
 * anago_keys_init() looks at each index column in turn.  While a column has
 * an equality condition, that is an entry of both positions.  The first column
 * that has none ends them, with its lower condition for `start` and its upper
 * one for `end`.  The rule that makes this right is nbtree's own (_bt_first in
 * nbtsearch.c): tuples that satisfy the conditions of a prefix of columns of
 * this form are contiguous in the index.
 *
 * All B-tree operators are strict, so a NULL value means that nothing
 * matches, and a column with any condition but IS NULL must not be NULL:
 * where no condition bounds the side of the column at which its NULLs are,
 * the edge of the NULLs does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/qunique.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ops/keys.h"

/* --- classification --- */

/* Whether a position can have an entry for this condition: fill its proc. */
static bool
position_proc(const AnagoKey *key, Relation indexrel, FmgrInfo *proc)
{
	int			col = key->desc->attno - 1;
	Oid			opcintype = indexrel->rd_opcintype[col];
	Oid			procid;

	if (key->righttype == opcintype || key->righttype == InvalidOid)
	{
		fmgr_info_copy(proc, index_getprocinfo(indexrel, col + 1, BTORDER_PROC),
					   CurrentMemoryContext);
		return true;
	}
	procid = get_opfamily_proc(indexrel->rd_opfamily[col], opcintype,
							   key->righttype, BTORDER_PROC);
	if (!OidIsValid(procid))
		return false;
	fmgr_info(procid, proc);
	return true;
}

/*
 * Do elements that are equal to one column value equal each other?  That is
 * what transitivity of an operator family promises, but a timestamptz and a
 * local time compare by way of the time zone, in which one moment can have
 * two names, and a name can be of no moment.
 */
static bool
elements_are_distinct(Oid columntype, Oid elemtype)
{
	if (columntype == elemtype)
		return true;
	return columntype != TIMESTAMPTZOID && elemtype != TIMESTAMPTZOID;
}

/* Can the elements of the list be put in order and searched for a column? */
static void
init_array_key(AnagoKey *key, Relation indexrel, const AnagoKeyDesc *desc)
{
	int			col = desc->attno - 1;
	Oid			opcintype = indexrel->rd_opcintype[col];
	Oid			elemtype = IsPolymorphicType(key->righttype) ?
		opcintype : key->righttype;
	Oid			cmp = get_opfamily_proc(indexrel->rd_opfamily[col],
										elemtype, elemtype, BTORDER_PROC);

	key->elemcollation = indexrel->rd_indcollation[col];
	key->searchable = key->strategy == BTEqualStrategyNumber &&
		OidIsValid(cmp) && position_proc(key, indexrel, &key->colcmp) &&
		elements_are_distinct(opcintype, elemtype);
	if (key->searchable)
		fmgr_info(cmp, &key->elemcmp);
}

static void
init_key(AnagoKey *key, Relation indexrel, const AnagoKeyDesc *desc,
		 Expr *value, PlanState *parent)
{
	int			strategy;
	Oid			lefttype;

	key->desc = desc;
	if (desc->kind == ANAGO_KEY_IS_NULL || desc->kind == ANAGO_KEY_IS_NOT_NULL)
		return;

	get_op_opfamily_properties(desc->opno, indexrel->rd_opfamily[desc->attno - 1],
							   false, &strategy, &lefttype, &key->righttype);
	key->strategy = strategy;
	fmgr_info(desc->opfuncid, &key->opfn);
	key->expr = ExecInitExpr(value, parent);
	key->copy = !IsA(value, Var) && !IsA(value, Const);
	get_typlenbyval(exprType((Node *) value), &key->typlen, &key->typbyval);
	if (desc->kind == ANAGO_KEY_ARRAY)
		init_array_key(key, indexrel, desc);
}

/* Append an entry to a position; `which` is a key or ANAGO_EDGE_NULL. */
static void
add_entry(BTScanInsert position, int *map, const AnagoKeys *keys,
		  Relation indexrel, int col, int which)
{
	ScanKey		sk = &position->scankeys[position->keysz];
	int			flags = indexrel->rd_indoption[col] << SK_BT_INDOPTION_SHIFT;
	FmgrInfo	proc;
	Oid			subtype = InvalidOid;

	if (which == ANAGO_EDGE_NULL || keys->key[which].desc->kind == ANAGO_KEY_IS_NULL)
	{
		flags |= SK_ISNULL | SK_SEARCHNULL;
		proc = *index_getprocinfo(indexrel, col + 1, BTORDER_PROC);
	}
	else
	{
		if (!position_proc(&keys->key[which], indexrel, &proc))
			elog(ERROR, "anago: no comparison function for index column %d",
				 col + 1);
		subtype = keys->key[which].righttype;
	}
	ScanKeyEntryInitializeWithInfo(sk, flags, col + 1, InvalidStrategy, subtype,
								   indexrel->rd_indcollation[col], &proc,
								   (Datum) 0);
	map[position->keysz++] = which;
}

/* A condition on column `col` that fixes its value, or -1. */
static int
find_equality(const AnagoKeys *keys, Relation indexrel, int col)
{
	FmgrInfo	proc;

	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (key->desc->attno != col + 1)
			continue;
		if (key->desc->kind == ANAGO_KEY_IS_NULL)
			return i;
		if (key->desc->kind == ANAGO_KEY_IS_NOT_NULL ||
			key->strategy != BTEqualStrategyNumber ||
			!position_proc(key, indexrel, &proc))
			continue;
		if (key->desc->kind == ANAGO_KEY_ARRAY && !key->searchable)
			continue;
		return i;
	}
	return -1;
}

/* A scalar condition on column `col` with one of two strategies, or -1. */
static int
find_bound(const AnagoKeys *keys, Relation indexrel, int col,
		   StrategyNumber strict, StrategyNumber inclusive)
{
	FmgrInfo	proc;

	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (key->desc->attno == col + 1 && key->desc->kind == ANAGO_KEY_OP &&
			(key->strategy == strict || key->strategy == inclusive) &&
			position_proc(key, indexrel, &proc))
			return i;
	}
	return -1;
}

static bool
column_is_not_null(const AnagoKeys *keys, int col)
{
	for (int i = 0; i < keys->n; i++)
		if (keys->key[i].desc->attno == col + 1 &&
			keys->key[i].desc->kind != ANAGO_KEY_IS_NULL)
			return true;
	return false;
}

/* The first column without an equality: its bounds end the positions. */
static void
init_bounds(AnagoKeys *keys, Relation indexrel, int col, bool *used)
{
	int16		option = indexrel->rd_indoption[col];
	bool		desc = (option & INDOPTION_DESC) != 0;
	bool		nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	int			above = find_bound(keys, indexrel, col, BTGreaterStrategyNumber,
								   BTGreaterEqualStrategyNumber);
	int			below = find_bound(keys, indexrel, col, BTLessStrategyNumber,
								   BTLessEqualStrategyNumber);
	int			lower = desc ? below : above;
	int			upper = desc ? above : below;

	if (!column_is_not_null(keys, col))
		return;

	if (lower >= 0)
	{
		StrategyNumber s = keys->key[lower].strategy;

		add_entry(&keys->start, keys->start_key, keys, indexrel, col, lower);
		keys->start_nextkey = (s == BTLessStrategyNumber ||
							   s == BTGreaterStrategyNumber);
		used[lower] = true;
	}
	else if (nulls_first)
	{
		add_entry(&keys->start, keys->start_key, keys, indexrel, col,
				  ANAGO_EDGE_NULL);
		keys->start_nextkey = true;
	}

	if (upper >= 0)
	{
		StrategyNumber s = keys->key[upper].strategy;

		add_entry(&keys->end, keys->end_key, keys, indexrel, col, upper);
		keys->end_nextkey = (s == BTLessEqualStrategyNumber ||
							 s == BTGreaterEqualStrategyNumber);
		used[upper] = true;
	}
	else if (!nulls_first)
	{
		add_entry(&keys->end, keys->end_key, keys, indexrel, col,
				  ANAGO_EDGE_NULL);
		keys->end_nextkey = false;
	}
}

/* Positions, and what they leave to be rechecked. */
static void
classify(AnagoKeys *keys, Relation indexrel)
{
	int			natts = IndexRelationGetNumberOfKeyAttributes(indexrel);
	bool	   *used = palloc0(sizeof(bool) * (keys->n + 1));
	int			col;

	keys->end_nextkey = true;
	for (col = 0; col < natts; col++)
	{
		int			eq = find_equality(keys, indexrel, col);

		if (eq < 0)
			break;
		add_entry(&keys->start, keys->start_key, keys, indexrel, col, eq);
		add_entry(&keys->end, keys->end_key, keys, indexrel, col, eq);
		if (keys->key[eq].desc->kind == ANAGO_KEY_ARRAY)
			keys->array[keys->narrays++] = eq;
		used[eq] = true;
	}
	if (col < natts)
		init_bounds(keys, indexrel, col, used);

	keys->recheck = palloc(sizeof(int) * (keys->n + 1));
	for (int i = 0; i < keys->n; i++)
		if (!used[i])
			keys->recheck[keys->nrecheck++] = i;
	pfree(used);
	keys->start_keysz = keys->start.keysz;
	keys->end_keysz = keys->end.keysz;
}

void
anago_keys_init(AnagoKeys *keys, Relation indexrel, const AnagoStepDesc *desc,
				PlanState *parent)
{
	ListCell   *lc;
	int			i = 0;

	memset(keys, 0, sizeof(AnagoKeys));
	keys->n = desc->nkeys;
	keys->key = palloc0(sizeof(AnagoKey) * (desc->nkeys + 1));
	Assert(list_length(desc->exprs[ANAGO_EXPRS_KEYS]) == desc->nkeys);
	foreach(lc, desc->exprs[ANAGO_EXPRS_KEYS])
	{
		init_key(&keys->key[i], indexrel, &desc->keys[i], lfirst(lc), parent);
		i++;
	}
	classify(keys, indexrel);
}

void
anago_keys_set_version(AnagoKeys *keys, bool heapkeyspace, bool allequalimage)
{
	keys->start.heapkeyspace = keys->end.heapkeyspace = heapkeyspace;
	keys->start.allequalimage = keys->end.allequalimage = allequalimage;
}

/* --- values --- */

static int
compare_elements(const void *a, const void *b, void *arg)
{
	AnagoKey   *key = (AnagoKey *) arg;

	return DatumGetInt32(FunctionCall2Coll(&key->elemcmp, key->elemcollation,
										   *(const Datum *) a,
										   *(const Datum *) b));
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
		return false;

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

/* How many ranges there are, and how many columns bound them. */
static void
count_combos(const AnagoKeys *keys, AnagoKeyValues *out)
{
	int64		ncombos = 1;

	out->prefix = -1;
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
	}
	out->ncombos = (int) ncombos;
}

void
anago_keys_eval(const AnagoKeys *keys, ExprContext *econtext,
				MemoryContext context, AnagoKeyValues *out)
{
	out->arrays = NULL;
	out->ncombos = 0;
	memset(out->values, 0, sizeof(Datum) * keys->n);
	for (int i = 0; i < keys->n; i++)
		if (!eval_key(keys, i, econtext, context, out))
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
}

/* --- use --- */

/* The value that key `which` has in a combination: the first list is fastest. */
static Datum
combo_value(const AnagoKeys *keys, const AnagoKeyValues *values, int which,
			int combo)
{
	for (int i = 0; i < keys->narrays; i++)
	{
		const AnagoArray *array = &values->arrays[keys->array[i]];

		if (keys->array[i] == which)
			return array->elems[combo % array->n];
		combo /= array->n;
	}
	return values->values[which];
}

static void
bind_position(const AnagoKeys *keys, const AnagoKeyValues *values, int combo,
			  BTScanInsert position, const int *map)
{
	for (int i = 0; i < position->keysz; i++)
		if (map[i] != ANAGO_EDGE_NULL)
			position->scankeys[i].sk_argument =
				combo_value(keys, values, map[i], combo);
}

void
anago_keys_bind(AnagoKeys *keys, const AnagoKeyValues *values, int combo)
{
	Assert(combo < values->ncombos);
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
	}
	bind_position(keys, values, combo, &keys->start, keys->start_key);
	bind_position(keys, values, combo, &keys->end, keys->end_key);
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
		if (cmp > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

static bool
array_matches(AnagoKey *key, const AnagoArray *array, Datum datum)
{
	if (key->searchable)
		return array_search(key, array, datum);
	for (int i = 0; i < array->n; i++)
		if (DatumGetBool(FunctionCall2Coll(&key->opfn, key->desc->collation,
										   datum, array->elems[i])))
			return true;
	return false;
}

static bool
key_matches(AnagoKey *key, const AnagoKeyValues *values, int which,
			Relation indexrel, IndexTuple itup)
{
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
			return !isnull &&
				DatumGetBool(FunctionCall2Coll(&key->opfn, key->desc->collation,
											   datum, values->values[which]));
		case ANAGO_KEY_ARRAY:
			return !isnull && array_matches(key, &values->arrays[which], datum);
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
			if (!key_matches(&keys->key[i], values, i, indexrel, itup))
				return false;
		return true;
	}
	for (int i = 0; i < keys->nrecheck; i++)
		if (!key_matches(&keys->key[keys->recheck[i]], values, keys->recheck[i],
						 indexrel, itup))
			return false;
	return true;
}
