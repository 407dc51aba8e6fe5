/*-------------------------------------------------------------------------
 *
 * calm.c
 *	  What of a finished plan may be run ahead of demand.
 *
 * As effects.c says it of a query that is being planned: nobody must see that
 * rows are asked for before they are wanted, or for nothing.  So no node of the
 * plan may lock or change rows, and no expression of it call a volatile function, but
 * for those that give a random UUID.
 * Nodes are named here that are known to do neither, with the expressions that
 * they have beside target list and conditions.
 *
 * A CTE is looked at once, however many scans it has: of those that have been, or are
 * being, looked at, each is calm or the whole is not.  One CTE may read another twice,
 * and that one a third twice.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/looks.h"
#include "plantree.h"

typedef struct CalmCxt
{
	const PlannedStmt *stmt;
	Bitmapset  *seen;			/* subplans, by plan_id */
} CalmCxt;

static bool plan_is_calm(CalmCxt *cxt, const Plan *plan);

/* Volatile, and not just of a value that nobody can foresee. */
static bool
is_restless_function(Oid function, void *context)
{
#ifdef F_UUIDV4
	if (function == F_UUIDV4)
		return false;
#endif
	return function != F_GEN_RANDOM_UUID &&
		func_volatile(function) == PROVOLATILE_VOLATILE;
}

static bool
is_restless(Node *node, void *context)
{
	if (node == NULL || IsA(node, Var) || IsA(node, Const))
		return false;
	if (check_functions_in_node(node, is_restless_function, NULL) ||
		IsA(node, NextValueExpr))
		return true;
	return expression_tree_walker(node, is_restless, context);
}

bool
anago_is_restless(Node *expr)
{
	return is_restless(expr, NULL);
}

static bool
subplan_is_calm(CalmCxt *cxt, int plan_id)
{
	if (bms_is_member(plan_id, cxt->seen))
		return true;
	cxt->seen = bms_add_member(cxt->seen, plan_id);
	return plan_is_calm(cxt, list_nth(cxt->stmt->subplans, plan_id - 1));
}

/* Walker: does it use a subplan that may not be run ahead? */
static bool
uses_restless_subplan(Node *node, CalmCxt *cxt)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && !subplan_is_calm(cxt, ((SubPlan *) node)->plan_id))
		return true;
	return expression_tree_walker(node, uses_restless_subplan, cxt);
}

static bool
is_calm(CalmCxt *cxt, const void *expr)
{
	return expr == NULL ||
		(!anago_is_restless((Node *) expr) &&
		 (cxt->stmt->subplans == NIL || !uses_restless_subplan((Node *) expr, cxt)));
}

static bool
all_calm(CalmCxt *cxt, const List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
		if (!plan_is_calm(cxt, lfirst(lc)))
			return false;
	return true;
}

static bool
scan_is_calm(CalmCxt *cxt, const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_ForeignScan:
		case T_BitmapAnd:
		case T_BitmapOr:
			return true;
		case T_IndexScan:
			return is_calm(cxt, ((const IndexScan *) plan)->indexqual) &&
				is_calm(cxt, ((const IndexScan *) plan)->indexorderby);
		case T_IndexOnlyScan:
			return is_calm(cxt, ((const IndexOnlyScan *) plan)->indexqual) &&
				is_calm(cxt, ((const IndexOnlyScan *) plan)->indexorderby);
		case T_BitmapIndexScan:
			return is_calm(cxt, ((const BitmapIndexScan *) plan)->indexqual);
		case T_BitmapHeapScan:
			return is_calm(cxt, ((const BitmapHeapScan *) plan)->bitmapqualorig);
		case T_TidScan:
			return is_calm(cxt, ((const TidScan *) plan)->tidquals);
		case T_SubqueryScan:
			return plan_is_calm(cxt, ((const SubqueryScan *) plan)->subplan);
		case T_FunctionScan:
			return is_calm(cxt, ((const FunctionScan *) plan)->functions);
		case T_ValuesScan:
			return is_calm(cxt, ((const ValuesScan *) plan)->values_lists);
		case T_CteScan:
			return subplan_is_calm(cxt, ((const CteScan *) plan)->ctePlanId);
		case T_CustomScan:
			return strncmp(((const CustomScan *) plan)->methods->CustomName, "Anago", 5) == 0 &&
				is_calm(cxt, ((const CustomScan *) plan)->custom_exprs);
		default:
			return false;
	}
}

static bool
join_is_calm(CalmCxt *cxt, const Join *join)
{
	if (!is_calm(cxt, join->joinqual))
		return false;
	if (IsA(join, HashJoin))
		return is_calm(cxt, ((const HashJoin *) join)->hashclauses);
	if (IsA(join, MergeJoin))
		return is_calm(cxt, ((const MergeJoin *) join)->mergeclauses);
	return true;
}

static bool
node_is_calm(CalmCxt *cxt, const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_NestLoop:
		case T_HashJoin:
		case T_MergeJoin:
			return join_is_calm(cxt, (const Join *) plan);
		case T_Limit:
			return is_calm(cxt, ((const Limit *) plan)->limitCount) &&
				is_calm(cxt, ((const Limit *) plan)->limitOffset);
		case T_Result:
			return is_calm(cxt, ((const Result *) plan)->resconstantqual);
		case T_Append:
		case T_MergeAppend:
		case T_Sort:
		case T_IncrementalSort:
		case T_Agg:
		case T_Group:
		case T_Unique:
		case T_Material:
		case T_Hash:
		case T_SetOp:
		case T_ProjectSet:
		case T_Gather:
		case T_GatherMerge:
			return true;
		case T_WindowAgg:
			return is_calm(cxt, ((const WindowAgg *) plan)->startOffset) &&
				is_calm(cxt, ((const WindowAgg *) plan)->endOffset);
		case T_Memoize:
			return is_calm(cxt, ((const Memoize *) plan)->param_exprs);
		default:
			return scan_is_calm(cxt, plan);
	}
}

static bool
initplans_are_calm(CalmCxt *cxt, const Plan *plan)
{
	return plan->initPlan == NIL ||
		!uses_restless_subplan((Node *) plan->initPlan, cxt);
}

static bool
plan_is_calm(CalmCxt *cxt, const Plan *plan)
{
	if (plan == NULL)
		return true;
	return is_calm(cxt, plan->targetlist) && is_calm(cxt, plan->qual) &&
		initplans_are_calm(cxt, plan) && node_is_calm(cxt, plan) &&
		plan_is_calm(cxt, outerPlan(plan)) &&
		plan_is_calm(cxt, innerPlan(plan)) &&
		all_calm(cxt, anago_plans_below(plan));
}

bool
anago_plan_is_calm(const PlannedStmt *stmt, const Plan *plan)
{
	CalmCxt		cxt = {.stmt = stmt};
	bool		calm = plan_is_calm(&cxt, plan);

	bms_free(cxt.seen);
	return calm;
}
