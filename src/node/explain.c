/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  EXPLAIN of AnagoScan and AnagoJoin.
 *
 * A group for each step of the pipeline; under ANALYZE the rows that went in
 * and out of it.  What differs from run to run (tasks, reads, times) is shown
 * with BUFFERS or TIMING only, so that tests can turn it off.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "node/node.h"

typedef struct ExplainCxt
{
	AnagoScanState *state;
	ExplainState *es;
	List	   *deparse;
	bool		prefix;			/* write Vars with their table's name */
	AnagoCounters counters;		/* of all processes */
} ExplainCxt;

/* Core's ExplainIndentText() is not exported by all versions. */
static void
indent_text(ExplainState *es)
{
	Assert(es->format == EXPLAIN_FORMAT_TEXT);
	appendStringInfoSpaces(es->str, es->indent * 2);
}

/* --- what a step is --- */

static const char *
join_label(const ExplainCxt *cxt, int step)
{
	const AnagoPipelineDesc *desc = cxt->state->desc;

	if (step == 0 && !desc->child_source)
		return NULL;
	switch (desc->steps[step].jointype)
	{
		case JOIN_LEFT:
			return "Left";
		case JOIN_SEMI:
			return "Semi";
		case JOIN_ANTI:
			return "Anti";
		default:
			return "Inner";
	}
}

static void
show_expr(ExplainCxt *cxt, const char *label, List *quals)
{
	char	   *text;

	if (quals == NIL)
		return;
	text = deparse_expression((Node *) make_ands_explicit(quals), cxt->deparse,
							  cxt->prefix, false);
	ExplainPropertyText(label, text, cxt->es);
}

/* "name alias", each quoted as needed, with the schema if verbose. */
static char *
relation_text(const ExplainCxt *cxt, Index rti)
{
	RangeTblEntry *rte = list_nth(cxt->es->rtable, rti - 1);
	char	   *alias = list_nth(cxt->es->rtable_names, rti - 1);
	char	   *name = get_rel_name(rte->relid);
	StringInfoData buf;

	initStringInfo(&buf);
	if (cxt->es->verbose)
		appendStringInfo(&buf, "%s.",
						 quote_identifier(get_namespace_name_or_temp(get_rel_namespace(rte->relid))));
	appendStringInfoString(&buf, quote_identifier(name));
	if (alias != NULL && strcmp(alias, name) != 0)
		appendStringInfo(&buf, " %s", quote_identifier(alias));
	return buf.data;
}

static void
show_step_text(const ExplainCxt *cxt, int step)
{
	const AnagoStepDesc *sd = &cxt->state->desc->steps[step];
	const char *join = join_label(cxt, step);
	StringInfo	str = cxt->es->str;

	indent_text(cxt->es);
	appendStringInfo(str, "Step %d: ", step + 1);
	if (join != NULL)
		appendStringInfo(str, "%s Join, ", join);
	appendStringInfo(str, "%s using %s on %s\n",
					 sd->index_only ? "Index Only Scan" : "Index Scan",
					 quote_identifier(get_rel_name(sd->indexid)),
					 relation_text(cxt, sd->scanrelid));
	cxt->es->indent++;
}

static void
show_step_structured(const ExplainCxt *cxt, int step)
{
	const AnagoStepDesc *sd = &cxt->state->desc->steps[step];
	const char *join = join_label(cxt, step);
	RangeTblEntry *rte = list_nth(cxt->es->rtable, sd->scanrelid - 1);
	char	   *alias = list_nth(cxt->es->rtable_names, sd->scanrelid - 1);

	ExplainPropertyText("Access",
						sd->index_only ? "Index Only Scan" : "Index Scan",
						cxt->es);
	if (join != NULL)
		ExplainPropertyText("Join Type", join, cxt->es);
	ExplainPropertyText("Index Name", get_rel_name(sd->indexid), cxt->es);
	ExplainPropertyText("Relation Name", get_rel_name(rte->relid), cxt->es);
	if (cxt->es->verbose)
		ExplainPropertyText("Schema",
							get_namespace_name_or_temp(get_rel_namespace(rte->relid)),
							cxt->es);
	if (alias != NULL)
		ExplainPropertyText("Alias", alias, cxt->es);
}

static void
show_step_counters(const ExplainCxt *cxt, int step)
{
	const AnagoStepCounters *c = &cxt->counters.steps[step];
	ExplainState *es = cxt->es;
	bool		index_only = cxt->state->desc->steps[step].index_only;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		indent_text(es);
		appendStringInfo(es->str,
						 "Probes: " INT64_FORMAT "  Entries: " INT64_FORMAT
						 "  Rows: " INT64_FORMAT, c->probes, c->tids, c->rows);
		if (c->filtered > 0)
			appendStringInfo(es->str, "  Removed by Filter: " INT64_FORMAT,
							 c->filtered);
		if (index_only)
			appendStringInfo(es->str, "  Heap Fetches: " INT64_FORMAT,
							 c->tids - c->index_only);
		appendStringInfoChar(es->str, '\n');
		return;
	}
	ExplainPropertyInteger("Probes", NULL, c->probes, es);
	ExplainPropertyInteger("Index Descents", NULL, c->descents, es);
	ExplainPropertyInteger("Index Entries", NULL, c->tids, es);
	ExplainPropertyInteger("Heap Tuples", NULL, c->fetched, es);
	ExplainPropertyInteger("Rows Removed by Filter", NULL, c->filtered, es);
	if (index_only)
		ExplainPropertyInteger("Heap Fetches", NULL, c->tids - c->index_only, es);
	ExplainPropertyInteger("Rows", NULL, c->rows, es);
}

static void
show_step(ExplainCxt *cxt, int step)
{
	const AnagoStepDesc *sd = &cxt->state->desc->steps[step];
	ExplainState *es = cxt->es;
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;

	ExplainOpenGroup("Step", NULL, true, es);
	if (text)
		show_step_text(cxt, step);
	else
		show_step_structured(cxt, step);
	show_expr(cxt, "One-Time Filter", sd->exprs[ANAGO_EXPRS_GATE]);
	show_expr(cxt, "Index Cond", sd->exprs[ANAGO_EXPRS_SHOW_COND]);
	show_expr(cxt, "Filter", sd->exprs[ANAGO_EXPRS_FILTER]);
	show_expr(cxt, "Join Filter", sd->exprs[ANAGO_EXPRS_JOIN]);
	show_expr(cxt, "Row Filter", sd->exprs[ANAGO_EXPRS_OTHER]);
	if (es->analyze)
		show_step_counters(cxt, step);
	if (text)
		es->indent--;
	ExplainCloseGroup("Step", NULL, true, es);
}

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
	indent_text(es);
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

	indent_text(es);
	appendStringInfo(str, "Tasks: " INT64_FORMAT "  Peak: %d of %d bytes  Memory: "
					 INT64_FORMAT "kB\n", c->sched.tasks, c->sched.live_peak,
					 ANAGO_TASK_SIZE, memory_kb(c));
	indent_text(es);
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
	indent_text(es);
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
		indent_text(es);
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
	cxt.deparse = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan,
										   ancestors);
	cxt.prefix = list_length(es->rtable) > 1 || es->verbose;

	anago_parallel_sum(state, &cxt.counters);

	show_expr(&cxt, "One-Time Filter", state->desc->gate);
	ExplainOpenGroup("Steps", "Steps", false, es);
	for (int i = 0; i < state->desc->nsteps; i++)
		show_step(&cxt, i);
	ExplainCloseGroup("Steps", "Steps", false, es);

	if (es->analyze && cxt.counters.started && (es->buffers || es->timing))
		show_processes(&cxt, &cxt.counters);
}
