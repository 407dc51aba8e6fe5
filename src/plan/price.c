/*-------------------------------------------------------------------------
 *
 * price.c
 *	  What the work of one step costs.
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
 * 1.4 to 2.6 times as fast (TPC-H Q1, Q3, Q6).
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
 * Pages read in order (correlated indexes) gain nothing: there the
 * kernel reads ahead for core as well.  CPU costs stay as they are, and each
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
#include "plan/waits.h"

/* CPU cost of coming back to a page for one more row: in operators. */
#define ANAGO_VISIT_OPERATORS	20.0

/*
 * A step's table and index that are small: in blocks, and as a share of
 * shared_buffers.
 */
#define ANAGO_SMALL_PAGES		2048
#define ANAGO_SMALL_SHARE		(1.0 / 8)

/* Larger ones that are visited over and over: share, visits of each page. */
#define ANAGO_CACHED_SHARE		(1.0 / 2)
#define ANAGO_MANY_VISITS		4.0

/* Conditions that the index does not check, as core's cost_index sees it. */
static QualCost
filter_cost(PlannerInfo *root, IndexPath *ipath)
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
	return cost;
}

static double
tuples_fetched(const IndexPath *ipath)
{
	return clamp_row_est(ipath->indexselectivity * ipath->path.parent->tuples);
}

/* CPU share of an index path's run cost, if it finds so many tuples and rows. */
static Cost
cpu_cost_of(PlannerInfo *root, IndexPath *ipath, double tuples, double rows)
{
	QualCost	quals = filter_cost(root, ipath);
	Cost		per_entry = cpu_index_tuple_cost +
		cpu_operator_cost * list_length(ipath->indexclauses);

	return tuples * (per_entry + cpu_tuple_cost + quals.per_tuple) +
		ipath->path.pathtarget->cost.per_tuple * rows;
}

/* The same as core has counted it. */
static Cost
cpu_cost(PlannerInfo *root, IndexPath *ipath)
{
	return cpu_cost_of(root, ipath, tuples_fetched(ipath), ipath->path.rows);
}

/* Core's charge for the pages of one scan, or probe, of one table. */
static Cost
probe_io(PlannerInfo *root, IndexPath *ipath)
{
	Cost		run = ipath->path.total_cost - ipath->path.startup_cost;

	return Max(0.0, run - cpu_cost(root, ipath));
}

/* Of the rows, those for which the table must be visited. */
static double
part_visited(const IndexPath *ipath)
{
	return ipath->path.pathtype == T_IndexOnlyScan ?
		1.0 - ipath->path.parent->allvisfrac : 1.0;
}

/* What core charges for the pages of one unparameterized index scan. */
typedef struct ScanIo
{
	Cost		random;			/* pages at random places */
	Cost		sequential;		/* pages of the heap in order */
	double		correlated;		/* 0 to 1: the square of the correlation */
} ScanIo;

/* The same of the heap alone, by core's formula: in no order, and in order. */
static void
heap_io(PlannerInfo *root, const IndexPath *ipath, Selectivity selectivity,
		Cost *worst, Cost *best)
{
	const RelOptInfo *rel = ipath->path.parent;
	double		visited = part_visited(ipath);
	double		random_page;
	double		seq_page;

	anago_page_costs(rel, &random_page, &seq_page);
	*worst = random_page * visited *
		index_pages_fetched(clamp_row_est(selectivity * rel->tuples), rel->pages,
							(double) ipath->indexinfo->pages, root);
	*best = seq_page * visited * ceil(selectivity * rel->pages);
}

/* Pages of the index, all at random places as core sees it. */
static Cost
index_io(const IndexPath *ipath, Selectivity selectivity)
{
	double		random_page;

	anago_page_costs(ipath->path.parent, &random_page, NULL);
	return ceil(selectivity * ipath->indexinfo->pages) * random_page;
}

/*
 * How core's `io` came about.  It interpolates by the square of the
 * correlation between a random and a sequential price; so do we, backwards.
 */
static void
split_scan_io(PlannerInfo *root, const IndexPath *ipath, Cost io, ScanIo *split)
{
	Cost		of_heap = io - index_io(ipath, ipath->indexselectivity);
	Cost		worst;
	Cost		best;

	heap_io(root, ipath, ipath->indexselectivity, &worst, &best);
	split->correlated = of_heap <= 0 || worst <= best ? 0 :
		Max(0.0, Min(1.0, (worst - of_heap) / (worst - best)));
	split->sequential = Min(Max(of_heap, 0), split->correlated * best);
	split->random = io - split->sequential;
}

/* What it would charge for as many entries as the index says. */
static void
scan_io_of(PlannerInfo *root, const IndexPath *ipath, Selectivity selectivity,
		   double correlated, ScanIo *split)
{
	Cost		worst;
	Cost		best;

	heap_io(root, ipath, selectivity, &worst, &best);
	best = Min(best, worst);
	split->correlated = correlated;
	split->sequential = correlated * best;
	split->random = index_io(ipath, selectivity) + (1 - correlated) * worst;
}

/* Visits of one scan that lead to a page again, in no order. */
static Cost
visit_cpu(const IndexPath *ipath, const ScanIo *io, double random_page,
		  double tuples)
{
	double		visits = tuples * part_visited(ipath) * (1.0 - io->correlated);

	return Max(0.0, visits - anago_pages_for(io->random, random_page)) *
		ANAGO_VISIT_OPERATORS * cpu_operator_cost;
}

bool
anago_scan_may_gain(const IndexPath *ipath)
{
	const Path *path = &ipath->path;
	double		random_page;

	anago_page_costs(path->parent, &random_page, NULL);
	return path->total_cost - path->startup_cost >
		random_page * (ANAGO_SETUP_PAGES + ANAGO_DEPENDENT_READS);
}

/*
 * One price out of two: by core's estimates, and by what the index says.  If
 * that is less, the lower one.  If it is more, core's own plan for the same
 * work is priced too low as well; ours, which waits less, must not lose
 * to it, but may to any other.  Core's processes share the waits of a partial
 * nestloop: the more core is wrong the more do ours, or the partial one would win.
 */
static AnagoPrice
settle(const AnagoPrice *believed, const AnagoPrice *dived)
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
static Cost
resident_cost(const RelOptInfo *rel, Cost io)
{
	return Max(0.0, io - anago_page_cpu(rel, io));
}

/* A scan that finds so many tuples. */
static AnagoPrice
price_scan(const AnagoPathStep *step, Cost cpu, const ScanIo *io, double tuples,
		   double cold)
{
	const RelOptInfo *rel = step->ipath->path.parent;
	double		random_page;
	Cost		waits = io->random * cold;
	Cost		work;
	Cost		waited = anago_overlapped(rel, waits, &work);
	AnagoPrice	price;

	anago_page_costs(rel, &random_page, NULL);
	work += visit_cpu(step->ipath, io, random_page, tuples);
	price.core = cpu + io->sequential + io->random;
	price.ours = price.core - waits + waited + work;
	price.shared = cpu + work;
	price.resident = resident_cost(rel, io->random - waits);
	return price;
}

/*
 * No less than a bitmap scan would cost of the same rows, which prefetches: unless
 * that is more than core's index scan.  Both find so many times what core believes.
 */
static void
respect_bitmap(PlannerInfo *root, const AnagoPathStep *step, double times,
			   AnagoPrice *price)
{
	Cost		bitmap = anago_bitmap_price(root, step->ipath, step->cold);
	Cost		run = (bitmap - step->ipath->path.startup_cost) * Min(times, 1.0);

	price->ours = Max(price->ours, Min(run, price->core));
}

/* The same with what the index says. */
static AnagoPrice
price_dived_scan(PlannerInfo *root, const AnagoPathStep *step, double correlated)
{
	IndexPath  *ipath = step->ipath;
	double		tuples = clamp_row_est(step->dive.entries);
	ScanIo		io;

	scan_io_of(root, ipath,
			   Min(tuples / Max(ipath->path.parent->tuples, 1.0), 1.0),
			   correlated, &io);
	return price_scan(step, cpu_cost_of(root, ipath, tuples,
										ipath->path.rows * step->dive.ratio),
					  &io, tuples, step->cold);
}

double
anago_step_cold(PlannerInfo *root, const AnagoPathStep *step)
{
	if (step->facts->cold < 0)
		step->facts->cold = anago_cold_share(root, anago_step_ipaths(step));
	return step->facts->cold;
}

AnagoPrice
anago_price_scan(PlannerInfo *root, AnagoPathStep *step)
{
	const Path *path = &step->ipath->path;
	Cost		run = path->total_cost - path->startup_cost;
	Cost		io = probe_io(root, step->ipath);
	ScanIo		split;
	AnagoPrice	price;

	step->cold = anago_step_cold(root, step);
	split_scan_io(root, step->ipath, io, &split);
	price = price_scan(step, run - io, &split, tuples_fetched(step->ipath), step->cold);
	respect_bitmap(root, step, 1.0, &price);
	anago_dive(root, step->ipath, step->facts, run, NULL, &step->dive);
	if (step->dive.known)
	{
		AnagoPrice	dived = price_dived_scan(root, step, split.correlated);

		respect_bitmap(root, step, step->dive.entries / Max(tuples_fetched(step->ipath), 1.0),
					   &dived);
		price = settle(&price, &dived);
	}
	return price;
}

Cost
anago_resident_cost(PlannerInfo *root, const AnagoPathStep *step)
{
	IndexPath  *ipath = step->ipath;
	ScanIo		split;

	split_scan_io(root, ipath, probe_io(root, ipath), &split);
	return resident_cost(ipath->path.parent, split.random *
						 (1.0 - anago_step_cold(root, step)));
}

double
anago_entries_of(const AnagoPathStep *step)
{
	return step->dive.known ? step->dive.entries : tuples_fetched(step->ipath);
}

AnagoPrice
anago_price_fraction(PlannerInfo *root, const AnagoPathStep *step, double fraction,
					 double cold)
{
	IndexPath  *ipath = step->ipath;
	double		tuples = fraction * anago_entries_of(step);
	ScanIo		io;

	split_scan_io(root, ipath, probe_io(root, ipath), &io);
	scan_io_of(root, ipath, tuples / Max(ipath->path.parent->tuples, 1.0),
			   io.correlated, &io);
	return price_scan(step, cpu_cost_of(root, ipath, tuples,
										ipath->path.rows * fraction), &io, tuples, cold);
}

/*
 * Of what core charges for the pages of all probes of a step, the part that a
 * cold cache would wait for: no page is waited for twice.  Core counts more
 * where the rows that bring the values are fewer than the probes.
 */
static Cost
waits_of_step(const IndexPath *ipath, Cost io, double random_page)
{
	double		pages = ipath->path.parent->pages * part_visited(ipath) +
		ipath->indexinfo->pages;

	return Min(io, pages * random_page);
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
	return pages <= Min(NBuffers * ANAGO_SMALL_SHARE, ANAGO_SMALL_PAGES) ||
		(pages <= NBuffers * ANAGO_CACHED_SHARE &&
		 probes >= pages * ANAGO_MANY_VISITS);
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
	double		random_page;
	Cost		waits;
	Cost		waited;
	Cost		work;

	anago_page_costs(rel, &random_page, NULL);
	waits = waits_of_step(ipath, io, random_page) * cold;
	waited = anago_overlapped(rel, waits, &work);
	sum->work += work;
	sum->saved += waits - waited - work;
	sum->resident += resident_cost(rel, io - waits);
}

Cost
anago_step_io(PlannerInfo *root, const AnagoPathStep *step)
{
	AnagoStepFacts *facts = step->facts;
	ListCell   *lc;

	if (facts->io < 0)
	{
		facts->io = 0;
		foreach(lc, anago_step_ipaths(step))
			facts->io += probe_io(root, lfirst(lc));
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
		add_table(step->ipath, cost->io, cold, &sum);
		return sum;
	}
	/* core scans tables of an Append that are tiny, where ours uses an index */
	if (!step->has_arms)
		sum.saved = -cost->whole * Max(more_than_core(step), 0);
	foreach(lc, step->members)
		add_table(lfirst(lc), cost->whole * probe_io(root, lfirst(lc)), cold, &sum);
	return sum;
}

static AnagoPrice
price_step(PlannerInfo *root, const AnagoPathStep *step,
		   const AnagoProbesCost *core, Cost setup)
{
	AnagoProbesCost own = step->has_arms ? probes_by_arms(step, core) : *core;
	const AnagoProbesCost *cost = &own;
	ProbedPages pages = probed_pages(root, step, cost, step->cold);
	Cost		saved = pages.saved - setup;
	AnagoPrice	price;

	price.core = core->probes;
	price.shared = Max(cost->probes - cost->io + Min(setup, 0), 0) + pages.work;
	price.resident = pages.resident;
	if (is_soon_cached(step, cost->loops))
	{
		/* There is little to wait for: processes share it all, as in core. */
		saved = Min(saved, cost->probes * ANAGO_TOKEN);
		price.shared = cost->probes - saved;
		price.resident = probed_pages(root, step, cost, 0).resident;
	}
	price.ours = cost->probes - saved;
	return price;
}

/*
 * What the same probes cost by core's formulas, if they are as many and find as
 * many entries as index dives say.  Pages of the heap and leaves are each fetched
 * once for as many probes as have room in the cache, as core has it of repeated
 * scans.
 */
static AnagoProbesCost
dived_step(PlannerInfo *root, const AnagoPathStep *step,
		   const AnagoProbesCost *core, double loops)
{
	IndexPath  *ipath = step->ipath;
	IndexOptInfo *index = ipath->indexinfo;
	RelOptInfo *rel = ipath->path.parent;
	double		entries = step->dive.known ? step->dive.entries :
		ipath->indexselectivity * rel->tuples;
	double		blocks = step->dive.known ? step->dive.blocks : entries;
	double		leaves = ceil(entries * index->pages / Max(index->tuples, 1.0));
	double		random_page;
	double		pages;
	AnagoProbesCost	cost;

	anago_page_costs(rel, &random_page, NULL);
	pages = index_pages_fetched(Max(leaves, 1.0) * loops, index->pages,
								index->pages, root) +
		index_pages_fetched(Max(blocks, 1.0) * loops, rel->pages,
							index->pages, root) * part_visited(ipath);
	cost.loops = loops;
	cost.whole = core->whole * loops / core->loops;
	cost.io = cost.whole / loops * pages * random_page;
	cost.probes = cost.io + cost.whole *
		cpu_cost_of(root, ipath, entries, ipath->path.rows * step->dive.ratio) +
		/* descents, and the join's conditions */
		(core->probes - core->whole *
		 (ipath->path.total_cost - ipath->path.startup_cost)) * loops / core->loops;
	return cost;
}

AnagoPrice
anago_price_step(PlannerInfo *root, AnagoPathStep *step,
				 const AnagoProbesCost *core, double own_loops, Cost setup,
				 SpecialJoinInfo *sjinfo)
{
	AnagoPrice	price;

	step->cold = anago_step_cold(root, step);
	price = price_step(root, step, core, setup);
	if (step->several != NULL)
		return price;

	anago_dive(root, step->ipath, step->facts, core->probes, sjinfo, &step->dive);
	if (step->dive.known || own_loops != core->loops)
	{
		AnagoProbesCost cost = dived_step(root, step, core, own_loops);
		AnagoPrice	dived = price_step(root, step, &cost, setup);

		price = settle(&price, &dived);
	}
	return price;
}
