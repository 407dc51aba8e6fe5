/*-------------------------------------------------------------------------
 *
 * gain.c
 *	  Might a step gain anything?  Asked before a path is made of it.
 *
 * Where a table and an index are cached our path costs what core's costs but for
 * a token, and so little is won by it that planning it costs a small query
 * more.  So there is none, unless the index says that far fewer entries are found
 * than core believes, and that probes cost far less for it: then core's plan may be
 * another one, which takes longer.
 *
 * Or probes are many, and come to pages that the CPU has to wait for: naps.c.
 *
 * The same where few rows are wanted, and core's best path gives these for less than
 * a pipeline takes to begin, or is a nested loop of index scans that are cached; and
 * where they are wanted in an order, and core has a path that gives them for less
 * than the outer side of a join without that order costs.
 *
 * A step that gains nothing by itself is made all the same where it makes a
 * pipeline longer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "plan/waits.h"

/* Of the pages of a step, a share that need not be waited for: one of a sample is more. */
#define NEXT_TO_NONE		0.01

/* Of the entries that core believes in, and of what it takes probes to cost: of less, plans may differ. */
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

/* Has that relation pages to wait for? */
static bool
relation_waits(Oid relid, BlockNumber pages)
{
	return anago_cold_relation(relid, pages) > NEXT_TO_NONE;
}

static bool
table_waits(PlannerInfo *root, const RelOptInfo *rel)
{
	return relation_waits(planner_rt_fetch(rel->relid, root)->relid, rel->pages);
}

/* Is that the last table or join, of which LIMIT asks for some rows? */
static bool
has_limit(const PlannerInfo *root, const RelOptInfo *rel)
{
	return root->limit_tuples > 0 && !anago_debug_force &&
		bms_equal(rel->relids, root->all_baserels);
}

/*
 * What that path takes until the rows are there that LIMIT asks for; if some of all
 * its rows would be sorted for these, without the sort.
 */
static Cost
cost_of_wanted(const PlannerInfo *root, const Path *path)
{
	double		fraction = Min(root->limit_tuples / Max(path->rows, 1.0), 1.0);

	return anago_may_stop(root, path->pathkeys) ?
		path->startup_cost + (path->total_cost - path->startup_cost) * fraction :
		path->total_cost;
}

/* Core's cheapest path for the wanted rows; NULL: there is none that could be taken. */
static const Path *
best_of_wanted(const PlannerInfo *root, const RelOptInfo *rel)
{
	const Path *best = NULL;
	Cost		least = 0;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);
		Cost		cost;

		if (path->param_info != NULL || anago_is_disabled(path))
			continue;
		cost = cost_of_wanted(root, path);
		if (best == NULL || cost < least)
		{
			best = path;
			least = cost;
		}
	}
	return best;
}

/* Is that an index scan of nothing but what is cached? */
static bool
reads_cached(PlannerInfo *root, const Path *path)
{
	const IndexOptInfo *index;

	if (!IsA(path, IndexPath) || IS_OTHER_REL(path->parent))
		return false;
	index = ((const IndexPath *) path)->indexinfo;
	return !relation_waits(index->indexoid, index->pages) &&
		!table_waits(root, path->parent);
}

bool
anago_first_rows_are_settled(PlannerInfo *root, const RelOptInfo *rel)
{
	const Path *best;

	if (!has_limit(root, rel))
		return false;
	best = best_of_wanted(root, rel);
	if (best == NULL || !anago_may_stop(root, best->pathkeys))
		return false;
	return cost_of_wanted(root, best) < random_page_cost * ANAGO_SETUP_PAGES ||
		(root->limit_tuples <= ANAGO_FEW_PROBES && IsA(best, NestPath) &&
		 reads_cached(root, ((const JoinPath *) best)->innerjoinpath) &&
		 reads_cached(root, ((const JoinPath *) best)->outerjoinpath));
}

bool
anago_all_rows_are_dear(const PlannerInfo *root, const RelOptInfo *joinrel,
						const Path *outer)
{
	ListCell   *lc;

	if (!has_limit(root, joinrel) || anago_may_stop(root, NIL))
		return false;
	foreach(lc, joinrel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL && !anago_is_disabled(path) &&
			anago_may_stop(root, path->pathkeys) &&
			cost_of_wanted(root, path) < outer->total_cost)
			return true;
	}
	return false;
}

/*
 * Does the index say that there are far fewer entries than core believes?  What was
 * asked before holds for all joins.
 */
bool
anago_step_finds_fewer(PlannerInfo *root, const AnagoPathStep *step, Cost cost)
{
	AnagoStepFacts *facts = step->facts;

	return (facts->dived || anago_ask_index(root, step->ipath, facts, cost)) &&
		facts->dive.known && facts->dive.ratio < FAR_FEWER;
}

bool
anago_step_waits(PlannerInfo *root, const AnagoPathStep *step)
{
	return anago_step_cold(root, step) > NEXT_TO_NONE;
}

bool
anago_path_waits(PlannerInfo *root, const IndexPath *ipath)
{
	return anago_cold_share(root, ipath) > NEXT_TO_NONE;
}

bool
anago_scan_step_may_gain(PlannerInfo *root, const AnagoPathStep *step)
{
	const IndexPath *ipath = step->ipath;

	return anago_step_waits(root, step) ||
		(ipath->indexclauses != NIL &&
		 anago_step_finds_fewer(root, step, ipath->path.total_cost - ipath->path.startup_cost));
}

/* Might it, asked about what costs so much?  That is found out without asking it. */
static bool
might_find_fewer(const AnagoPathStep *step, Cost cost)
{
	const AnagoStepFacts *facts = step->facts;

	return facts->dived ? facts->dive.known && facts->dive.ratio < FAR_FEWER :
		anago_may_dive(cost);
}

/*
 * Do so many probes cost far less, as the index says?  Most often not, whatever it
 * might say: each descends, and comes to a leaf and a block.
 */
static bool
probes_cost_less(PlannerInfo *root, const AnagoPathStep *step, double loops)
{
	const Path *inner = &step->ipath->path;
	const AnagoDive *dive = &step->facts->dive;
	Cost		run = inner->total_cost * FAR_FEWER - inner->startup_cost;

	if (run <= 0 || !might_find_fewer(step, loops * inner->total_cost) ||
		anago_probe_io(root, step->ipath, loops, 0, 0) >= run ||
		!anago_step_finds_fewer(root, step, loops * inner->total_cost))
		return false;
	return anago_probe_io(root, step->ipath, loops, dive->entries, dive->blocks) +
		anago_cpu_of(root, step, dive->entries, inner->rows * dive->ratio) < run;
}

bool
anago_step_may_gain(PlannerInfo *root, const AnagoPathStep *step, double loops)
{
	if (anago_step_waits(root, step) || anago_step_repeats(root, step))
		return true;
	return step->several ? step->has_arms :
		probes_cost_less(root, step, Max(loops, 1.0));
}

/*
 * Where a full scan has won and nothing is waited for, core's estimates would have to be
 * far off for an index to be better.
 */
bool
anago_indexes_may_gain(PlannerInfo *root, const RelOptInfo *rel, const List *indexes)
{
	ListCell   *lc;

	if (table_waits(root, rel))
		return true;
	foreach(lc, indexes)
	{
		const IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if (relation_waits(index->indexoid, index->pages))
			return true;
	}
	return false;
}
