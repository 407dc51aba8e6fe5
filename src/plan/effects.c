/*-------------------------------------------------------------------------
 *
 * effects.c
 *	  What may be evaluated ahead of demand.
 *
 * A pipeline evaluates the conditions of its steps, and pulls rows of its
 * child plan, for more rows than LIMIT, EXISTS or a cursor come to need.
 * Nobody must see that.  So nothing that is evaluated there may lock or change
 * rows or call a volatile function:
 *
 *		step		the conditions of its index path and of the join
 *		child plan	conditions, subqueries, VALUES, functions, placeholders:
 *					all that core evaluates to make rows of these relations
 *
 * The select list is evaluated for rows that leave the pipeline, on demand.
 *
 * A foreign table below is read ahead like any other; what a foreign data
 * wrapper does to a remote table, beyond reading it, is not known here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/memo.h"
#include "plan/paths.h"

typedef struct EffectsContext
{
	PlannerInfo *root;
	bool		functions;		/* look for volatile ones as well */
	bool		reads_cte;		/* there is a CTE, to be looked at apart */
} EffectsContext;

static bool effects_walker(Node *node, EffectsContext *context);

/*
 * Sublinks have become SubPlans by now, whose queries core's own
 * contain_volatile_functions() does not look into.
 */
static bool
subplan_has_effects(const SubPlan *subplan, EffectsContext *context)
{
	PlannerInfo *subroot = list_nth_node(PlannerInfo, context->root->glob->subroots,
										 subplan->plan_id - 1);
	Node	   *query = (Node *) subroot->parse;

	return contain_volatile_functions(query) ||
		effects_walker(query, context) ||
		effects_walker((Node *) subroot->init_plans, context);
}

/* Is this the result of an initplan, of any level, that has effects? */
static bool
param_has_effects(const Param *param, EffectsContext *context)
{
	if (param->paramkind != PARAM_EXEC)
		return false;
	for (PlannerInfo *root = context->root; root; root = root->parent_root)
	{
		ListCell   *lc;

		foreach(lc, root->init_plans)
		{
			SubPlan    *initplan = lfirst_node(SubPlan, lc);

			if (list_member_int(initplan->setParam, param->paramid))
				return subplan_has_effects(initplan, context);
		}
	}
	return false;
}

/* Core's own sampling methods only read. */
static bool
sample_has_effects(const TableSampleClause *sample)
{
	return sample != NULL && sample->tsmhandler >= FirstNormalObjectId;
}

static bool
is_volatile(Oid funcid, void *context)
{
	return func_volatile(funcid) == PROVOLATILE_VOLATILE;
}

/* As contain_volatile_functions() sees one node of a query's tree. */
static bool
calls_volatile(Node *node)
{
	return IsA(node, NextValueExpr) ||
		check_functions_in_node(node, is_volatile, NULL);
}

static bool
any_has_effects(const List *nodes, EffectsContext *context)
{
	ListCell   *lc;

	foreach(lc, nodes)
		if (effects_walker(lfirst(lc), context))
			return true;
	return false;
}

/*
 * Walker: does it lock or change rows, at any level?  Or call a volatile
 * function where contain_volatile_functions() does not look?
 */
static bool
effects_walker(Node *node, EffectsContext *context)
{
	if (node == NULL || IsA(node, Var) || IsA(node, Const))
		return false;
	if (IsA(node, List))
		return any_has_effects((List *) node, context);
	if (context->functions && calls_volatile(node))
		return true;
	if (IsA(node, TargetEntry))
		return effects_walker((Node *) ((TargetEntry *) node)->expr, context);
	if (IsA(node, RestrictInfo))
		return effects_walker((Node *) ((RestrictInfo *) node)->clause, context);
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		context->reads_cte |= rte->rtekind == RTE_CTE;
		return sample_has_effects(rte->tablesample);
	}
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		return query->rowMarks != NIL || query->commandType != CMD_SELECT ||
			query_tree_walker(query, effects_walker, context,
							  QTW_EXAMINE_RTES_BEFORE);
	}
	if (IsA(node, Param))
		return param_has_effects((Param *) node, context);
	if (IsA(node, SubPlan) && subplan_has_effects((SubPlan *) node, context))
		return true;
	return expression_tree_walker(node, effects_walker, context);
}

/*
 * Of all CTEs that can be meant, at this level or above.  One that reads
 * another needs no care: all are looked at.
 */
static bool
ctes_have_effects(PlannerInfo *root)
{
	EffectsContext context = {.root = root,.functions = true};

	for (PlannerInfo *level = root; level; level = level->parent_root)
	{
		ListCell   *lc;

		foreach(lc, level->parse->cteList)
			if (effects_walker(lfirst_node(CommonTableExpr, lc)->ctequery, &context))
				return true;
	}
	return false;
}

/* Columns of UNION ALL that its branches compute, which are not in the query. */
static bool
branches_have_effects(PlannerInfo *root, EffectsContext *context)
{
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		Node	   *columns = (Node *) info->translated_vars;

		if (!OidIsValid(info->parent_reltype) &&
			(contain_volatile_functions(columns) ||
			 effects_walker(columns, context)))
			return true;
	}
	return false;
}

/*
 * Anything at all in this query level, as the planner has made it?  Its own CTEs are
 * in it; join aliases are where they are used.
 */
static bool
level_has_effects(PlannerInfo *root)
{
	EffectsContext context = {.root = root,.functions = true};

	return query_tree_walker(root->parse, effects_walker, &context,
							 QTW_EXAMINE_RTES_BEFORE | QTW_IGNORE_JOINALIASES) ||
		branches_have_effects(root, &context) ||
		(context.reads_cte && ctes_have_effects(root->parent_root));
}

/*
 * Of most levels it is known after one look that nothing in them has any.  That
 * is worth it where there are joins, which ask many times.
 */
static bool
is_harmless(PlannerInfo *root)
{
	AnagoMemo  *memo;

	if (bms_membership(root->all_baserels) != BMS_MULTIPLE)
		return false;
	memo = anago_memo(root);
	if (memo->effects == ANAGO_NOT_ASKED)
		memo->effects = level_has_effects(root) ? ANAGO_YES : ANAGO_NO;
	return memo->effects == ANAGO_NO;
}

/* Of an expression: is there nothing in it that reads or writes? */
static bool
is_without_queries(const PlannerInfo *root, const Node *node)
{
	return root->glob->subplans == NIL && root->glob->paramExecTypes == NIL &&
		(IsA(node, List) || IsA(node, RestrictInfo));
}

/* Would it be seen that this is evaluated ahead of demand? */
bool
anago_has_effects(PlannerInfo *root, Node *node)
{
	EffectsContext context = {.root = root};

	if (node == NULL || is_harmless(root))
		return false;
	if (contain_volatile_functions(node))
		return true;
	if (is_without_queries(root, node))
		return false;
	if (effects_walker(node, &context))
		return true;
	return context.reads_cte && ctes_have_effects(root);
}

/* What makes the rows of a range table entry; NULL: only pages are read. */
static Node *
rows_of(const RangeTblEntry *rte)
{
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return (Node *) rte->tablesample;
		case RTE_SUBQUERY:
			return (Node *) rte->subquery;
		case RTE_FUNCTION:
			return (Node *) rte->functions;
		case RTE_TABLEFUNC:
			return (Node *) rte->tablefunc;
		case RTE_VALUES:
			return (Node *) rte->values_lists;
		default:
			return NULL;
	}
}

/* Join clauses that can be evaluated where these relations are joined. */
static bool
join_clauses_have_effects(PlannerInfo *root, const RelOptInfo *rel, Relids relids)
{
	ListCell   *lc;

	foreach(lc, rel->joininfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (bms_is_subset(rinfo->required_relids, relids) &&
			anago_has_effects(root, (Node *) rinfo))
			return true;
	}
	return false;
}

/* One of the relations of a source.  Outer joins have a number, but no rel. */
static bool
relation_has_effects(PlannerInfo *root, int relid, Relids relids)
{
	const RangeTblEntry *rte = planner_rt_fetch(relid, root);
	const RelOptInfo *rel = root->simple_rel_array[relid];

	if (rel == NULL)
		return false;
	return (rte->rtekind == RTE_CTE && ctes_have_effects(root)) ||
		sample_has_effects(rte->tablesample) ||
		anago_has_effects(root, rows_of(rte)) ||
		anago_has_effects(root, (Node *) rel->baserestrictinfo) ||
		join_clauses_have_effects(root, rel, relids);
}

/*
 * Equality clauses have left the relations' lists.  They are never volatile,
 * as core sees it, but may have subplans that are.
 */
static bool
equalities_have_effects(PlannerInfo *root, Relids relids)
{
	ListCell   *lc;

	foreach(lc, root->eq_classes)
	{
		ListCell   *lcm;

		foreach(lcm, lfirst_node(EquivalenceClass, lc)->ec_members)
		{
			EquivalenceMember *member = lfirst_node(EquivalenceMember, lcm);

			if (!IsA(member->em_expr, Var) &&
				bms_is_subset(member->em_relids, relids) &&
				anago_has_effects(root, (Node *) member->em_expr))
				return true;
		}
	}
	return false;
}

/* Expressions of a subquery that core computes below a join. */
static bool
placeholders_have_effects(PlannerInfo *root, Relids relids)
{
	ListCell   *lc;

	foreach(lc, root->placeholder_list)
	{
		PlaceHolderInfo *info = lfirst_node(PlaceHolderInfo, lc);

		if (bms_is_subset(info->ph_eval_at, relids) &&
			anago_has_effects(root, (Node *) info->ph_var->phexpr))
			return true;
	}
	return false;
}

/*
 * May the rows of these relations, joined in whatever way, be asked for ahead
 * of demand?  Children of an Append need no look of their own: conditions of
 * theirs are their parent's, and the query of UNION ALL holds its branches.
 */
bool
anago_source_eligible(PlannerInfo *root, Relids relids)
{
	int			relid = -1;

	if (is_harmless(root))
		return true;
	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		if (relation_has_effects(root, relid, relids))
			return false;
	}
	return !equalities_have_effects(root, relids) &&
		!placeholders_have_effects(root, relids);
}
