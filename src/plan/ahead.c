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
 *		scan			above it, if it evaluates subqueries that have looks:
 *						the node evaluates them then (subplans.c)
 *		ModifyTable		below it, if rows lead to leaves of indexes or by
 *						foreign keys (modify.c), or are inserted with values
 *						of others (toast.c)
 *		the whole		above it, if rows have values that are stored elsewhere
 *						(toast.c)
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
#include "plan/changes.h"
#include "plan/looks.h"
#include "plan/paths.h"
#include "plantree.h"

typedef struct PlaceCxt
{
	PlannedStmt *stmt;
	Bitmapset  *of_rows;		/* parameters that rows set, */
	Bitmapset  *of_initplans;	/* and initplans */
	List	   *initplans;		/* of these, the SubPlans; CTEs are not there */
	int			ninitplans;		/* CTEs are */
	bool		knows_restless; /* the next is known: */
	bool		restless;		/* one of them may not be run ahead of demand */
	List	   *limited;		/* plans of which a LIMIT wants few rows */
	int			last_id;		/* greatest plan_node_id */
	bool		changes;		/* some node changes rows */
	bool		loops;			/* some nested loop hands parameters on */
	bool		scans;			/* some scan may be worth a look */
	bool		may_cut;		/* scans may be cut for the sake of subqueries */
	bool		correlated;		/* there may be correlated ones */
	bool		knows_outside;	/* the next is known: */
	bool		outside;		/* tables have values that are stored outside */
} PlaceCxt;

typedef Plan *(*VisitPlan) (Plan *plan, PlaceCxt *cxt);

static const CustomScanMethods *ahead_methods = NULL;

void
anago_ahead_init(const CustomScanMethods *methods)
{
	ahead_methods = methods;
}

/* --- walking --- */

static void visit_below(Plan *plan, VisitPlan visit, PlaceCxt *cxt);

/* Those below first; what stands there from now on. */
static Plan *
visit_plan(Plan *plan, VisitPlan visit, PlaceCxt *cxt)
{
	if (plan == NULL)
		return NULL;
	visit_below(plan, visit, cxt);
	return visit(plan, cxt);
}

static void
visit_all(List *plans, VisitPlan visit, PlaceCxt *cxt)
{
	ListCell   *lc;

	foreach(lc, plans)
		lfirst(lc) = visit_plan(lfirst(lc), visit, cxt);
}

/*
 * A merge join goes back in its inner side.  A scan can, alone or below a Result;
 * as two nodes it could not.
 */
static void
visit_inner(Plan *plan, VisitPlan visit, PlaceCxt *cxt)
{
	Plan	   *inner = innerPlan(plan);
	bool		may_cut = cxt->may_cut;

	if (IsA(plan, MergeJoin) && !IsA(inner, Sort) && !IsA(inner, Material))
		cxt->may_cut = false;
	innerPlan(plan) = visit_plan(inner, visit, cxt);
	cxt->may_cut = may_cut;
}

/*
 * What a node of ours has in its place for EvalPlanQual is for one row, and filters it as
 * the whole scan does, also where that is cut.
 */
static void
visit_others(Plan *plan, VisitPlan visit, PlaceCxt *cxt)
{
	bool		may_cut = cxt->may_cut;

	if (IsA(plan, CustomScan) && anago_is_pipeline((CustomScan *) plan) &&
		anago_desc_is_rechecked((CustomScan *) plan))
		cxt->may_cut = false;
	visit_all(anago_plans_below(plan), visit, cxt);
	cxt->may_cut = may_cut;
}

static void
visit_below(Plan *plan, VisitPlan visit, PlaceCxt *cxt)
{
	outerPlan(plan) = visit_plan(outerPlan(plan), visit, cxt);
	visit_inner(plan, visit, cxt);
	visit_others(plan, visit, cxt);
	if (IsA(plan, SubqueryScan))
		((SubqueryScan *) plan)->subplan =
			visit_plan(((SubqueryScan *) plan)->subplan, visit, cxt);
}

static void
visit_stmt(VisitPlan visit, PlaceCxt *cxt)
{
	cxt->stmt->planTree = visit_plan(cxt->stmt->planTree, visit, cxt);
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
		SubPlan    *initplan = lfirst_node(SubPlan, lc);

		cxt->ninitplans++;
		if (initplan->subLinkType == CTE_SUBLINK)
			continue;
		foreach(param, initplan->setParam)
			cxt->of_initplans = bms_add_member(cxt->of_initplans, lfirst_int(param));
		cxt->initplans = lappend(cxt->initplans, initplan);
	}
}

static bool
has_restless_initplan(PlaceCxt *cxt)
{
	ListCell   *lc;

	if (!cxt->knows_restless)
		foreach(lc, cxt->initplans)
			cxt->restless |= !anago_plan_is_calm(cxt->stmt,
												 list_nth(cxt->stmt->subplans,
														  ((SubPlan *) lfirst(lc))->plan_id - 1));
	cxt->knows_restless = true;
	return cxt->restless;
}

/* Walker: parameters that rows set for their subqueries. */
static bool
see_subplans(Node *node, PlaceCxt *cxt)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (IsA(node, SubPlan))
		foreach(lc, ((SubPlan *) node)->parParam)
			cxt->of_rows = bms_add_member(cxt->of_rows, lfirst_int(lc));
	return expression_tree_walker(node, see_subplans, cxt);
}

/* What is to be known of the whole plan first. */
static Plan *
see_node(Plan *plan, PlaceCxt *cxt)
{
	cxt->last_id = Max(cxt->last_id, plan->plan_node_id);
	see_initplans(plan, cxt);
	if (IsA(plan, Limit))
		cxt->limited = anago_add_limited(cxt->limited, (const Limit *) plan);
	cxt->changes |= IsA(plan, ModifyTable);
	cxt->scans = cxt->scans || anago_may_be_looked_at(cxt->stmt, plan);
	if (IsA(plan, NestLoop))
	{
		ListCell   *lc;

		cxt->loops |= ((NestLoop *) plan)->nestParams != NIL;
		foreach(lc, ((NestLoop *) plan)->nestParams)
			cxt->of_rows = bms_add_member(cxt->of_rows,
										  lfirst_node(NestLoopParam, lc)->paramno);
	}
	return plan;
}

/* And of its expressions, where there are subplans that are no initplans. */
static Plan *
see_expressions(Plan *plan, PlaceCxt *cxt)
{
	(void) see_subplans((Node *) plan->targetlist, cxt);
	(void) see_subplans((Node *) plan->qual, cxt);
	if (IsA(plan, CustomScan))
		(void) see_subplans((Node *) ((CustomScan *) plan)->custom_exprs, cxt);
	return plan;
}

/* --- the node --- */

/*
 * The columns of the child, as they are.  Constants stay such: ModifyTable wants
 * them where a table has no column to be set.
 */
static List *
child_columns(const Plan *child)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, child->targetlist)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		TargetEntry *own = flatCopyTargetEntry(tle);

		if (!IsA(tle->expr, Const))
			own->expr = (Expr *) makeVarFromTargetEntry(OUTER_VAR, tle);
		tlist = lappend(tlist, own);
	}
	return tlist;
}

/*
 * The wide row: where a row is held, then its columns that are wanted, and then those of
 * the row that it is going to replace, which the first step finds.
 */
static void
lay_out_columns(AnagoPipelineDesc *desc, const AnagoLooks *looks)
{
	List	   *columns = list_concat_copy(looks->columns, looks->old_columns);
	int			of_child = list_length(looks->columns);
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

		desc->columns[at].step = at <= of_child ? ANAGO_STEP_SOURCE : 0;
		desc->columns[at].attno = lfirst_node(Var, lc)->varattno;
		if (at <= of_child)
			desc->columns[at].toastid = list_nth_oid(looks->toastids, at - 1);
		desc->wide = lappend(desc->wide,
							 makeTargetEntry(lfirst(lc), at + 1, NULL, false));
	}
}

/* Mutator: columns of the row that is going to be replaced are those of the wide row. */
static Node *
over_wide(Node *node, const AnagoLooks *looks)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == looks->old_relid)
	{
		Var		   *var = copyObject((Var *) node);
		int			at = 0;

		while (list_nth_node(Var, looks->old_columns, at)->varattno != var->varattno)
			at++;
		var->varno = INDEX_VAR;
		var->varattno = list_length(looks->columns) + at + 2;
		return (Node *) var;
	}
	return expression_tree_mutator(node, over_wide, (void *) looks);
}

/* What is evaluated of a look. */
static void
set_over_wide(AnagoStepDesc *desc, const AnagoLooks *looks)
{
	static const AnagoStepExprs evaluated[] = {
		ANAGO_EXPRS_KEYS, ANAGO_EXPRS_WHEN, ANAGO_EXPRS_COMPUTED, ANAGO_EXPRS_ROUTE
	};

	for (int i = 0; i < lengthof(evaluated); i++)
		desc->exprs[evaluated[i]] = (List *)
			expression_tree_mutator((Node *) desc->exprs[evaluated[i]], over_wide,
									(void *) looks);
}

/* `targetlist`: what it gives, over Vars of OUTER_VAR. */
static Plan *
make_ahead(PlaceCxt *cxt, Plan *child, const AnagoLooks *looks, List *targetlist)
{
	CustomScan *cscan = makeNode(CustomScan);
	Plan	   *plan = &cscan->scan.plan;
	AnagoPipelineDesc desc = {.child_source = true,.looks = true,
		.received = looks->received};
	ListCell   *lc;

	desc.steps = palloc0(sizeof(AnagoStepDesc) * list_length(looks->looks));
	foreach(lc, looks->looks)
	{
		desc.steps[desc.nsteps] = *(AnagoStepDesc *) lfirst(lc);
		if (looks->old_relid > 0)
			set_over_wide(&desc.steps[desc.nsteps], looks);
		desc.nsteps++;
	}

	plan->plan_node_id = ++cxt->last_id;
	plan->startup_cost = child->startup_cost;
	plan->total_cost = child->total_cost;
	plan->plan_rows = child->plan_rows;
	plan->plan_width = child->plan_width;
	plan->parallel_safe = child->parallel_safe;
	plan->targetlist = targetlist;
	plan->lefttree = child;
	plan->extParam = bms_union(child->extParam, looks->outside);
	plan->allParam = bms_union(child->allParam, looks->outside);
	cscan->methods = ahead_methods;
	lay_out_columns(&desc, looks);
	cscan->custom_relids = bms_copy(looks->relids);
	anago_desc_write(cscan, &desc, looks->relids);
	return plan;
}

/* --- where it goes --- */

static bool
is_worth_it(const Plan *rows, const PlaceCxt *cxt)
{
	return anago_debug_force ||
		(rows->plan_rows >= ANAGO_FEWEST_AHEAD && !list_member_ptr(cxt->limited, rows));
}

/* Of a scan that may be cut: those that come to the subqueries in its filter. */
static bool
is_scan_worth_it(Plan *scan, const PlaceCxt *cxt)
{
	return is_worth_it(scan, cxt) ||
		(cxt->correlated && anago_most_filtered(scan) >= ANAGO_FEWEST_AHEAD);
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
 * Does it ask for an initplan that may not be run ahead of demand?  One can be
 * asked for by another one: where there is one, none is.
 */
static bool
asks_restless(const Plan *plan, PlaceCxt *cxt)
{
	return bms_overlap(plan->extParam, cxt->of_initplans) && has_restless_initplan(cxt);
}

/* May its rows be asked for ahead of demand? */
static bool
may_run_ahead(const Plan *plan, PlaceCxt *cxt)
{
	return !asks_restless(plan, cxt) && anago_plan_is_calm(cxt->stmt, plan);
}

static void
place_in_nestloop(NestLoop *loop, PlaceCxt *cxt)
{
	AnagoLooks	looks = {.stmt = cxt->stmt,.of_rows = cxt->of_rows};
	Plan	   *outer = outerPlan(loop);
	ListCell   *lc;

	if (loop->nestParams == NIL || !is_worth_it(outer, cxt))
		return;
	foreach(lc, loop->nestParams)
	{
		const NestLoopParam *nestparam = lfirst_node(NestLoopParam, lc);

		anago_add_row_param(&looks, nestparam->paramno, (Expr *) nestparam->paramval);
	}
	anago_find_looks(&looks, innerPlan(loop), most_of_inner(loop));
	if (looks.looks != NIL && may_run_ahead(outer, cxt))
		outerPlan(loop) = make_ahead(cxt, outer, &looks, child_columns(outer));
}

static bool
stores_outside(PlaceCxt *cxt)
{
	if (!cxt->knows_outside)
		cxt->outside = anago_stores_outside(cxt->stmt);
	cxt->knows_outside = true;
	return cxt->outside;
}

/* A scan that evaluates subqueries: cut it, with the node above. */
static Plan *
place_at_scan(Plan *scan, PlaceCxt *cxt)
{
	AnagoLooks	looks = {.stmt = cxt->stmt,.of_rows = cxt->of_rows};
	List	   *targetlist;
	List	   *qual;
	Plan	   *ahead;

	if (!is_scan_worth_it(scan, cxt) ||
		!anago_can_cut(scan, cxt->correlated, stores_outside(cxt)) ||
		asks_restless(scan, cxt) ||
		!anago_cut_scan(&looks, scan, &targetlist, &qual))
		return scan;
	ahead = make_ahead(cxt, scan, &looks, targetlist);
	ahead->qual = qual;
	return ahead;
}

/* Plans are made anew when a table changes that the statement does not name. */
static void
depend_on_unnamed(PlaceCxt *cxt, const AnagoLooks *looks)
{
	ListCell   *lc;

	foreach(lc, looks->looks)
	{
		const AnagoStepDesc *desc = lfirst(lc);

		if (OidIsValid(desc->heapid))
			cxt->stmt->relationOids = lappend_oid(cxt->stmt->relationOids, desc->heapid);
	}
}

/* Below it: what its rows lead to when they are changed. */
static void
place_in_modify(ModifyTable *modify, PlaceCxt *cxt)
{
	AnagoLooks	looks = {.stmt = cxt->stmt,.of_rows = cxt->of_rows};
	Plan	   *rows = outerPlan(modify);
	List	   *whole = rows->targetlist;
	List	   *targetlist;

	if (!is_worth_it(rows, cxt) || !anago_may_lead_on(modify, whole))
		return;
	targetlist = child_columns(rows);
	if (modify->operation == CMD_INSERT && anago_is_restless((Node *) whole) &&
		!anago_cut_restless(rows, &targetlist))
		return;
	if (modify->operation == CMD_INSERT)
		anago_find_toast(&looks, rows, targetlist);
	anago_find_changes(&looks, modify, targetlist);
	if (looks.looks == NIL || !may_run_ahead(rows, cxt))
	{
		rows->targetlist = whole;
		return;
	}
	outerPlan(modify) = make_ahead(cxt, rows, &looks, targetlist);
	depend_on_unnamed(cxt, &looks);
}

/* Above the whole plan: values that its rows are stored without, if a client gets them. */
static void
place_on_top(PlaceCxt *cxt)
{
	AnagoLooks	looks = {.stmt = cxt->stmt,.of_rows = cxt->of_rows,.received = true};
	Plan	   *rows = cxt->stmt->planTree;
	List	   *targetlist;

	if (cxt->stmt->commandType != CMD_SELECT || cxt->changes || !cxt->may_cut ||
		!is_worth_it(rows, cxt) || !stores_outside(cxt))
		return;
	targetlist = child_columns(rows);
	anago_find_toast(&looks, rows, targetlist);
	if (looks.looks == NIL || !may_run_ahead(rows, cxt))
		return;
	cxt->stmt->planTree = make_ahead(cxt, rows, &looks, targetlist);
	depend_on_unnamed(cxt, &looks);
}

static Plan *
place_at(Plan *plan, PlaceCxt *cxt)
{
	if (IsA(plan, NestLoop))
		place_in_nestloop((NestLoop *) plan, cxt);
	else if (IsA(plan, ModifyTable))
		place_in_modify((ModifyTable *) plan, cxt);
	else if (cxt->may_cut)
		return place_at_scan(plan, cxt);
	return plan;
}

/*
 * Can anything be said to lead to pages, before the plan is walked?  Nested loops and
 * correlated subqueries have parameters with a type, which that of a Gather has not.
 */
static bool
may_have_looks(PlaceCxt *cxt)
{
	ListCell   *lc;

	foreach(lc, cxt->stmt->paramExecTypes)
		if (OidIsValid(lfirst_oid(lc)))
			return true;
	return cxt->stmt->commandType != CMD_SELECT || cxt->stmt->hasModifyingCTE ||
		(cxt->may_cut && stores_outside(cxt));
}

bool
anago_looks_may_be_of_use(void)
{
	return anago_is_installed() && !anago_nothing_overlaps();
}

void
anago_place_looks(PlannedStmt *stmt, bool may_cut)
{
	PlaceCxt	cxt = {.stmt = stmt,.may_cut = may_cut};

	if (stmt->planTree == NULL || !may_have_looks(&cxt) || !anago_looks_may_be_of_use())
		return;
	visit_stmt(see_node, &cxt);
	if (!cxt.scans && !cxt.changes && !(cxt.may_cut && stores_outside(&cxt)))
		return;
	cxt.correlated = list_length(stmt->subplans) > cxt.ninitplans;
	if (cxt.correlated)
		visit_stmt(see_expressions, &cxt);
	if (cxt.loops || cxt.changes ||
		(cxt.may_cut && (cxt.correlated || stores_outside(&cxt))))
		visit_stmt(place_at, &cxt);
	place_on_top(&cxt);
}
