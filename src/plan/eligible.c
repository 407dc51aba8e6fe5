/*-------------------------------------------------------------------------
 *
 * eligible.c
 *	  Which queries, relations, index paths and conditions qualify.
 *
 * Whatever is not known to work exactly as in core is declined, silently:
 * the core plan then runs.  docs/limitations.md has this list for users.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/paths.h"

/*
 * May rows of this query level be rechecked?  Where rows are locked, or are
 * targets of UPDATE, DELETE and MERGE, a concurrent update makes EvalPlanQual ask
 * the scans for one named row again.  A scan of ours has core's for that
 * (AnagoPipelineDesc.rechecked), a join does not.  The query part of INSERT is never
 * rechecked.
 */
bool
anago_level_rechecked(PlannerInfo *root)
{
	Query	   *parse = root->parse;

	return (parse->commandType != CMD_SELECT &&
			parse->commandType != CMD_INSERT) ||
		parse->rowMarks != NIL || root->rowMarks != NIL;
}

static bool
is_heap(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		heap;

	if (!HeapTupleIsValid(tuple))
		return false;
	heap = ((Form_pg_class) GETSTRUCT(tuple))->relam == HEAP_TABLE_AM_OID;
	ReleaseSysCache(tuple);
	return heap;
}

/* Walker: something that a pipeline cannot compute? */
static bool
has_unsupported(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
		return has_unsupported((Node *) ((RestrictInfo *) node)->clause, context);
	if (IsA(node, Aggref))
		return true;
	return expression_tree_walker(node, has_unsupported, context);
}

/* Expressions, or RestrictInfos, that can be computed from the wide row. */
bool
anago_exprs_eligible(List *exprs)
{
	return !ANAGO_HAVE_EAGER_AGGREGATES || exprs == NIL ||
		!has_unsupported((Node *) exprs, NULL);
}

/* What is asked of a table: columns, and placeholders. */
static bool
output_eligible(PlannerInfo *root, List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
		if (!IsA(lfirst(lc), Var))
			return anago_exprs_eligible(exprs) &&
				!anago_has_effects(root, (Node *) exprs);
	return true;
}

/* A table that a step can probe, as far as the table itself is concerned. */
bool
anago_rel_eligible(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte;

	if (!IS_SIMPLE_REL(rel) || rel->rtekind != RTE_RELATION ||
		rel->indexlist == NIL || IS_DUMMY_REL(rel) ||
		!bms_is_empty(rel->lateral_relids))
		return false;

	rte = planner_rt_fetch(rel->relid, root);
	if (rte->inh || rte->tablesample != NULL ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW) ||
		!is_heap(rte->relid))
		return false;

	return output_eligible(root, rel->reltarget->exprs);
}

/*
 * Conditions, as RestrictInfos, that steps evaluate, as far ahead of demand as
 * they like.
 */
bool
anago_quals_eligible(PlannerInfo *root, List *rinfos)
{
	return anago_exprs_eligible(rinfos) && !anago_has_effects(root, (Node *) rinfos);
}

/*
 * Is an index clause one of the relation's own conditions, which are looked at
 * anyway, as it is?
 */
static bool
is_own_condition(const IndexPath *ipath, const IndexClause *iclause)
{
	return ipath->path.param_info == NULL &&
		list_length(iclause->indexquals) == 1 &&
		linitial(iclause->indexquals) == iclause->rinfo;
}

static bool
index_clauses_eligible(PlannerInfo *root, IndexPath *ipath)
{
	ListCell   *lc;

	foreach(lc, ipath->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);
		ListCell   *lcq;

		foreach(lcq, iclause->indexquals)
		{
			Expr	   *clause = lfirst_node(RestrictInfo, lcq)->clause;

			if (!IsA(clause, OpExpr) && !IsA(clause, ScalarArrayOpExpr) &&
				!IsA(clause, NullTest) && !IsA(clause, RowCompareExpr))
				return false;
		}
		if (!is_own_condition(ipath, iclause) &&
			!anago_quals_eligible(root, iclause->indexquals))
			return false;
	}
	return true;
}

/* Of a kind that can be probed by a step, whatever its conditions are. */
bool
anago_is_probe(const IndexPath *ipath)
{
	return ipath->indexinfo->relam == BTREE_AM_OID && !ipath->indexinfo->hypothetical &&
		ipath->indexorderbys == NIL && !ipath->path.parallel_aware;
}

/* An index path, of an eligible relation, that can be a step. */
bool
anago_index_path_eligible(PlannerInfo *root, IndexPath *ipath)
{
	if (!anago_is_probe(ipath))
		return false;
	if (ipath->path.param_info &&
		!anago_quals_eligible(root, ipath->path.param_info->ppi_clauses))
		return false;
	return anago_quals_eligible(root, ipath->indexinfo->indrestrictinfo) &&
		index_clauses_eligible(root, ipath);
}

/* Operators of other libraries don't say whether they do. */
bool
anago_operators_keep_order(void)
{
	return anago_operators[0] == '\0';
}

/* Does a condition fix the value of its index column? */
bool
anago_is_equality(const IndexOptInfo *index, int col, const Expr *clause)
{
	Oid			opno;

	if (IsA(clause, RowCompareExpr))
		return false;
	if (IsA(clause, NullTest))
		return ((const NullTest *) clause)->nulltesttype == IS_NULL;
	opno = IsA(clause, OpExpr) ? ((const OpExpr *) clause)->opno :
		((const ScalarArrayOpExpr *) clause)->opno;
	return get_op_opfamily_strategy(opno, index->opfamily[col]) ==
		BTEqualStrategyNumber;
}

bool
anago_has_gaps(const IndexPath *ipath)
{
	bool		fixed[INDEX_MAX_KEYS] = {false};
	int			last = 0;
	ListCell   *lc;

	foreach(lc, ipath->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);
		int			col = iclause->indexcol;
		ListCell   *lcq;

		foreach(lcq, iclause->indexquals)
			fixed[col] |= anago_is_equality(ipath->indexinfo, col,
											lfirst_node(RestrictInfo, lcq)->clause);
		last = Max(last, col);
	}
	for (int col = 0; col < last; col++)
		if (!fixed[col])
			return true;
	return false;
}

/*
 * Can rows leave in the order of the index?  The way to the left
 * needs separators that are distinct, which indexes of before version 12 don't
 * have (backward.c).
 */
bool
anago_can_keep_order(const IndexPath *ipath)
{
	Relation	index;
	bool		heapkeyspace;
	bool		allequalimage;

	if (!anago_operators_keep_order())
		return false;
	if (ipath->indexscandir == ForwardScanDirection)
		return true;
	index = index_open(ipath->indexinfo->indexoid, NoLock);
	_bt_metaversion(index, &heapkeyspace, &allequalimage);
	index_close(index, NoLock);
	return heapkeyspace;
}

/* And is that an order which is of use? */
bool
anago_order_eligible(const IndexPath *ipath)
{
	return ipath->path.pathkeys != NIL && anago_can_keep_order(ipath);
}

/*
 * A join whose rows a pipeline could make.  Its output are columns of tables
 * and placeholders (wide.c), no aggregates that core computes below the join
 * (19).
 */
bool
anago_join_eligible(PlannerInfo *root, RelOptInfo *joinrel)
{
	return bms_is_empty(joinrel->lateral_relids) &&
		anago_exprs_eligible(joinrel->reltarget->exprs);
}
