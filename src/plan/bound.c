/*-------------------------------------------------------------------------
 *
 * bound.c
 *	  What a join costs at least: paths that cannot win are not built.
 *
 * To build a path of a join takes core's nestloop, with its conditions sorted
 * and priced, and ours on top of it.  Most lose against a path that is
 * there: a hash join, where the outer side has many rows.  A lower bound of what
 * price.c will say is found with a few multiplications, and core's own
 * add_path_precheck() compares it with all paths of the relation, as it does for core's joins.
 *
 * A probe costs at least the descent, which saves nothing, less the operator
 * that a merged step saves; where all of its matches are wanted, also what
 * the price keeps whatever overlaps: CPU time, and for each page the least that
 * one costs (waits.c).  Where an index dive could say that there are fewer
 * matches, the latter does not count, and where one has said that there are fewer
 * probes, these count.  (The bound need not be close.  It must never be above
 * the price: then plans are what they were without it.)
 *
 * A path for several processes is a twin of the one for one process, and shares
 * at most all of the costs above those of its outer side.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "plan/waits.h"

/* Of what the price says, what may be lost to its rounding. */
#define ANAGO_BOUND_SLACK	0.95

/* Of core's charge for the pages of a probe, what ours is at least. */
static Cost
least_io(PlannerInfo *root, const AnagoPathStep *step)
{
	return anago_step_io(root, step) *
		anago_least_share(anago_step_inner(step)->parent);
}

/* Might its index say that so many probes find something else than core believes? */
static bool
is_in_doubt(const AnagoPathStep *step, double rows)
{
	if (step->facts->dived)
		return step->facts->dive.known;
	return anago_may_dive(2 * rows * anago_step_inner(step)->total_cost);
}

/*
 * What it takes until a probe has its first match.  A bitmap scan reads all of its
 * indexes before, which arms need not.
 */
static Cost
least_startup(const AnagoPathStep *step)
{
	return Min(anago_step_inner(step)->startup_cost, step->ipath->path.startup_cost);
}

/* What one probe costs at least, as core sees its matches, without startup. */
static Cost
least_run(PlannerInfo *root, const AnagoPathStep *step, double rows,
		  JoinType jointype, bool inner_unique)
{
	const Path *inner = anago_step_inner(step);
	Cost		run = inner->total_cost - inner->startup_cost;

	if (step->several != NULL || inner_unique || is_in_doubt(step, rows) ||
		(jointype != JOIN_INNER && jointype != JOIN_LEFT))
		return 0;
	return Max(run - anago_step_io(root, step), 0) + least_io(root, step);
}

/* The bound for `outer` and a step, in one process. */
static Cost
least_cost(PlannerInfo *root, const Path *outer, const AnagoPathStep *step,
		   JoinType jointype, bool inner_unique)
{
	double		rows = Max(outer->rows, 1.0);
	double		loops = Max(anago_own_rows(outer), 1.0);
	Cost		probe = least_startup(step) +
		least_run(root, step, rows, jointype, inner_unique);

	return outer->total_cost + ANAGO_BOUND_SLACK *
		Max(Min(rows, loops) * probe - rows * cpu_operator_cost, 0);
}

/* The partial twin, if there can be one. */
static bool
twin_may_win(PlannerInfo *root, RelOptInfo *joinrel, const Path *outer,
			 const Path *inner, Cost least, List *pathkeys)
{
	double		divisor = anago_parallel_divisor(max_parallel_workers_per_gather);

	return anago_partial_possible(joinrel) &&
		anago_partial_path_precheck(joinrel, outer, inner, least / divisor,
									pathkeys);
}

bool
anago_join_may_win(PlannerInfo *root, RelOptInfo *joinrel, const Path *outer,
				   const AnagoPathStep *step, JoinType jointype,
				   bool inner_unique, List *pathkeys, Relids required,
				   bool partial)
{
	const Path *inner = anago_step_inner(step);
	Cost		least;

	if (anago_debug_force)
		return true;
	least = least_cost(root, outer, step, jointype, inner_unique);
	if (!partial &&
		anago_path_precheck(joinrel, outer, inner,
							outer->startup_cost + inner->startup_cost, least,
							pathkeys, required))
		return true;
	return required == NULL &&
		twin_may_win(root, joinrel, outer, inner, least, pathkeys);
}
