/*-------------------------------------------------------------------------
 *
 * naps.c
 *	  What naps save of a join whose tables are in shared buffers.
 *
 * Where a leaf or block of a probe is in none of the CPU's caches our tasks nap until it
 * comes (ops/btree/near.h), and core's nested loop waits.  Of core's charge for all probes
 * we take NAPS_SAVE off then.
 *
 * By how much our join is faster, stock / anago, CPU time, medians of 5 to 11 interleaved
 * rounds (rows of 220 bytes, a unique index, keys at random, one column summed; an Intel
 * server of 2 MB of second-level cache for each core and a last-level cache that others use
 * too, 18.6, hash_fallback off):
 *
 *		pages of table and index	probes: 1,000	5,000	10,000	100,000
 *		325									0.99	1.02	1.03	1.04
 *		1,289								1.09	1.43	1.39	1.42
 *		5,148								1.13	1.46	1.64	1.95
 *		20,582								1.19	1.53	1.67	1.99
 *		64,311								1.34	1.44	1.57	1.80
 *
 * A quarter less time, 1 - 1 / 1.43 being 0.3, and NAPS_SAVE is less than that, as there are
 * CPUs with better caches: queries C and D were 1.2 and 1.5 on one with 32 MB of
 * last-level cache.  That is where NAPS_PAGES is from as well; what sysconf() says of a virtual
 * machine's cache is that of all machines on the CPU together.
 *
 * The visits of a scan by itself come to blocks at random where the table is in no order of its
 * index; leaves are in order, and few beside these.  Query A, forced, was 1.34 as fast as in
 * core.
 *
 * Nothing is saved where probes go along the table, as the next leaf and block are near then: an
 * index that the table is in the order of, and rows that come in the order of its key.
 * What statistics do not know counts as ordered.
 *
 * Where core may use several processes, so must we: a quarter less CPU time is more by the
 * clock in one process (TPC-H Q21, 0.93).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "guc.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "survey/survey.h"

#define NAPS_SAVE		0.2

/* Pages of a table and its index, or fewer probes, for which nothing is saved. */
#define NAPS_PAGES		4096
#define NAPS_PROBES		5000

/* A share in shared buffers, below which most pages are copied from the kernel first. */
#define NAPS_IN_BUFFERS	0.5

/* A correlation below which neighbours are elsewhere. */
#define NAPS_UNORDERED	0.5

/* The share of a table's pages that is in shared buffers; of an index path's. */
static double
table_in_buffers(PlannerInfo *root, const RelOptInfo *rel)
{
	return anago_survey_in_buffers(planner_rt_fetch(rel->relid, root)->relid, rel->pages);
}

static double
in_buffers(PlannerInfo *root, const IndexPath *ipath)
{
	const IndexOptInfo *index = ipath->indexinfo;

	return Min(anago_survey_in_buffers(index->indexoid, index->pages),
			   table_in_buffers(root, ipath->path.parent));
}

/* Are there so many visits, of so many pages, that some are worth a nap? */
static bool
may_nap(PlannerInfo *root, const IndexPath *ipath, double visits)
{
	return visits >= NAPS_PROBES &&
		(double) ipath->path.parent->pages + ipath->indexinfo->pages >= NAPS_PAGES &&
		ipath->path.pathtype == T_IndexScan && anago_residency && !anago_debug_force &&
		!anago_may_stop(root, NIL);
}

/* Where pages have to be waited for the price of waits says it all. */
bool
anago_step_may_nap(PlannerInfo *root, const AnagoPathStep *step, double loops)
{
	return step->several == NULL && may_nap(root, step->ipath, loops) &&
		!anago_step_waits(root, step) && in_buffers(root, step->ipath) >= NAPS_IN_BUFFERS;
}

/* --- in which order --- */

/* Is a column in no order of its table?  Not if that is not known. */
static bool
is_unordered(PlannerInfo *root, Index relid, AttrNumber attno)
{
	double		correlation;

	return anago_correlation(root, relid, attno, &correlation) &&
		fabs(correlation) < NAPS_UNORDERED;
}

/* Are neighbours in the index far from each other in the table? */
static bool
leads_anywhere(PlannerInfo *root, const IndexPath *ipath)
{
	return is_unordered(root, ipath->path.parent->relid, ipath->indexinfo->indexkeys[0]);
}

/*
 * How `path` comes to rows of that table: by an index, or NULL, in the table's order.
 * False: in some other one.
 */
static bool
find_scan(const Path *path, Index relid, const IndexPath **scan)
{
	ListCell   *lc;

	*scan = NULL;
	if (anago_is_path(path))
	{
		foreach(lc, ((const AnagoPath *) path)->steps)
		{
			const AnagoPathStep *step = lfirst(lc);

			if (step->several == NULL && step->ipath->path.parent->relid == relid)
				*scan = step->ipath;
		}
		return *scan != NULL || (((const AnagoPath *) path)->source != NULL &&
								 find_scan(((const AnagoPath *) path)->source, relid, scan));
	}
	switch (nodeTag(path))
	{
		case T_Path:
		case T_BitmapHeapPath:
			return path->parent->relid == relid;
		case T_IndexPath:
			*scan = (const IndexPath *) path;
			return path->parent->relid == relid;
		case T_NestPath:
		case T_HashPath:
			{
				const JoinPath *join = (const JoinPath *) path;

				return find_scan(bms_is_member(relid, join->outerjoinpath->parent->relids) ?
								 join->outerjoinpath : join->innerjoinpath, relid, scan);
			}
		case T_MemoizePath:
			return find_scan(((const MemoizePath *) path)->subpath, relid, scan);
		default:
			return false;
	}
}

/* Would a scan be the cheapest one if naps saved all that they can?  Core's paths are there. */
static bool
scan_might_win(const IndexPath *ipath)
{
	const List *paths = ipath->path.parent->pathlist;

	return paths == NIL || ipath->path.total_cost * (1 - NAPS_SAVE) <
		((const Path *) linitial(paths))->total_cost;
}

bool
anago_scan_may_nap(PlannerInfo *root, const IndexPath *ipath)
{
	return ipath->path.param_info == NULL && ipath->indexclauses != NIL &&
		scan_might_win(ipath) && may_nap(root, ipath, anago_tuples_fetched(ipath)) &&
		leads_anywhere(root, ipath) && !anago_path_waits(root, ipath) &&
		table_in_buffers(root, ipath->path.parent) >= NAPS_IN_BUFFERS;
}

double
anago_scan_naps_save(PlannerInfo *root, const IndexPath *ipath)
{
	return anago_scan_may_nap(root, ipath) ?
		NAPS_SAVE * table_in_buffers(root, ipath->path.parent) : 0;
}

/* Do probes for rows of the outer side come to leaves at random? */
static bool
comes_from_anywhere(PlannerInfo *root, const Path *outer, const IndexPath *ipath)
{
	const Var  *key = anago_compared_with(ipath);
	const IndexPath *scan;

	if (key == NULL || !find_scan(outer, key->varno, &scan))
		return false;
	if (scan == NULL)
		return is_unordered(root, key->varno, key->varattno);
	if (scan->indexinfo->indexkeys[0] == key->varattno)
		return false;
	/* one of both is in the table's order, and the other is not */
	return leads_anywhere(root, scan) !=
		is_unordered(root, key->varno, key->varattno);
}

/*
 * Would the join be the cheapest one if naps saved all that they can?  Core's paths for
 * the join are there by now, the cheapest first.
 */
static bool
might_win(const RelOptInfo *joinrel, const AnagoPathStep *step, const Path *outer,
		  bool partial)
{
	const List *paths = partial ? joinrel->partial_pathlist : joinrel->pathlist;
	Cost		probes = outer->rows * step->ipath->path.total_cost;

	return paths == NIL ||
		outer->total_cost + probes * (1 - NAPS_SAVE) <
		((const Path *) linitial(paths))->total_cost;
}

/* The same of a step, asked once. */
static bool
step_leads_anywhere(PlannerInfo *root, const AnagoPathStep *step)
{
	AnagoStepFacts *facts = step->facts;

	if (facts->leads_anywhere == ANAGO_NOT_ASKED)
		facts->leads_anywhere = leads_anywhere(root, step->ipath) ? ANAGO_YES : ANAGO_NO;
	return facts->leads_anywhere == ANAGO_YES;
}

/* What an outer side costs that is made unique, and its order, are not known yet. */
bool
anago_naps_may_save(PlannerInfo *root, const RelOptInfo *joinrel, const RelOptInfo *outerrel,
					const AnagoPathStep *step, JoinType jointype)
{
	bool		partial = anago_partial_possible(joinrel);
	const Path *outer = !partial ? outerrel->cheapest_total_path :
		outerrel->partial_pathlist != NIL ? linitial(outerrel->partial_pathlist) : NULL;

	if (jointype == JOIN_UNIQUE_OUTER)
		return anago_step_may_nap(root, step, outerrel->rows) &&
			step_leads_anywhere(root, step);
	return outer != NULL && anago_naps_save(root, joinrel, step, outer, partial) > 0;
}

double
anago_naps_save(PlannerInfo *root, const RelOptInfo *joinrel, const AnagoPathStep *step,
				const Path *outer, bool partial)
{
	if ((!partial && anago_partial_possible(joinrel)) ||
		outer->pathkeys != NIL || !might_win(joinrel, step, outer, partial) ||
		!anago_step_may_nap(root, step, outer->rows))
		return 0;
	return step_leads_anywhere(root, step) ||
		comes_from_anywhere(root, outer, step->ipath) ?
		NAPS_SAVE * in_buffers(root, step->ipath) : 0;
}
