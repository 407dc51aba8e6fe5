/*-------------------------------------------------------------------------
 *
 * ahead.c
 *	  Where AnagoAhead goes in a finished plan.
 *
 * Core's plan stays as it is; a node is put in where rows lead to pages that core
 * would read one at a time:
 *
 *		nested loop		below its outer side, if its inner side has looks
 *						(looks.c)
 *
 * That changes no cost and no choice, so it is done when core has finished the
 * plan, parameters and all.  What is put in passes rows on as they are; where there
 * is nothing to wait for it costs next to nothing (node/pace.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "guc.h"
#include "plan/looks.h"

/* Fewer rows are not worth a node. */
#define FEWEST_ROWS		8

typedef struct PlaceCxt
{
	PlannedStmt *stmt;
	Bitmapset  *of_rows;		/* parameters that rows set, */
	Bitmapset  *of_initplans;	/* and initplans, */
	bool		restless;		/* of which one may not be run ahead of demand */
	int			last_id;		/* greatest plan_node_id */
} PlaceCxt;

typedef void (*VisitPlan) (Plan *plan, PlaceCxt *cxt);

static const CustomScanMethods *ahead_methods = NULL;

void
anago_ahead_init(const CustomScanMethods *methods)
{
	ahead_methods = methods;
}

/* --- walking --- */

static void visit_below(Plan *plan, VisitPlan visit, PlaceCxt *cxt);

/* Those below first. */
static void
visit_plan(Plan *plan, VisitPlan visit, PlaceCxt *cxt)
{
	if (plan == NULL)
		return;
	visit_below(plan, visit, cxt);
	visit(plan, cxt);
}

static void
visit_all(List *plans, VisitPlan visit, PlaceCxt *cxt)
{
	ListCell   *lc;

	foreach(lc, plans)
		visit_plan(lfirst(lc), visit, cxt);
}

static void
visit_below(Plan *plan, VisitPlan visit, PlaceCxt *cxt)
{
	visit_plan(outerPlan(plan), visit, cxt);
	visit_plan(innerPlan(plan), visit, cxt);
	switch (nodeTag(plan))
	{
		case T_Append:
			visit_all(((Append *) plan)->appendplans, visit, cxt);
			break;
		case T_MergeAppend:
			visit_all(((MergeAppend *) plan)->mergeplans, visit, cxt);
			break;
		case T_BitmapAnd:
			visit_all(((BitmapAnd *) plan)->bitmapplans, visit, cxt);
			break;
		case T_BitmapOr:
			visit_all(((BitmapOr *) plan)->bitmapplans, visit, cxt);
			break;
		case T_SubqueryScan:
			visit_plan(((SubqueryScan *) plan)->subplan, visit, cxt);
			break;
		case T_CustomScan:
			visit_all(((CustomScan *) plan)->custom_plans, visit, cxt);
			break;
		default:
			break;
	}
}

static void
visit_stmt(VisitPlan visit, PlaceCxt *cxt)
{
	visit_plan(cxt->stmt->planTree, visit, cxt);
	visit_all(cxt->stmt->subplans, visit, cxt);
}

/*
 * Initplans are run when their result is first asked for, by whatever is below.
 * CTEs are not: of these each scan is looked at.
 */
static void
see_initplans(const Plan *plan, PlaceCxt *cxt)
{
	ListCell   *lc;
	ListCell   *param;

	foreach(lc, plan->initPlan)
	{
		const SubPlan *initplan = lfirst_node(SubPlan, lc);

		if (initplan->subLinkType == CTE_SUBLINK)
			continue;
		foreach(param, initplan->setParam)
			cxt->of_initplans = bms_add_member(cxt->of_initplans, lfirst_int(param));
		if (!anago_plan_is_calm(cxt->stmt, list_nth(cxt->stmt->subplans,
													initplan->plan_id - 1)))
			cxt->restless = true;
	}
}

/* What is to be known of the whole plan first. */
static void
see_node(Plan *plan, PlaceCxt *cxt)
{
	cxt->last_id = Max(cxt->last_id, plan->plan_node_id);
	see_initplans(plan, cxt);
	if (IsA(plan, NestLoop))
	{
		ListCell   *lc;

		foreach(lc, ((NestLoop *) plan)->nestParams)
			cxt->of_rows = bms_add_member(cxt->of_rows,
										  lfirst_node(NestLoopParam, lc)->paramno);
	}
}

/* --- the node --- */

/* The columns of the child, as they are. */
static List *
child_columns(const Plan *child)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, child->targetlist)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		TargetEntry *own = flatCopyTargetEntry(tle);

		own->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, tle);
		tlist = lappend(tlist, own);
	}
	return tlist;
}

/* The wide row: where a row is held, then its columns that are wanted. */
static void
lay_out_columns(AnagoPipelineDesc *desc, List *columns)
{
	Expr	   *place = (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
										   Int32GetDatum(0), false, true);
	ListCell   *lc;

	desc->wide = list_make1(makeTargetEntry(place, 1, NULL, false));
	desc->ncolumns = list_length(columns) + 1;
	desc->columns = palloc0(sizeof(AnagoColumnDesc) * desc->ncolumns);
	desc->columns[0].step = ANAGO_STEP_SOURCE;
	foreach(lc, columns)
	{
		int			at = list_length(desc->wide);

		desc->columns[at].step = ANAGO_STEP_SOURCE;
		desc->columns[at].attno = lfirst_node(Var, lc)->varattno;
		desc->wide = lappend(desc->wide,
							 makeTargetEntry(lfirst(lc), at + 1, NULL, false));
	}
}

static Plan *
make_ahead(PlaceCxt *cxt, Plan *child, const AnagoLooks *looks)
{
	CustomScan *cscan = makeNode(CustomScan);
	Plan	   *plan = &cscan->scan.plan;
	AnagoPipelineDesc desc = {.child_source = true,.looks = true};
	ListCell   *lc;

	desc.steps = palloc0(sizeof(AnagoStepDesc) * list_length(looks->looks));
	foreach(lc, looks->looks)
		desc.steps[desc.nsteps++] = *(AnagoStepDesc *) lfirst(lc);

	plan->plan_node_id = ++cxt->last_id;
	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	plan->parallel_safe = child->parallel_safe;
	plan->targetlist = child_columns(child);
	plan->lefttree = child;
	plan->extParam = bms_union(child->extParam, looks->outside);
	plan->allParam = bms_union(child->allParam, looks->outside);
	cscan->methods = ahead_methods;
	lay_out_columns(&desc, looks->columns);
	cscan->custom_relids = bms_copy(looks->relids);
	anago_desc_write(cscan, &desc, looks->relids);
	return plan;
}

/* --- where it goes --- */

static bool
is_worth_it(const Plan *outer)
{
	return outer->plan_rows >= FEWEST_ROWS || anago_debug_force;
}

/* Of an inner side that is left at its first match: how many are of use? */
static int
most_of_inner(const NestLoop *loop)
{
	bool		single = loop->join.inner_unique || loop->join.jointype == JOIN_SEMI ||
		loop->join.jointype == JOIN_ANTI;

	return single && loop->join.joinqual == NIL ? 1 : 0;
}

/*
 * May its rows be asked for ahead of demand?  An initplan that may not be run then
 * can be asked for by another one: where there is one, none is.
 */
static bool
may_run_ahead(const Plan *plan, const PlaceCxt *cxt)
{
	if (cxt->restless && bms_overlap(plan->extParam, cxt->of_initplans))
		return false;
	return anago_plan_is_calm(cxt->stmt, plan);
}

static void
place_in_nestloop(NestLoop *loop, PlaceCxt *cxt)
{
	AnagoLooks	looks = {.stmt = cxt->stmt,.of_rows = cxt->of_rows};
	Plan	   *outer = outerPlan(loop);
	ListCell   *lc;

	if (loop->nestParams == NIL || !is_worth_it(outer))
		return;
	foreach(lc, loop->nestParams)
	{
		const NestLoopParam *nestparam = lfirst_node(NestLoopParam, lc);
		AnagoRowParam *param = palloc(sizeof(AnagoRowParam));

		param->paramid = nestparam->paramno;
		param->value = (Expr *) nestparam->paramval;
		looks.params = lappend(looks.params, param);
	}
	anago_find_looks(&looks, innerPlan(loop), most_of_inner(loop));
	if (looks.looks != NIL && may_run_ahead(outer, cxt))
		outerPlan(loop) = make_ahead(cxt, outer, &looks);
}

static void
place_at(Plan *plan, PlaceCxt *cxt)
{
	if (IsA(plan, NestLoop))
		place_in_nestloop((NestLoop *) plan, cxt);
}

void
anago_place_looks(PlannedStmt *stmt)
{
	PlaceCxt	cxt = {.stmt = stmt};

	if (stmt->planTree == NULL)
		return;
	visit_stmt(see_node, &cxt);
	if (!bms_is_empty(cxt.of_rows))
		visit_stmt(place_at, &cxt);
}
