/*-------------------------------------------------------------------------
 *
 * repeats.c
 *	  Correlated subqueries that are evaluated again and again for the same values.
 *
 *		select ... from part join lineitem on l_partkey = p_partkey
 *		 where l_quantity < (select avg(l_quantity) from lineitem where l_partkey = p_partkey)
 *
 * Core's price of a nested loop, which ours is made of, has the subquery evaluated for each row
 * that the inner side's index finds, and has it read its pages each time.  Of the rows of one
 * probe all but the first find these pages in shared buffers, as they were read a moment ago.
 * They are taken off: evaluations that come again cost their CPU time.
 *
 * A hash join evaluates the same subquery for the same rows, and core may or may not
 * charge for it: behind an inner side that is unique it counts only rows that pass the
 * condition, and these less the square of that.  (TPC-H Q17 at scale 1: ten of 6,000, and a scan of all of
 * lineitem was preferred to 199 probes.)  So that the two are compared for what they differ in,
 * nothing is taken off unless ours is the cheaper one without any evaluation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "plan/price.h"

/* --- what an evaluation costs if it finds its pages --- */

static Cost cached_cost(PlannerInfo *root, const Path *path);

static Cost
cached_pipeline(PlannerInfo *root, const AnagoPath *path)
{
	Cost		total = path->cpath.path.total_cost;
	double		rows = 1.0;
	Cost		cost = 0;
	ListCell   *lc;

	if (path->source != NULL)
	{
		cost = cached_cost(root, path->source);
		rows = path->source->rows;
	}
	foreach(lc, path->steps)
	{
		const AnagoPathStep *step = lfirst(lc);
		const IndexPath *ipath = step->ipath;

		if (step->several != NULL)
			return total;
		cost += rows * (ipath->path.total_cost - anago_index_path_io(root, ipath));
		rows = clamp_row_est(rows * ipath->path.rows);
	}
	return Min(cost, total);
}

/* Of a node that does its own work on the rows of another one. */
static Cost
cached_above(PlannerInfo *root, const Path *path, const Path *subpath)
{
	return Max(path->total_cost - subpath->total_cost, 0) + cached_cost(root, subpath);
}

/* What it costs to run that path once more; all of its cost where that is not known. */
static Cost
cached_cost(PlannerInfo *root, const Path *path)
{
	Cost		cost = path->total_cost;

	if (anago_is_path(path))
		return cached_pipeline(root, (const AnagoPath *) path);
	switch (nodeTag(path))
	{
		case T_IndexPath:
			cost -= anago_index_path_io(root, (const IndexPath *) path);
			break;
		case T_BitmapHeapPath:
			{
				const Path *bitmap = ((const BitmapHeapPath *) path)->bitmapqual;

				if (IsA(bitmap, IndexPath))
					cost = bitmap->total_cost -
						anago_index_path_io(root, (const IndexPath *) bitmap);
				break;
			}
		case T_NestPath:
			{
				const JoinPath *join = (const JoinPath *) path;

				cost = cached_cost(root, join->outerjoinpath) + join->outerjoinpath->rows *
					(cached_cost(root, join->innerjoinpath) +
					 cpu_tuple_cost * join->innerjoinpath->rows);
				break;
			}
		case T_AggPath:
			return cached_above(root, path, ((const AggPath *) path)->subpath);
		case T_ProjectionPath:
			return cached_above(root, path, ((const ProjectionPath *) path)->subpath);
		default:
			break;
	}
	return Max(Min(cost, path->total_cost), 0);
}

/* The part of its cost, 0 to 1, that such a run of a subquery's plan takes. */
static double
cached_share(PlannerInfo *root, const SubPlan *subplan)
{
	PlannerInfo *subroot = list_nth(root->glob->subroots, subplan->plan_id - 1);
	const Path *path = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL)->cheapest_total_path;

	return path->total_cost > 0 ? cached_cost(subroot, path) / path->total_cost : 1.0;
}

/* --- which evaluations come again --- */

typedef struct RepeatsCxt
{
	PlannerInfo *root;
	Relids		own;			/* the step's table */
	Cost		evaluated;		/* for a row of it */
	Cost		repeated;		/* of that, what those that come again do not take */
} RepeatsCxt;

/* Walker: subqueries whose values are all of other tables. */
static bool
add_subplans(Node *node, RepeatsCxt *cxt)
{
	if (node == NULL || IsA(node, AlternativeSubPlan))
		return false;
	if (IsA(node, SubPlan))
	{
		const SubPlan *subplan = (const SubPlan *) node;

		if (subplan->parParam != NIL && !subplan->useHashTable &&
			!bms_overlap(pull_varnos(cxt->root, (Node *) subplan->args), cxt->own))
		{
			cxt->evaluated += subplan->per_call_cost;
			cxt->repeated += subplan->per_call_cost *
				(1.0 - cached_share(cxt->root, subplan));
		}
	}
	return expression_tree_walker(node, add_subplans, cxt);
}

/* Those conditions of an index path that come from other tables' rows, and are its filter. */
static void
find_repeats(PlannerInfo *root, const IndexPath *ipath, AnagoStepFacts *facts)
{
	RepeatsCxt	cxt = {.root = root, .own = ipath->path.parent->relids};
	ListCell   *lc;

	if (root->glob->subplans != NIL && ipath->path.param_info != NULL)
		foreach(lc, ipath->path.param_info->ppi_clauses)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

			if (!is_redundant_with_indexclauses(rinfo, ipath->indexclauses))
				(void) add_subplans((Node *) rinfo->clause, &cxt);
		}
	facts->evaluated = cxt.evaluated;
	facts->repeated = cxt.repeated;
}

static const AnagoStepFacts *
facts_of(PlannerInfo *root, const AnagoPathStep *step)
{
	if (step->facts->repeated < 0)
		find_repeats(root, step->ipath, step->facts);
	return step->facts;
}

bool
anago_step_repeats(PlannerInfo *root, const AnagoPathStep *step)
{
	return step->several == NULL && facts_of(root, step)->repeated > 0 &&
		anago_tuples_fetched(step->ipath) > 1.0;
}

Cost
anago_repeated(PlannerInfo *root, const AnagoPathStep *step, double probes, double entries)
{
	return step->several != NULL ? 0 :
		probes * Max(entries - 1.0, 0) * facts_of(root, step)->repeated;
}

Cost
anago_evaluated(PlannerInfo *root, const AnagoPathStep *step, double probes, double entries)
{
	return step->several != NULL ? 0 :
		probes * entries * facts_of(root, step)->evaluated -
		anago_repeated(root, step, probes, entries);
}

/* --- what it is compared with --- */

/* What core charges a path for so much of evaluations; at most, where it is not known. */
static Cost
charged(PlannerInfo *root, const Path *path, SpecialJoinInfo *sjinfo, Cost evaluated,
		Cost all)
{
	const JoinPath *join = (const JoinPath *) path;
	SemiAntiJoinFactors factors;

	if (!IsA(path, HashPath) || join->jointype != JOIN_INNER || !join->inner_unique)
		return all;
	compute_semi_anti_join_factors(root, path->parent, join->outerjoinpath->parent,
								   join->innerjoinpath->parent, JOIN_INNER, sjinfo,
								   join->joinrestrictinfo, &factors);
	return Min(evaluated * rint(join->outerjoinpath->rows * factors.outer_match_frac), all);
}

bool
anago_wins_without_subplans(PlannerInfo *root, const AnagoPathStep *step,
							const NestPath *nest, SpecialJoinInfo *sjinfo,
							Cost ours, double evaluations, Cost repeated)
{
	Cost		evaluated = facts_of(root, step)->evaluated;
	Cost		all = evaluated * evaluations;
	ListCell   *lc;

	foreach(lc, nest->jpath.path.parent->pathlist)
	{
		const Path *path = lfirst(lc);

		/* a nested loop does the same as ours */
		if (!anago_is_path(path) && !IsA(path, NestPath) &&
			bms_is_subset(PATH_REQ_OUTER(path), PATH_REQ_OUTER(&nest->jpath.path)) &&
			path->total_cost - charged(root, path, sjinfo, evaluated, all) <
			ours - (all - repeated))
			return false;
	}
	return true;
}
