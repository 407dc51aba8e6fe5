/*-------------------------------------------------------------------------
 *
 * risk.c
 *	  How many more rows there may be than estimated, and what that costs.
 *
 * A chain of probes takes time in proportion to the rows that enter it.  A hash join
 * reads its tables once, and a bitmap scan a page once, however many there are.  By our discount
 * a chain is chosen for several times as many rows as core would choose one for;
 * if there are ten times as many again, it is several times as slow as the
 * plan that was there without anago.  So where it can be seen that an estimate is
 * a guess, that is part of the price.
 *
 * The risk of a table: by which factor its rows may be more than estimated.
 *
 *	- Conditions on several columns count as independent.  If each row that satisfies
 *	  the most selective of them satisfies all,
 *
 *			risk = least selectivity of one column / selectivity of all
 *
 *	  Conditions on one column are one, and extended statistics are in the
 *	  estimate: of columns of which they know that they depend, little is left.
 *	- A comparison whose value planning does not know (a generic plan's
 *	  BETWEEN $1 AND $2), or with something that has no statistics, is estimated by
 *	  a constant: then all rows may satisfy it.
 *
 * It is MOST_RISK at most, and that of a join is the greatest of its tables'.  Skew
 * within a column, and joins whose size core gets wrong, are not seen here (dive.c
 * knows of some).
 *
 * The price: RISK_WEIGHT of what our work would cost more with as many rows than
 * what a rival, a hash join or a bitmap scan, would cost more.  An estimate that
 * may be 10 times too low thus loses about half of a discount of 2; an estimate
 * by statistics of one column, or by an index dive, none.
 *
 * Core's own nested loop over the same probes, and its index scan, have the same
 * risk, and are not priced for it.  Ours stay below them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat_plan.h"
#include "plan/memo.h"
#include "plan/risk.h"
#include "plan/waits.h"

#define MOST_RISK		100.0
#define RISK_WEIGHT		0.1

/*
 * The sides of a comparison of a table's column, or an expression over these, with
 * something that is none; false: it is no such.
 */
static bool
find_sides(PlannerInfo *root, const OpExpr *clause, VariableStatData *vardata, Node **other)
{
	VariableStatData left;
	VariableStatData right;
	bool		of_left;

	examine_variable(root, linitial(clause->args), 0, &left);
	examine_variable(root, lsecond(clause->args), 0, &right);
	of_left = left.rel != NULL;
	*vardata = of_left ? left : right;
	*other = of_left ? right.var : left.var;
	if ((left.rel == NULL) != (right.rel == NULL))
		return true;
	ReleaseVariableStats(left);
	ReleaseVariableStats(right);
	return false;
}

/* Is that condition's selectivity a constant of core's, for lack of anything better? */
static bool
is_guessed(PlannerInfo *root, const RestrictInfo *rinfo)
{
	const OpExpr *clause = (const OpExpr *) rinfo->clause;
	VariableStatData vardata;
	Node	   *other;
	bool		known;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 ||
		!find_sides(root, clause, &vardata, &other))
		return false;
	known = HeapTupleIsValid(vardata.statsTuple) || vardata.isunique;
	if (get_oprrest(clause->opno) != F_EQSEL)
		known &= IsA(anago_estimate_value(root, other), Const);
	ReleaseVariableStats(vardata);
	return !known;
}

static Bitmapset *
columns_of(const RelOptInfo *rel, const RestrictInfo *rinfo)
{
	Bitmapset  *columns = NULL;

	pull_varattnos((Node *) rinfo->clause, rel->relid, &columns);
	return columns;
}

/* Take the first of these conditions, and all others on the same columns, out of the list. */
static List *
take_columns(const RelOptInfo *rel, List **rinfos)
{
	Bitmapset  *columns = columns_of(rel, linitial(*rinfos));
	List	   *taken = NIL;
	ListCell   *lc;

	foreach(lc, *rinfos)
	{
		if (bms_equal(columns_of(rel, lfirst(lc)), columns))
		{
			taken = lappend(taken, lfirst(lc));
			*rinfos = foreach_delete_current(*rinfos, lc);
		}
	}
	return taken;
}

/*
 * The risk of conditions on one table that let `selectivity` of it pass together.
 * Dependent: by other columns, too.
 */
static double
risk_of(PlannerInfo *root, const RelOptInfo *rel, List *rinfos,
		Selectivity selectivity, bool dependent)
{
	Selectivity least = 1.0;
	double		risk = 1.0;

	while (rinfos != NIL)
	{
		List	   *same = take_columns(rel, &rinfos);
		Selectivity one = clauselist_selectivity(root, same, 0, JOIN_INNER, NULL);
		ListCell   *lc;

		least = Min(least, one);
		foreach(lc, same)
			if (is_guessed(root, lfirst(lc)))
				risk = Max(risk, 1.0 / Max(one, 1.0 / MOST_RISK));
	}
	if (dependent && selectivity > 0)
		risk = Max(risk, least / selectivity);
	return Min(risk, MOST_RISK);
}

static double
risk_of_table(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->rtekind != RTE_RELATION || rel->baserestrictinfo == NIL || rel->tuples <= 0)
		return 1.0;
	return risk_of(root, rel, list_copy(rel->baserestrictinfo),
				   rel->rows / rel->tuples, true);
}

double
anago_rows_risk(PlannerInfo *root, Relids relids)
{
	AnagoMemo  *memo = anago_memo(root);
	double		risk = 1.0;
	int			relid = -1;

	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		const RelOptInfo *rel = relid < memo->nrels ? root->simple_rel_array[relid] : NULL;

		/* an outer join has none */
		if (rel == NULL)
			continue;
		if (memo->probes[relid].risk == 0)
			memo->probes[relid].risk = risk_of_table(root, rel);
		risk = Max(risk, memo->probes[relid].risk);
	}
	return risk;
}

double
anago_entries_risk(PlannerInfo *root, const IndexPath *ipath)
{
	List	   *rinfos = NIL;
	ListCell   *lc;

	foreach(lc, ipath->indexclauses)
		rinfos = lappend(rinfos, lfirst_node(IndexClause, lc)->rinfo);
	return risk_of(root, ipath->path.parent, rinfos, ipath->indexselectivity, false);
}

Cost
anago_bitmap_of(PlannerInfo *root, const IndexPath *ipath, double times)
{
	RelOptInfo *rel = ipath->path.parent;
	IndexPath  *more;

	if (!ipath->indexinfo->amhasgetbitmap || ipath->path.param_info != NULL)
		return 0;
	more = palloc(sizeof(IndexPath));
	*more = *ipath;
	more->indexselectivity = Min(ipath->indexselectivity * times, 1.0);
	more->indextotalcost *= times;
	return create_bitmap_heap_path(root, rel, &more->path, rel->lateral_relids,
								   1.0, 0)->path.total_cost;
}

static bool
is_hashable(const Path *inner)
{
	ListCell   *lc;

	if (enable_hashjoin && inner->param_info != NULL)
		foreach(lc, inner->param_info->ppi_clauses)
			if (OidIsValid(lfirst_node(RestrictInfo, lc)->hashjoinoperator))
				return true;
	return false;
}

/* Roughly.  Core may come to it only after our path, with the sides exchanged. */
bool
anago_hash_beats(const NestPath *nest)
{
	const Path *outer = nest->jpath.outerjoinpath;
	const Path *inner = nest->jpath.innerjoinpath;
	const Path *whole = inner->parent->cheapest_total_path;

	return is_hashable(inner) && whole->param_info == NULL &&
		outer->total_cost + outer->rows * anago_hashed_row_cost() +
		whole->total_cost + whole->rows * cpu_operator_cost < nest->jpath.path.total_cost;
}

Cost
anago_hashed_row_cost(void)
{
	return cpu_tuple_cost + 2 * cpu_operator_cost;
}

Cost
anago_price_of_risk(Cost expected, Cost feared, Cost rival)
{
	return RISK_WEIGHT * Max(feared - expected - rival, 0);
}
