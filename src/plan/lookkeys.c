/*-------------------------------------------------------------------------
 *
 * lookkeys.c
 *	  The keys of a look: those of an index scan, made over the row that is ahead.
 *
 * All keys must be known when the row is, and the first index column must have
 * one of equality.  Nothing but built-in functions is called, none of them
 * volatile, so that nobody sees that they are called for rows that come to nothing: an
 * error in one is dropped, with which a function of a user would leave more behind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "compat.h"
#include "guc.h"
#include "plan/looks.h"
#include "tryopen.h"

/* --- expressions --- */

typedef struct KeyCxt
{
	AnagoLooks *looks;
	bool		fine;			/* it can be evaluated for a row that is ahead */
	bool		of_row;			/* it depends on the row */
	bool		shown;			/* only EXPLAIN wants it */
	const List *tlist;			/* what INDEX_VAR means in it, or NIL */
} KeyCxt;

/*
 * Built-in functions that are told by an argument what to call (conditions of a domain, functions
 * by which partitions are told apart), or run queries for what they show.
 */
static bool
calls_what_is_named(Oid function)
{
	switch (function)
	{
		case F_PG_GET_RULEDEF_OID:
		case F_PG_GET_RULEDEF_OID_BOOL:
		case F_PG_GET_VIEWDEF_OID:
		case F_PG_GET_VIEWDEF_OID_BOOL:
		case F_PG_GET_VIEWDEF_OID_INT4:
		case F_PG_GET_VIEWDEF_TEXT:
		case F_PG_GET_VIEWDEF_TEXT_BOOL:
#ifdef F_PG_INPUT_IS_VALID
		case F_PG_INPUT_IS_VALID:
		case F_PG_INPUT_ERROR_INFO:
#endif
		case F_SATISFIES_HASH_PARTITION:
			return true;
		default:
			return false;
	}
}

static bool
is_not_plain(Oid function, void *context)
{
	return function >= FirstNormalObjectId || calls_what_is_named(function) ||
		func_volatile(function) == PROVOLATILE_VOLATILE;
}

/*
 * Values for which a built-in function may call others: to_json() has casts that users
 * make, also of enums; arrays, rows and ranges are compared as what they consist of.
 */
static bool
calls_others(Oid type, bool also_for_enum)
{
	if (type == RECORDOID || type == RECORDARRAYOID)
		return true;
	if (type < FirstNormalObjectId)
		return false;
	type = getBaseType(type);
	return type >= FirstNormalObjectId && (also_for_enum || !type_is_enum(type));
}

static bool
any_calls_others(const List *args, bool also_for_enum)
{
	ListCell   *lc;

	foreach(lc, args)
		if (calls_others(exprType(lfirst(lc)), also_for_enum))
			return true;
	return false;
}

/* A function, built-in and not volatile, with its arguments. */
static bool
is_plain_call(Node *node)
{
	if (check_functions_in_node(node, is_not_plain, NULL))
		return false;
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			/* (what gives xml may run queries) */
			return ((FuncExpr *) node)->funcresulttype != XMLOID &&
				!any_calls_others(((FuncExpr *) node)->args, true);
		case T_ScalarArrayOpExpr:
			/* its operator compares elements */
			return !calls_others(exprType(linitial(((ScalarArrayOpExpr *) node)->args)),
								 false);
		case T_CoerceViaIO:
			return !calls_others(exprType((Node *) ((CoerceViaIO *) node)->arg), false) &&
				!calls_others(((CoerceViaIO *) node)->resulttype, false);
		default:
			return !any_calls_others(((OpExpr *) node)->args, false);
	}
}

bool
anago_is_plain(Node *node)
{
	switch (nodeTag(node))
	{
		case T_List:
		case T_Var:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_ArrayExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CoalesceExpr:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
			return true;
		case T_FuncExpr:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_CoerceViaIO:
			return is_plain_call(node);
		default:
			return false;
	}
}

void
anago_add_row_param(AnagoLooks *looks, int paramid, Expr *value)
{
	AnagoRowParam *param = palloc(sizeof(AnagoRowParam));

	param->paramid = paramid;
	param->value = value;
	looks->params = lappend(looks->params, param);
}

static const AnagoRowParam *
find_param(const AnagoLooks *looks, int paramid)
{
	ListCell   *lc;

	foreach(lc, looks->params)
	{
		const AnagoRowParam *param = lfirst(lc);

		if (param->paramid == paramid)
			return param;
	}
	return NULL;
}

/*
 * The column of the wide row that holds a column of the child, or its values' numbers
 * in a TOAST table: behind the first.
 */
static Var *
wide_column(AnagoLooks *looks, const Var *var, Oid toastid)
{
	Var		   *wide = copyObject((Var *) var);
	int			at = 0;

	for (; at < list_length(looks->columns); at++)
		if (list_nth_node(Var, looks->columns, at)->varattno == var->varattno &&
			list_nth_oid(looks->toastids, at) == toastid)
			break;
	if (at == list_length(looks->columns))
	{
		looks->columns = lappend(looks->columns, copyObject(wide));
		looks->toastids = lappend_oid(looks->toastids, toastid);
	}
	wide->varno = INDEX_VAR;
	wide->varattno = at + 2;
	return wide;
}

/* A column of the row that is about to be replaced is wanted. */
static void
want_old(AnagoLooks *looks, const Var *var)
{
	int			at = 0;

	for (; at < list_length(looks->old_columns); at++)
	{
		AttrNumber	attno = list_nth_node(Var, looks->old_columns, at)->varattno;

		if (attno == var->varattno)
			return;
		if (attno > var->varattno)
			break;
	}
	looks->old_columns = list_insert_nth(looks->old_columns, at, copyObject((Var *) var));
}

static Node *over_row(Node *node, KeyCxt *cxt);

static Node *
param_over_row(Param *param, KeyCxt *cxt)
{
	const AnagoRowParam *of_row;

	if (param->paramkind != PARAM_EXEC)
		return (Node *) param;
	of_row = find_param(cxt->looks, param->paramid);
	if (of_row != NULL)
	{
		KeyCxt		value = *cxt;
		Node	   *result;

		result = over_row((Node *) of_row->value, &value);
		cxt->fine = value.fine;
		cxt->of_row = value.of_row;
		return result;
	}
	/* of a loop further out: known while this one goes on; else not known ahead */
	if (!bms_is_member(param->paramid, cxt->looks->of_rows) ||
		bms_is_member(param->paramid, cxt->looks->unset))
		cxt->fine = false;
	else if (!cxt->shown)
		cxt->looks->outside = bms_add_member(cxt->looks->outside, param->paramid);
	return (Node *) param;
}

/* Mutator: parameters that the row sets become what it sets them to. */
static Node *
over_row(Node *node, KeyCxt *cxt)
{
	if (node == NULL)
		return NULL;
	if (!cxt->shown && !anago_is_plain(node))
		cxt->fine = false;
	if (IsA(node, Param))
		return param_over_row((Param *) node, cxt);
	if (IsA(node, Var) && ((Var *) node)->varno == OUTER_VAR)
	{
		cxt->of_row = true;
		if (cxt->shown)
			return copyObject(node);
		return (Node *) wide_column(cxt->looks, (Var *) node, InvalidOid);
	}
	if (IsA(node, Var) && cxt->looks->old_relid > 0 &&
		((Var *) node)->varno == cxt->looks->old_relid)
	{
		cxt->of_row = true;
		/* not a system column, nor the whole row */
		if (((Var *) node)->varattno <= 0)
			cxt->fine = false;
		else if (!cxt->shown)
			want_old(cxt->looks, (Var *) node);
		return copyObject(node);
	}
	if (IsA(node, Var) && !cxt->shown)
		cxt->fine = false;
	if (IsA(node, Var) && ((Var *) node)->varno == INDEX_VAR)
	{
		AttrNumber	resno = ((Var *) node)->varattno;

		if (resno < 1 || resno > list_length(cxt->tlist))
			cxt->fine = false;
		else
			return copyObject((Node *) list_nth_node(TargetEntry, cxt->tlist,
													 resno - 1)->expr);
	}
	if (!cxt->fine)
		return node;
	return expression_tree_mutator(node, over_row, cxt);
}

/* --- indexes --- */

/* Compared by built-in functions alone, whatever the value? */
bool
anago_is_plain_type(Oid type)
{
	type = getBaseType(type);
	return type < FirstNormalObjectId || type_is_enum(type);
}

/* A heap whose blocks are read through shared buffers. */
static bool
is_readable(Relation heap)
{
	return heap->rd_rel->relam == HEAP_TABLE_AM_OID && !RelationUsesLocalBuffers(heap);
}

/* A B-tree that is searched by built-in functions alone. */
static bool
is_plain_tree(Relation index, const AnagoStepDesc *desc)
{
	if (index->rd_rel->relam != BTREE_AM_OID)
		return false;
	for (int i = 0; i < desc->nkeys; i++)
	{
		int			col = desc->keys[i].attno - 1;

		if (index->rd_opfamily[col] >= FirstNormalObjectId ||
			desc->keys[i].opfuncid >= FirstNormalObjectId ||
			!anago_is_plain_type(TupleDescAttr(RelationGetDescr(index), col)->atttypid))
			return false;
	}
	return true;
}

static bool
fixes_first_column(Relation index, const AnagoStepDesc *desc)
{
	for (int i = 0; i < desc->nkeys; i++)
	{
		const AnagoKeyDesc *key = &desc->keys[i];

		if (key->attno == 1 &&
			(key->kind == ANAGO_KEY_OP || key->kind == ANAGO_KEY_ARRAY ||
			 key->kind == ANAGO_KEY_ENTRY) &&
			get_op_opfamily_strategy(key->opno, index->rd_opfamily[0]) ==
			BTEqualStrategyNumber)
			return true;
	}
	return false;
}

bool
anago_is_worth_probing(Relation heap, Relation index)
{
	BlockNumber heap_pages;
	BlockNumber index_pages;

	if (!is_readable(heap))
		return false;
	if (anago_debug_force)
		return true;
	heap_pages = RelationGetNumberOfBlocks(heap);
	index_pages = RelationGetNumberOfBlocks(index);
	return heap_pages + index_pages > ANAGO_SMALL_PAGES &&
		(anago_is_cold(heap, heap_pages) || anago_is_cold(index, index_pages));
}

static bool
is_worth_it(Relation heap, Relation index, const AnagoStepDesc *desc)
{
	BlockNumber pages;

	if (desc->toast && RelationGetNumberOfBlocks(heap) == 0)
		return false;
	if (anago_debug_force || desc->look == ANAGO_LOOK_MATCHES)
		return anago_is_worth_probing(heap, index);
	pages = RelationGetNumberOfBlocks(index);
	return pages > ANAGO_SMALL_PAGES && anago_is_cold(index, pages);
}

static bool
table_can_be_read(Relation heap, Relation index, const AnagoStepDesc *desc)
{
	return is_readable(heap);
}

static bool
table_qualifies(Relation heap, Relation index, const AnagoStepDesc *desc)
{
	return is_readable(heap) && is_worth_it(heap, index, desc);
}

/* Some partition's; or of an index that only a partition has, that one's. */
static bool
route_qualifies(Relation heap, Relation index, const AnagoStepDesc *desc,
				AnagoJudgeTable judge)
{
	bool		own = index->rd_index->indrelid != RelationGetRelid(heap);
	Relation	of = own ? anago_try_open(index->rd_index->indrelid) : heap;
	bool		result;

	if (of == NULL)
		return false;
	result = own && of->rd_rel->relkind == RELKIND_RELATION ? judge(of, index, desc) :
		anago_route_is_worth_it(of, desc, judge);
	if (own)
		anago_try_close(of);
	return result;
}

static bool
index_qualifies(const AnagoLooks *looks, const AnagoStepDesc *desc,
				AnagoJudgeTable judge)
{
	Oid			relid = OidIsValid(desc->heapid) ? desc->heapid :
		rt_fetch(desc->scanrelid, looks->stmt->rtable)->relid;
	Relation	heap = RelationIdGetRelation(relid);
	Relation	index = RelationIdGetRelation(desc->indexid);
	bool		result = RelationIsValid(heap) && RelationIsValid(index) &&
		is_plain_tree(index, desc) && fixes_first_column(index, desc) &&
		(desc->routed ? route_qualifies(heap, index, desc, judge) :
		 judge(heap, index, desc));

	if (RelationIsValid(index))
		RelationClose(index);
	if (RelationIsValid(heap))
		RelationClose(heap);
	return result;
}

/* Of one of an Append's tables that is no matter, but one of them all must be worth it. */
static bool
is_of_use(AnagoLooks *looks, const AnagoStepDesc *desc)
{
	if (index_qualifies(looks, desc, table_qualifies))
	{
		looks->nworth = list_length(looks->looks) + 1;
		return true;
	}
	return (desc->firsts.append > 0 || desc->firsts.merged > 0) &&
		index_qualifies(looks, desc, table_can_be_read);
}

/* --- looks --- */

/* Make the keys over the row, and what is shown of them; false: that can't be done. */
static bool
make_keys(AnagoLooks *looks, AnagoStepDesc *desc, List *shown, const List *tlist)
{
	static const AnagoStepExprs evaluated[] = {
		ANAGO_EXPRS_KEYS, ANAGO_EXPRS_WHEN, ANAGO_EXPRS_ROUTE
	};
	KeyCxt		cxt = {.looks = looks,.fine = true};

	for (int i = 0; i < lengthof(evaluated); i++)
		desc->exprs[evaluated[i]] = (List *)
			expression_tree_mutator((Node *) desc->exprs[evaluated[i]], over_row, &cxt);
	if (!cxt.fine || !cxt.of_row)
		return false;
	cxt.shown = true;
	cxt.tlist = tlist;
	desc->exprs[ANAGO_EXPRS_SHOW_COND] = (List *)
		expression_tree_mutator((Node *) shown, over_row, &cxt);
	return cxt.fine;
}

bool
anago_make_over_row(AnagoLooks *looks, List **values)
{
	KeyCxt		cxt = {.looks = looks,.fine = true};

	*values = (List *) expression_tree_mutator((Node *) *values, over_row, &cxt);
	return cxt.fine;
}

static bool
is_there(const AnagoLooks *looks, const AnagoStepDesc *desc)
{
	ListCell   *lc;

	foreach(lc, looks->looks)
	{
		const AnagoStepDesc *other = lfirst(lc);

		if (other->indexid == desc->indexid && other->scanrelid == desc->scanrelid &&
			other->look == desc->look && desc->look == ANAGO_LOOK_MATCHES &&
			!OidIsValid(desc->heapid))
			return true;
	}
	return false;
}

/* Then it has a first row for each combination of elements, and not one. */
static bool
has_lists(const AnagoStepDesc *desc)
{
	for (int i = 0; i < desc->nkeys; i++)
		if (desc->keys[i].kind == ANAGO_KEY_ARRAY)
			return true;
	return false;
}

bool
anago_add_look(AnagoLooks *looks, AnagoStepDesc *desc, List *shown, const List *tlist,
			   int most, bool filtered)
{
	int			ncolumns = list_length(looks->columns);
	List	   *old_columns = list_copy(looks->old_columns);
	Bitmapset  *outside = bms_copy(looks->outside);

	desc->jointype = JOIN_ANTI;
	desc->most = most > 0 && filtered ? most * ANAGO_LOOK_FILTERED : most;
	desc->firsts = looks->firsts;
	if (looks->firsts.append > 0 && looks->counts)
		desc->firsts.per_row = desc->most / looks->firsts.most;
	if (list_length(looks->looks) < ANAGO_MAX_STEPS && !is_there(looks, desc) &&
		!(desc->firsts.merged > 0 && has_lists(desc)) &&
		make_keys(looks, desc, shown, tlist) && is_of_use(looks, desc))
	{
		looks->looks = lappend(looks->looks, desc);
		if (!OidIsValid(desc->heapid))
			looks->relids = bms_add_member(looks->relids, desc->scanrelid);
		return true;
	}
	looks->columns = list_truncate(looks->columns, ncolumns);
	looks->toastids = list_truncate(looks->toastids, ncolumns);
	looks->old_columns = old_columns;
	looks->outside = outside;
	return false;
}

bool
anago_add_look_behind(AnagoLooks *looks, AnagoStepDesc *desc)
{
	desc->jointype = JOIN_ANTI;
	if (list_length(looks->looks) == ANAGO_MAX_STEPS ||
		!index_qualifies(looks, desc, table_qualifies))
		return false;
	looks->looks = lappend(looks->looks, desc);
	return true;
}

bool
anago_add_toast(AnagoLooks *looks, AnagoStepDesc *desc, const Var *column)
{
	Var		   *number = makeVar(OUTER_VAR, column->varattno, OIDOID, -1, InvalidOid, 0);

	desc->jointype = JOIN_ANTI;
	if (list_length(looks->looks) == ANAGO_MAX_STEPS ||
		!index_qualifies(looks, desc, table_qualifies))
		return false;
	desc->exprs[ANAGO_EXPRS_KEYS] = list_make1(wide_column(looks, number, desc->heapid));
	desc->exprs[ANAGO_EXPRS_SHOW_COND] = list_make1(copyObject((Var *) column));
	looks->looks = lappend(looks->looks, desc);
	return true;
}

/* --- the row that is about to be replaced --- */

Node *
anago_new_entries_var(const AnagoLooks *looks)
{
	return (Node *) makeVar(looks->old_relid, ANAGO_ATTNO_COMPUTED, BOOLOID, -1,
							InvalidOid, 0);
}

bool
anago_add_old_row(AnagoLooks *looks, AnagoStepDesc *desc)
{
	static const AnagoStepExprs evaluated[] = {
		ANAGO_EXPRS_KEYS, ANAGO_EXPRS_COMPUTED, ANAGO_EXPRS_WHEN
	};
	KeyCxt		cxt = {.looks = looks,.fine = true};

	for (int i = 0; i < lengthof(evaluated); i++)
		desc->exprs[evaluated[i]] = (List *)
			expression_tree_mutator((Node *) desc->exprs[evaluated[i]], over_row, &cxt);
	if (!cxt.fine)
		return false;
	want_old(looks, (Var *) anago_new_entries_var(looks));
	looks->looks = lcons(desc, list_truncate(looks->looks, ANAGO_MAX_STEPS - 1));
	looks->relids = bms_add_member(looks->relids, desc->scanrelid);
	return true;
}
