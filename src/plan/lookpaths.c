/*-------------------------------------------------------------------------
 *
 * lookpaths.c
 *	  Nested loops of core's that look ahead, as paths.
 *
 * Where rows are locked or changed no join is a pipeline of ours: EvalPlanQual has
 * to go through core's nodes.  But AnagoAhead is put below the outer side of core's
 * nested loop when the plan is finished (ahead.c), and then that waits less than core
 * believes.
 *
 *		update lineitem set ... from orders where o_orderkey = l_orderkey and ...
 *
 *		Hash Join						Nested Loop
 *		  Seq Scan on lineitem			  AnagoAhead
 *		  Index Scan on orders				Index Scan on orders
 *										  Index Scan on lineitem
 *
 * So the nested loop on the right competes for what it costs then.  The path is a
 * NestPath as core makes it, with another price, and all that core does with
 * one stays right: row marks, RETURNING, partitions.
 *
 * Only where AnagoAhead will be there: conditions are those of lookkeys.c and calm.c, as
 * far as they are known now.  A path that is priced in vain is a bad plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/looks.h"
#include "plan/paths.h"

/* --- will there be looks? --- */

/* Walker: something that a look must not evaluate? */
static bool
is_not_plain(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!anago_is_plain(node) && !IsA(node, ScalarArrayOpExpr) &&
		!IsA(node, NullTest) && !IsA(node, RowCompareExpr))
		return true;
	return expression_tree_walker(node, is_not_plain, context);
}

static bool
clause_is_plain(const IndexOptInfo *index, const IndexClause *iclause)
{
	int			col = iclause->indexcol;
	ListCell   *lc;

	if (index->opfamily[col] >= FirstNormalObjectId ||
		!anago_is_plain_type(index->opcintype[col]))
		return false;
	foreach(lc, iclause->indexquals)
		if (is_not_plain((Node *) lfirst_node(RestrictInfo, lc)->clause, NULL))
			return false;
	return true;
}

/* Has the first index column an equality? */
static bool
fixes_first_column(const IndexPath *ipath)
{
	ListCell   *lc;
	ListCell   *lcq;

	foreach(lc, ipath->indexclauses)
	{
		const IndexClause *iclause = lfirst_node(IndexClause, lc);

		if (iclause->indexcol != 0)
			continue;
		foreach(lcq, iclause->indexquals)
		{
			const Expr *clause = lfirst_node(RestrictInfo, lcq)->clause;

			if (!IsA(clause, NullTest) && anago_is_equality(ipath->indexinfo, 0, clause))
				return true;
		}
	}
	return false;
}

static bool
index_has_look(PlannerInfo *root, const IndexPath *ipath)
{
	Oid			relid = planner_rt_fetch(ipath->path.parent->relid, root)->relid;
	ListCell   *lc;

	if (!fixes_first_column(ipath) ||
		get_rel_persistence(relid) == RELPERSISTENCE_TEMP)
		return false;
	foreach(lc, ipath->indexclauses)
		if (!clause_is_plain(ipath->indexinfo, lfirst_node(IndexClause, lc)))
			return false;
	return true;
}

/* --- partitions that are pruned for each row: lookpruned.c --- */

/* Has it partitions of partitions? */
static bool
has_further(PlannerInfo *root, const AnagoPathStep *step)
{
	ListCell   *lc;

	foreach(lc, step->members)
	{
		const RelOptInfo *member = ((const Path *) lfirst(lc))->parent;

		if (root->append_rel_array[member->relid]->parent_relid !=
			step->several->parent->relid)
			return true;
	}
	return false;
}

/* The columns by which partitions are told apart. */
static Bitmapset *
partition_columns(const RelOptInfo *parent)
{
	Bitmapset  *attnos = NULL;

	for (int i = 0; i < parent->part_scheme->partnatts; i++)
		pull_varattnos((Node *) parent->partexprs[i], parent->relid, &attnos);
	return attnos;
}

/* Are partitions found by built-in functions alone? */
static bool
partition_key_is_plain(const RelOptInfo *parent)
{
	for (int i = 0; i < parent->part_scheme->partnatts; i++)
	{
		ListCell   *lc;

		if (parent->part_scheme->partopfamily[i] >= FirstNormalObjectId)
			return false;
		foreach(lc, parent->partexprs[i])
			if (!anago_is_plain_type(exprType(lfirst(lc))))
				return false;
	}
	return true;
}

/* Walker: something that is not known ahead of a row? */
static bool
is_not_known(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((const Param *) node)->paramkind != PARAM_EXTERN;
	return expression_tree_walker(node, is_not_known, context);
}

/* Of these conditions those on such columns; *fine: a look can evaluate them. */
static int
conditions_on(const RelOptInfo *parent, const Bitmapset *columns, List *rinfos, bool *fine)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, rinfos)
	{
		Node	   *clause = (Node *) lfirst_node(RestrictInfo, lc)->clause;
		Bitmapset  *attnos = NULL;

		pull_varattnos(clause, parent->relid, &attnos);
		if (!bms_overlap(attnos, columns))
			continue;
		n++;
		*fine &= !is_not_plain(clause, NULL) && !is_not_known(clause, NULL);
	}
	return n;
}

/*
 * Partitions are pruned for each row, if the join's condition is on a column by which
 * they are told apart.  Then there is a look if it can tell them apart as well.
 */
static bool
pruned_have_look(PlannerInfo *root, const AnagoPathStep *step)
{
	const RelOptInfo *parent = step->several->parent;
	Bitmapset  *columns;
	bool		fine = true;

	if (!enable_partition_pruning || parent->part_scheme == NULL)
		return true;
	if (has_further(root, step))
		return false;
	columns = partition_columns(parent);
	if (conditions_on(parent, columns, step->several->param_info->ppi_clauses, &fine) == 0)
		return true;
	(void) conditions_on(parent, columns, parent->baserestrictinfo, &fine);
	return fine && partition_key_is_plain(parent);
}

static bool
step_has_looks(PlannerInfo *root, const AnagoPathStep *step)
{
	ListCell   *lc;

	if (step->several != NULL && !pruned_have_look(root, step))
		return false;
	foreach(lc, anago_step_ipaths(step))
		if (!index_has_look(root, lfirst(lc)))
			return false;
	return true;
}

/* --- paths --- */

static void
try_looks(PlannerInfo *root, RelOptInfo *joinrel, Path *outer,
		  const AnagoPathStep *candidate, JoinType jointype,
		  JoinPathExtraData *extra)
{
	Path	   *inner = anago_step_inner(candidate);
	AnagoPathStep step = *candidate;
	NestPath   *nest;
	Cost		total;

	/* of relations further out core knows more than we ask here */
	if (calc_nestloop_required_outer(outer->parent->relids, PATH_REQ_OUTER(outer),
									 inner->parent->relids, PATH_REQ_OUTER(inner)) != NULL)
		return;
	nest = anago_make_nestloop(root, joinrel, outer, &step, jointype, extra);
	step.has_arms = false;		/* it is core's bitmap scan that is run */
	total = anago_cost_looks(root, &step, nest, extra->sjinfo);
	if (anago_debug_force)
	{
		anago_copy_disabled_nodes(&nest->jpath.path, NULL);
		nest->jpath.path.startup_cost *= ANAGO_FORCED_COST_FACTOR;
		total *= ANAGO_FORCED_COST_FACTOR;
	}
	if (!(total < nest->jpath.path.total_cost))
	{
		pfree(nest);
		return;
	}
	nest->jpath.path.total_cost = Max(total, nest->jpath.path.startup_cost);
	add_path(joinrel, &nest->jpath.path);
}

static bool
may_be_outer(const Path *outer)
{
	return outer->param_info == NULL &&
		(outer->rows >= ANAGO_FEWEST_AHEAD || anago_debug_force);
}

void
anago_add_look_paths(PlannerInfo *root, RelOptInfo *joinrel, List *outers,
					 List *inners, JoinType jointype, JoinPathExtraData *extra)
{
	ListCell   *lco;
	ListCell   *lci;

	if (!anago_ahead || anago_mode != ANAGO_MODE_OOO)
		return;
	foreach(lci, inners)
	{
		if (!step_has_looks(root, lfirst(lci)))
			continue;
		foreach(lco, outers)
			if (may_be_outer(lfirst(lco)))
				try_looks(root, joinrel, lfirst(lco), lfirst(lci), jointype, extra);
	}
}
