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
 * A probe costs at least the descent, less the operator that a merged step
 * saves, and for the matches that core's probe looks for what the price keeps
 * whatever overlaps: CPU time, cached pages, and for each other page the least that
 * one costs (waits.c).  Where an index dive could say that there are fewer
 * matches, these do not count, and where one has said that there are fewer
 * probes, these count.  (The bound need not be close.  It must never be above
 * the price: then plans are what they were without it.)
 *
 * A path for several processes is a twin of the one for one process, and shares
 * at most all of the costs above those of its outer side.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "plan/waits.h"

/* Of what the price says, what may be lost to its rounding. */
#define ANAGO_BOUND_SLACK	0.98

/* Might its index say that so many probes find something else than core believes? */
static bool
is_in_doubt(const AnagoPathStep *step, double rows)
{
	if (step->facts->dived)
		return step->facts->dive.known;
	return anago_may_dive(2 * rows * anago_step_inner(step)->total_cost);
}

/*
 * Of all matches, the part that core's probes of so many rows look for at least,
 * and, in `joined`, the part that the join's conditions are tested of: those that stop
 * at the first one see some of them (final_cost_nestloop).
 */
static double
least_part(const Path *inner, double rows, JoinType jointype,
		   const JoinPathExtraData *extra, double *joined)
{
	double		matched;

	*joined = 1.0;
	if (jointype != JOIN_SEMI && jointype != JOIN_ANTI && !extra->inner_unique)
		return 1.0;
	matched = rint(rows * extra->semifactors.outer_match_frac) / rows;
	*joined = matched * Min(2.0 / (extra->semifactors.match_count + 1.0), 1.0);
	return *joined + (1.0 - matched) / Max(inner->rows, 1.0);
}

/*
 * Of core's charge for the pages of a probe, what the price may leave out.  Where
 * there are other probes than core believes, their pages are counted anew.
 */
static Cost
most_saved(PlannerInfo *root, const AnagoPathStep *step, bool other_probes)
{
	Cost		io = anago_step_io(root, step);

	return other_probes ? io : io * anago_step_cold(root, step) *
		(1.0 - anago_least_share(anago_step_inner(step)->parent));
}

/* Of one of so many probes, what correlated subqueries may be found not to take. */
static Cost
most_repeated(PlannerInfo *root, const AnagoPathStep *step, double rows)
{
	return anago_repeated(root, step, rows, anago_tuples_fetched(step->ipath)) / rows;
}

/* What one of so many probes costs at least, as core sees its matches. */
static Cost
least_probe(PlannerInfo *root, const AnagoPathStep *step, double rows,
			bool other_probes, JoinType jointype, const JoinPathExtraData *extra)
{
	const Path *inner = anago_step_inner(step);
	Cost		run = inner->total_cost - inner->startup_cost;
	double		joined;
	Cost		probe;
	Cost		saved;

	if (step->several != NULL || is_in_doubt(step, rows))
		return anago_probe_startup(step);
	run *= least_part(inner, rows, jointype, extra, &joined);
	probe = inner->startup_cost + run + joined * inner->rows * cpu_tuple_cost;
	saved = most_saved(root, step, other_probes) *
		Min(probe / Max(inner->total_cost, DBL_MIN), 1.0) + most_repeated(root, step, rows);
	return Max(probe - saved, 0);
}

/* The bound for `outer` and a step, in one process. */
static Cost
least_cost(PlannerInfo *root, const Path *outer, const AnagoPathStep *step,
		   JoinType jointype, const JoinPathExtraData *extra, double naps)
{
	double		rows = Max(outer->rows, 1.0);
	double		loops = Max(anago_own_rows(outer), 1.0);
	Cost		probe = least_probe(root, step, rows, loops != rows, jointype, extra) *
		(1.0 - naps);

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
				   const JoinPathExtraData *extra, List *pathkeys,
				   Relids required, bool partial, double naps)
{
	const Path *inner = anago_step_inner(step);
	Cost		startup = outer->startup_cost + anago_probe_startup(step);
	Cost		least;

	if (anago_debug_force)
		return true;
	least = least_cost(root, outer, step, jointype, extra, naps);

	/* where all rows are taken, to begin soon is worth nothing */
	if (required == NULL && !anago_may_stop(root, pathkeys))
		startup = Max(startup, least);
	if (!partial &&
		anago_path_precheck(joinrel, outer, inner, startup, least, pathkeys, required))
		return true;
	return required == NULL &&
		twin_may_win(root, joinrel, outer, inner, least, pathkeys);
}
