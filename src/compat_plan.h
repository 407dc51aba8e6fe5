/*-------------------------------------------------------------------------
 *
 * compat_plan.h
 *	  What differs between PostgreSQL versions for the planner; see compat.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_COMPAT_PLAN_H
#define ANAGO_COMPAT_PLAN_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "nodes/primnodes.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "partitioning/partprune.h"
#include "utils/spccache.h"

#include "compat.h"

/*
 * How many reads core's bitmap scans of a tablespace have in flight.  18: by the
 * server's asynchronous I/O; before, and with io_method = sync, by advice to the
 * kernel, which is of no use past its page cache.
 */
static inline int
anago_core_prefetch(Oid tablespace)
{
	int			most = get_tablespace_io_concurrency(tablespace);

#if PG_VERSION_NUM >= 180000
	if (io_method == IOMETHOD_WORKER)
		return Min(most, anago_io_workers());
	if (io_method != IOMETHOD_SYNC)
		return Min(most, io_max_concurrency);
#endif
	return anago_direct_io() ? 1 : most;
}

/* 19: the planner is told of EXPLAIN. */
#if PG_VERSION_NUM >= 190000
#define ANAGO_PLANNER_PARAMS \
	Query *parse, const char *query_string, int cursorOptions, \
	ParamListInfo boundParams, struct ExplainState *es
#define ANAGO_PLANNER_ARGS \
	parse, query_string, cursorOptions, boundParams, es
#else
#define ANAGO_PLANNER_PARAMS \
	Query *parse, const char *query_string, int cursorOptions, \
	ParamListInfo boundParams
#define ANAGO_PLANNER_ARGS \
	parse, query_string, cursorOptions, boundParams
#endif

/* 17: MERGE has actions for rows of the table that find none of the source. */
typedef enum AnagoMergeKind
{
	ANAGO_MERGE_MATCHED,
	ANAGO_MERGE_NOT_BY_SOURCE,
	ANAGO_MERGE_NOT_BY_TARGET
} AnagoMergeKind;

static inline AnagoMergeKind
anago_merge_kind(const MergeAction *action)
{
#if PG_VERSION_NUM >= 170000
	return action->matchKind == MERGE_WHEN_MATCHED ? ANAGO_MERGE_MATCHED :
		action->matchKind == MERGE_WHEN_NOT_MATCHED_BY_SOURCE ? ANAGO_MERGE_NOT_BY_SOURCE :
		ANAGO_MERGE_NOT_BY_TARGET;
#else
	return action->matched ? ANAGO_MERGE_MATCHED : ANAGO_MERGE_NOT_BY_TARGET;
#endif
}

/* What tells these from those that do find one, of the first table; NIL: there are none. */
static inline List *
anago_merge_condition(const ModifyTable *node pg_attribute_unused())
{
#if PG_VERSION_NUM >= 170000
	return node->mergeJoinConditions == NIL ? NIL : (List *) linitial(node->mergeJoinConditions);
#else
	return NIL;
#endif
}

/* 16: a Var knows the outer joins that may null it. */
static inline void
anago_copy_nullingrels(Var *dst pg_attribute_unused(),
					   const Var *src pg_attribute_unused())
{
#if PG_VERSION_NUM >= 160000
	dst->varnullingrels = src ? src->varnullingrels : NULL;
#endif
}

/* The same of a placeholder. */
static inline void
anago_copy_ph_nullingrels(PlaceHolderVar *dst pg_attribute_unused(),
						  const PlaceHolderVar *src pg_attribute_unused())
{
#if PG_VERSION_NUM >= 160000
	dst->phnullingrels = src->phnullingrels;
#endif
}

/* 19: a table or join may give aggregates that are computed early. */
#define ANAGO_HAVE_EAGER_AGGREGATES	(PG_VERSION_NUM >= 190000)

/* 18: disabled node types are counted; before, they add to the cost. */
static inline void
anago_copy_disabled_nodes(Path *dst pg_attribute_unused(),
						  const Path *src pg_attribute_unused())
{
#if PG_VERSION_NUM >= 180000
	dst->disabled_nodes = src ? src->disabled_nodes : 0;
#endif
}

static inline bool
anago_uses_disabled(const Plan *plan)
{
#if PG_VERSION_NUM >= 180000
	return plan->disabled_nodes > 0;
#else
	return plan->total_cost >= disable_cost;
#endif
}

static inline bool
anago_is_disabled(const Path *path)
{
#if PG_VERSION_NUM >= 180000
	return path->disabled_nodes > 0;
#else
	return path->total_cost >= disable_cost;
#endif
}

/* 19: what counts as disabled is said by the caller, and not by settings. */
static inline void
anago_initial_cost_nestloop(PlannerInfo *root, JoinCostWorkspace *workspace,
							JoinType jointype, Path *outer, Path *inner,
							JoinPathExtraData *extra)
{
#if PG_VERSION_NUM >= 190000
	initial_cost_nestloop(root, workspace, jointype, PGS_NESTLOOP_PLAIN,
						  outer, inner, extra);
#else
	initial_cost_nestloop(root, workspace, jointype, outer, inner, extra);
#endif
}

/*
 * Might such a path of a join be kept?  18: disabled nodes are counted apart, of
 * which it has those of both sides at least.
 */
static inline bool
anago_path_precheck(RelOptInfo *rel, const Path *outer, const Path *inner,
					Cost startup, Cost total, List *pathkeys, Relids required)
{
#if PG_VERSION_NUM >= 180000
	return add_path_precheck(rel, outer->disabled_nodes + inner->disabled_nodes,
							 startup, total, pathkeys, required);
#else
	return add_path_precheck(rel, startup, total, pathkeys, required);
#endif
}

/* The same of a partial one; 19: its startup cost counts as well. */
static inline bool
anago_partial_path_precheck(RelOptInfo *rel, const Path *outer,
							const Path *inner, Cost total,
							List *pathkeys)
{
#if PG_VERSION_NUM >= 190000
	return add_partial_path_precheck(rel, outer->disabled_nodes + inner->disabled_nodes,
									 0, total, pathkeys);
#elif PG_VERSION_NUM >= 180000
	return add_partial_path_precheck(rel, outer->disabled_nodes + inner->disabled_nodes,
									 total, pathkeys);
#else
	return add_partial_path_precheck(rel, total, pathkeys);
#endif
}

/* 19: what an Append is made of is a struct. */
static inline AppendPath *
anago_append_path(PlannerInfo *root, RelOptInfo *rel, List *subpaths,
				  List *partial_subpaths, int workers, bool parallel_aware)
{
#if PG_VERSION_NUM >= 190000
	AppendPathInput input = {
		.subpaths = subpaths,
		.partial_subpaths = partial_subpaths,
	};

	return create_append_path(root, rel, input, NIL, NULL, workers,
							  parallel_aware, -1);
#else
	return create_append_path(root, rel, subpaths, partial_subpaths, NIL, NULL,
							  workers, parallel_aware, -1);
#endif
}

/*
 * Before 19, the outer side of a JOIN_UNIQUE_OUTER join is made unique by
 * whoever builds the join; since then it comes so.
 */
static inline Path *
anago_unique_outer_path(PlannerInfo *root, RelOptInfo *outerrel,
						SpecialJoinInfo *sjinfo)
{
	Path	   *path = outerrel->cheapest_total_path;

#if PG_VERSION_NUM < 190000
	if (path && path->param_info == NULL)
		path = (Path *) create_unique_path(root, outerrel, path, sjinfo);
#endif
	return path;
}

/* 18: how an Append is pruned stands in a list of the whole plan.  NULL: it is not. */
static inline const PartitionPruneInfo *
anago_append_pruneinfo(const PlannedStmt *stmt pg_attribute_unused(),
					   const Append *append)
{
#if PG_VERSION_NUM >= 180000
	return append->part_prune_index < 0 ? NULL :
		list_nth_node(PartitionPruneInfo, stmt->partPruneInfos,
					  append->part_prune_index);
#else
	return append->part_prune_info;
#endif
}

static inline const PartitionPruneInfo *
anago_merge_append_pruneinfo(const PlannedStmt *stmt pg_attribute_unused(),
							 const MergeAppend *append)
{
#if PG_VERSION_NUM >= 180000
	return append->part_prune_index < 0 ? NULL :
		list_nth_node(PartitionPruneInfo, stmt->partPruneInfos,
					  append->part_prune_index);
#else
	return append->part_prune_info;
#endif
}

/*
 * How to prune an Append of these paths by conditions, or NULL; as in core, but
 * that the plan does not come to know of it (18: by its number in a list).
 */
static inline PartitionPruneInfo *
anago_make_pruneinfo(PlannerInfo *root, RelOptInfo *rel, List *subpaths,
					 List *quals)
{
#if PG_VERSION_NUM >= 180000
	PartitionPruneInfo *info;

	if (make_partition_pruneinfo(root, rel, subpaths, quals) < 0)
		return NULL;
	info = llast_node(PartitionPruneInfo, root->partPruneInfos);
	root->partPruneInfos = list_delete_last(root->partPruneInfos);
	return info;
#else
	return make_partition_pruneinfo(root, rel, subpaths, quals);
#endif
}

#endif							/* ANAGO_COMPAT_PLAN_H */
