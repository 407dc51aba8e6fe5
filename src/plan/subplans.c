/*-------------------------------------------------------------------------
 *
 * subplans.c
 *	  AnagoAhead where a scan evaluates subqueries of its rows.
 *
 * A correlated subquery is run for each row by whatever node has it in its target
 * list or filter.  Where that is a scan, it is cut in two: the scan gives the
 * columns that are wanted, and AnagoAhead above it evaluates the rest, for rows
 * whose looks are done:
 *
 *		Seq Scan on part		p_partkey, (SubPlan 1)		p_name like ...
 *
 *		AnagoAhead				p_partkey, (SubPlan 1)
 *		  -> Seq Scan on part	p_partkey					p_name like ...
 *
 * Of a filter that has subqueries, conditions move up from the first one with a
 * subquery on, so that their order stays as it is: what hides rows from what
 * might leak them comes first.
 *
 * An AnagoScan has its filter in its step, an AnagoJoin in its last one.  Without the subqueries it reads its pages in
 * any order all the same, and what these read is read ahead: a bitmap scan of core's, which
 * comes to its rows in the order of the table, would have the kernel do that where
 * the subqueries' keys are in the same order.
 *
 * So is a scan whose target list calls functions with values that are stored outside of
 * their rows (toast.c).
 *
 * Likewise where rows are to be inserted: what a volatile function gives, a default by
 * a sequence above all, is computed when the row leaves.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "plan/looks.h"

typedef struct CutCxt
{
	List	   *columns;		/* of the scan from now on: TargetEntries */
	List	   *subplans;		/* SubPlans that are evaluated above it */
	bool		fine;
} CutCxt;

/* A scan whose rows are what they are: no aggregates, no parts of other nodes. */
static bool
is_scan(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SeqScan:
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
		case T_SubqueryScan:
		case T_ValuesScan:
		case T_CteScan:
			return true;
		case T_CustomScan:
			return anago_is_pipeline((const CustomScan *) plan);
		default:
			return false;
	}
}

static bool
has_correlated(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && ((SubPlan *) node)->parParam != NIL)
		return true;
	return expression_tree_walker(node, has_correlated, context);
}

/* Where it has the conditions on its rows that are no conditions of an index. */
static List **
filter_of(Plan *scan)
{
	List	  **filter = NULL;

	if (IsA(scan, CustomScan) && scan->qual == NIL)
		filter = anago_desc_filter((CustomScan *) scan);
	return filter != NULL ? filter : &scan->qual;
}

/* A column that the scan gives, as AnagoAhead sees it. */
static Node *
column_of_scan(Expr *expr, CutCxt *cxt)
{
	ListCell   *lc;
	TargetEntry *tle;

	foreach(lc, cxt->columns)
	{
		tle = lfirst_node(TargetEntry, lc);
		if (equal(tle->expr, expr))
			return (Node *) makeVarFromTargetEntry(OUTER_VAR, tle);
	}
	tle = makeTargetEntry(copyObject(expr), list_length(cxt->columns) + 1, NULL, false);
	cxt->columns = lappend(cxt->columns, tle);
	return (Node *) makeVarFromTargetEntry(OUTER_VAR, tle);
}

/* Mutator: what is evaluated above the scan from now on. */
static Node *
above_scan(Node *node, CutCxt *cxt)
{
	Node	   *result;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return column_of_scan((Expr *) node, cxt);
	result = expression_tree_mutator(node, above_scan, cxt);
	if (IsA(node, SubPlan))
	{
		/* one that gives several columns hands them on by parameters */
		if (((SubPlan *) node)->subLinkType == MULTIEXPR_SUBLINK)
			cxt->fine = false;
		cxt->subplans = lappend(cxt->subplans, result);
	}
	return result;
}

/* Conditions up to the first with a correlated subquery. */
static int
conditions_below(const List *qual)
{
	int			n = 0;

	while (n < list_length(qual) && !has_correlated(list_nth(qual, n), NULL))
		n++;
	return n;
}

/* Walker: what the correlated subqueries cost for a row. */
static bool
add_cost(Node *node, Cost *sum)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) && ((SubPlan *) node)->parParam != NIL)
		*sum += ((SubPlan *) node)->per_call_cost;
	return expression_tree_walker(node, add_cost, sum);
}

double
anago_most_filtered(Plan *scan)
{
	Cost		of_row = 0;

	if (!is_scan(scan) || !has_correlated((Node *) *filter_of(scan), NULL))
		return 0;
	(void) add_cost((Node *) *filter_of(scan), &of_row);
	return (scan->total_cost - scan->startup_cost) / Max(of_row, cpu_operator_cost);
}

/* What the subplans read for each row. */
static void
find_in_subplans(AnagoLooks *looks, const List *subplans)
{
	ListCell   *lc;

	foreach(lc, subplans)
	{
		const SubPlan *subplan = lfirst_node(SubPlan, lc);
		ListCell   *lcp;
		ListCell   *lca;

		if (subplan->useHashTable)
			continue;
		looks->params = NIL;
		forboth(lcp, subplan->parParam, lca, subplan->args)
			anago_add_row_param(looks, lfirst_int(lcp), lfirst(lca));
		anago_find_looks(looks, list_nth(looks->stmt->subplans, subplan->plan_id - 1),
						 subplan->subLinkType == EXISTS_SUBLINK ? 1 : 0);
	}
}

bool
anago_can_cut(Plan *scan, bool correlated, bool outside)
{
	return is_scan(scan) &&
		((outside && anago_may_fetch(scan)) ||
		 (correlated && (has_correlated((Node *) scan->targetlist, NULL) ||
						 has_correlated((Node *) *filter_of(scan), NULL))));
}

bool
anago_cut_scan(AnagoLooks *looks, Plan *scan, List **targetlist, List **qual)
{
	CutCxt		cxt = {.fine = true};
	List	   *of_scan = scan->targetlist;
	List	  **place = filter_of(scan);
	List	   *filter = *place;
	int			below = conditions_below(filter);

	*targetlist = (List *) above_scan((Node *) of_scan, &cxt);
	*qual = (List *) above_scan((Node *) list_copy_tail(filter, below), &cxt);
	if (!cxt.fine)
		return false;
	find_in_subplans(looks, cxt.subplans);
	scan->targetlist = cxt.columns;
	*place = list_truncate(list_copy(filter), below);
	anago_find_fetched(looks, scan, *targetlist);
	if (looks->looks != NIL && anago_plan_is_calm(looks->stmt, scan))
		return true;
	scan->targetlist = of_scan;
	*place = filter;
	return false;
}

/* --- rows that are inserted --- */

/* Others than scans, whose target list can be cut as well. */
static bool
has_plain_targetlist(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_NestLoop:
		case T_HashJoin:
		case T_MergeJoin:
		case T_FunctionScan:
			return true;
		case T_Result:
			return outerPlan(plan) != NULL;
		default:
			return is_scan(plan);
	}
}

bool
anago_cut_restless(Plan *plan, List **targetlist)
{
	CutCxt		cxt = {.fine = true};
	ListCell   *lc;

	if (!has_plain_targetlist(plan))
		return false;
	*targetlist = NIL;
	foreach(lc, plan->targetlist)
	{
		TargetEntry *tle = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));

		if (anago_is_restless((Node *) tle->expr))
			tle->expr = (Expr *) above_scan((Node *) tle->expr, &cxt);
		else if (!IsA(tle->expr, Const))
			tle->expr = (Expr *) column_of_scan(tle->expr, &cxt);
		*targetlist = lappend(*targetlist, tle);
	}
	if (cxt.fine)
		plan->targetlist = cxt.columns;
	return cxt.fine;
}
