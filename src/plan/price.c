/*-------------------------------------------------------------------------
 *
 * price.c
 *	  What the work of one step costs; that of a scan alone: scanprice.c.
 *
 * A pipeline does what core's nestloops over the same index scans do, so that
 * it costs what they cost, but for the time spent waiting for pages at
 * random places.  That share of core's cost,
 *
 *		random = pages * random_page_cost,
 *
 * is reduced, as most of it overlaps: waits.c.
 *
 * Visits.  Where an index leads to many rows of each page, in an order that
 * has nothing to do with the pages, each row is a visit of its own: a buffer
 * to find and pin, and memory that is in no CPU cache.  Core counts pages, and
 * a page that is met again as free.  We add, for each row beyond the first of
 * a page, 20 operators, 0.05: without that an index scan of most rows of a
 * cached table looks as cheap as a bitmap scan or a sequential scan, which are
 * 1.4 to 2.6 times as fast (TPC-H Q1, Q3, Q6).  Where shared buffers do not hold the
 * pages until then, it is copied out of the kernel's cache again; see waits.c.
 *
 * For a step of a join the pages of all its probes count together, as probes
 * overlap, and each once.  Where they are so few that they are in shared
 * buffers soon, if they were not from the start, there is next to nothing to
 * wait for: then our step costs what core's nestloop does, less a token by which
 * it is preferred to that.  Its rival is a hash join, which reads such a table
 * in order.  That takes 0.04 to 0.1 us for a row then, and a probe of ours 0.6
 * to 1.1 us (25 to 10,000 rows, cached), or 10 to 15 times as much; core's
 * charge for a descent, 0.14 to 0.3 against 0.0125, is ample.  So it is bad to
 * be led to a chain by reads that nobody waits for, and worse if the rows turn
 * out to be many more than estimated.  A wrong guess the other way costs no more
 * than the few reads of a small table.
 *
 * Pages read in order (correlated indexes, probes in their order: inorder.c) gain nothing:
 * there the kernel reads ahead for core as well.  CPU costs stay as they are, and each
 * pipeline has a fixed cost to set up, so that lookups of a few rows are
 * left to core.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"

#include "compat.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "plan/risk.h"
#include "plan/waits.h"

/*
 * A step's table and index that are small: in blocks, and as a share of
 * shared_buffers.
 */
#define ANAGO_SMALL_PAGES		2048
#define ANAGO_SMALL_SHARE		(1.0 / 8)

/*
 * Of its pages, a share that come in order: a step gains nothing then by waiting less, and
 * is taken for what the index says only if it costs less than this, as where all is
 * cached (gain.c).
 */
#define MOSTLY					0.5
#define FAR_LESS				0.5

/* Larger ones that are visited over and over: share, visits of each page. */
#define ANAGO_CACHED_SHARE		(1.0 / 2)
#define ANAGO_MANY_VISITS		4.0

/* Of a tuple: conditions that the index does not check, as core's cost_index sees it. */
static Cost
filter_cost(PlannerInfo *root, const IndexPath *ipath)
{
	List	   *quals = NIL;
	List	   *sources[2];
	QualCost	cost;

	sources[0] = ipath->indexinfo->indrestrictinfo;
	sources[1] = ipath->path.param_info ? ipath->path.param_info->ppi_clauses : NIL;
	for (int i = 0; i < lengthof(sources); i++)
	{
		ListCell   *lc;

		foreach(lc, sources[i])
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

			if (!rinfo->pseudoconstant &&
				!is_redundant_with_indexclauses(rinfo, ipath->indexclauses))
				quals = lappend(quals, rinfo);
		}
	}
	cost_qual_eval(&cost, quals, root);
	list_free(quals);
	return cost.per_tuple;
}

double
anago_tuples_fetched(const IndexPath *ipath)
{
	return clamp_row_est(ipath->indexselectivity * ipath->path.parent->tuples);
}

static Cost
cpu_of(const IndexPath *ipath, Cost filter, double tuples, double rows)
{
	Cost		per_entry = cpu_index_tuple_cost +
		cpu_operator_cost * list_length(ipath->indexclauses);

	return tuples * (per_entry + cpu_tuple_cost + filter) +
		ipath->path.pathtarget->cost.per_tuple * rows;
}

/* Of one table. */
static Cost
filter_of_step(PlannerInfo *root, const AnagoPathStep *step)
{
	if (step->facts->filter < 0)
		step->facts->filter = filter_cost(root, step->ipath);
	return step->facts->filter;
}

/* CPU share of the index path's run cost, if it finds so many tuples and rows. */
Cost
anago_cpu_of(PlannerInfo *root, const AnagoPathStep *step, double tuples, double rows)
{
	return cpu_of(step->ipath, filter_of_step(root, step), tuples, rows);
}

/* Core's charge for the pages of one scan, or probe, of one table. */
static Cost
probe_io(const IndexPath *ipath, Cost filter)
{
	Cost		run = ipath->path.total_cost - ipath->path.startup_cost;

	return Max(0.0, run - cpu_of(ipath, filter, anago_tuples_fetched(ipath),
								 ipath->path.rows));
}

Cost
anago_index_path_io(PlannerInfo *root, const IndexPath *ipath)
{
	return probe_io(ipath, filter_cost(root, ipath));
}

/* Of the rows, those for which the table must be visited. */
double
anago_part_visited(const IndexPath *ipath)
{
	return ipath->path.pathtype == T_IndexOnlyScan ?
		1.0 - ipath->path.parent->allvisfrac : 1.0;
}

/*
 * One price out of two: by core's estimates, and by what the index says.  If
 * that is less, the lower one.  If it is more, core's own plan for the same
 * work is priced too low as well; ours, which waits less, must not lose
 * to it, but may to any other.  Core's processes share the waits of a partial
 * nestloop: the more core is wrong the more do ours, or the partial one would win.
 */
AnagoPrice
anago_settle(const AnagoPrice *believed, const AnagoPrice *dived)
{
	AnagoPrice	price = *dived;

	if (dived->core > believed->core)
	{
		price.ours = Max(believed->ours,
						 Min(dived->ours, believed->core * (1.0 - ANAGO_TOKEN)));
		price.resident *= price.ours / Max(dived->ours, price.ours);
		price.shared += Max(price.ours - price.shared, 0) *
			Min(dived->core / Max(believed->core, 1.0) - 1.0, 1.0);
	}
	else if (dived->ours > believed->ours)
		price = *believed;
	return price;
}

/*
 * Core's charge for pages that are in memory already, less the CPU time that they
 * take: nothing that a further process would help with.
 */
Cost
anago_resident_of(const RelOptInfo *rel, Cost io)
{
	return Max(0.0, io - anago_page_cpu(rel, io));
}

/*
 * What is added is CPU time, of which each process has a part.  Core's processes share
 * the waits of a partial plan as well; if there is such a plan, ours must stay below
 * it, too.
 */
void
anago_charge(AnagoPrice *price, Cost extra, const AnagoCoreRival *core)
{
	double		divisor = anago_parallel_divisor(max_parallel_workers_per_gather);
	Cost		most = core->cost * (1.0 - ANAGO_TOKEN);
	/* processes can share no more than all, so that this bounds the partial path, too */
	Cost		added = core->beaten && !core->divided ? extra :
		Min(extra, most - price->ours);
	Cost		partial;

	if (added <= 0)
		return;
	partial = price->ours - price->shared * (1.0 - 1.0 / divisor);
	partial = core->divided ? Max(partial, Min(partial + added / divisor, most / divisor)) :
		partial + added / divisor;
	price->ours += added;
	price->shared = divisor > 1.0 ?
		Min((price->ours - partial) / (1.0 - 1.0 / divisor), price->ours) :
		price->shared + added;
}

double
anago_step_cold(PlannerInfo *root, const AnagoPathStep *step)
{
	if (step->facts->cold < 0)
		step->facts->cold = step->several ?
			anago_cold_share_of_all(root, step->members) :
			anago_cold_share(root, step->ipath);
	return step->facts->cold;
}

/*
 * Of what core charges for the pages of all probes of a step, the part that a
 * cold cache would wait for: no page is waited for twice.  Core counts more
 * where the rows that bring the values are fewer than the probes.
 */
static Cost
waits_of_step(const IndexPath *ipath, Cost io)
{
	double		pages = ipath->path.parent->pages * anago_part_visited(ipath) +
		ipath->indexinfo->pages;
	double		random_page;

	anago_page_costs(ipath->path.parent, &random_page, NULL);
	return Min(io, pages * random_page);
}

bool
anago_soon_cached(double pages, double probes)
{
	return pages <= Min(NBuffers * ANAGO_SMALL_SHARE, ANAGO_SMALL_PAGES) ||
		(pages <= NBuffers * ANAGO_CACHED_SHARE &&
		 probes >= pages * ANAGO_MANY_VISITS);
}

/*
 * Will all pages that so many probes want soon be cached, if they are not?
 * Those of all tables count together.
 */
static bool
is_soon_cached(const AnagoPathStep *step, double probes)
{
	const RelOptInfo *last = NULL;
	double		pages = 0;
	ListCell   *lc;

	if (step->several == NULL)
		pages = (double) step->ipath->path.parent->pages + step->ipath->indexinfo->pages;
	foreach(lc, step->members)
	{
		const IndexPath *ipath = lfirst(lc);

		pages += ipath->indexinfo->pages;
		if (ipath->path.parent != last)
			pages += ipath->path.parent->pages;
		last = ipath->path.parent;
	}
	return anago_soon_cached(pages, probes);
}

/* What becomes of core's charge for the pages of all probes of a step. */
typedef struct ProbedPages
{
	Cost		saved;
	Cost		work;			/* CPU time that is added */
	Cost		resident;		/* as in AnagoPrice */
} ProbedPages;

/* Probes of one table: of `io`, the share `cold` has to be waited for. */
static void
add_table(const IndexPath *ipath, Cost io, double cold, ProbedPages *sum)
{
	const RelOptInfo *rel = ipath->path.parent;
	Cost		waits = waits_of_step(ipath, io) * cold;
	Cost		waited;
	Cost		work;

	waited = anago_overlapped(rel, waits, &work);
	sum->work += work;
	sum->saved += waits - waited - work;
	sum->resident += anago_resident_of(rel, io - waits);
}

Cost
anago_step_io(PlannerInfo *root, const AnagoPathStep *step)
{
	AnagoStepFacts *facts = step->facts;
	ListCell   *lc;

	if (facts->io < 0 && step->several == NULL)
		facts->io = probe_io(step->ipath, filter_of_step(root, step));
	else if (facts->io < 0)
	{
		facts->io = 0;
		foreach(lc, step->members)
			facts->io += anago_index_path_io(root, lfirst(lc));
	}
	return facts->io;
}

/* What one probe costs more than core's own path of the same inner side. */
static Cost
more_than_core(const AnagoPathStep *step)
{
	Cost		total = step->tests;
	ListCell   *lc;

	foreach(lc, step->members)
		total += ((const Path *) lfirst(lc))->total_cost;
	return total - step->several->total_cost;
}

/*
 * Core looks up an OR by a bitmap scan.  That comes to a page once, where arms come
 * one by one, and test whose a row is; but where arms have values of several tables
 * core charges for a bitmap of all rows.  So what index scans cost is what counts.
 */
static AnagoProbesCost
probes_by_arms(const AnagoPathStep *step, const AnagoProbesCost *core)
{
	AnagoProbesCost cost = *core;

	cost.probes = Max(core->probes + core->whole * more_than_core(step), 0);
	return cost;
}

/* The probes of all tables. */
static ProbedPages
probed_pages(PlannerInfo *root, const AnagoPathStep *step,
			 const AnagoProbesCost *cost, double cold)
{
	ProbedPages sum = {0};
	ListCell   *lc;

	if (step->several == NULL)
	{
		add_table(step->ipath, cost->io, cold * (1.0 - cost->in_order), &sum);
		return sum;
	}
	/* core scans tables of an Append that are tiny, where ours uses an index */
	if (!step->has_arms)
		sum.saved = -cost->whole * Max(more_than_core(step), 0);
	foreach(lc, step->members)
		add_table(lfirst(lc),
				  cost->whole * anago_index_path_io(root, lfirst(lc)), cold, &sum);
	return sum;
}

/* What shared buffers do not hold of the pages that all probes come to, a leaf and blocks each. */
static Cost
copied_again(const AnagoPathStep *step, const AnagoProbesCost *cost)
{
	const IndexPath *ipath = step->ipath;
	double		visits = cost->whole *
		(1.0 + Max(step->dive.blocks, 1.0) * anago_part_visited(ipath));
	double		random_page;

	if (step->several != NULL)
		return 0;
	anago_page_costs(ipath->path.parent, &random_page, NULL);
	return anago_copied_again(visits, anago_pages_for(waits_of_step(ipath, cost->io), random_page));
}

/* If all of the probes' pages are in memory already. */
static Cost
resident_of_probes(PlannerInfo *root, const AnagoPathStep *step,
				   const AnagoProbesCost *cost)
{
	return step->several != NULL ? probed_pages(root, step, cost, 0).resident :
		anago_resident_of(step->ipath->path.parent, cost->io);
}

static AnagoPrice
price_step(PlannerInfo *root, const AnagoPathStep *step,
		   const AnagoProbesCost *core, Cost setup)
{
	AnagoProbesCost own = step->has_arms ? probes_by_arms(step, core) : *core;
	const AnagoProbesCost *cost = &own;
	ProbedPages pages = probed_pages(root, step, cost, step->cold);
	Cost		saved = pages.saved - setup;
	Cost		probes = cost->probes - cost->repeated;
	AnagoPrice	price;

	price.core = core->probes;
	price.shared = Max(probes - cost->io + Min(setup, 0), 0) + pages.work;
	price.resident = pages.resident;
	if (cost->naps > 0)
		saved = Max(saved, probes * cost->naps - setup);
	if (is_soon_cached(step, cost->loops) || cost->naps > 0)
	{
		/* There is little to wait for: processes share it all, as in core. */
		saved = Min(saved, probes * Max(ANAGO_TOKEN, cost->naps));
		price.shared = probes - saved;
		price.resident = resident_of_probes(root, step, cost);
	}
	price.ours = probes - saved;
	return price;
}

static double
dived_entries(const AnagoPathStep *step)
{
	return step->dive.known ? step->dive.entries :
		step->ipath->indexselectivity * step->ipath->path.parent->tuples;
}

/*
 * Pages of the heap and leaves are each fetched once for as many probes as have room
 * in the cache, as core has it of repeated scans.
 */
Cost
anago_probe_io(PlannerInfo *root, const IndexPath *ipath, double loops,
			   double entries, double blocks)
{
	const IndexOptInfo *index = ipath->indexinfo;
	const RelOptInfo *rel = ipath->path.parent;
	double		leaves = ceil(entries * index->pages / Max(index->tuples, 1.0));
	double		random_page;
	double		pages;

	anago_page_costs(rel, &random_page, NULL);
	pages = index_pages_fetched(Max(leaves, 1.0) * loops, index->pages,
								index->pages, root) +
		index_pages_fetched(Max(blocks, 1.0) * loops, rel->pages,
							index->pages, root) * anago_part_visited(ipath);
	return pages / loops * random_page;
}

/*
 * What the same probes cost by core's formulas, if they are as many and find as
 * many entries as index dives say.
 */
static AnagoProbesCost
dived_step(PlannerInfo *root, const AnagoPathStep *step,
		   const AnagoProbesCost *core, double loops)
{
	const IndexPath *ipath = step->ipath;
	double		entries = dived_entries(step);
	double		blocks = step->dive.known ? step->dive.blocks : entries;
	AnagoProbesCost cost;

	cost.loops = loops;
	cost.risk = core->risk;
	cost.beaten = core->beaten;
	cost.divided = core->divided;
	cost.naps = core->naps;
	cost.in_order = core->in_order;
	cost.whole = core->whole * loops / core->loops;
	cost.io = cost.whole * anago_probe_io(root, ipath, loops, entries, blocks);
	cost.probes = cost.io + cost.whole *
		anago_cpu_of(root, step, entries, ipath->path.rows * step->dive.ratio) +
		/* descents, and the join's conditions */
		(core->probes - core->whole *
		 (ipath->path.total_cost - ipath->path.startup_cost)) * loops / core->loops;
	cost.repeated = core->repeated > 0 ? anago_repeated(root, step, cost.whole, entries) : 0;
	return cost;
}

/* If there are so many rows to probe for, what our step takes with all its copies. */
static Cost
price_of_loops(PlannerInfo *root, const AnagoPathStep *step,
			   const AnagoProbesCost *core, double loops, Cost setup)
{
	AnagoProbesCost cost = dived_step(root, step, core, loops);

	return price_step(root, step, &cost, setup).ours + copied_again(step, &cost);
}

/*
 * There may be more rows than core believes; what index dives see more is in the price
 * already.  The rival is a hash join, which has read the table.  `expected` is what
 * own_loops probes take, or less than 0.
 */
static Cost
risk_of_step(PlannerInfo *root, const AnagoPathStep *step,
			 const AnagoProbesCost *core, double own_loops, Cost expected, Cost setup)
{
	double		feared = Min(own_loops, core->loops) * core->risk;

	if (feared <= own_loops)
		return 0;
	if (expected < 0)
		expected = price_of_loops(root, step, core, own_loops, setup);
	return anago_price_of_risk(expected,
							   price_of_loops(root, step, core, feared, setup),
							   (feared - own_loops) * anago_hashed_row_cost() +
							   anago_evaluated(root, step, feared - own_loops,
											   dived_entries(step)));
}

AnagoPrice
anago_price_step(PlannerInfo *root, AnagoPathStep *step,
				 const AnagoProbesCost *core, double own_loops, Cost setup,
				 SpecialJoinInfo *sjinfo)
{
	AnagoCoreRival rival = {core->probes, core->beaten, core->divided};
	AnagoProbesCost cost = *core;
	Cost		again;
	Cost		expected = -1;
	AnagoPrice	price;

	step->cold = anago_step_cold(root, step);
	price = price_step(root, step, core, setup);
	if (step->several != NULL)
		return price;

	anago_dive(root, step->ipath, step->facts, core->probes, sjinfo, &step->dive);
	if (step->dive.known || own_loops != core->loops)
	{
		AnagoPrice	dived;

		cost = dived_step(root, step, core, own_loops);
		dived = price_step(root, step, &cost, setup);
		expected = dived.ours;
		price = anago_settle(&price, &dived);
	}
	if (core->in_order >= MOSTLY && price.ours > core->probes * FAR_LESS)
		price.ours = Max(price.ours, core->probes);
	again = copied_again(step, &cost);
	if (expected >= 0)
		expected += again;
	anago_charge(&price, again +
				 risk_of_step(root, step, core, own_loops, expected, setup), &rival);
	return price;
}
