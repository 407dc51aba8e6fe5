/*-------------------------------------------------------------------------
 *
 * cost.c
 *	  What a pipeline costs.
 *
 * A pipeline does what core's nestloops over the same index scans do, so that
 * it costs what they cost, but for the time spent waiting for pages at
 * random places.  That share of core's cost,
 *
 *		random = pages * random_page_cost,
 *
 * is reduced.  Of these pages, those that depend on each other still wait one
 * after the other: in each step a leaf page tells which heap page is wanted.
 * All others overlap, and count as pages / anago.io_gain.  But a page that
 * nobody waits for must still be asked for, copied, and come back to; that
 * CPU time is part of random_page_cost, and does not overlap with itself:
 *
 *		random' = random_page_cost * (d + (pages - d) / io_gain) +
 *				  page_cpu * (pages - d),						d = 2
 *
 * The gain is also no more than the reads that the I/O method can keep going
 * (with none or one there is no path of ours), and no page costs less than one
 * that is read in order: waiting and CPU time of such a page together are at
 * least seq_page_cost.  Thus where random_page_cost is near that, ours gains
 * little.
 *
 * page_cpu is what core takes for the CPU cost of an index page, 50 operators,
 * or 0.125.  Going by docs/benchmarks.md, where a random read of stock's takes
 * 72 us for its 4.0, a page from the device costs a process more (about 8 us,
 * 0.4), and one that is in shared buffers less (under 1 us, 0.05).  With
 * anago.io_gain at 3, its default, a page of many in flight waits a third
 * longer than core's seq_page_cost says of a page that is read in order.  So a
 * scan of most of a table is not taken from a sequential scan, nor from a
 * bitmap scan, which core prices like the former if it fetches most pages.
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
 * Where the query may stop early, the first rows cost what they do in core: ramp.c.
 *
 * Pages read in order (correlated indexes) gain nothing: there the
 * kernel reads ahead for core as well.  CPU costs stay as they are, and each
 * pipeline has a fixed cost to set up, so that lookups of a few rows are
 * left to core.
 *
 * Several processes.  They share CPU costs, by core's own divisor.  Waiting is
 * not divided: io_gain says how many reads of the whole query overlap, and the
 * device serves no more of them when more processes ask.  (Core likewise does
 * not divide the pages of a partial scan.)  Gather adds what starting workers
 * and passing on rows costs.
 *
 * The number of workers: one for each parallel_setup_cost of what the whole
 * pipeline costs beyond its startup, waits and CPU, and at most
 * max_parallel_workers_per_gather.  So a worker has as much to do as it costs
 * to start one, as core sees it, and a small pipeline has no partial path;
 * but that of a partition has one worker at least, as together with others it
 * may be worth it.  The size of a table, by which core decides, says little of
 * the work of a chain of index probes.  Where the first table has the storage
 * parameter parallel_workers, that many, as in core; and above a child plan
 * the number is the child's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/spccache.h"

#include "compat.h"
#include "guc.h"
#include "plan/paths.h"

/* Scheduler, queues and the first reads of a small window: in page reads. */
#define ANAGO_SETUP_PAGES		2.0

/* Reads of one step that wait for each other: leaf, heap. */
#define ANAGO_DEPENDENT_READS	2.0

/* CPU cost of a page whose read overlaps with others: in operators. */
#define ANAGO_PAGE_OPERATORS	50.0

/* CPU cost of coming back to a page for one more row: in operators. */
#define ANAGO_VISIT_OPERATORS	20.0

static AnagoExpectOverlap expect_overlap = NULL;

void
anago_cost_init(AnagoExpectOverlap expect)
{
	expect_overlap = expect;
}

/*
 * A step's table and index that are small: in blocks, and as a share of
 * shared_buffers.
 */
#define ANAGO_SMALL_PAGES		2048
#define ANAGO_SMALL_SHARE		(1.0 / 8)

/* Larger ones that are visited over and over: share, visits of each page. */
#define ANAGO_CACHED_SHARE		(1.0 / 2)
#define ANAGO_MANY_VISITS		4.0

/* There a step saves no more than this share of its cost. */
#define ANAGO_TOKEN				0.05

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

/* CPU share of an index path's run cost. */
static Cost
cpu_cost(PlannerInfo *root, IndexPath *ipath)
{
	double		tuples = tuples_fetched(ipath);
	QualCost	quals = filter_cost(root, ipath);
	Cost		per_entry = cpu_index_tuple_cost +
		cpu_operator_cost * list_length(ipath->indexclauses);

	return tuples * (per_entry + cpu_tuple_cost + quals.per_tuple) +
		ipath->path.pathtarget->cost.per_tuple * ipath->path.rows;
}

/* Of the rows, those for which the table must be visited. */
static double
part_visited(const IndexPath *ipath)
{
	return ipath->path.pathtype == T_IndexOnlyScan ?
		1.0 - ipath->path.parent->allvisfrac : 1.0;
}

/*
 * Of the I/O cost of one unparameterized index scan, the part that core
 * priced as pages read in order.  It interpolates by the square of the
 * correlation between a random and a sequential price; so do we, backwards.
 * *correlated is that square.
 */
static Cost
sequential_io(PlannerInfo *root, IndexPath *ipath, Cost io,
			  double random_page, double seq_page, double *correlated)
{
	RelOptInfo *rel = ipath->path.parent;
	IndexOptInfo *index = ipath->indexinfo;
	double		visited = part_visited(ipath);
	double		index_pages = ceil(ipath->indexselectivity * index->pages);
	Cost		heap_io = io - index_pages * random_page;
	Cost		worst;
	Cost		best;

	*correlated = 0;
	worst = random_page * visited *
		index_pages_fetched(tuples_fetched(ipath), rel->pages,
							(double) index->pages, root);
	best = seq_page * visited * ceil(ipath->indexselectivity * rel->pages);
	if (heap_io <= 0 || worst <= best)
		return 0;
	*correlated = Max(0.0, Min(1.0, (worst - heap_io) / (worst - best)));
	return Min(heap_io, *correlated * best);
}

/* How many random pages cost that much? */
static double
pages_for(Cost io, double random_page)
{
	return random_page > 0 ? io / random_page : 0;
}

/* Of these random pages, how many overlap with others? */
static double
overlapping_pages(Cost io, double random_page)
{
	return Max(0.0, pages_for(io, random_page) - ANAGO_DEPENDENT_READS);
}

/*
 * How many reads overlap.  Forced plans are for tests and comparisons, and
 * should not depend on what the I/O method can do.
 */
static double
gain(void)
{
	if (anago_debug_force)
		return anago_io_gain;
	if (anago_mode != ANAGO_MODE_OOO)
		return 1.0;
	return Max(1.0, Min(anago_io_gain, expect_overlap(anago_max_inflight_reads)));
}

/* Would a pipeline have no advantage at all? */
bool
anago_nothing_overlaps(void)
{
	return !anago_debug_force && gain() <= 1.0;
}

/* What a process has to do for pages that overlap. */
static Cost
page_cpu(Cost io, double random_page)
{
	return overlapping_pages(io, random_page) *
		ANAGO_PAGE_OPERATORS * cpu_operator_cost;
}

/*
 * What waiting for random pages costs when most of it overlaps.  Together with
 * page_cpu, no page costs less than one that is read in order.
 */
static Cost
overlapped(Cost io, double random_page, double seq_page)
{
	double		pages = overlapping_pages(io, random_page);
	double		one = Max(random_page / gain(),
						  seq_page - ANAGO_PAGE_OPERATORS * cpu_operator_cost);

	return io - pages * Max(random_page - one, 0);
}

/* Visits of one scan that lead to a page again, in no order. */
static Cost
visit_cpu(const IndexPath *ipath, Cost random, double random_page,
		  double correlated)
{
	double		visits = tuples_fetched(ipath) * part_visited(ipath) *
		(1.0 - correlated);

	return Max(0.0, visits - pages_for(random, random_page)) *
		ANAGO_VISIT_OPERATORS * cpu_operator_cost;
}

/*
 * Could this scan cost less than core's?  A cheap test, so that lookups of a
 * few rows are planned as fast as without anago.
 */
bool
anago_scan_may_gain(const IndexPath *ipath)
{
	const Path *path = &ipath->path;
	double		random_page;

	get_tablespace_page_costs(path->parent->reltablespace, &random_page, NULL);
	return path->total_cost - path->startup_cost >
		random_page * (ANAGO_SETUP_PAGES + ANAGO_DEPENDENT_READS);
}

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

void
anago_cost_scan(PlannerInfo *root, AnagoPath *apath)
{
	AnagoPathStep *step = linitial(apath->steps);
	Path	   *from = &step->ipath->path;
	Path	   *path = &apath->cpath.path;
	double		random_page;
	double		seq_page;
	Cost		run = from->total_cost - from->startup_cost;
	Cost		io;
	Cost		random;
	Cost		waits;
	Cost		work;
	double		correlated;

	get_tablespace_page_costs(from->parent->reltablespace, &random_page, &seq_page);
	io = Max(0.0, run - cpu_cost(root, step->ipath));
	random = io - sequential_io(root, step->ipath, io, random_page, seq_page,
								&correlated);
	work = page_cpu(random, random_page) +
		visit_cpu(step->ipath, random, random_page, correlated);

	path->rows = from->rows;
	anago_copy_disabled_nodes(path, from);
	path->startup_cost = from->startup_cost + ANAGO_SETUP_PAGES * random_page;
	waits = overlapped(random, random_page, seq_page);
	path->total_cost = path->startup_cost + run - random + waits + work;
	apath->ramp = anago_ramp_of_step(1, random_page, gain(), random - waits - work);
	anago_add_ramp(root, apath, NIL);
	mend_cost(path, from);
	keep_whole(apath, run - io + work);
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
	double		pages = 0;
	ListCell   *lc;

	foreach(lc, anago_step_ipaths(step))
	{
		const IndexPath *ipath = lfirst(lc);

		pages += (double) ipath->path.parent->pages + ipath->indexinfo->pages;
	}
	return pages <= Min(NBuffers * ANAGO_SMALL_SHARE, ANAGO_SMALL_PAGES) ||
		(pages <= NBuffers * ANAGO_CACHED_SHARE &&
		 probes >= pages * ANAGO_MANY_VISITS);
}

/*
 * What probes of one table save of `io`, core's charge for the pages of all of
 * them.  *for_pages is increased by the CPU time that it adds.
 */
static Cost
saved_by_table(const IndexPath *ipath, Cost io, Cost *for_pages)
{
	double		random_page;
	double		seq_page;
	Cost		waits;
	Cost		work;

	get_tablespace_page_costs(ipath->path.parent->reltablespace,
							  &random_page, &seq_page);
	waits = waits_of_step(ipath, io, random_page);
	work = page_cpu(waits, random_page);
	*for_pages += work;
	return waits - overlapped(waits, random_page, seq_page) - work;
}

/* Core's charge for the pages of one probe of one table. */
static Cost
probe_io(PlannerInfo *root, IndexPath *ipath)
{
	Cost		run = ipath->path.total_cost - ipath->path.startup_cost;

	return Max(0.0, run - cpu_cost(root, ipath));
}

/* The same of one probe of a step, in all its tables. */
static Cost
step_io(PlannerInfo *root, const AnagoPathStep *step)
{
	Cost		io = 0;
	ListCell   *lc;

	foreach(lc, anago_step_ipaths(step))
		io += probe_io(root, lfirst(lc));
	return io;
}

/*
 * What one probe costs more than core's own path of the same inner side.  That
 * scans tables of an Append which are tiny, where ours uses an index.
 */
static Cost
dearer_members(const AnagoPathStep *step)
{
	Cost		total = 0;
	ListCell   *lc;

	if (step->append == NULL)
		return 0;
	foreach(lc, step->members)
		total += ((const Path *) lfirst(lc))->total_cost;
	return Max(0.0, total - step->append->path.total_cost);
}

/* What the probes of all tables save, at `loops` charges of core for each. */
static Cost
saved_by_step(PlannerInfo *root, const AnagoPathStep *step, double loops,
			  Cost *for_pages)
{
	Cost		saved = -loops * dearer_members(step);
	ListCell   *lc;

	*for_pages = 0;
	foreach(lc, anago_step_ipaths(step))
		saved += saved_by_table(lfirst(lc), loops * probe_io(root, lfirst(lc)),
								for_pages);
	return saved;
}

/*
 * `nest` is core's nestloop of the same two sides; its outer side, if it is
 * one of ours, has had its own share reduced already.  Costs and rows are those
 * of all processes, also if the path is to be a partial one.
 */
void
anago_cost_join(PlannerInfo *root, AnagoPath *apath, const NestPath *nest)
{
	AnagoPathStep *step = llast(apath->steps);
	const Path *outer = nest->jpath.outerjoinpath;
	const Path *inner = anago_step_inner(step);
	const Path *stock = &nest->jpath.path;
	Path	   *path = &apath->cpath.path;
	double		rows = Max(outer->rows, 1.0);
	double		loops = rows;	/* whole probes that cost as much */
	double		random_page;
	Cost		probes = Max(0.0, stock->total_cost - outer->total_cost);
	Cost		all_loops = loops * inner->total_cost;
	Cost		io;
	Cost		for_pages;
	Cost		saved;
	bool		merged = apath->source != outer;
	Cost		shared = anago_is_path(outer) ?
		((const AnagoPath *) outer)->shared_cost : 0;
	Cost		setup;

	get_tablespace_page_costs(inner->parent->reltablespace, &random_page, NULL);

	/* Probes that stop at the first match cost less than whole ones. */
	if (all_loops > probes)
		loops *= probes / all_loops;
	io = loops * step_io(root, step);

	/* A merged step needs no new pipeline, and saves its rows one plan node. */
	setup = merged ? -Min(rows * cpu_operator_cost, probes - io) :
		ANAGO_SETUP_PAGES * random_page;
	saved = saved_by_step(root, step, loops, &for_pages) - setup;
	if (is_soon_cached(step, rows))
	{
		/* There is little to wait for: processes share it all, as in core. */
		saved = Min(saved, probes * ANAGO_TOKEN);
		shared += probes - saved;
	}
	else
		shared += probes - io + Min(setup, 0) + for_pages;

	path->rows = stock->rows;
	anago_copy_disabled_nodes(path, stock);
	path->startup_cost = stock->startup_cost + Max(setup, 0);
	path->total_cost = stock->total_cost - saved;
	path->total_cost = Max(path->total_cost, path->startup_cost);
	apath->ramp = anago_ramp_of_step(list_length(apath->steps), random_page, gain(),
									 saved + Max(setup, 0));
	anago_add_ramp(root, apath, NIL);
	mend_cost(path, stock);
	keep_whole(apath, shared);
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

/* How many workers its work is worth, whatever the first table says. */
static int
workers_by_work(const AnagoPath *apath)
{
	Cost		work = apath->total_cost - apath->startup_cost;
	double		workers = work / Max(parallel_setup_cost, 1.0);
	bool		partition = IS_OTHER_REL(apath->cpath.path.parent);

	return (int) Max(partition ? 1.0 : 0.0,
					 Min(workers, max_parallel_workers_per_gather));
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

/* How many workers a pipeline is worth; 0: none. */
int
anago_parallel_workers(const AnagoPath *apath)
{
	const AnagoPathStep *first = linitial(apath->steps);
	int			wanted = first->ipath->path.parent->rel_parallel_workers;

	if (apath->source)
		return apath->source->parallel_workers;
	if (wanted < 0)
		return workers_by_work(apath);
	return Min(wanted, max_parallel_workers_per_gather);
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
