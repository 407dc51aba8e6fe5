/*-------------------------------------------------------------------------
 *
 * toast.c
 *	  Values that are stored outside of their rows, and will surely be fetched: looks.
 *
 * A row has of such a value a pointer: which TOAST table, and which number there.
 * Core follows it when something wants the value, chunk after chunk:
 *
 *		note = (pg_toast_16385, 20711)
 *		look: pg_toast_16385_index, chunk_id = 20711; all chunks, or the first ones
 *
 * A column of a plan's rows has such pointers if it is a table's as it is, whatever
 * nodes pass it on in between; so it is followed down to where it is scanned.  Of a table
 * with partitions each has a TOAST table of its own, and a look.
 *
 * Surely wanted are columns that go to a client, which the node sees when it
 * runs (AnagoPipelineDesc.received), those that rows are inserted with, and what a built-in
 * function is called with for each row, unless it is one that asks for the size
 * or a part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "guc.h"
#include "plan/changes.h"
#include "plan/looks.h"
#include "tryopen.h"

/* Tables that one column may come from; with more it has no look. */
#define MOST_TABLES		4

/* Chunks of a value that are read ahead, of some 2 kB each. */
#define MOST_CHUNKS		256

/* --- where a column comes from --- */

static bool find_tables(const PlannedStmt *stmt, const Plan *plan, const Expr *expr,
						List **tables);

/* Column `resno` of a plan's rows. */
static bool
find_tables_of(const PlannedStmt *stmt, const Plan *plan, AttrNumber resno,
			   List **tables)
{
	if (plan == NULL || resno < 1 || resno > list_length(plan->targetlist))
		return false;
	return find_tables(stmt, plan,
					   list_nth_node(TargetEntry, plan->targetlist, resno - 1)->expr,
					   tables);
}

static bool
find_tables_of_all(const PlannedStmt *stmt, const List *plans, AttrNumber resno,
				   List **tables)
{
	ListCell   *lc;

	foreach(lc, plans)
		if (!find_tables_of(stmt, lfirst(lc), resno, tables))
			return false;
	return true;
}

/* A column of the range table: does it have TOAST pointers, of not too many tables? */
static bool
find_table(const PlannedStmt *stmt, Index rti, AttrNumber attno, List **tables)
{
	const RangeTblEntry *rte = rt_fetch(rti, stmt->rtable);
	Relation	rel;
	Oid			toast = InvalidOid;

	if (rte->rtekind != RTE_RELATION || attno <= 0)
		return false;
	rel = RelationIdGetRelation(rte->relid);
	if (RelationIsValid(rel))
	{
		if (attno <= RelationGetNumberOfAttributes(rel) &&
			TupleDescAttr(RelationGetDescr(rel), attno - 1)->attlen == -1 &&
			TupleDescAttr(RelationGetDescr(rel), attno - 1)->attstorage != TYPSTORAGE_PLAIN)
			toast = rel->rd_rel->reltoastrelid;
		RelationClose(rel);
	}
	if (OidIsValid(toast))
		*tables = list_append_unique_oid(*tables, toast);
	return OidIsValid(toast) && list_length(*tables) <= MOST_TABLES;
}

/* A column of the rows of all tables that a step looks up. */
static bool
find_tables_of_step(const PlannedStmt *stmt, const AnagoStepDesc *step, int at,
					AttrNumber attno, List **tables)
{
	if (step->index_only)
		return false;
	if (step->nmembers == 0)
		return find_table(stmt, step->scanrelid, attno, tables);
	for (int i = 0; i < step->nmembers; i++)
		if (!find_table(stmt, step->members[i].scanrelid,
						list_nth_int(step->members[i].attnos, at), tables))
			return false;
	return true;
}

/* A column of the wide row of a pipeline. */
static bool
find_tables_of_wide(const PlannedStmt *stmt, const CustomScan *cscan, int column,
					List **tables)
{
	const AnagoPipelineDesc *desc;
	const AnagoColumnDesc *filled;
	int			first = column;

	if (!anago_is_pipeline(cscan))
		return false;
	desc = anago_desc_read(cscan);
	filled = &desc->columns[column];
	if (filled->step == ANAGO_STEP_SOURCE)
		return find_tables_of(stmt, linitial(cscan->custom_plans), filled->attno, tables);
	if (filled->step == ANAGO_STEP_NONE || filled->attno == ANAGO_ATTNO_COMPUTED)
		return false;
	while (first > 0 && desc->columns[first - 1].step == filled->step)
		first--;
	return find_tables_of_step(stmt, &desc->steps[filled->step], column - first,
							   filled->attno, tables);
}

/*
 * An expression of a plan node: if it is some tables' column as it is, add their
 * TOAST tables.
 */
static bool
find_tables(const PlannedStmt *stmt, const Plan *plan, const Expr *expr, List **tables)
{
	const Var  *var = (const Var *) expr;

	if (IsA(expr, RelabelType))
		return find_tables(stmt, plan, ((const RelabelType *) expr)->arg, tables);
	if (!IsA(expr, Var))
		return false;
	if (var->varno == INNER_VAR)
		return find_tables_of(stmt, innerPlan(plan), var->varattno, tables);
	switch (nodeTag(plan))
	{
		case T_ModifyTable:
		case T_SetOp:
		case T_RecursiveUnion:
		case T_IndexOnlyScan:
		case T_ForeignScan:
			return false;
		case T_Append:
			return find_tables_of_all(stmt, ((const Append *) plan)->appendplans,
									  var->varattno, tables);
		case T_MergeAppend:
			return find_tables_of_all(stmt, ((const MergeAppend *) plan)->mergeplans,
									  var->varattno, tables);
		case T_SubqueryScan:
			return find_tables_of(stmt, ((const SubqueryScan *) plan)->subplan,
								  var->varattno, tables);
		case T_CteScan:
			return find_tables_of(stmt, list_nth(stmt->subplans,
												 ((const CteScan *) plan)->ctePlanId - 1),
								  var->varattno, tables);
		default:
			break;
	}
	if (var->varno == OUTER_VAR)
		return find_tables_of(stmt, outerPlan(plan), var->varattno, tables);
	if (var->varno == INDEX_VAR && IsA(plan, CustomScan))
		return find_tables_of_wide(stmt, (const CustomScan *) plan, var->varattno - 1,
								   tables);
	if (IS_SPECIAL_VARNO(var->varno))
		return false;
	return find_table(stmt, var->varno, var->varattno, tables);
}

/* --- what functions fetch --- */

/* These may do without the value, or with a part of it. */
static const char *const sparing[] = {
	"texteq", "textne", "byteaeq", "byteane", "octet_length", "bit_length", "substr", "substring", "left",
	"starts_with", "get_byte", "get_bit", "pg_column_size", "pg_column_compression",
	"pg_column_toast_chunk_id"
};

static bool
is_sparing(Oid function, Oid type)
{
	const char *name = get_func_name(function);

	if (name == NULL)
		return true;
	for (int i = 0; i < lengthof(sparing); i++)
		if (strcmp(name, sparing[i]) == 0)
			return true;
	/* where a character is a byte, the size tells */
	return strstr(name, "len") != NULL &&
		(type == BYTEAOID || pg_database_encoding_max_length() == 1);
}

/* A strict function of core's is called with that. */
static void
see_argument(Oid function, Node *arg, Bitmapset **columns)
{
	const Var  *var = (const Var *) arg;

	if (IsA(arg, RelabelType))
		var = (const Var *) ((RelabelType *) arg)->arg;
	if (IsA(var, Var) && var->varno == OUTER_VAR && get_typlen(var->vartype) == -1 &&
		function < FirstNormalObjectId && func_strict(function) &&
		!is_sparing(function, var->vartype))
		*columns = bms_add_member(*columns, var->varattno);
}

/*
 * Columns, Vars of OUTER_VAR, whose values an expression fetches whenever it is evaluated.
 * What is evaluated on some condition only is not looked into.
 */
static void
see_fetched(Node *node, Bitmapset **columns)
{
	List	   *args;
	Oid			function;
	ListCell   *lc;

	switch (nodeTag(node))
	{
		case T_RelabelType:
			see_fetched((Node *) ((RelabelType *) node)->arg, columns);
			return;
		case T_FuncExpr:
			function = ((FuncExpr *) node)->funcid;
			args = ((FuncExpr *) node)->args;
			break;
		case T_OpExpr:
			function = get_opcode(((OpExpr *) node)->opno);
			args = ((OpExpr *) node)->args;
			break;
		default:
			return;
	}
	foreach(lc, args)
	{
		see_argument(function, lfirst(lc), columns);
		see_fetched(lfirst(lc), columns);
	}
}

static Bitmapset *
fetched_by(const List *tlist)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, tlist)
		see_fetched((Node *) lfirst_node(TargetEntry, lc)->expr, &columns);
	return columns;
}

/* Walker: is it, or has it, a function that may fetch a value? */
static bool
may_fetch(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) || IsA(node, OpExpr))
	{
		List	   *args = IsA(node, FuncExpr) ? ((FuncExpr *) node)->args :
			((OpExpr *) node)->args;
		ListCell   *lc;

		foreach(lc, args)
		{
			Node	   *arg = lfirst(lc);

			if (IsA(arg, RelabelType))
				arg = (Node *) ((RelabelType *) arg)->arg;
			if (IsA(arg, Var) && get_typlen(((Var *) arg)->vartype) == -1)
				return true;
		}
	}
	return expression_tree_walker(node, may_fetch, context);
}

bool
anago_may_fetch(const Plan *scan)
{
	return may_fetch((Node *) scan->targetlist, NULL);
}

/* --- looks --- */

/* The index of a TOAST table by which core looks chunks up; NULL: it is not there. */
static Relation
open_index(Relation toast)
{
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(toast))
	{
		Relation	index = anago_try_open(lfirst_oid(lc));

		if (index != NULL && index->rd_index->indisvalid)
			return index;
		anago_try_close(index);
	}
	return NULL;
}

/* By the latest VACUUM, which costs less to ask than to open it; not known: no. */
static bool
was_small(Oid toastid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(toastid));
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);

		result = class->reltuples >= 0 && class->relpages <= ANAGO_SMALL_PAGES;
		ReleaseSysCache(tuple);
	}
	return result;
}

static bool
is_worth_looking(Oid toastid)
{
	return anago_debug_force || !was_small(toastid);
}

bool
anago_stores_outside(const PlannedStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		Relation	rel = rte->rtekind == RTE_RELATION ?
			RelationIdGetRelation(rte->relid) : NULL;
		Oid			toastid = InvalidOid;

		if (RelationIsValid(rel))
		{
			toastid = rel->rd_rel->reltoastrelid;
			RelationClose(rel);
		}
		if (OidIsValid(toastid) && is_worth_looking(toastid))
			return true;
	}
	return false;
}

/* False: looks at that table would be of no use. */
static bool
add_look(AnagoLooks *looks, const Var *column, Oid toastid)
{
	bool		added = false;
	Relation	toast = is_worth_looking(toastid) ? anago_try_open(toastid) : NULL;
	Relation	index = toast == NULL ? NULL : open_index(toast);

	if (index != NULL)
	{
		AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));

		desc->toast = true;
		desc->heapid = toastid;
		desc->indexid = RelationGetRelid(index);
		desc->most = MOST_CHUNKS;
		desc->nkeys = 1;
		desc->keys = palloc0(sizeof(AnagoKeyDesc));
		desc->keys->kind = ANAGO_KEY_OP;
		desc->keys->attno = 1;
		desc->keys->opno = get_opfamily_member(index->rd_opfamily[0], OIDOID, OIDOID,
											   BTEqualStrategyNumber);
		desc->keys->opfuncid = get_opcode(desc->keys->opno);
		added = anago_add_toast(looks, desc, column);
	}
	anago_try_close(index);
	anago_try_close(toast);
	return added;
}

/* A column of `rows`, whose values will be fetched. */
static void
add_column(AnagoLooks *looks, const Plan *rows, const Var *column)
{
	List	   *tables = NIL;
	ListCell   *lc;

	if (get_typlen(column->vartype) != -1 ||
		list_length(looks->looks) == ANAGO_MAX_STEPS ||
		!find_tables_of(looks->stmt, rows, column->varattno, &tables))
		return;
	foreach(lc, tables)
		if (!list_member_oid(looks->useless, lfirst_oid(lc)) &&
			!add_look(looks, column, lfirst_oid(lc)))
			looks->useless = lappend_oid(looks->useless, lfirst_oid(lc));
}

void
anago_find_fetched(AnagoLooks *looks, const Plan *rows, const List *tlist)
{
	Bitmapset  *columns = fetched_by(tlist);
	int			resno = -1;

	while ((resno = bms_next_member(columns, resno)) >= 0)
	{
		const Expr *expr = list_nth_node(TargetEntry, rows->targetlist, resno - 1)->expr;
		Var		   *column = makeVar(OUTER_VAR, resno, exprType((const Node *) expr),
									 exprTypmod((const Node *) expr),
									 exprCollation((const Node *) expr), 0);

		add_column(looks, rows, column);
	}
}

void
anago_find_toast(AnagoLooks *looks, const Plan *rows, const List *tlist)
{
	Bitmapset  *seen = NULL;
	ListCell   *lc;

	foreach(lc, tlist)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		const Expr *expr = tle->expr;

		if (tle->resjunk)
			continue;
		if (IsA(expr, RelabelType))
			expr = ((const RelabelType *) expr)->arg;
		if (!IsA(expr, Var) || ((const Var *) expr)->varno != OUTER_VAR ||
			bms_is_member(((const Var *) expr)->varattno, seen))
			continue;
		seen = bms_add_member(seen, ((const Var *) expr)->varattno);
		add_column(looks, rows, (const Var *) expr);
	}
}
