/*-------------------------------------------------------------------------
 *
 * scanprice.c
 *	  What the first step costs: a scan of one range of an index.
 *
 * Core's price comes apart into CPU time, pages at random places, and pages in
 * order; what becomes of these is said in price.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "plan/memo.h"
#include "plan/price.h"
#include "plan/risk.h"
#include "plan/waits.h"

/*
 * A range of a table in the index's order, in blocks, which the kernel has read ahead for
 * core before reads of ours would be many.  orders by o_orderkey, scale 1, cold, stock /
 * ours: 45 blocks 0.45, 230 blocks 0.85, 900 blocks 1.0, 4,600 blocks 1.3.
 */
#define SHORT_RANGE			1024

/* A table that is so much in that order: then a short range costs no less than core's. */
#define IN_ORDER			0.9

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
	double		visited = anago_part_visited(ipath);
	double		random_page;
	double		seq_page;

	anago_page_costs(rel, &random_page, &seq_page);
	*worst = random_page * visited *
		index_pages_fetched(clamp_row_est(selectivity * rel->tuples), rel->pages,
							(double) ipath->indexinfo->pages, root);
	*best = seq_page * visited * ceil(selectivity * rel->pages);
}

/* Pages of the index, all at random places as core sees it.  See split_scan_io(). */
static Cost
index_io(const IndexPath *ipath, Selectivity selectivity)
{
	double		random_page;

	anago_page_costs(ipath->path.parent, &random_page, NULL);
	return ceil(selectivity * ipath->indexinfo->pages) * random_page;
}

/* Of that charge, what is for leaves of a short range that follow each other. */
static Cost
leaves_in_order(const IndexPath *ipath, Selectivity selectivity, double correlated)
{
	return selectivity * ipath->path.parent->pages > SHORT_RANGE ||
		(ipath->indexclauses != NIL && !anago_is_one_range(ipath)) ? 0 :
		correlated * index_io(ipath, selectivity);
}

/*
 * How core's `io` came about.  It interpolates by the square of the
 * correlation between a random and a sequential price; so do we, backwards.
 * Where rows have come in the order of the index, leaves have been filled one after the
 * other: of a short range these are in order on disk as well, though core charges more for
 * them.  Of a long one we have more on their way than the kernel reads ahead.
 */
static void
split_scan_io(PlannerInfo *root, const IndexPath *ipath, Cost io, ScanIo *split)
{
	Cost		of_index = index_io(ipath, ipath->indexselectivity);
	Cost		of_heap = io - of_index;
	Cost		worst;
	Cost		best;

	heap_io(root, ipath, ipath->indexselectivity, &worst, &best);
	split->correlated = of_heap <= 0 || worst <= best ? 0 :
		Max(0.0, Min(1.0, (worst - of_heap) / (worst - best)));
	split->sequential = Min(Max(of_heap, 0), split->correlated * best) +
		leaves_in_order(ipath, ipath->indexselectivity, split->correlated);
	split->random = io - split->sequential;
}

/* What it would charge for as many entries as the index says. */
static void
scan_io_of(PlannerInfo *root, const IndexPath *ipath, Selectivity selectivity,
		   double correlated, ScanIo *split)
{
	Cost		worst;
	Cost		best;
	Cost		in_order;

	heap_io(root, ipath, selectivity, &worst, &best);
	best = Min(best, worst);
	split->correlated = correlated;
	in_order = leaves_in_order(ipath, selectivity, correlated);
	split->sequential = correlated * best + in_order;
	split->random = index_io(ipath, selectivity) - in_order + (1 - correlated) * worst;
}

/* Visits of one scan that lead to a page again, in no order. */
static Cost
visit_cpu(const IndexPath *ipath, const ScanIo *io, double random_page,
		  double tuples)
{
	double		visits = tuples * anago_part_visited(ipath) * (1.0 - io->correlated);
	double		pages = anago_pages_for(io->random, random_page);

	return anago_again_cpu(visits, pages) + anago_copied_again(visits, pages);
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
	price.resident = anago_resident_of(rel, io->random - waits);
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

/* The same if it finds so many. */
static AnagoPrice
price_scan_of(PlannerInfo *root, const AnagoPathStep *step, double tuples,
			  double rows, double correlated, double cold)
{
	IndexPath  *ipath = step->ipath;
	ScanIo		io;

	scan_io_of(root, ipath,
			   Min(tuples / Max(ipath->path.parent->tuples, 1.0), 1.0),
			   correlated, &io);
	return price_scan(step, anago_cpu_of(root, step, tuples, rows), &io, tuples,
					  cold);
}

static AnagoPrice
price_dived_scan(PlannerInfo *root, const AnagoPathStep *step, double correlated)
{
	return price_scan_of(root, step, clamp_row_est(step->dive.entries),
						 step->ipath->path.rows * step->dive.ratio, correlated, step->cold);
}

/* Has core a partial scan of the same index? */
static bool
has_partial(const IndexPath *ipath)
{
	ListCell   *lc;

	foreach(lc, ipath->path.parent->partial_pathlist)
	{
		const IndexPath *partial = lfirst(lc);

		if (IsA(partial, IndexPath) && partial->indexinfo == ipath->indexinfo)
			return true;
	}
	return false;
}

/*
 * Between values that are not known yet.  The rival is core's bitmap scan; where only
 * the index is read, that is core's own index-only scan.
 */
static void
add_risk_of_scan(PlannerInfo *root, const AnagoPathStep *step, double correlated,
				 AnagoPrice *price)
{
	const IndexPath *ipath = step->ipath;
	double		tuples = anago_tuples_fetched(ipath);
	double		risk;
	AnagoPrice	expected;
	AnagoPrice	feared;
	AnagoCoreRival core;

	if (step->dive.known || ipath->path.pathtype != T_IndexScan ||
		!anago_may_dive(price->core))
		return;
	risk = anago_entries_risk(root, ipath);
	if (risk <= 1.0)
		return;
	expected = price_scan_of(root, step, tuples, ipath->path.rows, correlated, step->cold);
	feared = price_scan_of(root, step, tuples * risk, ipath->path.rows * risk, correlated,
						   step->cold);
	core.cost = price->core;
	core.beaten = anago_is_beaten(&ipath->path, ipath->path.parent->pathlist);
	core.divided = has_partial(ipath);
	anago_charge(price,
				 anago_price_of_risk(expected.ours, feared.ours,
									 anago_bitmap_of(root, ipath, risk) -
									 anago_bitmap_of(root, ipath, 1.0)),
				 &core);
}

/*
 * No less than core's scan of a short range in the table's order costs, which the kernel reads
 * ahead; nor, where the index says that it is shorter than core believes, than core's path
 * of the same range, unless core has something cheaper, which does not know that.
 */
static void
respect_order(const IndexPath *ipath, AnagoPrice *price)
{
	Cost		least = price->core;

	if (leaves_in_order(ipath, ipath->indexselectivity, 1.0) <= 0)
		return;
	if (!anago_is_beaten(&ipath->path, ipath->path.parent->pathlist))
		least = Max(least, ipath->path.total_cost - ipath->path.startup_cost);
	price->ours = Max(price->ours, least);
}

AnagoPrice
anago_price_scan(PlannerInfo *root, AnagoPathStep *step)
{
	const Path *path = &step->ipath->path;
	Cost		run = path->total_cost - path->startup_cost;
	Cost		io = anago_step_io(root, step);
	ScanIo		split;
	AnagoPrice	price;

	step->cold = anago_step_cold(root, step);
	split_scan_io(root, step->ipath, io, &split);
	price = price_scan(step, run - io, &split, anago_tuples_fetched(step->ipath), step->cold);
	respect_bitmap(root, step, 1.0, &price);
	anago_dive(root, step->ipath, step->facts, run, NULL, &step->dive);
	if (step->dive.known)
	{
		AnagoPrice	dived = price_dived_scan(root, step, split.correlated);

		respect_bitmap(root, step, step->dive.entries / Max(anago_tuples_fetched(step->ipath), 1.0),
					   &dived);
		price = anago_settle(&price, &dived);
	}
	if (split.correlated >= IN_ORDER)
		respect_order(step->ipath, &price);
	add_risk_of_scan(root, step, split.correlated, &price);
	return price;
}

Cost
anago_resident_cost(PlannerInfo *root, const AnagoPathStep *step)
{
	IndexPath  *ipath = step->ipath;
	ScanIo		split;

	split_scan_io(root, ipath, anago_step_io(root, step), &split);
	return anago_resident_of(ipath->path.parent, split.random *
						 (1.0 - anago_step_cold(root, step)));
}

double
anago_entries_of(const AnagoPathStep *step)
{
	return step->dive.known ? step->dive.entries : anago_tuples_fetched(step->ipath);
}

AnagoPrice
anago_price_fraction(PlannerInfo *root, const AnagoPathStep *step, double fraction,
					 double cold)
{
	IndexPath  *ipath = step->ipath;
	ScanIo		io;

	split_scan_io(root, ipath, anago_step_io(root, step), &io);
	return price_scan_of(root, step, fraction * anago_entries_of(step),
						 ipath->path.rows * fraction, io.correlated, cold);
}
