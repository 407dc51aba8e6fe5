/*-------------------------------------------------------------------------
 *
 * unionpaths.c
 *	  OR over several indexes: a union of AnagoScans.
 *
 * Where core can answer `a = 1 OR b = 2` by a BitmapOr of index scans, its arms,
 * each of them becomes an AnagoScan, and an Append makes the union:
 *
 *		Append
 *		  AnagoScan		a = 1
 *		  AnagoScan		b = 2, filter: (a = 1) IS NOT TRUE
 *
 * What arms are, and why each row comes out once: arms.c.
 *
 * UPDATE ... WHERE CURRENT OF takes the row from the only scan of a table that
 * a cursor's plan has, so that cursors have no unions (hooks.c).  An Append of an
 * inheritance child's would become part of the parent's, which can be pruned by
 * the rule that a child has one subplan: no unions there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/paths.h"

/* The ORs of whole tables' bitmap scans. */
static List *
collect_ors(List *pathlist)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, pathlist)
	{
		Path	   *path = lfirst(lc);
		BitmapOrPath *either = path->param_info == NULL ? anago_find_or(path) : NULL;

		if (either != NULL)
			result = list_append_unique_ptr(result, either);
	}
	return result;
}

static bool
has_or_clause(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (restriction_is_or_clause(lfirst_node(RestrictInfo, lc)))
			return true;
	}
	return false;
}

static bool
may_gain(List *arms)
{
	ListCell   *lc;

	foreach(lc, arms)
		if (anago_scan_may_gain(lfirst(lc)))
			return true;
	return anago_debug_force;
}

/* The AnagoScan of one arm; `before` are those that come before it. */
static AnagoPath *
make_arm(PlannerInfo *root, RelOptInfo *rel, IndexPath *ipath, List *before)
{
	AnagoPathStep *step = anago_make_step(ipath, JOIN_INNER);
	AnagoPath  *apath;

	step->found_before = list_copy(before);
	apath = anago_make_path(rel, NULL, list_make1(step), &anago_scan_path_methods);
	anago_cost_scan(root, apath);
	anago_add_cpu_cost(apath, anago_cost_of_tests(root, ipath, before));
	return apath;
}

/* The arm as it is in one process, beside others. */
static AnagoPath *
whole_arm(const AnagoPath *arm)
{
	AnagoPath  *copy = palloc(sizeof(AnagoPath));

	*copy = *arm;
	anago_force_cost(copy);
	return copy;
}

/*
 * The same for several processes, if all arms together are worth some: those that
 * are by themselves are shared, and of the others each is one process's.
 */
static void
submit_partial(PlannerInfo *root, RelOptInfo *rel, List *arms)
{
	List	   *whole = NIL;
	List	   *partial = NIL;
	int			workers = 0;
	Cost		work = 0;
	ListCell   *lc;

	if (!anago_partial_possible(rel) || rel->rel_parallel_workers == 0)
		return;
	foreach(lc, arms)
	{
		AnagoPath  *apath = anago_make_partial_path(lfirst(lc));

		work += anago_work_of(lfirst(lc));
		if (apath == NULL)
			whole = lappend(whole, whole_arm(lfirst(lc)));
		else
		{
			partial = lappend(partial, apath);
			workers = Max(workers, apath->cpath.path.parallel_workers);
		}
	}
	if (whole != NIL)
		workers = enable_parallel_append ?
			Max(workers, Min(anago_workers_for(work), list_length(arms))) : 0;
	if (workers > 0)
		add_partial_path(rel, (Path *)
						 anago_append_path(root, rel, whole, partial, workers,
										   enable_parallel_append));
}

static void
add_union(PlannerInfo *root, RelOptInfo *rel, List *ipaths)
{
	List	   *arms = NIL;
	List	   *before = NIL;
	AppendPath *append;
	ListCell   *lc;

	foreach(lc, ipaths)
	{
		arms = lappend(arms, make_arm(root, rel, lfirst(lc), before));
		before = lappend(before, lfirst(lc));
	}
	submit_partial(root, rel, arms);
	foreach(lc, arms)
		anago_force_cost(lfirst(lc));
	append = anago_append_path(root, rel, arms, NIL, 0, false);
	append->path.rows = rel->rows;
	add_path(rel, &append->path);
}

bool
anago_is_union(const Path *path)
{
	const AppendPath *append = (const AppendPath *) path;

	return IsA(path, AppendPath) && append->subpaths != NIL &&
		anago_is_path(linitial(append->subpaths)) &&
		((Path *) linitial(append->subpaths))->parent == path->parent;
}

void
anago_add_union_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *indexes = NIL;
	List	   *ors;
	ListCell   *lc;

	if (rel->reloptkind != RELOPT_BASEREL || !has_or_clause(rel) ||
		anago_level_rechecked(root) || !anago_rel_eligible(root, rel) ||
		anago_nothing_overlaps())
		return;
	ors = collect_ors(rel->pathlist);
	if (ors == NIL)
		indexes = anago_worth_remaking(root, rel);
	if (indexes != NIL)
		ors = collect_ors(anago_remake_paths(root, rel, indexes));
	foreach(lc, ors)
	{
		List	   *arms = anago_arms_of(root, lfirst(lc));

		if (arms != NIL && may_gain(arms))
			add_union(root, rel, arms);
	}
}
