/*-------------------------------------------------------------------------
 *
 * nestpaths.c
 *	  Core's nested loop, at the price that the index says.
 *
 * Where all is cached, and the index finds far fewer entries than core believes, a
 * join by that index is the better plan, though core does not know it.  A pipeline
 * takes 0.1 ms to begin, as long as 25 cached probes of four rows; if its probes
 * are few that is never won back.  Then core's own nested loop competes for what it
 * costs by the index.  If they are many our pipeline does, which takes less for a
 * probe and can turn into a hash join (turn.c).  Where some pages are to be waited for
 * both compete.
 *
 * The path is a NestPath as core makes it, with another price (as in lookpaths.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "compat_plan.h"
#include "plan/dive.h"
#include "plan/paths.h"
#include "plan/risk.h"

/*
 * Of the rows of the outer side, the part that is wanted; of the join's rows there are
 * fewer than core believes.
 */
static double
wanted_part(PlannerInfo *root, const RelOptInfo *joinrel, JoinType jointype,
			const Path *outer, const AnagoPathStep *step)
{
	List	   *pathkeys = build_join_pathkeys(root, (RelOptInfo *) joinrel, jointype,
											   outer->pathkeys);
	double		wanted = root->limit_tuples > 0 ? root->limit_tuples : root->tuple_fraction;
	double		rows = Max(joinrel->rows * step->facts->dive.ratio, 1.0);

	if (!anago_may_stop(root, pathkeys))
		return 1.0;
	return Min(wanted < 1.0 ? wanted : wanted / rows, 1.0);
}

/* Are the probes few, even if the outer side gives as many more rows as one must fear? */
static bool
are_few(PlannerInfo *root, const RelOptInfo *joinrel, JoinType jointype,
		const Path *outer, const AnagoPathStep *step)
{
	double		part = wanted_part(root, joinrel, jointype, outer, step);

	return Max(anago_own_rows(outer), 1.0) * part <= ANAGO_FEW_PROBES &&
		(part < 1.0 ||
		 outer->rows * anago_rows_risk(root, outer->parent->relids) <= ANAGO_FEW_PROBES);
}

NestPath *
anago_make_nestloop(PlannerInfo *root, RelOptInfo *joinrel, Path *outer,
					AnagoPathStep *step, JoinType jointype, JoinPathExtraData *extra)
{
	Path	   *inner = anago_step_inner(step);
	JoinCostWorkspace workspace;
	NestPath   *nest;

	anago_initial_cost_nestloop(root, &workspace, jointype, outer, inner, extra);
	nest = create_nestloop_path(root, joinrel, jointype, &workspace, extra,
								outer, inner, extra->restrictlist,
								build_join_pathkeys(root, joinrel, jointype,
													outer->pathkeys),
								NULL);
	step->jointype = jointype;
	step->inner_unique = nest->jpath.inner_unique;
	return nest;
}

static void
submit_nestloop(PlannerInfo *root, RelOptInfo *joinrel, Path *outer,
				const AnagoPathStep *candidate, JoinType jointype,
				JoinPathExtraData *extra)
{
	AnagoPathStep step = *candidate;
	NestPath   *nest = anago_make_nestloop(root, joinrel, outer, &step, jointype, extra);
	Cost		total;

	total = anago_cost_nestloop(root, &step, nest, extra->sjinfo);
	if (total < nest->jpath.path.total_cost)
	{
		nest->jpath.path.total_cost = Max(total, nest->jpath.path.startup_cost);
		add_path(joinrel, &nest->jpath.path);
	}
	else
		pfree(nest);
}

bool
anago_leave_to_nestloop(PlannerInfo *root, RelOptInfo *joinrel, Path *outer,
						const AnagoPathStep *step, JoinType jointype,
						JoinPathExtraData *extra, bool partial)
{
	Cost		cost = outer->rows * anago_step_inner(step)->total_cost;

	if (step->several != NULL || anago_is_path(outer) || outer->param_info != NULL ||
		!anago_step_finds_fewer(root, step, cost) ||
		!are_few(root, joinrel, jointype, outer, step))
		return false;
	if (!partial)				/* there is no work for several processes */
		submit_nestloop(root, joinrel, outer, step, jointype, extra);
	if (anago_step_waits(root, step))
		return false;
	anago_why_not(root, joinrel, step->ipath->indexinfo->indexoid, ANAGO_WHY_NESTLOOP);
	return true;
}
