/*-------------------------------------------------------------------------
 *
 * gain.c
 *	  Might a step gain anything?  Asked before a path is made of it.
 *
 * Where a table and an index are cached our path costs what core's costs but for
 * a token, and so little is won by it that planning it costs a small query
 * more.  So there is none, unless the index says that far fewer entries are found
 * than core believes: then core's plan may be another one, which takes longer.
 *
 * The same where few rows are wanted, and core's best path gives these for less than
 * a pipeline takes to begin, or is a nested loop of index scans that are cached; and where they are wanted in an order, and core has a path
 * that gives them for less than the outer side of a join without that order costs.
 *
 * A step that gains nothing by itself is made all the same where it makes a
 * pipeline longer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/float.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "plan/waits.h"

/* Of the pages of a step, a share that need not be waited for: one of a sample is more. */
#define NEXT_TO_NONE		0.01

/* Of the entries that core believes in, those that are found: of fewer, plans may differ. */
#define FAR_FEWER			0.5

bool
anago_scan_may_gain(const IndexPath *ipath)
{
	const Path *path = &ipath->path;
	double		random_page;

	anago_page_costs(path->parent, &random_page, NULL);
	return path->total_cost - path->startup_cost >
		random_page * (ANAGO_SETUP_PAGES + ANAGO_DEPENDENT_READS);
}

/* What that path takes for the rows that LIMIT asks for; infinite: it gives them last. */
static Cost
cost_of_wanted(const PlannerInfo *root, const Path *path)
{
	double		fraction = Min(root->limit_tuples / Max(path->rows, 1.0), 1.0);

	if (path->param_info != NULL || anago_is_disabled(path) ||
		!anago_may_stop(root, path->pathkeys))
		return get_float8_infinity();
	return path->startup_cost + (path->total_cost - path->startup_cost) * fraction;
}

/* Of the last table or join, is there a path that gives the wanted rows for less than that? */
static bool
has_wanted_for_less(const PlannerInfo *root, const RelOptInfo *rel, Cost than)
{
	ListCell   *lc;

	if (root->limit_tuples <= 0 || anago_debug_force ||
		!bms_equal(rel->relids, root->all_baserels))
		return false;
	foreach(lc, rel->pathlist)
		if (cost_of_wanted(root, lfirst(lc)) < than)
			return true;
	return false;
}

/* Is that an index scan of nothing but what is cached? */
static bool
reads_cached(PlannerInfo *root, const Path *path)
{
	const RelOptInfo *rel = path->parent;
	const IndexOptInfo *index;

	if (!IsA(path, IndexPath) || IS_OTHER_REL(rel))
		return false;
	index = ((const IndexPath *) path)->indexinfo;
	return anago_cold_relation(index->indexoid, index->pages) <= NEXT_TO_NONE &&
		anago_cold_relation(planner_rt_fetch(rel->relid, root)->relid, rel->pages) <=
		NEXT_TO_NONE;
}

/*
 * Core's cheapest path of the wanted rows, if those that give all rows, of which some would
 * be sorted, cost more than it takes for these; its cost.
 */
static const Path *
best_of_wanted(const PlannerInfo *root, const RelOptInfo *rel, Cost *cost)
{
	const Path *best = NULL;
	ListCell   *lc;

	*cost = get_float8_infinity();
	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);
		Cost		wanted = cost_of_wanted(root, path);
		bool		stops = !isinf(wanted);

		if (!stops && (path->param_info != NULL || anago_is_disabled(path)))
			continue;
		if (!stops)
			wanted = path->total_cost;
		if (wanted < *cost)
		{
			*cost = wanted;
			best = stops ? path : NULL;
		}
	}
	return best;
}

bool
anago_first_rows_are_settled(PlannerInfo *root, const RelOptInfo *rel)
{
	const Path *best;
	Cost		cost;

	if (root->limit_tuples <= 0 || anago_debug_force ||
		!bms_equal(rel->relids, root->all_baserels))
		return false;
	best = best_of_wanted(root, rel, &cost);
	if (best == NULL)
		return false;
	return cost < random_page_cost * ANAGO_SETUP_PAGES ||
		(root->limit_tuples <= ANAGO_FEW_PROBES && IsA(best, NestPath) &&
		 reads_cached(root, ((const JoinPath *) best)->innerjoinpath) &&
		 reads_cached(root, ((const JoinPath *) best)->outerjoinpath));
}

bool
anago_all_rows_are_dear(const PlannerInfo *root, const RelOptInfo *joinrel,
						const Path *outer)
{
	return !anago_may_stop(root, NIL) &&
		has_wanted_for_less(root, joinrel, outer->total_cost);
}

/*
 * Does the index say that there are far fewer entries than core believes?  What was
 * asked before holds for all joins.
 */
bool
anago_step_finds_fewer(PlannerInfo *root, const AnagoPathStep *step, Cost cost)
{
	AnagoStepFacts *facts = step->facts;
	AnagoDive	dive;

	if (!facts->dived)
		anago_dive(root, step->ipath, facts, cost, NULL, &dive);
	return facts->dived && facts->dive.known && facts->dive.ratio < FAR_FEWER;
}

bool
anago_step_waits(PlannerInfo *root, const AnagoPathStep *step)
{
	return anago_step_cold(root, step) > NEXT_TO_NONE;
}

bool
anago_step_may_gain(PlannerInfo *root, const AnagoPathStep *step, Cost cost)
{
	if (anago_step_waits(root, step))
		return true;
	return step->several ? step->has_arms :
		anago_step_finds_fewer(root, step, cost);
}

/*
 * Where a full scan has won and nothing is waited for, core's estimates would have to be
 * far off for an index to be better.
 */
bool
anago_indexes_may_gain(PlannerInfo *root, const RelOptInfo *rel, const List *indexes)
{
	ListCell   *lc;

	if (anago_cold_relation(planner_rt_fetch(rel->relid, root)->relid, rel->pages) >
		NEXT_TO_NONE)
		return true;
	foreach(lc, indexes)
	{
		const IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (anago_cold_relation(index->indexoid, index->pages) > NEXT_TO_NONE)
			return true;
	}
	return false;
}
