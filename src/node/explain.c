/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  EXPLAIN of AnagoScan and AnagoJoin.
 *
 * A group for each step of the pipeline, which the step writes itself; under
 * ANALYZE the rows that went in and out of it.  What differs from run to run (tasks, reads, times) is shown
 * with BUFFERS or TIMING only, so that tests can turn it off.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/ruleutils.h"

#include "compat.h"
#include "node/node.h"

typedef struct ExplainCxt
{
	AnagoScanState *state;
	ExplainState *es;
	AnagoExplain ex;			/* what operators get */
	AnagoCounters counters;		/* of all processes */
} ExplainCxt;

/* --- how it ran --- */

static double
mean_inflight(const AnagoCounters *c)
{
	return c->pages.reads > 0 ? (double) c->pages.inflight_sum / c->pages.reads : 0;
}

static double
latency_ms(const AnagoCounters *c)
{
	return c->pages.latency_sum_us / Max(c->pages.reads, 1) / 1000.0;
}

static int64
memory_kb(const AnagoCounters *c)
{
	return (c->memory + 1023) / 1024;
}

static const char *
method_text(const AnagoCounters *c)
{
	return c->method[0] != '\0' ? c->method : "none";
}

/* Why blocks were read in place, by AnagoSyncReason. */
static const struct
{
	const char *text;
	const char *property;
}			sync_reasons[ANAGO_SYNC_REASONS] = {
	[ANAGO_SYNC_METHOD] = {"method", "Method"},
	[ANAGO_SYNC_ALONE] = {"alone", "Alone"},
	[ANAGO_SYNC_CACHED] = {"cached", "Cached"},
	[ANAGO_SYNC_UNFORESEEN] = {"unforeseen", "Unforeseen"},
	[ANAGO_SYNC_NO_DESCRIPTOR] = {"no_descriptor", "No Descriptor"},
	[ANAGO_SYNC_NO_RING] = {"no_ring", "No Ring"},
};

static void
show_sync_text(ExplainState *es, const AnagoPageCounters *pages)
{
	if (pages->sync_reads == 0)
		return;
	anago_explain_indent(es);
	appendStringInfoString(es->str, "Synchronous:");
	for (int i = 0; i < ANAGO_SYNC_REASONS; i++)
		if (pages->sync[i] > 0)
			appendStringInfo(es->str, " %s=" INT64_FORMAT,
							 sync_reasons[i].text, pages->sync[i]);
	appendStringInfoChar(es->str, '\n');
}

static void
show_sync(ExplainState *es, const AnagoPageCounters *pages)
{
	const char *group = "Synchronous Reads by Reason";

	ExplainPropertyInteger("Synchronous Reads", NULL, pages->sync_reads, es);
	ExplainOpenGroup(group, group, true, es);
	for (int i = 0; i < ANAGO_SYNC_REASONS; i++)
		ExplainPropertyInteger(sync_reasons[i].property, NULL, pages->sync[i], es);
	ExplainCloseGroup(group, group, true, es);
}

static void
show_run_text(const ExplainCxt *cxt, const AnagoCounters *c, double mean)
{
	ExplainState *es = cxt->es;
	StringInfo	str = es->str;

	anago_explain_indent(es);
	appendStringInfo(str, "Tasks: " INT64_FORMAT "  Peak: %d of %d bytes  Memory: "
					 INT64_FORMAT "kB\n", c->sched.tasks, c->sched.live_peak,
					 ANAGO_TASK_SIZE, memory_kb(c));
	anago_explain_indent(es);
	appendStringInfo(str, "Reads: method=%s issued=" INT64_FORMAT
					 " shared=" INT64_FORMAT " synchronous=" INT64_FORMAT
					 " hits=" INT64_FORMAT, method_text(c), c->pages.reads,
					 c->pages.shared_reads, c->pages.sync_reads, c->pages.hits);
	if (anago_reads_given_up(&c->pages) > 0)
		appendStringInfo(str, " given_up=" INT64_FORMAT,
						 anago_reads_given_up(&c->pages));
	appendStringInfoChar(str, '\n');
	show_sync_text(es, &c->pages);
	if (c->pages.reads == 0)
		return;
	anago_explain_indent(es);
	appendStringInfo(str, "In Flight: peak=" INT64_FORMAT " mean=%.1f",
					 c->pages.inflight_peak, mean);
	if (es->timing)
		appendStringInfo(str, "  Latency: %.3f ms", latency_ms(c));
	appendStringInfoChar(str, '\n');
}

static void
show_run(const ExplainCxt *cxt, const AnagoCounters *c, double mean)
{
	ExplainState *es = cxt->es;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		show_run_text(cxt, c, mean);
		return;
	}
	ExplainPropertyInteger("Tasks", NULL, c->sched.tasks, es);
	ExplainPropertyInteger("Peak Tasks", NULL, c->sched.live_peak, es);
	ExplainPropertyInteger("Task Size", "B", ANAGO_TASK_SIZE, es);
	ExplainPropertyInteger("Memory", "kB", memory_kb(c), es);
	ExplainPropertyText("I/O Method", method_text(c), es);
	ExplainPropertyInteger("Reads Issued", NULL, c->pages.reads, es);
	ExplainPropertyInteger("Shared Reads", NULL, c->pages.shared_reads, es);
	ExplainPropertyInteger("Reads Given Up", NULL, anago_reads_given_up(&c->pages), es);
	show_sync(es, &c->pages);
	ExplainPropertyInteger("Hits", NULL, c->pages.hits, es);
	ExplainPropertyInteger("Peak Reads in Flight", NULL, c->pages.inflight_peak, es);
	ExplainPropertyFloat("Mean Reads in Flight", NULL, mean, 1, es);
	if (es->timing)
		ExplainPropertyFloat("Read Latency", "ms", latency_ms(c), 3, es);
}

/* Rows that left the pipeline there. */
static int64
rows_out(const ExplainCxt *cxt, const AnagoCounters *c)
{
	return c->steps[cxt->state->desc->nsteps - 1].rows;
}

/* What one process of a parallel query did; worker -1 is the leader. */
static void
show_process(const ExplainCxt *cxt, int worker, const AnagoCounters *c)
{
	ExplainState *es = cxt->es;

	if (!c->started)
		return;
	ExplainOpenGroup("Process", NULL, true, es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		anago_explain_indent(es);
		if (worker < 0)
			appendStringInfoString(es->str, "Leader:");
		else
			appendStringInfo(es->str, "Worker %d:", worker);
		appendStringInfo(es->str, "  Rows: " INT64_FORMAT "  Tasks: " INT64_FORMAT
						 "  Reads: issued=" INT64_FORMAT " hits=" INT64_FORMAT
						 "  In Flight: peak=" INT64_FORMAT " mean=%.1f"
						 "  Rows Given: " INT64_FORMAT "\n",
						 rows_out(cxt, c), c->sched.tasks, c->pages.reads,
						 c->pages.hits, c->pages.inflight_peak,
						 mean_inflight(c), c->given);
	}
	else
	{
		if (worker >= 0)
			ExplainPropertyInteger("Worker Number", NULL, worker, es);
		ExplainPropertyInteger("Rows", NULL, rows_out(cxt, c), es);
		ExplainPropertyInteger("Tasks", NULL, c->sched.tasks, es);
		ExplainPropertyInteger("Reads Issued", NULL, c->pages.reads, es);
		ExplainPropertyInteger("Hits", NULL, c->pages.hits, es);
		ExplainPropertyInteger("Peak Reads in Flight", NULL,
							   c->pages.inflight_peak, es);
		ExplainPropertyFloat("Mean Reads in Flight", NULL, mean_inflight(c), 1, es);
		ExplainPropertyInteger("Rows Given", NULL, c->given, es);
	}
	ExplainCloseGroup("Process", NULL, true, es);
}

/*
 * All processes together, then each.  Reads of all were on their way at the
 * same time: what the query had in flight is the sum.
 */
static void
show_processes(const ExplainCxt *cxt, AnagoCounters *all)
{
	AnagoScanState *state = cxt->state;
	AnagoCounters leader;
	double		mean;

	anago_pipeline_count(state->pipeline, &leader);
	mean = mean_inflight(&leader);
	for (int i = 0; i < state->nworkers; i++)
		mean += mean_inflight(state->workers[i]);
	if (state->nworkers > 0)
		all->pages.inflight_peak = state->inflight_peak;
	show_run(cxt, all, mean);
	if (state->nworkers == 0)
		return;

	ExplainOpenGroup("Processes", "Processes", false, cxt->es);
	show_process(cxt, -1, &leader);
	for (int i = 0; i < state->nworkers; i++)
		show_process(cxt, i, state->workers[i]);
	ExplainCloseGroup("Processes", "Processes", false, cxt->es);
}

void
anago_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	AnagoScanState *state = (AnagoScanState *) node;
	ExplainCxt	cxt;

	cxt.state = state;
	cxt.es = es;
	cxt.ex.es = es;
	cxt.ex.deparse = set_deparse_context_plan(es->deparse_cxt,
											  node->ss.ps.plan, ancestors);
	cxt.ex.prefix = list_length(es->rtable) > 1 || es->verbose;

	anago_parallel_sum(state, &cxt.counters);

	anago_explain_expr(&cxt.ex, "One-Time Filter", state->desc->gate);
	ExplainOpenGroup("Steps", "Steps", false, es);
	for (int i = 0; i < state->desc->nsteps; i++)
	{
		const AnagoOp *op = anago_pipeline_op(state->pipeline, i);

		op->kind->explain(op, &cxt.ex,
						  es->analyze ? &cxt.counters.steps[i] : NULL);
	}
	ExplainCloseGroup("Steps", "Steps", false, es);

	if (es->analyze && cxt.counters.started && (es->buffers || es->timing))
		show_processes(&cxt, &cxt.counters);
}
