/*-------------------------------------------------------------------------
 *
 * repeats.c
 *	  Correlated subqueries that are evaluated again and again for the same values.
 *
 *		select ... from part join lineitem on l_partkey = p_partkey
 *		 where l_quantity < (select avg(l_quantity) from lineitem where l_partkey = p_partkey)
 *
 * Core's price of a nested loop, which ours is made of, has the subquery evaluated for each row
 * that the inner side's index finds, and has it read its pages each time.  But of the rows of one
 * probe all but the first find these pages in shared buffers, as they were read a moment
 * ago; and small tables are cached soon, whatever the values are.  So an evaluation for a probe's first row is
 * priced without the pages of such tables, and the others without any pages.
 *
 * A hash join evaluates the same subquery for the same rows, and core may or may not
 * charge for it: behind an inner side that is unique it counts rows that pass the
 * condition, and far too few.  (TPC-H Q17 at scale 1: ten of 6,000, and a scan of all of
 * lineitem was preferred to 199 probes.)  So that the two are compared for what they differ in,
 * nothing is taken off unless ours is the cheaper one without any evaluation.  A Memoize spares
 * evaluations: a nested loop with one is compared with those that are left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "plan/memo.h"
#include "plan/price.h"

/* --- what an evaluation costs if it finds pages --- */

/* How often something is run that finds all of its pages. */
#define AGAIN		(-1.0)

static Cost cached_cost(PlannerInfo *root, const Path *path, double times);

/* One scan of an index and its table. */
static Cost
cached_scan(PlannerInfo *root, const IndexPath *ipath, Cost otherwise, double times)
{
	double		pages = (double) ipath->path.parent->pages + ipath->indexinfo->pages;

	if (times != AGAIN && !anago_soon_cached(pages, times))
		return otherwise;
	return Min(ipath->path.total_cost - anago_index_path_io(root, ipath), otherwise);
}

static Cost
cached_pipeline(PlannerInfo *root, const AnagoPath *path, double times)
{
	double		rows = 1.0;
	Cost		cost = 0;
	ListCell   *lc;

	if (path->source != NULL)
	{
		cost = cached_cost(root, path->source, times);
		rows = path->source->rows;
	}
	foreach(lc, path->steps)
	{
		const AnagoPathStep *step = lfirst(lc);
		const IndexPath *ipath = step->ipath;

		if (step->several != NULL)
			return path->cpath.path.total_cost;
		cost += rows * cached_scan(root, ipath, ipath->path.total_cost,
								   times == AGAIN ? AGAIN : times * rows);
		rows = clamp_row_est(rows * ipath->path.rows);
	}
	return cost;
}

static Cost
cached_nestloop(PlannerInfo *root, const JoinPath *join, double times)
{
	const Path *outer = join->outerjoinpath;
	const Path *inner = join->innerjoinpath;

	return cached_cost(root, outer, times) + outer->rows *
		(cached_cost(root, inner, times == AGAIN ? AGAIN : times * outer->rows) +
		 cpu_tuple_cost * inner->rows);
}

/* Of a node that does its own work on the rows of another one. */
static Cost
cached_above(PlannerInfo *root, const Path *path, const Path *subpath, double times)
{
	return Max(path->total_cost - subpath->total_cost, 0) +
		cached_cost(root, subpath, times);
}

static Cost
cached_hashjoin(PlannerInfo *root, const JoinPath *join, double times)
{
	const Path *outer = join->outerjoinpath;
	const Path *inner = join->innerjoinpath;

	return Max(join->path.total_cost - outer->total_cost - inner->total_cost, 0) +
		cached_cost(root, outer, times) + cached_cost(root, inner, times);
}

/* What one of so many runs of that path costs; all of its cost where that is not known. */
static Cost
cached_cost(PlannerInfo *root, const Path *path, double times)
{
	Cost		cost = path->total_cost;

	if (anago_is_path(path))
		cost = cached_pipeline(root, (const AnagoPath *) path, times);
	else
		switch (nodeTag(path))
		{
			case T_IndexPath:
				cost = cached_scan(root, (const IndexPath *) path, cost, times);
				break;
			case T_BitmapHeapPath:
				{
					const Path *bitmap = ((const BitmapHeapPath *) path)->bitmapqual;

					if (IsA(bitmap, IndexPath))
						cost = cached_scan(root, (const IndexPath *) bitmap, cost, times);
					break;
				}
			case T_NestPath:
				cost = cached_nestloop(root, (const JoinPath *) path, times);
				break;
			case T_HashPath:
				cost = cached_hashjoin(root, (const JoinPath *) path, times);
				break;
			case T_AggPath:
				cost = cached_above(root, path, ((const AggPath *) path)->subpath, times);
				break;
			case T_ProjectionPath:
				cost = cached_above(root, path, ((const ProjectionPath *) path)->subpath,
									times);
				break;
			default:
				break;
		}
	return Max(Min(cost, path->total_cost), 0);
}

/* The part of its cost, 0 to 1, that such a run of a subquery's plan takes. */
static double
cached_share(PlannerInfo *root, const SubPlan *subplan, double times)
{
	PlannerInfo *subroot = list_nth(root->glob->subroots, subplan->plan_id - 1);
	const Path *path = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL)->cheapest_total_path;

	return path->total_cost > 0 ?
		cached_cost(subroot, path, times) / path->total_cost : 1.0;
}

/* --- which evaluations there are --- */

/*
 * Of rows, the share that a condition lets by at least, by core's estimate, or it is a guess that
 * few are left: joins above are planned for these, and take long if there are more.
 */
#define LEAST_LET_BY	0.1

typedef struct SubplansCxt
{
	PlannerInfo *root;
	Relids		own;			/* the step's table */
	List	   *found;
} SubplansCxt;

/* Walker: subqueries whose values are all of other tables. */
static bool
find_subplans(Node *node, SubplansCxt *cxt)
{
	if (node == NULL || IsA(node, AlternativeSubPlan))
		return false;
	if (IsA(node, SubPlan))
	{
		const SubPlan *subplan = (const SubPlan *) node;

		if (subplan->parParam != NIL && !subplan->useHashTable &&
			!bms_overlap(pull_varnos(cxt->root, (Node *) subplan->args), cxt->own))
			cxt->found = lappend(cxt->found, node);
	}
	return expression_tree_walker(node, find_subplans, cxt);
}

/* Those in a step's filter.  Conditions that have other tables' values are in its path's parameters. */
static List *
subplans_of(PlannerInfo *root, const AnagoPathStep *step)
{
	const IndexPath *ipath = step->ipath;
	SubplansCxt cxt = {.root = root,.own = ipath->path.parent->relids};
	MemoryContext old;
	ListCell   *lc;

	if (step->several != NULL || root->glob->subplans == NIL ||
		ipath->path.param_info == NULL)
		return NIL;
	old = MemoryContextSwitchTo(anago_memo_context(root));
	foreach(lc, ipath->path.param_info->ppi_clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Node	   *clause = (Node *) rinfo->clause;

		/* of a RestrictInfo core would keep the selectivity, as that of a join */
		if (contain_subplans(clause) &&
			!is_redundant_with_indexclauses(rinfo, ipath->indexclauses) &&
			clause_selectivity(root, clause, 0, JOIN_INNER, NULL) >= LEAST_LET_BY)
			(void) find_subplans(clause, &cxt);
	}
	MemoryContextSwitchTo(old);
	return cxt.found;
}

/* What they take for a row: by core's price (times 0), as one of so many, or AGAIN. */
static Cost
subplans_cost(PlannerInfo *root, const List *subplans, double times)
{
	Cost		cost = 0;
	ListCell   *lc;

	foreach(lc, subplans)
	{
		const SubPlan *subplan = lfirst_node(SubPlan, lc);

		cost += subplan->per_call_cost *
			(times == 0 ? 1.0 : cached_share(root, subplan, times));
	}
	return cost;
}

/* By core's price. */
static Cost
core_cost(PlannerInfo *root, const AnagoPathStep *step)
{
	AnagoStepFacts *facts = step->facts;

	if (facts->evaluated < 0)
	{
		facts->subplans = subplans_of(root, step);
		facts->evaluated = subplans_cost(root, facts->subplans, 0);
	}
	return facts->evaluated;
}

/* If all pages are found. */
static Cost
cost_again(PlannerInfo *root, AnagoStepFacts *facts)
{
	if (facts->again < 0)
		facts->again = subplans_cost(root, facts->subplans, AGAIN);
	return facts->again;
}

/* The same number is asked about several times for a join. */
static Cost
cost_of_many(PlannerInfo *root, AnagoStepFacts *facts, double times)
{
	if (facts->evaluations != times)
		facts->one_of_many = subplans_cost(root, facts->subplans, times);
	facts->evaluations = times;
	return facts->one_of_many;
}

bool
anago_step_repeats(PlannerInfo *root, const AnagoPathStep *step)
{
	return core_cost(root, step) > 0 && anago_tuples_fetched(step->ipath) > 1.0;
}

Cost
anago_evaluated(PlannerInfo *root, const AnagoPathStep *step, double probes, double entries)
{
	if (core_cost(root, step) <= 0)
		return 0;
	return probes * (Min(entries, 1.0) * cost_of_many(root, step->facts, Max(probes, 1.0)) +
					 Max(entries - 1.0, 0) * cost_again(root, step->facts));
}

Cost
anago_repeated(PlannerInfo *root, const AnagoPathStep *step, double probes, double entries)
{
	return core_cost(root, step) <= 0 ? 0 :
		probes * entries * core_cost(root, step) -
		anago_evaluated(root, step, probes, entries);
}

/* --- what it is compared with --- */

/*
 * What core's path costs without subqueries that cost so much a row, `all` for all rows.  Where
 * it is not known how many were counted, at least that; what the sides of a join cost is for none.
 */
static Cost
without_subplans(PlannerInfo *root, const Path *path, SpecialJoinInfo *sjinfo,
				 Cost of_row, Cost all)
{
	const JoinPath *join = (const JoinPath *) path;
	SemiAntiJoinFactors factors;

	if (!IsA(path, HashPath) && !IsA(path, MergePath))
		return path->total_cost - all;
	if (IsA(path, HashPath) && join->jointype == JOIN_INNER && join->inner_unique)
	{
		compute_semi_anti_join_factors(root, path->parent, join->outerjoinpath->parent,
									   join->innerjoinpath->parent, JOIN_INNER, sjinfo,
									   join->joinrestrictinfo, &factors);
		all = Min(of_row * rint(join->outerjoinpath->rows * factors.outer_match_frac), all);
	}
	return Max(path->total_cost - all,
			   join->outerjoinpath->total_cost + join->innerjoinpath->total_cost);
}

/* Above this a Memoize finds next to nothing that it has. */
#define FEW_HITS	0.9

/*
 * The part of its probes, 0 to 1, that a nested loop of core's makes, and does not find in a
 * Memoize.
 */
static double
part_probed(const Path *path)
{
	const JoinPath *join = (const JoinPath *) path;
	const Path *outer = join->outerjoinpath;
	Cost		probe;

	if (!IsA(join->innerjoinpath, MemoizePath))
		return 1.0;
	probe = ((const MemoizePath *) join->innerjoinpath)->subpath->total_cost;
	return Min((path->total_cost - outer->total_cost) /
			   Max(outer->rows * probe, DBL_MIN), 1.0);
}

/*
 * Is core's path cheaper than ours, which costs `ours` without subqueries, and that and
 * `evaluated` with them?  A nested loop evaluates them as often as ours, unless it has kept
 * what it found for the same values.
 */
static bool
is_cheaper(PlannerInfo *root, const Path *path, SpecialJoinInfo *sjinfo, Cost of_row, Cost all,
		   Cost ours, Cost evaluated)
{
	double		part;

	if (!IsA(path, NestPath))
		return without_subplans(root, path, sjinfo, of_row, all) < ours;
	part = part_probed(path);
	return part < FEW_HITS &&
		path->total_cost - part * (all - evaluated) < ours + evaluated;
}

bool
anago_wins_without_subplans(PlannerInfo *root, const AnagoPathStep *step,
							const NestPath *nest, SpecialJoinInfo *sjinfo,
							Cost ours, double probes, double entries)
{
	Cost		of_row = core_cost(root, step);
	Cost		evaluated = anago_evaluated(root, step, probes, entries);
	ListCell   *lc;

	ours -= evaluated;
	foreach(lc, nest->jpath.path.parent->pathlist)
	{
		const Path *path = lfirst(lc);

		if (!anago_is_path(path) &&
			bms_is_subset(PATH_REQ_OUTER(path), PATH_REQ_OUTER(&nest->jpath.path)) &&
			is_cheaper(root, path, sjinfo, of_row, of_row * probes * entries, ours, evaluated))
			return false;
	}
	return true;
}
