/*-------------------------------------------------------------------------
 *
 * keys.c
 *	  Index conditions: how they bound the walk of a B-tree, and their values.
 *
 * anago_keys_init() looks at each index column in turn.  While a column has
 * an equality condition, that is an entry of both positions.  The first column
 * that has none ends them, with its lower condition for `start` and its upper
 * one for `end`, or the tightest of several (tighten.c).  The rule that makes this right is nbtree's own (_bt_first in
 * nbtsearch.c): tuples that satisfy the conditions of a prefix of columns of
 * this form are contiguous in the index.
 *
 * All B-tree operators are strict, so a NULL value means that nothing
 * matches, and a column with any condition but IS NULL must not be NULL:
 * where no condition bounds the side of the column at which its NULLs are,
 * the edge of the NULLs does.
 *
 * A row comparison bounds the column of its first member, and those of further
 * members that follow this one in the index, in the same direction:
 *
 *		index (a, b, c)		(a, b) > (1, 2)			after (1, 2)
 *							(a, c) > (1, 2)			from (1) on
 *
 * It is always rechecked, as an entry in between may have a NULL there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ops/btree/keys.h"
#include "ops/btree/order.h"
#include "ops/btree/skip.h"
#include "ops/btree/tighten.h"

/* --- classification --- */

/* Whether a position can have an entry for this condition: fill colcmp. */
static bool
init_colcmp(AnagoKey *key, Relation indexrel)
{
	int			col = key->desc->attno - 1;
	Oid			opcintype = indexrel->rd_opcintype[col];
	Oid			procid;

	if (key->righttype == opcintype || key->righttype == InvalidOid)
	{
		fmgr_info_copy(&key->colcmp,
					   index_getprocinfo(indexrel, col + 1, BTORDER_PROC),
					   CurrentMemoryContext);
		return true;
	}
	procid = get_opfamily_proc(indexrel->rd_opfamily[col], opcintype,
							   key->righttype, BTORDER_PROC);
	if (!OidIsValid(procid))
		return false;
	fmgr_info(procid, &key->colcmp);
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
		OidIsValid(cmp) && key->positional &&
		anago_order_is_transitive(opcintype, elemtype, elemtype);
	key->reverse = (indexrel->rd_indoption[col] & INDOPTION_DESC) != 0;
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
	key->positional = init_colcmp(key, indexrel);
	key->sure = key->positional &&
		anago_order_is_sure(indexrel, desc->attno - 1, key->righttype,
							key->colcmp.fn_oid, desc->opfuncid);
	if (desc->kind == ANAGO_KEY_ARRAY)
		init_array_key(key, indexrel, desc);
	else if ((desc->kind == ANAGO_KEY_ROW || desc->kind == ANAGO_KEY_ROW_MORE) &&
			 !key->positional)
		elog(ERROR, "anago: no comparison function for index column %d",
			 desc->attno);
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
		Assert(keys->key[which].positional);
		proc = keys->key[which].colcmp;
		subtype = keys->key[which].righttype;
	}
	ScanKeyEntryInitializeWithInfo(sk, flags, col + 1, InvalidStrategy, subtype,
								   indexrel->rd_indcollation[col], &proc,
								   (Datum) 0);
	map[position->keysz++] = which;
}

/* The conditions on column `col` that are compared with each other, or NULL. */
static AnagoKeyGroup *
find_group(const AnagoKeys *keys, int col)
{
	for (int i = 0; i < keys->ngroups; i++)
		if (keys->key[keys->groups[i]->which[0]].desc->attno == col + 1)
			return keys->groups[i];
	return NULL;
}

static bool
in_group(const AnagoKeyGroup *group, int which)
{
	for (int i = 0; group != NULL && i < group->n; i++)
		if (group->which[i] == which)
			return true;
	return false;
}

/*
 * A condition on column `col` with one of two strategies, or -1.  One of a
 * group goes first: which of the group it is will be seen by value.
 */
static int
find_condition(const AnagoKeys *keys, int col, AnagoKeyKind kind,
			   StrategyNumber strategy, StrategyNumber or_strategy)
{
	const AnagoKeyGroup *group = find_group(keys, col);
	int			found = -1;

	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (key->desc->attno != col + 1 || key->desc->kind != kind ||
			(key->strategy != strategy && key->strategy != or_strategy) ||
			!key->positional ||
			(kind == ANAGO_KEY_ARRAY && !key->searchable))
			continue;
		if (in_group(group, i))
			return i;
		if (found < 0)
			found = i;
	}
	return found;
}

/* A condition on column `col` that fixes its value, or -1. */
static int
find_equality(const AnagoKeys *keys, int col)
{
	int			eq;

	for (int i = 0; i < keys->n; i++)
		if (keys->key[i].desc->attno == col + 1 &&
			(keys->key[i].desc->kind == ANAGO_KEY_IS_NULL ||
			 keys->key[i].desc->kind == ANAGO_KEY_ENTRY))
			return i;
	eq = find_condition(keys, col, ANAGO_KEY_OP,
						BTEqualStrategyNumber, BTEqualStrategyNumber);
	if (eq < 0)
		eq = find_condition(keys, col, ANAGO_KEY_ARRAY,
							BTEqualStrategyNumber, BTEqualStrategyNumber);
	return eq;
}

/*
 * Condition `which` has entries in the positions.  So have those of its group
 * that are of the same side, as the tightest is taken; all, if it is an equality.
 */
static void
mark_bounding(AnagoKeys *keys, int which)
{
	AnagoKey   *key = &keys->key[which];
	AnagoKeyGroup *group = find_group(keys, key->desc->attno - 1);

	key->bounds = true;
	if (!in_group(group, which))
		return;
	for (int i = 0; i < group->n; i++)
	{
		AnagoKey   *other = &keys->key[group->which[i]];

		if (key->strategy == BTEqualStrategyNumber ||
			(key->strategy < BTEqualStrategyNumber) ==
			(other->strategy < BTEqualStrategyNumber))
			other->bounds = true;
	}
}

/* The positions exclude the NULLs of a column. */
static void
mark_not_null(AnagoKeys *keys, int col)
{
	for (int i = 0; i < keys->n; i++)
		if (keys->key[i].desc->attno == col + 1 &&
			keys->key[i].desc->kind == ANAGO_KEY_IS_NOT_NULL)
			keys->key[i].bounds = true;
}

static bool
column_is_not_null(const AnagoKeys *keys, int col)
{
	for (int i = 0; i < keys->n; i++)
		if (keys->key[i].desc->attno == col + 1 &&
			keys->key[i].desc->kind != ANAGO_KEY_IS_NULL &&
			keys->key[i].desc->kind != ANAGO_KEY_ROW_MORE)
			return true;
	return false;
}

/* A bound of column `col`, or -1; a row comparison may bound others, too. */
static int
find_bound(const AnagoKeys *keys, int col, StrategyNumber strict,
		   StrategyNumber inclusive)
{
	int			row = find_condition(keys, col, ANAGO_KEY_ROW, strict, inclusive);

	return row >= 0 ? row :
		find_condition(keys, col, ANAGO_KEY_OP, strict, inclusive);
}

/*
 * Append a bound to a position, of a row comparison as much as there can be.
 * False: that is not all of it.
 */
static bool
add_bound(BTScanInsert position, int *map, AnagoKeys *keys, Relation indexrel,
		  int col, int which, int *row_keysz)
{
	int16		direction = indexrel->rd_indoption[col] & INDOPTION_DESC;

	add_entry(position, map, keys, indexrel, col, which);
	if (keys->key[which].desc->kind != ANAGO_KEY_ROW)
	{
		mark_bounding(keys, which);
		return true;
	}
	*row_keysz = position->keysz;
	for (int i = which + 1; i < keys->n &&
		 keys->key[i].desc->kind == ANAGO_KEY_ROW_MORE; i++)
	{
		col++;
		if (keys->key[i].desc->attno != col + 1 ||
			(indexrel->rd_indoption[col] & INDOPTION_DESC) != direction)
			return false;
		add_entry(position, map, keys, indexrel, col, i);
	}
	return true;
}

/* The first column without an equality: its bounds end the positions. */
static void
init_bounds(AnagoKeys *keys, Relation indexrel, int col)
{
	int16		option = indexrel->rd_indoption[col];
	bool		desc = (option & INDOPTION_DESC) != 0;
	bool		nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	int			above = find_bound(keys, col, BTGreaterStrategyNumber,
								   BTGreaterEqualStrategyNumber);
	int			below = find_bound(keys, col, BTLessStrategyNumber,
								   BTLessEqualStrategyNumber);
	int			lower = desc ? below : above;
	int			upper = desc ? above : below;

	if (!column_is_not_null(keys, col))
		return;
	mark_not_null(keys, col);
	keys->bounds = find_group(keys, col);

	if (lower >= 0)
	{
		StrategyNumber s = keys->key[lower].strategy;

		bool		whole = add_bound(&keys->start, keys->start_key, keys,
									  indexrel, col, lower,
									  &keys->start_row_keysz);

		keys->start_nextkey = whole && (s == BTLessStrategyNumber ||
										s == BTGreaterStrategyNumber);
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

		bool		whole = add_bound(&keys->end, keys->end_key, keys,
									  indexrel, col, upper,
									  &keys->end_row_keysz);

		keys->end_nextkey = !whole || s == BTLessEqualStrategyNumber ||
			s == BTGreaterEqualStrategyNumber;
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

		if (key->desc->kind == ANAGO_KEY_ROW_MORE)
			continue;
		if (!key->bounds || (!key->sure && key->expr != NULL))
			keys->recheck[keys->nrecheck++] = i;
	}
}

static void
init_groups(AnagoKeys *keys, Relation indexrel)
{
	int			natts = IndexRelationGetNumberOfKeyAttributes(indexrel);

	if (keys->n < 2)
		return;
	keys->groups = palloc(sizeof(AnagoKeyGroup *) * natts);
	for (int col = 0; col < natts; col++)
	{
		AnagoKeyGroup *group = anago_group_make(keys, indexrel, col);

		if (group != NULL)
			keys->groups[keys->ngroups++] = group;
	}
}

/* A column that must be NULL, and must not. */
static void
mark_never(AnagoKeys *keys)
{
	for (int i = 0; i < keys->n; i++)
		if (keys->key[i].desc->kind == ANAGO_KEY_IS_NULL &&
			column_is_not_null(keys, keys->key[i].desc->attno - 1))
			keys->never = true;
}

/* Positions, and what they leave to be rechecked. */
static void
classify(AnagoKeys *keys, Relation indexrel, bool may_skip)
{
	int			natts = IndexRelationGetNumberOfKeyAttributes(indexrel);
	int			col;

	init_groups(keys, indexrel);
	if (may_skip && anago_skip_init(keys, indexrel))
	{
		mark_never(keys);
		init_recheck(keys);
		return;
	}
	keys->end_nextkey = true;
	for (col = 0; col < natts; col++)
	{
		int			eq = find_equality(keys, col);

		if (eq < 0)
			break;
		add_entry(&keys->start, keys->start_key, keys, indexrel, col, eq);
		add_entry(&keys->end, keys->end_key, keys, indexrel, col, eq);
		if (keys->key[eq].desc->kind == ANAGO_KEY_ARRAY)
		{
			keys->array_entry[keys->narrays] = col;
			keys->array[keys->narrays++] = eq;
			keys->key[eq].combines = true;
		}
		mark_bounding(keys, eq);
		if (keys->key[eq].desc->kind != ANAGO_KEY_IS_NULL)
			mark_not_null(keys, col);
		else if (column_is_not_null(keys, col))
			keys->never = true;
	}
	keys->nequal = col;
	if (col < natts)
		init_bounds(keys, indexrel, col);
	init_recheck(keys);
	keys->start_keysz = keys->start.keysz;
	keys->end_keysz = keys->end.keysz;
}

/* Do values of a probe's keys take memory beside the probe itself? */
static bool
take_memory(const AnagoKeys *keys)
{
	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (key->desc->kind == ANAGO_KEY_ARRAY || (key->copy && !key->typbyval))
			return true;
	}
	return false;
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
	classify(keys, indexrel, desc->look == ANAGO_LOOK_MATCHES);
	keys->allocates = take_memory(keys);
	keys->of_entry = desc->look != ANAGO_LOOK_MATCHES;
	if (desc->look != ANAGO_LOOK_ENTRY_BEHIND)
		return;
	keys->start_nextkey = true;
	keys->by_target =
		keys->nequal == IndexRelationGetNumberOfKeyAttributes(indexrel);
}

void
anago_keys_set_version(AnagoKeys *keys, bool heapkeyspace, bool allequalimage)
{
	keys->start.heapkeyspace = keys->end.heapkeyspace =
		keys->seek.heapkeyspace = heapkeyspace;
	keys->start.allequalimage = keys->end.allequalimage =
		keys->seek.allequalimage = allequalimage;
}
