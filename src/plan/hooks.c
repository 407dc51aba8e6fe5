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
 *		risk.c		how many more rows there may be than estimated
 *		waits.c		what waiting for pages costs, by what is known of the device
 *		dive.c		how many entries a step finds, asked of its index
 *		ramp.c		what the first rows cost
 *		why.c		anago_explain_why(): what became of which path
 *		create.c	from the winning path to the plan node
 *		steps.c		a step's keys and conditions, out of core's index scan
 *		wide.c		columns of the wide row
 *		ahead.c		where AnagoAhead goes in a finished plan
 *		subplans.c	scans that evaluate subqueries
 *		changes.c	rows that are inserted, updated or deleted
 *		modify.c	which rows a statement makes of which,
 *		merges.c	and one of several actions
 *		foreignkeys.c	where their foreign keys lead
 *		looks.c		what its looks are, out of that plan's index scans
 *		lookkeys.c	and their keys
 *		calm.c		what of a finished plan may be run ahead of demand
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

/*
 * Is a scrollable cursor being planned?  Its plan must be a scan that can go
 * back, and of which UPDATE ... WHERE CURRENT OF can find the row.  The hooks
 * for paths are not told.
 */
static bool scrollable = false;

/* Is it any cursor?  Then its plan must have one scan of such a table only. */
static bool of_cursor = false;

static planner_hook_type prev_planner_hook = NULL;
static set_rel_pathlist_hook_type prev_rel_hook = NULL;
static set_join_pathlist_hook_type prev_join_hook = NULL;

static bool
takes_part_in_finished(void)
{
	return anago_enable && anago_ahead && anago_mode == ANAGO_MODE_OOO &&
		anago_is_installed() && !anago_nothing_overlaps();
}

static PlannedStmt *
plan_query(ANAGO_PLANNER_PARAMS)
{
	bool		outer = scrollable;
	bool		outer_of_cursor = of_cursor;
	bool		outer_any_path = anago_any_path;
	volatile bool kept = false;
	volatile bool finish = false;
	PlannedStmt *result;

	/* also if this query has no use for us: plans that are kept may have */
	if (anago_enable)
		(void) anago_is_installed();

	scrollable = (cursorOptions & CURSOR_OPT_SCROLL) != 0;
	of_cursor = (cursorOptions & CURSOR_OPT_FAST_PLAN) != 0;
	anago_any_path = false;
	anago_begin_planning();
	if (takes_part_in_finished())
		anago_ask_for_keys(parse);
	anago_why_begin();
	PG_TRY();
	{
		if (prev_planner_hook)
			result = prev_planner_hook(ANAGO_PLANNER_ARGS);
		else
			result = standard_planner(ANAGO_PLANNER_ARGS);
		finish = takes_part_in_finished();
		kept = true;
	}
	PG_FINALLY();
	{
		anago_why_end(kept);
		scrollable = outer;
		of_cursor = outer_of_cursor;
		anago_any_path = outer_any_path;
		anago_begin_planning();
	}
	PG_END_TRY();
	if (finish)
		anago_place_looks(result, (cursorOptions & (CURSOR_OPT_SCROLL |
													CURSOR_OPT_FAST_PLAN)) == 0);
	return result;
}

static bool
takes_part(PlannerInfo *root, RelOptInfo *rel)
{
	if (scrollable)
		anago_why_not(root, rel, InvalidOid, "it is a cursor that can scroll");
	return anago_enable && !scrollable && anago_is_installed();
}

static void
rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (prev_rel_hook)
		prev_rel_hook(root, rel, rti, rte);
	if (rel->indexlist == NIL)
		anago_why_not(root, rel, InvalidOid, "it has no index");
	if (rel->indexlist == NIL || !takes_part(root, rel))
		return;
	if (!of_cursor)
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
