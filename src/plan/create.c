/*-------------------------------------------------------------------------
 *
 * create.c
 *	  From the winning path to the plan node.
 *
 * Core has made plans of all the paths in custom_paths: of the source, and of
 * each step's index path.  From an index scan's plan we take its conditions
 * and drop the rest.  As no nestloop was on the way, Vars of earlier tables
 * in these conditions are still Vars, and setrefs.c makes them point into the
 * wide row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "operators.h"
#include "plan/create.h"

static const CustomScanMethods *scan_methods = NULL;
static const CustomScanMethods *join_methods = NULL;

static Plan *plan_pipeline(PlannerInfo *root, RelOptInfo *rel,
						   CustomPath *best_path, List *tlist,
						   List *clauses, List *custom_plans);

const CustomPathMethods anago_scan_path_methods = {
	.CustomName = "AnagoScan",
	.PlanCustomPath = plan_pipeline,
};

const CustomPathMethods anago_join_path_methods = {
	.CustomName = "AnagoJoin",
	.PlanCustomPath = plan_pipeline,
};

void
anago_create_init(const CustomScanMethods *scan, const CustomScanMethods *join)
{
	scan_methods = scan;
	join_methods = join;
}

static AnagoDescOrder
order_of(const AnagoPath *apath)
{
	const AnagoPathStep *first = linitial(apath->steps);

	if (apath->cpath.path.pathkeys == NIL && !apath->rechecked)
		return ANAGO_ORDER_NONE;
	return apath->source == NULL &&
		first->ipath->indexscandir == BackwardScanDirection ?
		ANAGO_ORDER_BACKWARD : ANAGO_ORDER_FORWARD;
}

/* Describe source and steps; columns come later. */
static AnagoPipelineDesc *
describe_pipeline(PlannerInfo *root, const AnagoPath *apath, List *custom_plans)
{
	AnagoPipelineDesc *desc = palloc0(sizeof(AnagoPipelineDesc));
	List	   *plans = list_copy(custom_plans);

	desc->child_source = apath->source != NULL;
	desc->may_stop = anago_may_stop(root, apath->cpath.path.pathkeys);
	desc->operators = anago_operators_choose();
	desc->order = order_of(apath);
	desc->rechecked = apath->rechecked;
	if (desc->child_source)
		plans = list_delete_first(plans);

	desc->nsteps = list_length(apath->steps);
	desc->steps = palloc0(sizeof(AnagoStepDesc) * desc->nsteps);
	for (int i = 0; i < desc->nsteps; i++)
	{
		const AnagoPathStep *step = list_nth(apath->steps, i);

		anago_describe_step(root, &desc->steps[i], step, plans, &desc->gate);
		plans = list_delete_first_n(plans, list_length(anago_step_ipaths(step)));
	}
	Assert(plans == NIL);
	return desc;
}

/*
 * Core's own scan, for one row that EvalPlanQual has: it says whether that is still
 * a row of the scan.  It gives the wide row.
 */
static Plan *
plan_recheck(const CustomScan *cscan, Plan *scan)
{
	while (IsA(scan, Result))
		scan = outerPlan(scan);
	scan = copyObject(scan);
	scan->targetlist = copyObject(cscan->custom_scan_tlist);
	return scan;
}

/*
 * PlanCustomPath.  `tlist` may be empty, or be replaced by core later, by
 * expressions over what the path's target has; so the wide row is laid out
 * for the target.  `clauses` are in the step's conditions already.
 */
static Plan *
plan_pipeline(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
			  List *tlist, List *clauses, List *custom_plans)
{
	const AnagoPath *apath = (const AnagoPath *) best_path;
	CustomScan *cscan = makeNode(CustomScan);
	AnagoPipelineDesc *desc = describe_pipeline(root, apath, custom_plans);
	Plan	   *child = desc->child_source ? linitial(custom_plans) : NULL;
	bool		join = best_path->methods == &anago_join_path_methods;

	anago_why_used(apath);

	/* core has put a gate above a scan */
	if (!join)
		desc->gate = NIL;

	cscan->scan.plan.targetlist = tlist;
	cscan->scan.scanrelid = join ? 0 : rel->relid;
	cscan->flags = best_path->flags;
	cscan->methods = join ? join_methods : scan_methods;
	if (child)
		cscan->custom_plans = list_make1(child);
	cscan->custom_scan_tlist =
		anago_lay_out_wide_row(root, desc, apath->steps,
							   best_path->path.pathtarget->exprs,
							   PATH_REQ_OUTER(&best_path->path), child);
	if (desc->rechecked)
		cscan->custom_plans = list_make1(plan_recheck(cscan, linitial(custom_plans)));
	anago_desc_write(cscan, desc, rel->relids);
	return &cscan->scan.plan;
}
