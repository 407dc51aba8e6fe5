/*-------------------------------------------------------------------------
 *
 * hooks.c
 *	  Where core's planner meets anago.
 *
 * The files of this folder:
 *		hooks.c		planner hooks; whether anago takes part at all
 *		installed.c	is the extension there
 *		eligible.c	which queries, relations, indexes and conditions qualify
 *		effects.c	what may be evaluated ahead of demand
 *		memo.c		what is found out once for all joins
 *		paths.c		AnagoScan paths, and what all AnagoPaths share
 *		arms.c		OR over several indexes: what it is made of
 *		unionpaths.c	a whole table by it
 *		probes.c	steps that a join could be made longer by
 *		joinpaths.c	AnagoJoin paths
 *		lookpaths.c	nested loops of core's that look ahead
 *		nestpaths.c	those that are left to core, at the price that the index says
 *		members.c	inner sides of several tables
 *		prune.c		which of them a row can have matches in
 *		parallel.c	partial paths, for several processes
 *		gain.c		might a step gain anything
 *		bound.c		what a join costs at least
 *		cost.c		what a pipeline costs
 *		price.c		what the work of one step costs
 *		scanprice.c	what the first one costs
 *		inorder.c	probes that come to pages in order
 *		naps.c		what naps save of probes into shared buffers
 *		risk.c		how many more rows there may be than estimated
 *		repeats.c	subqueries that come again with the same values
 *		waits.c		what waiting for pages costs, by what is known of the device
 *		dive.c		how many entries a step finds, asked of its index
 *		ramp.c		what the first rows cost
 *		why.c		anago_explain_why(): what became of which path
 *		rival.c		the plan that there would be without ours
 *		create.c	from the winning path to the plan node
 *		steps.c		a step's keys and conditions, out of core's index scan
 *		wide.c		columns of the wide row
 *		turn.c		what a hash join would take in place of a step's probes
 *		ahead.c		where AnagoAhead goes in a finished plan
 *		limited.c	of which nodes few rows are wanted
 *		subplans.c	scans that evaluate subqueries
 *		changes.c	rows that are inserted, updated or deleted
 *		modify.c	which rows a statement makes of which,
 *		merges.c	and one of several actions
 *		foreignkeys.c	where their foreign keys lead
 *		routes.c	which partition a new row goes to
 *		toast.c		values that are stored outside of their rows
 *		looks.c		what its looks are, out of that plan's index scans
 *		lookfirsts.c	of several tables of which a LIMIT wants the first rows,
 *		lookpruned.c	and of partitions that are pruned for each row
 *		lookkeys.c	and their keys
 *		calm.c		what of a finished plan may be run ahead of demand
 *		cached.c	whether its pages are waited for
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "optimizer/paths.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/changes.h"
#include "plan/looks.h"
#include "plan/memo.h"
#include "plan/paths.h"
#include "plan/plan.h"
#include "plan/rival.h"

/* The planning that is going on; the hooks for paths are not told. */
typedef struct Planning
{
	/*
	 * Is it of a scrollable cursor?  Its plan must be a scan that can go back, and of
	 * which UPDATE ... WHERE CURRENT OF can find the row.
	 */
	bool		scrollable;

	/* Is it of any cursor?  Then its plan must have one scan of such a table only. */
	bool		of_cursor;

	/* Is it the second one, in which we take no part (rival.h)? */
	bool		of_rival;
} Planning;

static Planning now;

static planner_hook_type prev_planner_hook = NULL;
static set_rel_pathlist_hook_type prev_rel_hook = NULL;
static set_join_pathlist_hook_type prev_join_hook = NULL;

/* In what core has finished?  The rest is asked where there is something to do. */
static bool
takes_part_in_finished(void)
{
	return anago_enable && anago_ahead && anago_mode == ANAGO_MODE_OOO;
}

static PlannedStmt *
plan_once(ANAGO_PLANNER_PARAMS)
{
	anago_begin_planning();
	return prev_planner_hook ? prev_planner_hook(ANAGO_PLANNER_ARGS) :
		standard_planner(ANAGO_PLANNER_ARGS);
}

/* Without paths of ours; NULL: the plan is the better one. */
static PlannedStmt *
plan_rival(const PlannedStmt *stmt, ANAGO_PLANNER_PARAMS)
{
	PlannedStmt *rival;

	now.of_rival = true;
	rival = plan_once(ANAGO_PLANNER_ARGS);
	if (!anago_rival_wins(stmt, rival, cursorOptions))
		return NULL;
	anago_why_declined(stmt->planTree->total_cost, rival->planTree->total_cost);
	return rival;
}

static PlannedStmt *
plan_query(ANAGO_PLANNER_PARAMS)
{
	Planning	outer = now;
	bool		outer_any_path = anago_any_path;
	volatile bool kept = false;
	Query	   *again;
	PlannedStmt *result;
	PlannedStmt *rival = NULL;

	/* also if this query has no use for us: plans that are kept may have */
	if (anago_enable)
		(void) anago_is_installed();

	now = (Planning) {
		.scrollable = (cursorOptions & CURSOR_OPT_SCROLL) != 0,
		.of_cursor = (cursorOptions & CURSOR_OPT_FAST_PLAN) != 0
	};
	anago_any_path = false;
	anago_why_begin();
	PG_TRY();
	{
		if (anago_may_ask_for_keys(parse) && takes_part_in_finished() &&
			anago_looks_may_be_of_use())
			anago_ask_for_keys(parse);
		again = now.scrollable ? NULL : anago_rival_query(parse);
		result = plan_once(ANAGO_PLANNER_ARGS);
		parse = again;
		if (again != NULL && anago_rival_may_win(result))
			rival = plan_rival(result, ANAGO_PLANNER_ARGS);
		if (rival != NULL)
			result = rival;
		if (takes_part_in_finished())
			anago_place_looks(result, (cursorOptions & (CURSOR_OPT_SCROLL |
														CURSOR_OPT_FAST_PLAN)) == 0);
		kept = true;
	}
	PG_FINALLY();
	{
		anago_why_end(kept);
		now = outer;
		anago_any_path = outer_any_path;
		anago_begin_planning();
	}
	PG_END_TRY();
	return result;
}

static bool
takes_part(PlannerInfo *root, RelOptInfo *rel)
{
	if (now.scrollable)
		anago_why_not(root, rel, InvalidOid, "it is a cursor that can scroll");
	return anago_enable && !now.scrollable && anago_is_installed();
}

static void
rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (prev_rel_hook)
		prev_rel_hook(root, rel, rti, rte);
	if (now.of_rival)
		return;
	if (rel->indexlist == NIL)
		anago_why_not(root, rel, InvalidOid, "it has no index");
	if (rel->indexlist == NIL || !takes_part(root, rel))
		return;
	if (!now.of_cursor)
		anago_add_union_paths(root, rel);
	anago_add_scan_paths(root, rel);
	if (anago_debug_force)
		anago_drop_core_paths(rel);
}

static void
join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
			  RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	if (prev_join_hook)
		prev_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (now.of_rival)
		return;
	/* a parent's indexes are its members', of which it may know nothing */
	if ((innerrel->indexlist != NIL || anago_is_append(root, innerrel)) &&
		takes_part(root, joinrel))
		anago_add_join_paths(root, joinrel, outerrel, innerrel, jointype, extra);
}

void
anago_plan_init(const CustomScanMethods *scan, const CustomScanMethods *join,
				const CustomScanMethods *ahead, AnagoExpectOverlap expect_overlap)
{
	anago_create_init(scan, join);
	anago_ahead_init(ahead);
	anago_memo_init(expect_overlap);

	prev_planner_hook = planner_hook;
	planner_hook = plan_query;
	prev_rel_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = rel_pathlist;
	prev_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_pathlist;
}
