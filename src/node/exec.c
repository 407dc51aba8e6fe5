/*-------------------------------------------------------------------------
 *
 * exec.c
 *	  The plan nodes AnagoScan and AnagoJoin: CustomScan callbacks.
 *
 *	  exec.c		begin, exec, rescan, end
 *	  parallel.c	the same among the processes of a parallel query
 *	  consumer.c	who takes the rows, and how many
 *	  explain.c		EXPLAIN
 *	  ahead.c		the plan node AnagoAhead; ahead_explain.c, its EXPLAIN
 *	  pace.c		how far that runs ahead
 *	  backlog.c		its looks that are made while triggers run
 *	  apart.c		looks run apart from the query; fault.c, which errors may be dropped
 *	  wal.c			the WAL writer is woken while rows are changed
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "device/device.h"
#include "io/io.h"
#include "node/ahead.h"
#include "node/node.h"
#include "node/wal.h"
#include "resource/budgets.h"
#include "stats/stats.h"

static Node *create_scan_state(CustomScan *cscan);
static void begin_scan(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *exec_scan(CustomScanState *node);
static void end_scan(CustomScanState *node);
static void rescan(CustomScanState *node);

const CustomScanMethods anago_scan_methods = {
	.CustomName = "AnagoScan",
	.CreateCustomScanState = create_scan_state,
};

const CustomScanMethods anago_join_methods = {
	.CustomName = "AnagoJoin",
	.CreateCustomScanState = create_scan_state,
};

/* Both run the same code, and differ in what EXPLAIN calls them. */
#define EXEC_METHODS(name) \
	.CustomName = name, \
	.BeginCustomScan = begin_scan, \
	.ExecCustomScan = exec_scan, \
	.EndCustomScan = end_scan, \
	.ReScanCustomScan = rescan, \
	.EstimateDSMCustomScan = anago_parallel_estimate, \
	.InitializeDSMCustomScan = anago_parallel_initialize, \
	.ReInitializeDSMCustomScan = anago_parallel_reinitialize, \
	.InitializeWorkerCustomScan = anago_parallel_initialize_worker, \
	.ShutdownCustomScan = anago_parallel_shutdown, \
	.ExplainCustomScan = anago_explain

static const CustomExecMethods scan_exec_methods = {EXEC_METHODS("AnagoScan")};
static const CustomExecMethods join_exec_methods = {EXEC_METHODS("AnagoJoin")};

void
anago_node_init(void)
{
	RegisterCustomScanMethods(&anago_scan_methods);
	RegisterCustomScanMethods(&anago_join_methods);
	RegisterCustomScanMethods(&anago_ahead_methods);
	anago_parallel_init();
	anago_consumer_init();
}

static Node *
create_scan_state(CustomScan *cscan)
{
	AnagoScanState *state = (AnagoScanState *)
		newNode(sizeof(AnagoScanState), T_CustomScanState);

	state->css.methods = (cscan->methods == &anago_scan_methods) ?
		&scan_exec_methods : &join_exec_methods;
	return (Node *) state;
}

static PlanState *
child_of(CustomScanState *node)
{
	return node->custom_ps == NIL ? NULL : linitial(node->custom_ps);
}

/*
 * A row that others have changed meanwhile is looked at once more (EvalPlanQual), in a
 * copy of the plan.  Core's scan then stands in for the pipeline.
 */
static bool
is_recheck(const AnagoScanState *state, const EState *estate)
{
	return state->desc->rechecked && estate->es_epq_active != NULL;
}

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	AnagoScanState *state = (AnagoScanState *) node;
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);

	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY) && !IsParallelWorker())
	{
		anago_stats_prepare();
		anago_budgets_prepare();
	}
	state->desc = anago_desc_read(cscan);
	if (state->desc->child_source || is_recheck(state, estate))
		node->custom_ps = list_make1(ExecInitNode(linitial(cscan->custom_plans),
												  estate, eflags));
	if (is_recheck(state, estate))
		return;
	state->pipeline = anago_pipeline_begin(&node->ss.ps, state->desc, child_of(node),
										   node->ss.ss_ScanTupleSlot, eflags);
}

AnagoWanted
anago_node_wanted(AnagoScanState *state)
{
	if (!state->consumer_known)
		state->consumer_known = anago_consumer_find(&state->css.ss.ps,
													&state->consumer);
	return anago_consumer_wants(&state->consumer, state->css.ss.ps.state,
								state->desc->may_stop);
}

/* The first row of a scan is about to be asked for. */
static void
expect_rows(AnagoScanState *state)
{
	AnagoWanted wanted = anago_node_wanted(state);

	anago_pipeline_expect(state->pipeline, wanted.may_stop, wanted.rows);
}

/* Core's scan gives wide rows. */
static bool
next_rechecked(CustomScanState *node)
{
	TupleTableSlot *row = ExecProcNode(child_of(node));

	if (TupIsNull(row))
		return false;
	ExecCopySlot(node->ss.ss_ScanTupleSlot, row);
	return true;
}

static bool
next_of_pipeline(AnagoScanState *state)
{
	if (anago_pipeline_is_new(state->pipeline))
		expect_rows(state);
	return anago_pipeline_next(state->pipeline);
}

static TupleTableSlot *
exec_scan(CustomScanState *node)
{
	AnagoScanState *state = (AnagoScanState *) node;
	TupleTableSlot *wide = node->ss.ss_ScanTupleSlot;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	ResetExprContext(econtext);
	if (state->desc->rechecked)
		anago_wal_row();
	if (state->pipeline != NULL ? !next_of_pipeline(state) : !next_rechecked(node))
	{
		/* UPDATE ... WHERE CURRENT OF must find no row here */
		ExecClearTuple(wide);
		return projection != NULL ?
			ExecClearTuple(projection->pi_state.resultslot) : wide;
	}
	econtext->ecxt_scantuple = wide;
	return projection != NULL ? ExecProject(projection) : wide;
}

static void
rescan(CustomScanState *node)
{
	AnagoScanState *state = (AnagoScanState *) node;
	PlanState  *child = child_of(node);

	if (state->pipeline != NULL)
		anago_pipeline_rescan(state->pipeline);
	if (child == NULL)
		return;

	/* core does this for its own kinds of child, not for ours */
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (child->chgParam == NULL)
		ExecReScan(child);
}

/* Refusals of I/O methods in this process since the last call. */
static int64
new_fallbacks(void)
{
	static int64 counted = 0;
	int64		now = anago_io_fallbacks();
	int64		more = now - counted;

	counted = now;
	return more;
}

/* Are all tables of the query in one tablespace? */
static bool
find_tablespace(const EState *estate, Oid *tablespace)
{
	bool		found = false;

	for (Index i = 0; i < estate->es_range_table_size; i++)
	{
		Relation	rel = estate->es_relations[i];

		if (rel == NULL || !RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
			continue;
		if (found && rel->rd_rel->reltablespace != *tablespace)
			return false;
		*tablespace = rel->rd_rel->reltablespace;
		found = true;
	}
	return found;
}

/* Of all processes; a worker leaves this to its leader. */
static void
add_to_stats(const AnagoScanState *state)
{
	AnagoCounters all;
	Oid			tablespace;

	anago_parallel_sum(state, &all);
	if (!all.started)
		return;
	all.run.queries = 1;
	all.run.fallbacks += new_fallbacks();
	anago_stats_add(&all.run);
	if (find_tablespace(state->css.ss.ps.state, &tablespace))
		anago_device_seen(tablespace, &all.run);
}

static void
end_scan(CustomScanState *node)
{
	AnagoScanState *state = (AnagoScanState *) node;
	PlanState  *child = child_of(node);

	if (state->pipeline != NULL)
	{
		anago_parallel_shutdown(node);
		anago_parallel_end(state);
		if (!(node->ss.ps.plan->parallel_aware && IsParallelWorker()))
			add_to_stats(state);
		anago_pipeline_end(state->pipeline);
	}
	if (child != NULL)
		ExecEndNode(child);
}
