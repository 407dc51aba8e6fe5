/*-------------------------------------------------------------------------
 *
 * ahead.c
 *	  The plan node AnagoAhead: CustomScan callbacks.
 *
 * It stands above any plan, whose rows it passes on unchanged and in order.  The
 * nodes above go from these rows to other pages, and would wait for one page at
 * a time.  So it holds some rows back, and meanwhile has looks read what they
 * lead to (pipeline/held.h).  Core's nodes do all the work; they find the pages in
 * shared buffers.
 *
 *		NestLoop							for each row: core's index scan
 *		  -> AnagoAhead						rows 1 .. n held; looks for them
 *			   -> any plan
 *		  -> Limit -> Sort -> Index Scan	key: a column of that row
 *
 * How far it runs ahead, and whether at all, follows from what core and looks
 * read: pace.h.  What becomes of errors in looks: apart.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "compat.h"
#include "guc.h"
#include "node/ahead.h"
#include "node/apart.h"
#include "node/wal.h"
#include "resource/budgets.h"
#include "stats/stats.h"

static Node *create_ahead_state(CustomScan *cscan);
static void begin_ahead(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_ahead(CustomScanState *node);
static void end_ahead(CustomScanState *node);
static void rescan_ahead(CustomScanState *node);

const CustomScanMethods anago_ahead_methods = {
	.CustomName = "AnagoAhead",
	.CreateCustomScanState = create_ahead_state,
};

static const CustomExecMethods ahead_exec_methods = {
	.CustomName = "AnagoAhead",
	.BeginCustomScan = begin_ahead,
	.ExecCustomScan = exec_ahead,
	.EndCustomScan = end_ahead,
	.ReScanCustomScan = rescan_ahead,
	.ExplainCustomScan = anago_ahead_explain,
};

static Node *
create_ahead_state(CustomScan *cscan)
{
	AnagoAheadState *state = (AnagoAheadState *)
		newNode(sizeof(AnagoAheadState), T_CustomScanState);

	state->css.methods = &ahead_exec_methods;
	return (Node *) state;
}

/* --- begin --- */

/* Does the node compute anything, or leave rows out? */
static bool
has_projection(const CustomScan *cscan)
{
	const List *of_child = outerPlan(cscan)->targetlist;
	const List *tlist = cscan->scan.plan.targetlist;

	if (cscan->scan.plan.qual != NIL || list_length(tlist) != list_length(of_child))
		return true;
	for (int i = 0; i < list_length(tlist); i++)
	{
		const Var  *var = (const Var *) list_nth_node(TargetEntry, tlist, i)->expr;

		if (IsA(var, Const) &&
			equal(var, list_nth_node(TargetEntry, of_child, i)->expr))
			continue;
		if (!IsA(var, Var) || var->varno != OUTER_VAR || var->varattno != i + 1)
			return true;
	}
	return false;
}

/*
 * Some tables may be known not to be needed, and are not locked then.  Of a look at several
 * see ops/btree/members.c.
 */
static void
drop_pruned(AnagoPipelineDesc *desc, const EState *estate)
{
	int			n = 0;

	for (int i = 0; i < desc->nsteps; i++)
		if (desc->steps[i].nmembers > 0 || OidIsValid(desc->steps[i].heapid) ||
			anago_may_open(estate, desc->steps[i].scanrelid))
			desc->steps[n++] = desc->steps[i];
	desc->nsteps = n;
}

static void catch_up(void *arg);

/* Where looks are late, of some rows they are made afterwards. */
static void
begin_backlog(AnagoAheadState *state)
{
	List	   *tables = NIL;
	int			n = 0;

	for (int i = 0; i < state->desc->nsteps; i++)
		if (anago_desc_is_late(&state->desc->steps[i]) && state->desc->steps[i].level == 0)
		{
			tables = list_append_unique_oid(tables, state->desc->steps[i].heapid);
			n++;
		}
	if (n > 0)
		state->backlog = anago_backlog_create(tables, n, (Size) work_mem * 1024 / 2,
											  catch_up, state);
}

/*
 * While a row is rechecked for an update (EvalPlanQual) there is one row at most,
 * and in other modes than ours nothing is read ahead.
 */
static bool
may_look(const AnagoAheadState *state, const EState *estate)
{
	return anago_mode == ANAGO_MODE_OOO && estate->es_epq_active == NULL &&
		state->desc->nsteps > 0;
}

static void
begin_looks(AnagoAheadState *state, EState *estate, int eflags)
{
	PlanState  *child = outerPlanState(state);
	PlanState  *ps = &state->css.ss.ps;
	TupleTableSlot *wide = ExecInitExtraTupleSlot(estate, ExecTypeFromTL(state->desc->wide),
												  &TTSOpsVirtual);

	/* of the slot that core has made nobody knows */
	ps->scandesc = wide->tts_tupleDescriptor;
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
	{
		state->pipeline = anago_pipeline_begin(ps, state->desc, child, wide, eflags);
		return;
	}
	drop_pruned(state->desc, estate);
	if (!may_look(state, estate))
		return;
	if (!IsParallelWorker())
	{
		anago_stats_prepare();
		anago_budgets_prepare();
	}
	state->pipeline = anago_pipeline_begin(ps, state->desc, child, wide, eflags);
	state->held = anago_held_create(child, anago_max_rows_ahead,
									(Size) work_mem * 1024 / 2);
	state->pipeline->held = state->held;
	state->slot = ExecInitExtraTupleSlot(estate, ExecGetResultType(child),
										 &TTSOpsMinimalTuple);
	begin_backlog(state);
	anago_pace_begin(&state->pace, state->backlog != NULL);
}

static void
begin_ahead(CustomScanState *node, EState *estate, int eflags)
{
	AnagoAheadState *state = (AnagoAheadState *) node;
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);

	state->desc = anago_desc_read(cscan);
	outerPlanState(node) = ExecInitNode(outerPlan(cscan), estate, eflags);
	state->projects = has_projection(cscan);
	if (!state->projects)
	{
		/* a row comes in the child's slot, or in ours */
		node->ss.ps.resultopsset = true;
		node->ss.ps.resultopsfixed = false;
	}
	else if (node->ss.ps.ps_ProjInfo == NULL)
	{
		/* core takes rows without columns for those of the scan, of which it knows none */
		ExecAssignProjectionInfo(&node->ss.ps, NULL);
	}
	begin_looks(state, estate, eflags);
}

/* --- what looks are told to do --- */

/* Go on, and pull rows for them. */
static void
go_on(AnagoPipeline *looks)
{
	(void) anago_pipeline_look(looks, false);
}

/* The same until the first row is done. */
static void
go_on_to_first(AnagoPipeline *looks)
{
	(void) anago_pipeline_look(looks, true);
}

/* Until all rows that are held are done, with none pulled. */
static void
finish_all(AnagoPipeline *looks)
{
	AnagoHeld  *held = looks->held;
	bool		closed = held->closed;

	held->closed = true;
	anago_pipeline_look_late(looks);
	held->closed = closed;
}

static bool
are_over(const AnagoAheadState *state)
{
	return state->pipeline == NULL || state->pipeline->abandoned;
}

/* --- rows --- */

/* Rows that are still wanted; 0: not known. */
static int64
rows_wanted(const AnagoAheadState *state)
{
	PlanState  *ps = (PlanState *) &state->css.ss.ps;
	AnagoConsumer consumer;

	if (ps->qual != NULL || !anago_consumer_find(ps, &consumer))
		return 0;
	return anago_consumer_wants(&consumer, ps->state, true).rows;
}

static void
go_ahead(AnagoAheadState *state)
{
	state->owner = anago_apart_begin();
	anago_pace_ahead(&state->pace, &state->pipeline->counters->run);
	state->held->closed = false;
	state->is_ahead = true;
	state->stop_at = rows_wanted(state);
	if (state->stop_at > 0)
		state->stop_at += state->pace.left;
}

/* The last row that was held has left. */
static void
stop_ahead(AnagoAheadState *state)
{
	state->child_ended = state->held->child_ended;
	anago_apart_end(state->pipeline, &state->owner);
	state->is_ahead = false;
}

/* What the first row leads to is not there yet: wait for it. */
static void
wait_for_first(AnagoAheadState *state)
{
	AnagoHeld  *held = state->held;
	const AnagoCounts *run = &state->pipeline->counters->run;
	bool		late = state->pace.has_late;
	int			n = (int) (held->end - held->first);
	int64		before = run->reads + run->sync_reads;

	anago_apart(state->pipeline, &state->owner, late ? finish_all : go_on_to_first);
	/* what late looks have been put off for may have been there */
	if (!late || run->reads + run->sync_reads > before)
		anago_pace_slept(&state->pace, n, held->size);
}

/* Have the first row done, and others on their way; false: there is none. */
static bool
bring_first(AnagoAheadState *state)
{
	AnagoHeld  *held = state->held;
	AnagoPace  *pace = &state->pace;

	if (!are_over(state))
	{
		if (anago_pace_has_enough(pace, &state->pipeline->counters->run))
			held->closed = true;
		held->bound = Min(anago_pace_bound(pace, state->stop_at), held->size);
		anago_apart(state->pipeline, &state->owner, go_on);
	}
	if (!are_over(state) && !anago_held_may_leave(held) &&
		!(anago_held_is_empty(held) && (held->closed || held->child_ended)))
		wait_for_first(state);
	return !anago_held_is_empty(held);
}

static TupleTableSlot *
next_held(AnagoAheadState *state)
{
	if (!bring_first(state))
		return NULL;
	return ExecStoreMinimalTuple(anago_held_take(state->held), state->slot, true);
}

static TupleTableSlot *
next_of_child(AnagoAheadState *state)
{
	TupleTableSlot *slot;

	if (state->child_ended)
		return NULL;
	slot = ExecProcNode(outerPlanState(state));
	state->child_ended = TupIsNull(slot);
	return slot;
}

/* Values that whoever takes the rows does not fetch need no looks. */
static bool
are_of_use(const AnagoAheadState *state)
{
	return !state->desc->received ||
		anago_consumer_fetches_values(state->css.ss.ps.state);
}

/* A row leaves, or none is left. */
static void
see_leave(AnagoAheadState *state, TupleTableSlot *slot)
{
	if (TupIsNull(slot))
		state->backlog->ended = true;
	else if (state->held->late.reached)
		anago_backlog_add(state->backlog, slot, state->pace.left);
}

/* The next row in whatever slot, or NULL or an empty slot. */
static TupleTableSlot *
next_row(AnagoAheadState *state)
{
	TupleTableSlot *slot = NULL;

	if (!state->is_ahead && !are_over(state) && !state->child_ended &&
		anago_pace_wants_looks(&state->pace) && are_of_use(state))
		go_ahead(state);
	if (state->is_ahead)
	{
		slot = next_held(state);
		if (slot == NULL)
			stop_ahead(state);
	}
	if (slot == NULL)
		slot = next_of_child(state);
	if (state->backlog != NULL)
		see_leave(state, slot);
	if (state->pipeline != NULL)
		anago_pace_row(&state->pace);
	anago_wal_row();
	return slot;
}

static inline void
bound_child(AnagoAheadState *state)
{
	if (!state->bounded)
		anago_consumer_bound_child(&state->css.ss.ps);
	state->bounded = true;
}

static TupleTableSlot *
exec_ahead(CustomScanState *node)
{
	AnagoAheadState *state = (AnagoAheadState *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;

	bound_child(state);
	if (!state->projects)
		return next_row(state);
	for (;;)
	{
		TupleTableSlot *slot;

		ResetExprContext(econtext);
		slot = next_row(state);
		if (TupIsNull(slot))
			return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
		econtext->ecxt_outertuple = slot;
		if (ExecQual(node->ss.ps.qual, econtext))
			return ExecProject(node->ss.ps.ps_ProjInfo);
		InstrCountFiltered1(node, 1);
	}
}

/* --- afterwards: rows that have left without their late looks --- */

/* A batch that has come to fewer reads for a row, one by so many, was of no use. */
#define ROWS_FOR_A_READ		8

static TupleTableSlot *
next_of_backlog(void *arg)
{
	AnagoAheadState *state = arg;
	MinimalTuple row = anago_backlog_next(state->backlog);

	return row == NULL ? NULL : ExecStoreMinimalTuple(row, state->slot, false);
}

static void
look_at_batch(AnagoPipeline *looks)
{
	go_on(looks);
	finish_all(looks);
}

static void
begin_batch(AnagoAheadState *state)
{
	AnagoHeld  *held = state->held;

	ExecClearTuple(state->slot);
	anago_held_reset(held);
	held->bound = Min(state->backlog->batch, held->size);
	held->late.round++;
	held->late.probes = held->bound;
	held->late.pages = held->most_pages / 2;
	held->afterwards = next_of_backlog;
	held->afterwards_arg = state;
	state->owner = anago_apart_begin();
}

static void
end_batch(AnagoAheadState *state)
{
	ExecClearTuple(state->slot);
	anago_apart_end(state->pipeline, &state->owner);
	anago_held_reset(state->held);
	state->held->afterwards = NULL;
}

/* AnagoBacklog.go_on: core is not far from rows without looks. */
static void
catch_up(void *arg)
{
	AnagoAheadState *state = arg;
	const AnagoCounts *run = &state->pipeline->counters->run;
	int64		before = run->reads + run->sync_alone;
	int			rows = 0;

	if (!are_over(state))
	{
		begin_batch(state);
		anago_apart(state->pipeline, &state->owner, look_at_batch);
		rows = (int) (state->held->end - state->held->first);
		end_batch(state);
	}
	if (rows == 0 ||
		(!anago_debug_force &&
		 (run->reads + run->sync_alone - before) * ROWS_FOR_A_READ < rows))
		anago_backlog_give_up(state->backlog);
}

/* --- rescan, end --- */

static void
rescan_ahead(CustomScanState *node)
{
	AnagoAheadState *state = (AnagoAheadState *) node;
	PlanState  *child = outerPlanState(node);

	if (state->held != NULL)
	{
		ExecClearTuple(state->slot);
		anago_apart_end(state->pipeline, &state->owner);
		anago_held_reset(state->held);
		anago_pace_rescan(&state->pace, state->is_ahead);
	}
	state->is_ahead = state->child_ended = state->bounded = false;
	bound_child(state);

	/* core does this where parameters have changed */
	if (child->chgParam == NULL)
		ExecReScan(child);
}

static void
add_to_stats(const AnagoAheadState *state)
{
	AnagoCounters all = {0};

	anago_pipeline_count(state->pipeline, &all);
	if (!all.started)
		return;
	all.run.queries = 1;
	anago_stats_add(&all.run);
}

static void
end_ahead(CustomScanState *node)
{
	AnagoAheadState *state = (AnagoAheadState *) node;

	if (state->pipeline != NULL)
	{
		if (state->held != NULL)
			add_to_stats(state);
		anago_apart_end(state->pipeline, &state->owner);
		anago_pipeline_end(state->pipeline);
	}
	ExecEndNode(outerPlanState(node));
}
