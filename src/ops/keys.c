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
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ops/keys.h"
#include "ops/order.h"

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
		anago_order_is_transitive(opcintype, elemtype, elemtype);
	if (key->searchable)
		fmgr_info(cmp, &key->elemcmp);
}

/*
 * Whether entries that lie between positions made from this condition are
 * known to satisfy it.
 */
static bool
order_is_sure(const AnagoKey *key, Relation indexrel)
{
	FmgrInfo	proc;

	return position_proc(key, indexrel, &proc) &&
		anago_order_is_sure(indexrel, key->desc->attno - 1, key->righttype,
							proc.fn_oid, key->desc->opfuncid);
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
	key->sure = order_is_sure(key, indexrel);
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
init_bounds(AnagoKeys *keys, Relation indexrel, int col)
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
		keys->key[lower].bounds = true;
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
		keys->key[upper].bounds = true;
	}
	else if (!nulls_first)
	{
		add_entry(&keys->end, keys->end_key, keys, indexrel, col,
				  ANAGO_EDGE_NULL);
		keys->end_nextkey = false;
	}
}

/* What is to be rechecked: conditions that do not bound, or not for sure. */
static void
init_recheck(AnagoKeys *keys)
{
	keys->recheck = palloc(sizeof(int) * (keys->n + 1));
	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (!key->bounds ||
			(!key->sure && key->desc->kind != ANAGO_KEY_IS_NULL))
			keys->recheck[keys->nrecheck++] = i;
	}
}

/* Positions, and what they leave to be rechecked. */
static void
classify(AnagoKeys *keys, Relation indexrel)
{
	int			natts = IndexRelationGetNumberOfKeyAttributes(indexrel);
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
		keys->key[eq].bounds = true;
	}
	if (col < natts)
		init_bounds(keys, indexrel, col);
	init_recheck(keys);
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
