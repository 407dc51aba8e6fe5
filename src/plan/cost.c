/*-------------------------------------------------------------------------
 *
 * cost.c
 *	  What a pipeline costs: the sum of its steps, and what processes share.
 *
 * What a step costs is said in price.c.  Where the query may stop early, the
 * first rows cost what they do in core: ramp.c.
 *
 * Several processes.  They share CPU costs, by core's own divisor.  Waiting is
 * not divided: the gain says how many reads of the whole query overlap, and the
 * device serves no more of them when more processes ask.  (Core likewise does
 * not divide the pages of a partial scan.)  Gather adds what starting workers
 * and passing on rows costs.
 *
 * The number of workers: one for each parallel_setup_cost of what the whole
 * pipeline costs beyond its startup, waits and CPU, and at most
 * max_parallel_workers_per_gather.  Pages that are in memory already count with
 * their CPU time: core's price of 600 of them is that of two workers, and reading
 * them takes a quarter of a millisecond.  So a worker has as much to do as it
 * costs to start one, as core sees it, and a small pipeline has no partial path;
 * but that of a partition has one worker at least, as together with others it
 * may be worth it.  Where rows are to leave in order, fewer leaves than core asks
 * for have none.  The size of a table, by which core decides, says little of
 * the work of a chain of index probes.  Where the first table has the storage
 * parameter parallel_workers, that many, as in core; and above a child plan
 * the number is the child's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "compat_plan.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "plan/risk.h"

/*
 * Settings of costs beyond all measure lead to infinite ones, and the difference
 * of two of these is not a number, which could not be compared.  Then it costs
 * what core's path does.
 */
static void
mend_cost(Path *path, const Path *core)
{
	if (isnan(path->total_cost) || isnan(path->startup_cost))
	{
		path->startup_cost = core->startup_cost;
		path->total_cost = core->total_cost;
	}
}

/* Costs are final: keep them for the steps to come, and for partial paths. */
static void
keep_whole(AnagoPath *apath, Cost shared)
{
	const Path *path = &apath->cpath.path;

	apath->rows = path->rows;
	apath->startup_cost = path->startup_cost;
	apath->total_cost = path->total_cost;
	apath->shared_cost = isnan(shared) ? 0 :
		Max(0.0, Min(shared, path->total_cost - path->startup_cost));
}

/*
 * Where all rows will be taken it does not matter how soon the first one comes:
 * what setting up takes is then part of the rest.  Else, with a LIMIT above a sort or an
 * aggregate, core would keep its own path as well, for the sake of its startup cost,
 * and make every join above of both.  (Where a path's order makes that it
 * may stop, anago_keep_order puts it back.)
 */
static void
defer_setup(PlannerInfo *root, AnagoPath *apath, const Path *core)
{
	Path	   *path = &apath->cpath.path;

	if (anago_may_stop(root, NIL) || path->param_info != NULL)
		return;
	apath->deferred = Max(path->startup_cost - core->startup_cost, 0);
	path->startup_cost -= apath->deferred;
}

void
anago_cost_scan(PlannerInfo *root, AnagoPath *apath)
{
	AnagoPathStep *step = linitial(apath->steps);
	const Path *from = &step->ipath->path;
	Path	   *path = &apath->cpath.path;
	AnagoPrice	price = anago_price_scan(root, step);
	double		random_page;

	anago_page_costs(from->parent, &random_page, NULL);
	path->rows = from->rows;
	anago_copy_disabled_nodes(path, from);
	path->startup_cost = from->startup_cost + ANAGO_SETUP_PAGES * random_page;
	path->total_cost = path->startup_cost + price.ours;
	defer_setup(root, apath, from);
	apath->ramp = anago_ramp_of_step(root, 1, from->parent, price.core - price.ours);
	anago_add_ramp(root, apath, NIL);
	mend_cost(path, from);
	keep_whole(apath, price.shared);
	apath->resident_cost = price.resident;
	apath->own_rows = from->rows * step->dive.ratio;
	if (step->dive.known)
		apath->own_rows = Min(apath->own_rows, step->dive.entries);
}

/* So much less of all but the startup cost. */
void
anago_take_off(AnagoPath *apath, double share)
{
	Path	   *path = &apath->cpath.path;

	/* Of an infinite cost nothing is left that could be compared: mend_cost(). */
	if (share <= 0 || isinf(path->total_cost))
		return;
	path->total_cost -= share * (path->total_cost - path->startup_cost);
	keep_whole(apath, apath->shared_cost);
}

/* CPU time of a look, as a part of what core takes for the same probe. */
#define ANAGO_LOOK_CPU		0.5

/*
 * A pipeline that is run for each row of a nested loop is set up each time: 700
 * runs of two probes and 28 rows each, cached, took 124,000 instructions a run,
 * and core's nested loop 95,000.  So it is not preferred for next to nothing.
 */
#define ANAGO_RERUN_SHARE	0.1

static Cost
rerun_cost(const Path *path, Cost probes, Cost setup)
{
	return path->param_info == NULL ? 0 :
		probes * ANAGO_RERUN_SHARE + Max(setup, 0);
}

/*
 * The rows of an outer path as index dives see them.  What one path of its
 * relation has found out holds for all, or they could not be compared.
 */
double
anago_own_rows(const Path *outer)
{
	List	   *paths[2];
	ListCell   *lc;

	paths[0] = outer->parent->pathlist;
	paths[1] = outer->parent->partial_pathlist;
	if (outer->pathtype != T_Unique)
		for (int i = 0; i < lengthof(paths); i++)
			foreach(lc, paths[i])
			{
				const Path *path = lfirst(lc);

				if (anago_is_path(path) && path->param_info == outer->param_info)
					return ((const AnagoPath *) path)->own_rows;
			}
	return outer->rows;
}

/* Is there a partial path that gives an outer path's rows for no more? */
static bool
is_divided(const Path *outer)
{
	return outer->parent->partial_pathlist != NIL &&
		((Path *) linitial(outer->parent->partial_pathlist))->total_cost <=
		outer->total_cost;
}

/* Of these paths, is there one that costs less and asks for no more? */
bool
anago_is_beaten(const Path *path, const List *pathlist)
{
	ListCell   *lc;

	foreach(lc, pathlist)
	{
		const Path *other = lfirst(lc);

		if (!anago_is_path(other) && other->total_cost < path->total_cost &&
			bms_is_subset(PATH_REQ_OUTER(other), PATH_REQ_OUTER(path)))
			return true;
	}
	return false;
}

/* What the probes of core's nestloop cost. */
static AnagoProbesCost
probes_of(PlannerInfo *root, const AnagoPathStep *step, const NestPath *nest)
{
	const Path *outer = nest->jpath.outerjoinpath;
	Cost		inner = anago_step_inner(step)->total_cost;
	AnagoProbesCost cost;

	cost.naps = cost.repeated = 0;
	cost.loops = cost.whole = Max(outer->rows, 1.0);
	cost.beaten = anago_hash_beats(nest) ||
		anago_is_beaten(&nest->jpath.path, nest->jpath.path.parent->pathlist);
	cost.divided = is_divided(outer);
	cost.probes = Max(0.0, nest->jpath.path.total_cost - outer->total_cost);
	cost.risk = anago_may_dive(cost.probes) ?
		anago_rows_risk(root, outer->parent->relids) : 1.0;

	/* Probes that stop at the first match cost less than whole ones. */
	if (cost.loops * inner > cost.probes)
		cost.whole *= cost.probes / (cost.loops * inner);
	cost.io = cost.whole * anago_step_io(root, step);
	cost.in_order = anago_pages_in_order(root, step, outer);
	return cost;
}

/*
 * The price of such probes.  What subqueries that come again do not take is taken off, unless
 * core has a cheaper join for the same work.
 */
static AnagoPrice
price_of_join(PlannerInfo *root, AnagoPathStep *step, const NestPath *nest,
			  AnagoProbesCost *cost, double own_loops, Cost setup, SpecialJoinInfo *sjinfo)
{
	double		entries = step->several ? 0 : anago_tuples_fetched(step->ipath);
	AnagoPrice	price;

	cost->repeated = anago_repeated(root, step, cost->whole, entries);
	price = anago_price_step(root, step, cost, own_loops, setup, sjinfo);
	if (cost->repeated <= 0 ||
		anago_wins_without_subplans(root, step, nest, sjinfo,
									nest->jpath.outerjoinpath->total_cost + price.ours,
									cost->whole, entries))
		return price;
	cost->repeated = 0;
	return anago_price_step(root, step, cost, own_loops, setup, sjinfo);
}

/*
 * `nest` is core's nestloop of the same two sides; its outer side, if it is
 * one of ours, has had its own share reduced already.  Costs and rows are those
 * of all processes, also if the path is to be a partial one.
 */
void
anago_cost_join(PlannerInfo *root, AnagoPath *apath, const NestPath *nest,
				SpecialJoinInfo *sjinfo)
{
	AnagoPathStep *step = llast(apath->steps);
	const Path *outer = nest->jpath.outerjoinpath;
	const AnagoPath *ours = anago_is_path(outer) ? (const AnagoPath *) outer : NULL;
	const Path *inner = anago_step_inner(step);
	const Path *stock = &nest->jpath.path;
	Path	   *path = &apath->cpath.path;
	double		outer_rows = Max(outer->rows, 1.0);
	double		own_loops = Max(anago_own_rows(outer), 1.0);
	double		random_page;
	AnagoProbesCost cost;
	AnagoPrice	price;
	Cost		setup;

	anago_page_costs(inner->parent, &random_page, NULL);
	cost = probes_of(root, step, nest);
	cost.naps = step->naps;

	/* A merged step needs no new pipeline, and saves its rows one plan node. */
	setup = apath->source != outer ?
		-Min(outer_rows * cpu_operator_cost, Max(cost.probes - cost.io, 0)) :
		ANAGO_SETUP_PAGES * random_page;
	price = price_of_join(root, step, nest, &cost, own_loops, setup, sjinfo);

	path->rows = stock->rows;
	anago_copy_disabled_nodes(path, stock);
	path->startup_cost = stock->startup_cost + Max(setup, 0) -
		(inner->startup_cost - anago_probe_startup(step));
	path->total_cost = Max(outer->total_cost + price.ours, path->startup_cost) +
		rerun_cost(path, cost.probes, setup);
	defer_setup(root, apath, stock);
	apath->ramp = anago_ramp_of_step(root, list_length(apath->steps), inner->parent,
									 price.core - price.ours + Max(setup, 0));
	anago_add_ramp(root, apath, NIL);
	mend_cost(path, stock);
	keep_whole(apath, (ours ? ours->shared_cost : 0) + price.shared);
	apath->resident_cost = (ours ? ours->resident_cost : 0) + price.resident;
	apath->own_rows = stock->rows * own_loops / outer_rows * step->dive.join_ratio;
	if (step->dive.known && step->jointype == JOIN_INNER)
		apath->own_rows = Min(apath->own_rows, own_loops * step->dive.entries);
}

/* What core's nestloop costs if index dives are right. */
Cost
anago_cost_nestloop(PlannerInfo *root, AnagoPathStep *step, const NestPath *nest,
					SpecialJoinInfo *sjinfo)
{
	const Path *outer = nest->jpath.outerjoinpath;
	AnagoProbesCost cost = probes_of(root, step, nest);

	return outer->total_cost +
		anago_price_step(root, step, &cost, Max(anago_own_rows(outer), 1.0), 0, sjinfo).core;
}

/*
 * What core's nestloop costs if looks read its inner side's pages ahead.  These come
 * to each page first, and core to the same page, which is there then, once more:
 * the waits are those of a step of ours, CPU costs more than core's.
 */
Cost
anago_cost_looks(PlannerInfo *root, AnagoPathStep *step, const NestPath *nest,
				 SpecialJoinInfo *sjinfo)
{
	const Path *outer = nest->jpath.outerjoinpath;
	AnagoProbesCost cost = probes_of(root, step, nest);
	double		random_page;
	AnagoPrice	price;

	anago_page_costs(anago_step_inner(step)->parent, &random_page, NULL);
	price = anago_price_step(root, step, &cost, Max(anago_own_rows(outer), 1.0),
							 ANAGO_SETUP_PAGES * random_page, sjinfo);
	return outer->total_cost + price.ours +
		ANAGO_LOOK_CPU * Max(cost.probes - cost.io, 0);
}

/*
 * Make it a path with that order, whose outer side (or NULL) costs what it
 * does.  Rows that come before their turn are kept, and reads wait for it.
 */
void
anago_keep_order(PlannerInfo *root, AnagoPath *apath, List *pathkeys,
				 const Path *outer)
{
	Path	   *path = &apath->cpath.path;
	Cost		run = path->total_cost - path->startup_cost;
	Cost		of_outer = outer ? outer->total_cost - outer->startup_cost : 0;

	path->pathkeys = pathkeys;
	if (anago_may_stop(root, pathkeys))
		path->startup_cost += apath->deferred;
	path->total_cost += Max(run - of_outer, 0) * ANAGO_ORDER_PART +
		path->rows * cpu_operator_cost;
	anago_add_ramp(root, apath, pathkeys);
	if (outer == NULL)
		anago_price_first_rows(root, apath);
	keep_whole(apath, apath->shared_cost);
}

/*
 * By how much a parallel plan's work is divided.  As core's own function, by
 * which Gather multiplies rows again: of the leader's time each worker takes
 * three tenths.
 */
double
anago_parallel_divisor(int workers)
{
	double		leader = parallel_leader_participation ? 1.0 - 0.3 * workers : 0;

	return workers + Max(leader, 0);
}

Cost
anago_work_of(const AnagoPath *apath)
{
	return apath->total_cost - apath->startup_cost - apath->resident_cost;
}

int
anago_workers_for(Cost work)
{
	double		workers = work / Max(parallel_setup_cost, 1.0);

	return (int) Min(workers, max_parallel_workers_per_gather);
}

/* How many workers its work is worth, whatever the first table says. */
static int
workers_by_work(const AnagoPath *apath)
{
	bool		partition = IS_OTHER_REL(apath->cpath.path.parent);

	return Max(partition ? 1 : 0, anago_workers_for(anago_work_of(apath)));
}

/*
 * Might it be worth workers, once its source is one that can be shared?  A
 * cheap test, as with anago_scan_may_gain.
 */
bool
anago_is_worth_workers(const AnagoPath *apath)
{
	const AnagoPathStep *first = linitial(apath->steps);
	const Path *path = apath->source ? apath->source : &first->ipath->path;

	return workers_by_work(apath) > 0 || path->parent->rel_parallel_workers > 0;
}

/*
 * Where each process is to give its rows in order, leaves of the first step's
 * range are what they take: as core has it, from so many on, and no process
 * without one.
 */
static double
workers_by_leaves(const IndexPath *first)
{
	double		leaves = ceil(first->indexselectivity * first->indexinfo->pages);

	return leaves < min_parallel_index_scan_size ? 0 : leaves;
}

/* How many workers a pipeline is worth; 0: none. */
int
anago_parallel_workers(const AnagoPath *apath)
{
	const AnagoPathStep *first = linitial(apath->steps);
	int			wanted = first->ipath->path.parent->rel_parallel_workers;

	if (apath->source)
		return apath->source->parallel_workers;
	if (wanted >= 0)
		return Min(wanted, max_parallel_workers_per_gather);
	if (apath->cpath.path.pathkeys == NIL)
		return workers_by_work(apath);
	return (int) Min(workers_by_work(apath), workers_by_leaves(first->ipath));
}

/* More to do for the rows that come out, by who makes them. */
void
anago_add_cpu_cost(AnagoPath *apath, Cost cost)
{
	apath->cpath.path.total_cost += cost;
	apath->total_cost += cost;
	apath->shared_cost += cost;
}

/* The same steps, put together in another way: the same cost. */
void
anago_copy_cost(AnagoPath *dst, const AnagoPath *src)
{
	dst->cpath.path.rows = src->rows;
	dst->cpath.path.startup_cost = src->startup_cost;
	dst->cpath.path.total_cost = src->total_cost;
	anago_copy_disabled_nodes(&dst->cpath.path, &src->cpath.path);
	keep_whole(dst, src->shared_cost);
	dst->resident_cost = src->resident_cost;
	dst->own_rows = src->own_rows;
}

/* What each process of a partial path pays and gives. */
void
anago_cost_partial(AnagoPath *apath)
{
	Path	   *path = &apath->cpath.path;
	double		divisor = anago_parallel_divisor(path->parallel_workers);

	path->rows = clamp_row_est(apath->rows / divisor);
	path->startup_cost = apath->startup_cost;
	path->total_cost = apath->total_cost -
		apath->shared_cost * (1.0 - 1.0 / divisor);
}
