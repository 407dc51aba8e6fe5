/*-------------------------------------------------------------------------
 *
 * prune.c
 *	  Which tables of a partitioned inner side a row can have matches in.
 *
 * Core prunes an Append below a nested loop by the parameters that it is run
 * with.  Its pruning steps say how partitions follow from values; we take them
 * from its own make_partition_pruneinfo(), which looks only at comparisons with
 * parameters.  So columns of earlier tables are replaced by parameters for as
 * long as that takes, and put back into what comes out:
 *
 *		p.ts >= o.start		->	p.ts >= $7		->	step: >=, values ($7)
 *							->	step: >=		values (o.start)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"

#include "compat_plan.h"
#include "plan/create.h"

/* --- parameters in place of columns --- */

typedef struct ReplaceContext
{
	const RelOptInfo *rel;		/* whose own columns stay */
	int			first;			/* number of the first parameter that is free */
	List	   *replaced;		/* what they stand for, Vars and PlaceHolderVars */
} ReplaceContext;

static Node *
param_for(Node *node, ReplaceContext *context)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXEC;
	param->paramid = context->first + list_length(context->replaced);
	param->paramtype = exprType(node);
	param->paramtypmod = exprTypmod(node);
	param->paramcollid = exprCollation(node);
	param->location = -1;
	context->replaced = lappend(context->replaced, node);
	return (Node *) param;
}

/* Mutator: columns of other tables become parameters. */
static Node *
with_params(Node *node, ReplaceContext *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno != context->rel->relid)
		return param_for(node, context);
	if (IsA(node, PlaceHolderVar) &&
		!bms_is_member(context->rel->relid, ((PlaceHolderVar *) node)->phrels))
		return param_for(node, context);
	return expression_tree_mutator(node, with_params, context);
}

/* Mutator: and the other way round. */
static Node *
without_params(Node *node, ReplaceContext *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC &&
		((Param *) node)->paramid >= context->first)
		return copyObject(list_nth(context->replaced,
								   ((Param *) node)->paramid - context->first));
	return expression_tree_mutator(node, without_params, context);
}

/* --- the description --- */

static List *
levels_of(const int *numbers, int n, int first)
{
	List	   *result = NIL;

	for (int i = 0; i < n; i++)
		result = lappend_int(result, numbers[i] < 0 ? -1 : numbers[i] + first);
	return result;
}

static List *
oids_of(const Oid *oids, int n)
{
	List	   *result = NIL;

	for (int i = 0; i < n; i++)
		result = lappend_oid(result, oids[i]);
	return result;
}

/*
 * What core is told of members: one path for each table, its first arm.  *positions
 * are the numbers of these.
 */
static List *
heads_of(List *members, List **positions)
{
	List	   *heads = NIL;
	int			position = 0;
	ListCell   *lc;

	*positions = NIL;
	foreach(lc, members)
	{
		Path	   *member = lfirst(lc);

		if (heads == NIL || ((Path *) llast(heads))->parent != member->parent)
		{
			heads = lappend(heads, member);
			*positions = lappend_int(*positions, position);
		}
		position++;
	}
	return heads;
}

/* In place of numbers of heads, or -1, those of members, or -1 where there is none. */
static List *
members_of(const int *heads, int n, const List *positions)
{
	List	   *result = NIL;

	for (int i = 0; i < n; i++)
		result = lappend_int(result, heads[i] < 0 ? -1 :
							 list_nth_int(positions, heads[i]));
	return result;
}

/* One partitioned table; levels of its hierarchy are numbered from `first`. */
static void
describe_level(AnagoPruneLevel *level, const PartitionedRelPruneInfo *info,
			   int first, const List *positions, ReplaceContext *context)
{
	ListCell   *lc;

	level->relid = info->rtindex;
	level->per_row = info->exec_pruning_steps != NIL;
	level->relids = oids_of(info->relid_map, info->nparts);
	level->members = members_of(info->subplan_map, info->nparts, positions);
	level->levels = levels_of(info->subpart_map, info->nparts, first);

	/* steps by row have all conditions */
	level->steps = copyObject(level->per_row ? info->exec_pruning_steps :
							  info->initial_pruning_steps);
	foreach(lc, level->steps)
	{
		PartitionPruneStepOp *step = lfirst(lc);

		if (!IsA(step, PartitionPruneStepOp))
			continue;
		level->values = lappend(level->values,
								without_params((Node *) step->exprs, context));
		step->exprs = NIL;
	}
}

static void
describe_levels(AnagoPruneDesc *desc, const PartitionPruneInfo *info,
				const List *positions, ReplaceContext *context)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, info->prune_infos)
		n += list_length((List *) lfirst(lc));
	desc->nlevels = 0;
	desc->levels = palloc0(sizeof(AnagoPruneLevel) * n);
	foreach(lc, info->prune_infos)
	{
		int			first = desc->nlevels;
		ListCell   *lcl;

		foreach(lcl, (List *) lfirst(lc))
			describe_level(&desc->levels[desc->nlevels++], lfirst(lcl), first,
						   positions, context);
		desc->levels[first].is_root = true;
	}
}

static void
describe_others(AnagoPruneDesc *desc, const PartitionPruneInfo *info,
				const List *positions)
{
	int			other = -1;

	while ((other = bms_next_member(info->other_subplans, other)) >= 0)
		if (list_nth_int(positions, other) >= 0)
			desc->others = lappend_int(desc->others, list_nth_int(positions, other));
}

void
anago_describe_plan_pruning(AnagoPruneDesc *desc, const PartitionPruneInfo *info,
							const List *positions)
{
	ReplaceContext context = {.first = INT_MAX};

	describe_levels(desc, info, positions, &context);
	describe_others(desc, info, positions);
}

void
anago_describe_pruning(PlannerInfo *root, AnagoPruneDesc *desc,
					   const Path *several, List *members)
{
	RelOptInfo *rel = several->parent;
	ReplaceContext context = {
		.rel = rel,
		.first = list_length(root->glob->paramExecTypes),
	};
	PartitionPruneInfo *info;
	List	   *heads;
	List	   *positions;
	List	   *quals;

	if (!enable_partition_pruning || !IsA(several, AppendPath))
		return;
	heads = heads_of(members, &positions);
	quals = list_concat(extract_actual_clauses(rel->baserestrictinfo, false),
						extract_actual_clauses(several->param_info->ppi_clauses,
											   false));
	info = anago_make_pruneinfo(root, rel, heads,
								(List *) with_params((Node *) quals, &context));
	if (info == NULL)
		return;
	describe_levels(desc, info, positions, &context);
	describe_others(desc, info, positions);
}
