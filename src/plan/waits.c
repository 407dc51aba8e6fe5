/*-------------------------------------------------------------------------
 *
 * waits.c
 *	  What waiting for pages costs.
 *
 * Of the pages at random places that a step reads, those that depend on each
 * other wait one after the other (a leaf says which heap page is wanted), at core's
 * price; all others overlap, and wait less:
 *
 *		wait' = random_page_cost * d + one * (pages - d),			d = 2
 *
 * and take a process some CPU time each, page_cpu, which is part of
 * random_page_cost and does not overlap: what core takes for the CPU cost of an
 * index page, 50 operators, or 0.125.  By docs/benchmarks.md a page from the device
 * costs a process more (about 8 us, 0.4), and one that is in shared buffers less.
 *
 * One page, without a calibration: random_page_cost / gain, and with page_cpu
 * no less than a page in order, seq_page_cost.
 *
 * With one, by the clock.  `rate` is what the device serves at the depth that the
 * pipeline will have: as many reads as are allowed and as the I/O method can keep
 * going, and no more than half of the pages, as the window grows with them.  A
 * process can do no more than handle the page.  To make units of cost out of
 * microseconds we ask what core's scan of a table takes, page by page, and what it
 * costs: the device's time for a page in order, and CPU_UNITS of CPU costs (55 rows of a
 * simple filter), each of which takes CPU_UNIT_US (docs/benchmarks.md: 72 us for
 * the 4.0 of a random page; 16 us for a page of a scan that costs 1.7).
 *
 *		one = max(1 / rate, page in the kernel + page in shared buffers) /
 *			  ((page in order + CPU_UNITS * CPU_UNIT_US) / (seq_page_cost + CPU_UNITS))
 *
 * So the price is true in relation to a scan in order, which is our rival and which
 * core prices well.  In relation to core's own random reads, which wait one by one,
 * it would be too high where random_page_cost is low; they are as wrong there, so
 * ours stays below.  It is never below a tenth of seq_page_cost, whatever a
 * calibration says.
 *
 * A page that is met again costs a visit: 20 operators, 0.05, where shared buffers
 * hold all pages that are met until then.  Core takes what fits in effective_cache_size
 * to be free of cost, which is mostly the kernel's cache.  Of that, a page is copied each time: another
 * 120 operators, 0.3, or 4.5 us, in which a victim is evicted, too.  With 128 MB of
 * shared_buffers, 2.1 million visits of the 67,000 pages of a table made 1.6 million copies.
 *
 * Bitmap scans prefetch: as many pages as effective_io_concurrency says, and before
 * that sorted.  Where they have as many reads in flight as we, they were 1.1 to 1.8
 * times as fast, by their order.  Core does not price that.  We price ours in relation to it:
 * no less than the bitmap scan would cost if core saw its waits as we see ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "compat_plan.h"
#include "device/device.h"
#include "guc.h"
#include "plan/memo.h"
#include "plan/paths.h"
#include "plan/waits.h"

/* CPU cost of a page whose read overlaps with others: in operators. */
#define PAGE_OPERATORS		50.0

/* The same of a page met again, and of its copy from the kernel's cache. */
#define VISIT_OPERATORS		20.0
#define COPY_OPERATORS		120.0

/* What a page of core's scans costs besides reading it, and what that takes. */
#define CPU_UNITS			0.7
#define CPU_UNIT_US			15.0

/* Of seq_page_cost, the least that a page is taken to cost. */
#define LEAST_PRICE			0.1

/* How much faster they read in the order of pages, at the same depth. */
#define IN_PAGE_ORDER		1.25

/* By which they are preferred where that makes no difference. */
#define BITMAP_TOKEN		0.03

/* A device that gains less than that gains nothing. */
#define LEAST_GAIN			1.1

/* ---- what is known of a table's storage ---- */

/* Of one tablespace, while a query is planned. */
typedef struct Storage
{
	double		random_page;
	double		seq_page;
	const AnagoDevice *device;	/* NULL: unknown, or a setting goes before */
	bool		by_clock;		/* pages are priced by what was measured */
	double		gain;
	Cost		page_cpu;		/* of a page whose read overlaps with others */
	Cost		page;			/* such a page otherwise, unless by_clock */
} Storage;

bool
anago_nothing_overlaps(void)
{
	return !anago_debug_force &&
		(anago_mode != ANAGO_MODE_OOO || anago_io_gain == 1.0 ||
		 anago_kept_overlap(anago_max_inflight_reads) <= 1);
}

/*
 * Forced plans are for tests and comparisons, and should not depend on what the
 * I/O method can do.
 */
static double
gain_of(const AnagoDevice *device)
{
	double		overlap = anago_debug_force ? ANAGO_MAX_INFLIGHT :
		anago_mode != ANAGO_MODE_OOO ? 1 : anago_kept_overlap(anago_max_inflight_reads);
	double		gain = anago_io_gain > 0 ? anago_io_gain : ANAGO_DEFAULT_GAIN;

	if (device != NULL)
		gain = anago_device_gain(device, Max(overlap, 1));
	return Max(1.0, Min(gain, overlap));
}

static void
look_up(const RelOptInfo *rel, Storage *storage)
{
	anago_page_costs(rel, &storage->random_page, &storage->seq_page);
	storage->device = anago_debug_force || anago_io_gain > 0 ? NULL :
		anago_device_of(rel->reltablespace);
	storage->by_clock = storage->device != NULL && storage->device->measured &&
		anago_mode == ANAGO_MODE_OOO;
	storage->gain = gain_of(storage->device);
	storage->page_cpu = PAGE_OPERATORS * cpu_operator_cost;
	storage->page = Max(storage->random_page / storage->gain,
						storage->seq_page - storage->page_cpu);
}

static const Storage *
storage_of(const RelOptInfo *rel)
{
	static Storage storage;
	static uint64 of_planning = 0;
	static Oid	of_tablespace;

	if (of_planning != anago_planning_number() || of_tablespace != rel->reltablespace)
	{
		look_up(rel, &storage);
		of_planning = anago_planning_number();
		of_tablespace = rel->reltablespace;
	}
	return &storage;
}

double
anago_gain(const RelOptInfo *rel)
{
	return storage_of(rel)->gain;
}

/* ---- the price of a page ---- */

static double
overlapping_pages(const Storage *storage, Cost io)
{
	return Max(0.0, anago_pages_for(io, storage->random_page) - ANAGO_DEPENDENT_READS);
}

/* With so many pages to read, how many are in flight? */
static double
depth_for(double pages)
{
	return Max(1.0, Min(pages / 2, anago_kept_overlap(anago_max_inflight_reads)));
}

/* See the top; in microseconds. */
static double
unit_of_cost(const Storage *storage)
{
	return (storage->device->in_order_us + CPU_UNITS * CPU_UNIT_US) /
		(storage->seq_page + CPU_UNITS);
}

static double
measured_price(const Storage *storage, double pages)
{
	const AnagoDevice *device = storage->device;
	double		depth = depth_for(pages);
	double		us = Max(1e6 / anago_device_rate(device, depth),
						 device->kernel_page_us + device->buffer_page_us);
	double		price = us / unit_of_cost(storage);

	if (anago_device_gain(device, depth) < LEAST_GAIN)
		return storage->random_page;
	price = Min(price, storage->random_page * (1.0 - ANAGO_TOKEN) - storage->page_cpu);
	return Max(price, storage->seq_page * LEAST_PRICE);
}

Cost
anago_overlapped(const RelOptInfo *rel, Cost io, Cost *cpu)
{
	const Storage *storage = storage_of(rel);
	double		pages = overlapping_pages(storage, io);
	double		one = storage->by_clock ? measured_price(storage, pages) : storage->page;

	*cpu = pages * storage->page_cpu;
	return io - pages * Max(storage->random_page - one, 0);
}

Cost
anago_page_cpu(const RelOptInfo *rel, Cost io)
{
	const Storage *storage = storage_of(rel);

	return overlapping_pages(storage, io) * storage->page_cpu;
}

Cost
anago_again_cpu(double visits, double pages)
{
	return Max(0.0, visits - pages) * VISIT_OPERATORS * cpu_operator_cost;
}

Cost
anago_copied_again(double visits, double pages)
{
	double		missed = pages <= NBuffers ? 0 : 1.0 - NBuffers / pages;

	/* where no wait counts, nor does this, or a full scan would be forced */
	if (anago_debug_force)
		return 0;
	return Max(0.0, visits - pages) * missed * COPY_OPERATORS * cpu_operator_cost;
}

double
anago_least_share(const RelOptInfo *rel)
{
	const Storage *storage = storage_of(rel);

	if (storage->random_page <= 0)
		return 1.0;
	if (storage->device != NULL && storage->device->measured)
		return Min(storage->seq_page * LEAST_PRICE / storage->random_page,
				   1.0 - ANAGO_TOKEN);
	return Min(storage->seq_page / storage->random_page, 1.0);
}

/* ---- core's bitmap scan ---- */

/* What core charges for the pages of the table, and how many these are. */
static Cost
bitmap_io(PlannerInfo *root, IndexPath *ipath, double *pages)
{
	RelOptInfo *rel = ipath->path.parent;
	double		random_page;
	double		seq_page;
	double		share;
	Cost		unused_cost;
	double		unused_tuples;

	anago_page_costs(rel, &random_page, &seq_page);
	*pages = compute_bitmap_pages(root, rel, &ipath->path, 1, &unused_cost,
								  &unused_tuples);
	share = Min(*pages / Max((double) rel->pages, 1.0), 1.0);
	return *pages * (random_page - (random_page - seq_page) * sqrt(share));
}

Cost
anago_bitmap_price(PlannerInfo *root, IndexPath *ipath, double cold)
{
	RelOptInfo *rel = ipath->path.parent;
	const AnagoDevice *device = storage_of(rel)->device;
	BitmapHeapPath *bitmap;
	double		pages;
	double		theirs;
	Cost		io;

	if (device == NULL || !device->measured || !enable_bitmapscan ||
		!ipath->indexinfo->amhasgetbitmap || ipath->path.param_info != NULL ||
		ipath->path.pathtype != T_IndexScan)
		return 0;
	bitmap = create_bitmap_heap_path(root, rel, &ipath->path,
									 rel->lateral_relids, 1.0, 0);
	io = bitmap_io(root, ipath, &pages);
	theirs = IN_PAGE_ORDER *
		anago_device_rate(device, Max(anago_core_prefetch(rel->reltablespace), 1)) /
		anago_device_rate(device, depth_for(pages));
	return (1.0 + BITMAP_TOKEN) *
		(bitmap->path.total_cost - io * cold * (1.0 - Min(theirs, 1.0)));
}
