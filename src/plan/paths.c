/*-------------------------------------------------------------------------
 *
 * paths.c
 *	  AnagoScan paths, and what all AnagoPaths share.
 *
 * Everything starts from core's IndexPaths.  Core throws away a good many of
 * them before the hook is called, as they cost more than something else when
 * every page is waited for.  So they are looked for
 *	- in the list of paths,
 *	- below bitmap heap scans, which win against the index scan of the same
 *	  index by reading its heap pages in order,
 *	- and, if a sequential scan won against both and the table is of a size
 *	  that matters, by having core make its index paths once more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>

#include "nodes/extensible.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/memo.h"
#include "plan/paths.h"

/* Smaller tables are left alone where a sequential scan has won: blocks. */
#define ANAGO_MIN_PAGES		64

static void
collect_index_paths(Path *path, List **found)
{
	ListCell   *lc;

	if (IsA(path, IndexPath))
		*found = list_append_unique_ptr(*found, path);
	else if (IsA(path, BitmapHeapPath))
		collect_index_paths(((BitmapHeapPath *) path)->bitmapqual, found);
	else if (IsA(path, BitmapAndPath))
	{
		foreach(lc, ((BitmapAndPath *) path)->bitmapquals)
			collect_index_paths(lfirst(lc), found);
	}
}

/*
 * All IndexPaths in or below these paths.  add_path() never frees one, so
 * that they may be kept.
 */
List *
anago_collect_index_paths(List *pathlist)
{
	List	   *found = NIL;
	ListCell   *lc;

	foreach(lc, pathlist)
		collect_index_paths(lfirst(lc), &found);
	return found;
}

AnagoPathStep *
anago_make_step(IndexPath *ipath, JoinType jointype)
{
	AnagoPathStep *step = palloc0(sizeof(AnagoPathStep));

	step->ipath = ipath;
	step->jointype = jointype;
	step->facts = anago_no_facts();
	step->cold = 1.0;
	step->dive.ratio = step->dive.join_ratio = 1.0;
	return step;
}

/*
 * A path without costs; see anago_cost_scan and anago_cost_join.
 *
 * A pipeline may run in a worker where all that is evaluated in it may.  Of
 * a relation's or join's own conditions and output, consider_parallel says so,
 * and for a join it implies the same of both sides.  The index paths' own flag
 * does not count: those of anago_remake_paths() never have it.
 */
AnagoPath *
anago_make_path(RelOptInfo *rel, Path *source, List *steps,
				const CustomPathMethods *methods)
{
	AnagoPath  *apath = palloc0(sizeof(AnagoPath));
	CustomPath *cpath = &apath->cpath;
	ListCell   *lc;

	cpath->path.type = T_CustomPath;
	cpath->path.pathtype = T_CustomScan;
	cpath->path.parent = rel;
	cpath->path.pathtarget = rel->reltarget;
	cpath->path.parallel_safe = rel->consider_parallel &&
		(source == NULL || source->parallel_safe);

	cpath->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	cpath->methods = methods;
	if (source)
		cpath->custom_paths = list_make1(source);
	foreach(lc, steps)
	{
		AnagoPathStep *step = lfirst(lc);

		cpath->custom_paths = step->several ?
			list_concat(cpath->custom_paths, step->members) :
			lappend(cpath->custom_paths, step->ipath);
	}

	apath->source = source;
	apath->steps = steps;
	anago_any_path = true;
	return apath;
}

/*
 * With anago.debug_force a path costs next to nothing, in proportion to what
 * it really costs.
 */
void
anago_force_cost(AnagoPath *apath)
{
	Path	   *path = &apath->cpath.path;

	if (!anago_debug_force)
		return;
	anago_copy_disabled_nodes(path, NULL);
	path->startup_cost *= ANAGO_FORCED_COST_FACTOR;
	path->total_cost *= ANAGO_FORCED_COST_FACTOR;
}

/* Hand a finished path, for one process, to the competition. */
void
anago_submit_path(PlannerInfo *root, RelOptInfo *rel, AnagoPath *apath)
{
	anago_force_cost(apath);
	anago_why_built(root, apath);
	add_path(rel, &apath->cpath.path);
}

static bool
is_ours(const Path *path)
{
	return anago_is_path(path) || anago_is_union(path);
}

/* Of paths without parameters. */
static Cost
cheapest_of_core(const RelOptInfo *rel)
{
	Cost		cheapest = DBL_MAX;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (!is_ours(path) && path->param_info == NULL)
			cheapest = Min(cheapest, path->total_cost);
	}
	return cheapest;
}

/*
 * With anago.debug_force: once there is an anago path, the unparameterized
 * core paths go, however well they are ordered, and all partial ones of core.
 * Parameterized ones stay; nestloops and our own joins are made of them.
 */
void
anago_drop_core_paths(RelOptInfo *rel)
{
	List	   *keep = NIL;
	List	   *keep_partial = NIL;
	Cost		of_core = cheapest_of_core(rel);
	bool		ours = false;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		ours |= is_ours(path) && path->param_info == NULL &&
			path->total_cost <= of_core;
		if (path->param_info != NULL || is_ours(path))
			keep = lappend(keep, path);
	}
	foreach(lc, rel->partial_pathlist)
	{
		if (is_ours(lfirst(lc)))
			keep_partial = lappend(keep_partial, lfirst(lc));
	}
	if (ours)
	{
		rel->pathlist = keep;
		rel->partial_pathlist = keep_partial;
	}
}

/* Does some condition mention a column of this index? */
static bool
is_mentioned(const IndexOptInfo *index, const Bitmapset *attnos)
{
	for (int i = 0; i < index->nkeycolumns; i++)
	{
		int			attno = index->indexkeys[i];

		if (attno == 0 ||		/* expression */
			bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, attnos))
			return true;
	}
	return false;
}

/* The indexes that some restriction may use. */
static List *
mentioned_indexes(const RelOptInfo *rel)
{
	List	   *result = NIL;
	Bitmapset  *attnos = NULL;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
		pull_varattnos((Node *) lfirst_node(RestrictInfo, lc)->clause,
					   rel->relid, &attnos);

	foreach(lc, rel->indexlist)
	{
		if (is_mentioned(lfirst_node(IndexOptInfo, lc), attnos))
			result = lappend(result, lfirst(lc));
	}
	return result;
}

/*
 * All paths by indexes that core can think of, and not just those that won.
 * If it's for some indexes alone, none takes values of other relations, and none has
 * an order: those that have an order which is of use are still there.
 */
List *
anago_remake_paths(PlannerInfo *root, RelOptInfo *rel, List *indexes)
{
	List	   *query_pathkeys = root->query_pathkeys;
	List	   *group_pathkeys = root->group_pathkeys;
	RelOptInfo	whole = *rel;
	List	   *found;

	rel->pathlist = NIL;
	rel->partial_pathlist = NIL;
	rel->consider_parallel = false;
	if (indexes != NIL)
	{
		rel->indexlist = indexes;
		rel->joininfo = NIL;
		rel->has_eclass_joins = false;
		root->query_pathkeys = NIL;
		root->group_pathkeys = NIL;
	}
	create_index_paths(root, rel);
	found = rel->pathlist;

	rel->pathlist = whole.pathlist;
	rel->partial_pathlist = whole.partial_pathlist;
	rel->consider_parallel = whole.consider_parallel;
	rel->indexlist = whole.indexlist;
	rel->joininfo = whole.joininfo;
	rel->has_eclass_joins = whole.has_eclass_joins;
	root->query_pathkeys = query_pathkeys;
	root->group_pathkeys = group_pathkeys;
	return found;
}

/* Of these, the index paths that could be the one step of a scan. */
static List *
scan_candidates(List *ipaths)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, ipaths)
	{
		IndexPath  *ipath = lfirst(lc);

		/*
		 * Without a condition it is the whole table: for its order alone, or
		 * when forced.
		 */
		if (ipath->path.param_info == NULL &&
			(anago_debug_force ||
			 ((ipath->indexclauses != NIL || ipath->path.pathkeys != NIL) &&
			  anago_scan_may_gain(ipath))))
			result = lappend(result, ipath);
	}
	return result;
}

/* Indexes by which paths might matter to a table. */
List *
anago_worth_remaking(PlannerInfo *root, const RelOptInfo *rel)
{
	List	   *indexes;

	if (rel->baserestrictinfo == NIL ||
		(rel->pages < ANAGO_MIN_PAGES && !anago_debug_force))
		return NIL;
	indexes = mentioned_indexes(rel);
	return indexes != NIL && anago_indexes_may_gain(root, rel, indexes) ? indexes : NIL;
}

/*
 * Did core drop all index paths of a table where they might matter?  Those
 * that are in the list but not worth trying say that none is.
 */
static List *
indexes_to_remake(PlannerInfo *root, const RelOptInfo *rel, List *ipaths)
{
	ListCell   *lc;

	foreach(lc, ipaths)
	{
		IndexPath  *ipath = lfirst(lc);

		if (ipath->path.param_info == NULL && ipath->indexclauses != NIL)
			return NIL;
	}
	return anago_worth_remaking(root, rel);
}

/* Is that path by that index? */
static bool
is_by(const Path *path, const IndexOptInfo *index)
{
	if (IsA(path, BitmapHeapPath))
		path = ((const BitmapHeapPath *) path)->bitmapqual;
	return IsA(path, IndexPath) && ((const IndexPath *) path)->indexinfo == index;
}

/*
 * Does core take that index anyway, for the only table of a query level, all rows of which are
 * wanted in no order?  Then it makes no difference what the index says.
 */
static bool
is_taken_anyway(PlannerInfo *root, const RelOptInfo *rel, const IndexOptInfo *index)
{
	return bms_equal(rel->relids, root->all_baserels) && root->query_pathkeys == NIL &&
		!anago_may_stop(root, NIL) &&
		rel->pathlist != NIL && is_by(linitial(rel->pathlist), index) &&
		(rel->partial_pathlist == NIL || is_by(linitial(rel->partial_pathlist), index));
}

/*
 * Of index paths, those that have pages to wait for, or whose index might say something
 * else than core believes.  Asked first, as most often none has.
 */
static List *
worth_trying(PlannerInfo *root, RelOptInfo *rel, List *ipaths)
{
	List	   *result = NIL;
	ListCell   *lc;

	if (anago_debug_force)
		return ipaths;
	foreach(lc, ipaths)
	{
		IndexPath  *ipath = lfirst(lc);

		if (!anago_is_probe(ipath) || anago_path_waits(root, ipath) ||
			anago_scan_may_nap(root, ipath) ||
			(ipath->indexclauses != NIL &&
			 anago_may_dive(ipath->path.total_cost - ipath->path.startup_cost) &&
			 !is_taken_anyway(root, rel, ipath->indexinfo)))
			result = lappend(result, ipath);
		else
			anago_why_not(root, rel, ipath->indexinfo->indexoid, ANAGO_WHY_CACHED);
	}
	return result;
}

static AnagoPath *
make_scan_path(PlannerInfo *root, AnagoPathStep *step)
{
	AnagoPath  *apath = anago_make_path(step->ipath->path.parent, NULL, list_make1(step),
										&anago_scan_path_methods);

	anago_cost_scan(root, apath);
	return apath;
}

/* The same path once more: one that is submitted may be freed. */
static AnagoPath *
copy_path(const AnagoPath *apath)
{
	AnagoPath  *copy = palloc(sizeof(AnagoPath));

	*copy = *apath;
	return copy;
}

/*
 * Where rows are locked or changed they leave in the order of the index, as those of
 * core's scan do.  Of two sessions that lock the same rows one then waits for the other, where
 * rows in no order would have them wait for each other.
 */
static void
add_rechecked_path(PlannerInfo *root, RelOptInfo *rel, AnagoPathStep *step)
{
	const IndexPath *ipath = step->ipath;
	AnagoPath  *apath;

	if (ipath->path.pathtype != T_IndexScan || !anago_can_keep_order(ipath) ||
		(ipath->indexclauses == NIL && ipath->path.pathkeys == NIL && !anago_debug_force))
	{
		anago_why_not(root, rel, ipath->indexinfo->indexoid,
					  "rows are locked or changed, and cannot leave in the order of this index");
		return;
	}
	apath = make_scan_path(root, step);
	apath->rechecked = true;
	anago_keep_order(root, apath, ipath->path.pathkeys, NULL);
	anago_submit_path(root, rel, apath);
}

/*
 * Naps are worth something to one process only where core may not use several either:
 * naps.c.
 */
static void
submit_unordered(PlannerInfo *root, RelOptInfo *rel, AnagoPath *apath)
{
	const AnagoPathStep *step = linitial(apath->steps);
	double		naps = anago_scan_naps_save(root, step->ipath);
	AnagoPath  *napping = naps > 0 ? copy_path(apath) : apath;

	anago_take_off(napping, naps);
	anago_submit_partial_twin(root, rel, napping);
	apath->has_twin = napping->has_twin;
	anago_submit_path(root, rel, anago_partial_possible(rel) ? apath : napping);
}

static void
add_scan_path(PlannerInfo *root, RelOptInfo *rel, AnagoPathStep *step)
{
	const IndexPath *ipath = step->ipath;
	bool		keeps_order = anago_order_eligible(ipath);
	AnagoPath  *apath;
	AnagoPath  *ordered;

	if (ipath->indexclauses == NIL && !anago_debug_force && !keeps_order)
		return;
	apath = make_scan_path(root, step);
	ordered = keeps_order ? copy_path(apath) : NULL;
	if (ipath->indexclauses != NIL || anago_debug_force)
		submit_unordered(root, rel, apath);
	if (ordered != NULL)
	{
		anago_keep_order(root, ordered, ipath->path.pathkeys, NULL);
		anago_submit_partial_twin(root, rel, ordered);
		anago_submit_path(root, rel, ordered);
	}
}

/* Does the query, and does the table, qualify? */
static bool
may_have_paths(PlannerInfo *root, RelOptInfo *rel)
{
	const char *reason = NULL;

	if (!anago_rel_eligible(root, rel))
		reason = "not a plain table, or a select list that must not be evaluated ahead of demand";
	else if (anago_nothing_overlaps())
		reason = "reads cannot overlap here";
	if (reason != NULL)
		anago_why_not(root, rel, InvalidOid, reason);
	return reason == NULL;
}

/* A path by that index, if it can be a step that might gain something. */
static void
add_candidate(PlannerInfo *root, RelOptInfo *rel, IndexPath *ipath)
{
	AnagoPathStep *step = anago_make_step(ipath, JOIN_INNER);

	if (anago_is_probe(ipath) &&
		!anago_scan_step_may_gain(root, step) && !anago_scan_may_nap(root, ipath))
		anago_why_not(root, rel, ipath->indexinfo->indexoid,
					  ANAGO_WHY_CACHED);
	else if (!anago_index_path_eligible(root, ipath))
		anago_why_not(root, rel, ipath->indexinfo->indexoid,
					  ANAGO_WHY_INELIGIBLE);
	else if (anago_level_rechecked(root))
		add_rechecked_path(root, rel, step);
	else
		add_scan_path(root, rel, step);
}

/* Why there is no candidate. */
static const char *
why_none(const RelOptInfo *rel, const List *ipaths)
{
	if (ipaths != NIL)
		return "too few pages to wait for, or conditions with values of other tables only";
	return rel->baserestrictinfo != NIL && rel->pages >= ANAGO_MIN_PAGES &&
		mentioned_indexes(rel) != NIL ? ANAGO_WHY_CACHED :
		"no condition or order that an index could serve";
}

void
anago_add_scan_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *ipaths = anago_collect_index_paths(rel->pathlist);
	List	   *candidates = scan_candidates(ipaths);
	List	   *remake = indexes_to_remake(root, rel, ipaths);
	ListCell   *lc;

	if (candidates == NIL && remake == NIL && anago_why_asked)
		anago_why_not(root, rel, InvalidOid, why_none(rel, ipaths));
	candidates = worth_trying(root, rel, candidates);
	if ((candidates == NIL && remake == NIL) || !may_have_paths(root, rel))
		return;
	if (anago_first_rows_are_settled(root, rel))
	{
		anago_why_not(root, rel, InvalidOid, ANAGO_WHY_FIRST_ROWS);
		return;
	}

	if (remake != NIL)
		candidates = list_concat(candidates,
								 scan_candidates(anago_collect_index_paths(
												 anago_remake_paths(root, rel, remake))));
	foreach(lc, candidates)
		add_candidate(root, rel, lfirst(lc));
}
