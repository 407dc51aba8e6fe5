/*-------------------------------------------------------------------------
 *
 * arms.c
 *	  OR over several indexes: its arms, and which rows are whose.
 *
 * Where core can answer `a = 1 OR b = 2` by a BitmapOr of index scans, each of these
 * is an arm.  All rows of all arms are what is wanted, each once; core has the
 * bitmap for that.  Here the first arm that finds a row gives it, and all later ones
 * drop what satisfies its index conditions; for a partial index, also its
 * predicate:
 *
 *		a = 1
 *		b = 2, filter: (a = 1) IS NOT TRUE
 *
 * That takes no memory, and is exact: an arm finds a row that is visible if, and
 * only if, these are true for it.  They may be unknown where a column, or a value of
 * another table's row, is NULL: then the arm does not find the row.  An index on a
 * timestamp is not in the order in which a timestamptz compares with it where clocks
 * were set forward: there an arm may miss what is true.
 *
 * Each arm checks all other conditions of the table, as core's index scan would:
 * those that its index conditions do not imply, the OR itself among them.  So an arm
 * may be an index scan of a part of what core would look for there: of a BitmapAnd
 * the most selective one.
 *
 * Of a whole table arms are scans below an Append (unionpaths.c).  Of a join's inner
 * side they are members of one step, as tables of an Append are (members.c):
 *
 *		t.a = o.x OR t.b = o.y		->		step t, members t by a, t by b
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

#include "plan/paths.h"

/*
 * Arms of one OR at most.  Each tests a row for all before it, so that there are
 * half as many tests as the square of this.
 */
#define ANAGO_MAX_ARMS	32

/* --- what arms there are --- */

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

List *
anago_arms_of(PlannerInfo *root, BitmapOrPath *either)
{
	List	   *arms = NIL;
	ListCell   *lc;

	if (!collect_arms_of_or(either, &arms) ||
		list_length(arms) < 2 || list_length(arms) > ANAGO_MAX_ARMS)
		return NIL;
	foreach(lc, arms)
	{
		if (!anago_index_path_eligible(root, lfirst(lc)) || !arm_is_exact(lfirst(lc)))
			return NIL;
	}
	return arms;
}

BitmapOrPath *
anago_find_or(const Path *path)
{
	Path	   *bitmap;
	ListCell   *lc;

	if (!IsA(path, BitmapHeapPath))
		return NULL;
	bitmap = ((const BitmapHeapPath *) path)->bitmapqual;
	if (IsA(bitmap, BitmapOrPath))
		return (BitmapOrPath *) bitmap;
	if (!IsA(bitmap, BitmapAndPath))
		return NULL;
	foreach(lc, ((BitmapAndPath *) bitmap)->bitmapquals)
	{
		if (IsA(lfirst(lc), BitmapOrPath))
			return lfirst(lc);
	}
	return NULL;
}

/* --- each row once --- */

List *
anago_found_by(const IndexPath *ipath)
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

		test->arg = copyObject(make_ands_explicit(anago_found_by(lfirst(lc))));
		test->booltesttype = IS_NOT_TRUE;
		test->location = -1;
		result = lappend(result, test);
	}
	return result;
}

Cost
anago_cost_of_tests(PlannerInfo *root, const IndexPath *arm, List *before)
{
	QualCost	cost;

	if (before == NIL)
		return 0;
	cost_qual_eval(&cost, anago_not_found_by(before), root);
	return cost.per_tuple *
		clamp_row_est(arm->indexselectivity * arm->path.parent->tuples);
}

/* --- arms of a step --- */

/* An arm need not have values of all tables that the OR has. */
static IndexPath *
with_parameters(PlannerInfo *root, IndexPath *arm, Relids required)
{
	IndexPath  *copy;

	if (bms_equal(PATH_REQ_OUTER(&arm->path), required))
		return arm;
	copy = palloc(sizeof(IndexPath));
	*copy = *arm;
	copy->path.param_info = get_baserel_parampathinfo(root, arm->path.parent, required);
	copy->path.rows = copy->path.param_info->ppi_rows;
	return copy;
}

List *
anago_arms_with(PlannerInfo *root, const Path *path, Relids required)
{
	BitmapOrPath *either = anago_find_or(path);
	List	   *arms = either != NULL ? anago_arms_of(root, either) : NIL;
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, arms)
	{
		IndexPath  *arm = with_parameters(root, lfirst(lc), required);

		if (!anago_index_path_eligible(root, arm))
			return NIL;
		result = lappend(result, arm);
	}
	return result;
}

List *
anago_arms_before(List *members, int which)
{
	const IndexPath *arm = list_nth_node(IndexPath, members, which);
	List	   *result = NIL;

	for (int i = 0; i < which; i++)
	{
		IndexPath  *member = list_nth_node(IndexPath, members, i);

		if (member->path.parent == arm->path.parent)
			result = lappend(result, member);
	}
	return result;
}

AnagoPathStep *
anago_make_step_of_several(PlannerInfo *root, Path *core, List *members)
{
	AnagoPathStep *step = anago_make_step(linitial(members), JOIN_INNER);

	step->several = core;
	step->members = members;
	for (int i = 0; i < list_length(members); i++)
	{
		List	   *before = anago_arms_before(members, i);

		step->has_arms |= before != NIL;
		step->tests += anago_cost_of_tests(root, list_nth(members, i), before);
	}
	return step;
}

List *
anago_arm_steps(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		Path	   *path = lfirst(lc);
		List	   *arms = path->param_info == NULL ? NIL :
			anago_arms_with(root, path, PATH_REQ_OUTER(path));

		if (arms != NIL)
			result = lappend(result, anago_make_step_of_several(root, path, arms));
	}
	return result;
}
