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
 * A row that several arms find comes out of the first one alone, as all later
 * ones drop what satisfies its index conditions; for a partial index, also its
 * predicate.  That takes no memory, and is exact: an arm finds a row that is
 * visible if, and only if, these are true for it.  They may be unknown where
 * a column is NULL: then the arm does not find the row.  An index on a timestamp
 * is not in the order in which a timestamptz compares with it where clocks were
 * set forward: there an arm may miss what is true.
 *
 * Each arm checks all other conditions of the table, as core's index scan
 * would: those that its index conditions do not imply, the OR itself among them.
 * So an arm may be an index scan of a part of what core would look for there:
 * of a BitmapAnd the most selective one.
 *
 * UPDATE ... WHERE CURRENT OF takes the row from the only scan of a table that
 * a cursor's plan has, so that cursors have no unions (hooks.c).  An Append of an
 * inheritance child's would become part of the parent's, which can be pruned by
 * the rule that a child has one subplan: no unions there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "guc.h"
#include "plan/paths.h"

static bool collect_arms(Path *path, List **arms);

/* Of a BitmapAnd, the index scan that gives the least, or NULL. */
static Path *
most_selective(const BitmapAndPath *both)
{
	IndexPath  *best = NULL;
	ListCell   *lc;

	foreach(lc, both->bitmapquals)
	{
		IndexPath  *ipath = lfirst(lc);

		if (IsA(ipath, IndexPath) &&
			(best == NULL || ipath->indexselectivity < best->indexselectivity))
			best = ipath;
	}
	return (Path *) best;
}

/* False: there is one that we have no index scan for. */
static bool
collect_arms_of_or(const BitmapOrPath *either, List **arms)
{
	ListCell   *lc;

	foreach(lc, either->bitmapquals)
	{
		if (!collect_arms(lfirst(lc), arms))
			return false;
	}
	return true;
}

static bool
collect_arms(Path *path, List **arms)
{
	if (path != NULL && IsA(path, BitmapAndPath))
		path = most_selective((BitmapAndPath *) path);
	if (path == NULL)
		return false;
	if (IsA(path, BitmapOrPath))
		return collect_arms_of_or((BitmapOrPath *) path, arms);
	if (!IsA(path, IndexPath))
		return false;
	*arms = lappend(*arms, path);
	return true;
}

/* The OR that a bitmap is made of, alone or with others, or NULL. */
static BitmapOrPath *
find_or(Path *path)
{
	ListCell   *lc;

	if (IsA(path, BitmapOrPath))
		return (BitmapOrPath *) path;
	if (!IsA(path, BitmapAndPath))
		return NULL;
	foreach(lc, ((BitmapAndPath *) path)->bitmapquals)
	{
		if (IsA(lfirst(lc), BitmapOrPath))
			return lfirst(lc);
	}
	return NULL;
}

/* The ORs of whole tables' bitmap scans. */
static List *
collect_ors(List *pathlist)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, pathlist)
	{
		Path	   *path = lfirst(lc);
		BitmapOrPath *either = NULL;

		if (IsA(path, BitmapHeapPath) && path->param_info == NULL)
			either = find_or(((BitmapHeapPath *) path)->bitmapqual);
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

/* Has the operator a timestamp on its left, and a timestamptz on its right? */
static bool
depends_on_clocks(Oid opno)
{
	Oid			left;
	Oid			right;

	op_input_types(opno, &left, &right);
	return left == TIMESTAMPOID && right == TIMESTAMPTZOID;
}

/* Does an index scan find all rows for which this condition is true? */
static bool
is_exact(const Expr *clause)
{
	ListCell   *lc;

	if (IsA(clause, OpExpr))
		return !depends_on_clocks(((const OpExpr *) clause)->opno);
	if (IsA(clause, ScalarArrayOpExpr))
		return !depends_on_clocks(((const ScalarArrayOpExpr *) clause)->opno);
	if (!IsA(clause, RowCompareExpr))
		return true;
	foreach(lc, ((const RowCompareExpr *) clause)->opnos)
	{
		if (depends_on_clocks(lfirst_oid(lc)))
			return false;
	}
	return true;
}

static bool
arm_is_exact(const IndexPath *ipath)
{
	ListCell   *lc;

	foreach(lc, ipath->indexclauses)
	{
		ListCell   *lcq;

		foreach(lcq, lfirst_node(IndexClause, lc)->indexquals)
		{
			if (!is_exact(lfirst_node(RestrictInfo, lcq)->clause))
				return false;
		}
	}
	return true;
}

static bool
arms_eligible(PlannerInfo *root, List *arms)
{
	bool		may_gain = anago_debug_force;
	ListCell   *lc;

	foreach(lc, arms)
	{
		IndexPath  *ipath = lfirst(lc);

		if (ipath->path.param_info != NULL ||
			!anago_index_path_eligible(root, ipath) || !arm_is_exact(ipath))
			return false;
		may_gain |= anago_scan_may_gain(ipath);
	}
	return may_gain && list_length(arms) > 1;
}

/* What an index scan finds, of all rows: conditions in terms of the table. */
static List *
found_by(const IndexPath *ipath)
{
	List	   *result = list_copy(ipath->indexinfo->indpred);
	ListCell   *lc;

	foreach(lc, ipath->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);

		result = list_concat(result, get_actual_clauses(iclause->indexquals));
	}
	return result;
}

List *
anago_not_found_by(List *ipaths)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, ipaths)
	{
		BooleanTest *test = makeNode(BooleanTest);

		test->arg = copyObject(make_ands_explicit(found_by(lfirst(lc))));
		test->booltesttype = IS_NOT_TRUE;
		test->location = -1;
		result = lappend(result, test);
	}
	return result;
}

/* The AnagoScan of one arm; `before` are those that come before it. */
static AnagoPath *
make_arm(PlannerInfo *root, RelOptInfo *rel, IndexPath *ipath, List *before)
{
	AnagoPathStep *step = anago_make_step(ipath, JOIN_INNER);
	AnagoPath  *apath;
	QualCost	cost;

	step->found_before = list_copy(before);
	apath = anago_make_path(rel, NULL, list_make1(step), &anago_scan_path_methods);
	anago_cost_scan(root, apath);
	cost_qual_eval(&cost, anago_not_found_by(before), root);
	anago_add_cpu_cost(apath, cost.per_tuple * ipath->path.rows);
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
	List	   *ors;
	ListCell   *lc;

	if (rel->reloptkind != RELOPT_BASEREL || !has_or_clause(rel) ||
		anago_level_rechecked(root) || !anago_rel_eligible(root, rel) ||
		anago_nothing_overlaps())
		return;
	ors = collect_ors(rel->pathlist);
	if (ors == NIL && anago_is_worth_remaking(rel))
		ors = collect_ors(anago_remake_paths(root, rel));
	foreach(lc, ors)
	{
		List	   *arms = NIL;

		if (collect_arms(lfirst(lc), &arms) && arms_eligible(root, arms))
			add_union(root, rel, arms);
	}
}
