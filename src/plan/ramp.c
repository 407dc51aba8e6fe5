/*-------------------------------------------------------------------------
 *
 * ramp.c
 *	  What the first rows cost, where the query may stop before the last.
 *
 * Core takes the cost of some of a path's rows to be
 *
 *		startup_cost + (total_cost - startup_cost) * fraction
 *
 * Reads overlap, and so cost less, only where there are many of them.  A
 * pipeline of which not all rows may be wanted begins with one task at a time,
 * at each of its depths, and has one more for each `patience` that have ended
 * (sched/demand.h).  So the x-th read at a depth overlaps with x / patience
 * others, and what is waited for them until io_gain is reached is, in reads,
 *
 *		sum over x of 1 / max(1, x / patience) = patience * (1 + ln(io_gain))
 *
 * instead of patience, if all had overlapped.  The difference comes before
 * the path costs what it does for each row, and is part of its startup cost: the
 * ramp.  Each of two depths of each step has one, and patience grows with the
 * number of steps, n:
 *
 *		ramp = 2 n * patience_for_a_step * n * ln(io_gain)
 *
 * reads.  A step has no longer ramp than what it would save otherwise: with fewer
 * reads than that, a pipeline is as fast as core's plan.
 *
 * Thus a key that is looked up, LIMIT 1, and a join of which some rows are wanted
 * stay core's; where hundreds of pages are to be read, it does not matter.
 *
 * The first N rows in an index's order.  Core takes them to cost the N-th part of
 * what all cost.  If all rows were wanted, a page of the heap would be met over and over
 * again and be read once; of the first ten thousand each has a page of its own.  So core's price of
 * these is too low, 1,300 instead of 40,000 for ORDER BY o_orderdate LIMIT 10000
 * at scale 10, and what our path saves in pages drowns in what many visits
 * of each page cost.  Where the number is known, and the scan is the whole query, both
 * are priced for these rows, the ramp with what these save; ours then costs such a
 * share of core's figure as it takes of that work.  Its rivals are core's scan of the same index, and
 * a sort of all rows.
 *
 * The pages of these rows may be in shared buffers where the table as a whole is not, as
 * those of the newest orders often are.  Where our path would win it is looked up whether they
 * are (survey/head.c); then there is as little to gain as on a table that is cached.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "pipeline/desc.h"
#include "plan/dive.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "plan/waits.h"

/* Depths of a step at which reads wait for those of the depth before. */
#define READING_DEPTHS	2

bool
anago_may_stop(const PlannerInfo *root, List *pathkeys)
{
	const Query *parse = root->parse;

	if (root->tuple_fraction <= 0 ||
		(parse->hasAggs && parse->groupClause == NIL))
		return false;
	if (root->query_pathkeys != NIL)
		return pathkeys != NIL &&
			pathkeys_contained_in(root->query_pathkeys, pathkeys) &&
			/* what sorts groups, or what windows give, takes all rows */
			pathkeys_contained_in(root->sort_pathkeys, pathkeys);
	return parse->groupClause == NIL && parse->groupingSets == NIL &&
		parse->distinctClause == NIL && !parse->hasWindowFuncs;
}

Cost
anago_ramp_of_step(const PlannerInfo *root, int nsteps, const RelOptInfo *rel,
				   Cost saved)
{
	double		random_page;
	double		reads;

	if (root->tuple_fraction <= 0)
		return 0;
	anago_page_costs(rel, &random_page, NULL);
	reads = READING_DEPTHS * ANAGO_PATIENCE_FOR_A_STEP * log(anago_gain(rel));
	/* n * n, less what the steps before have already */
	reads *= 2 * nsteps - 1;
	return Max(Min(reads * random_page, saved), 0);
}

/*
 * The path will be used for rows in that order: does that make it one that may
 * stop, with what its last step adds to the ramp?
 */
void
anago_add_ramp(const PlannerInfo *root, AnagoPath *apath, List *pathkeys)
{
	Path	   *path = &apath->cpath.path;

	if (!anago_may_stop(root, pathkeys))
		return;
	path->startup_cost += apath->ramp;
	path->total_cost += apath->ramp;
	apath->ramp = 0;
}

/* What the path, which costs `whole`, costs if such a fraction is wanted, so cold. */
static void
price_fraction(PlannerInfo *root, AnagoPath *apath, const AnagoPath *whole,
			   double fraction, double cold)
{
	const AnagoPathStep *step = linitial(apath->steps);
	const Path *core = &step->ipath->path;
	Path	   *path = &apath->cpath.path;
	Cost		of_core = (core->total_cost - core->startup_cost) * fraction;
	AnagoPrice	price = anago_price_fraction(root, step, fraction, cold);
	double		scale = of_core / price.core;
	Cost		run = whole->cpath.path.total_cost - whole->cpath.path.startup_cost;
	double		random_page;
	Cost		begin;

	if (price.core <= of_core)
	{
		Cost		saved = core->total_cost - core->startup_cost - run;

		/* core's price of these rows is no lower than it should be */
		if (cold < step->cold)
			path->total_cost += Max(saved, 0) * (1.0 - cold / step->cold);
		return;
	}
	anago_page_costs(core->parent, &random_page, NULL);
	begin = ANAGO_SETUP_PAGES * random_page +
		anago_ramp_of_step(root, 1, core->parent, price.core - price.ours);
	path->startup_cost = core->startup_cost + begin * scale;
	path->total_cost = path->startup_cost + scale / fraction *
		(price.ours * (1 + ANAGO_ORDER_PART) +
		 root->limit_tuples * cpu_operator_cost);
	if (run > 0)
	{
		double		change = (path->total_cost - path->startup_cost) / run;

		apath->shared_cost = whole->shared_cost * change;
		apath->resident_cost = whole->resident_cost * change;
	}
}

static Cost
cost_of_first(const Path *path, double fraction)
{
	return path->startup_cost + (path->total_cost - path->startup_cost) * fraction;
}

void
anago_price_first_rows(PlannerInfo *root, AnagoPath *apath)
{
	const AnagoPathStep *step = linitial(apath->steps);
	const Path *core = &step->ipath->path;
	Path	   *path = &apath->cpath.path;
	AnagoPath	whole = *apath;
	double		fraction;
	double		cold;

	if (root->limit_tuples <= 0 || root->limit_tuples >= path->rows ||
		!bms_equal(path->parent->relids, root->all_baserels) ||
		!anago_may_stop(root, path->pathkeys))
		return;
	fraction = root->limit_tuples / path->rows;
	price_fraction(root, apath, &whole, fraction, step->cold);
	if (cost_of_first(path, fraction) >= cost_of_first(core, fraction))
		return;

	/* what it reads may be cached where little else is */
	cold = anago_cold_head(root, step->ipath, fraction * anago_entries_of(step));
	if (cold < step->cold)
		price_fraction(root, apath, &whole, fraction, cold);
}
