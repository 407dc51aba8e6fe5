/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  EXPLAIN of AnagoScan and AnagoJoin.
 *
 * A group for each step of the pipeline, which the step writes itself; under
 * ANALYZE the rows that went in and out of it.  What differs from run to run
 * (tasks, reads, times) is shown with BUFFERS or TIMING only, so that tests can
 * turn it off.  What is shown where stands in counts.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

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

/* Counts in the units in which they are shown. */
typedef struct Shown
{
	double		value[ANAGO_NCOUNTS];
} Shown;

static double
shown_count(const AnagoCountDesc *desc, const AnagoCounts *counts)
{
	double		value = anago_count_of(desc, counts);

	if (desc->sum == ANAGO_MEAN || desc->sum == ANAGO_MEAN_TOGETHER)
		value /= Max(counts->reads, 1);
	switch (desc->unit)
	{
		case ANAGO_UNIT_KB:
			return ceil(value / 1024.0);
		case ANAGO_UNIT_MS:
			return value / 1000.0;
		default:
			return value;
	}
}

static void
set_shown(Shown *shown, const AnagoCounts *counts)
{
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
		shown->value[i] = shown_count(&anago_counts[i], counts);
}

/* What stands before the counts of a line of text. */
static const char *const line_heads[ANAGO_LINES] = {
	[ANAGO_LINE_TASKS] = "",
	[ANAGO_LINE_READS] = "Reads: method=",
	[ANAGO_LINE_SYNC] = "Synchronous:",
	[ANAGO_LINE_INFLIGHT] = "In Flight:",
};

static const char *
method_text(const AnagoCounters *c)
{
	return c->method[0] != '\0' ? c->method : "none";
}

static void
begin_line(ExplainState *es, AnagoCountLine line, const AnagoCounters *c)
{
	anago_explain_indent(es);
	appendStringInfoString(es->str, line_heads[line]);
	if (line == ANAGO_LINE_READS)
		appendStringInfoString(es->str, method_text(c));
}

static void
show_line(ExplainState *es, AnagoCountLine line, const AnagoCounters *c,
		  const Shown *shown)
{
	bool		begun = false;

	for (int i = 0; i < 2 * ANAGO_NCOUNTS; i++)
	{
		const AnagoCountDesc *desc = &anago_counts[i % ANAGO_NCOUNTS];
		double		value = shown->value[i % ANAGO_NCOUNTS];
		bool		late = i >= ANAGO_NCOUNTS;

		if (desc->line != line || desc->late != late ||
			!anago_explain_has(es, desc, value))
			continue;
		if (!begun)
			begin_line(es, line, c);
		begun = true;
		anago_explain_count(es, desc, desc->text, value);
	}
	if (begun)
		appendStringInfoChar(es->str, '\n');
}

/* Structured: into the group of the next count, and out of the one before. */
static void
change_group(ExplainState *es, const char **group, const char *next)
{
	if (*group == next)
		return;
	if (*group != NULL)
		ExplainCloseGroup(*group, *group, true, es);
	if (next != NULL)
		ExplainOpenGroup(next, next, true, es);
	*group = next;
}

static void
show_properties(ExplainState *es, const AnagoCounters *c, const Shown *shown)
{
	const char *group = NULL;

	for (int i = 0; i < ANAGO_NCOUNTS; i++)
	{
		const AnagoCountDesc *desc = &anago_counts[i];

		if (desc->line == ANAGO_LINE_NONE ||
			!anago_explain_has(es, desc, shown->value[i]))
			continue;
		change_group(es, &group, desc->group);
		if (desc->offset == offsetof(AnagoCounts, reads))
			ExplainPropertyText("I/O Method", method_text(c), es);
		anago_explain_count(es, desc, NULL, shown->value[i]);
	}
	change_group(es, &group, NULL);
}

static void
show_run(ExplainState *es, const AnagoCounters *c, const Shown *shown)
{
	if (es->format != EXPLAIN_FORMAT_TEXT)
		show_properties(es, c, shown);
	else
		for (int line = ANAGO_LINE_NONE + 1; line < ANAGO_LINES; line++)
			show_line(es, line, c, shown);
}

void
anago_explain_run(ExplainState *es, const AnagoCounters *counters)
{
	Shown		shown;

	set_shown(&shown, &counters->run);
	show_run(es, counters, &shown);
}

/* What one process of a parallel query did; worker -1 is the leader. */
static void
show_process(ExplainState *es, int worker, const AnagoCounters *c)
{
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;

	if (!c->started)
		return;
	ExplainOpenGroup("Process", NULL, true, es);
	if (text)
	{
		anago_explain_indent(es);
		if (worker < 0)
			appendStringInfoString(es->str, "Leader:");
		else
			appendStringInfo(es->str, "Worker %d:", worker);
	}
	else if (worker >= 0)
		ExplainPropertyInteger("Worker Number", NULL, worker, es);
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
		if (anago_counts[i].each != NULL)
			anago_explain_count(es, &anago_counts[i], anago_counts[i].each,
								shown_count(&anago_counts[i], &c->run));
	if (text)
		appendStringInfoChar(es->str, '\n');
	ExplainCloseGroup("Process", NULL, true, es);
}

/* Add what one process had on its way while others had. */
static void
add_together(Shown *shown, const AnagoCounters *c)
{
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
		if (anago_counts[i].sum == ANAGO_MEAN_TOGETHER)
			shown->value[i] += shown_count(&anago_counts[i], &c->run);
}

/* All processes together, then each. */
static void
show_processes(const ExplainCxt *cxt, AnagoCounters *all)
{
	AnagoScanState *state = cxt->state;
	AnagoCounters leader;
	Shown		shown;

	anago_pipeline_count(state->pipeline, &leader);
	if (state->nworkers > 0)
		all->run.inflight_peak = state->inflight_peak;
	set_shown(&shown, &all->run);
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
		if (anago_counts[i].sum == ANAGO_MEAN_TOGETHER)
			shown.value[i] = 0;
	add_together(&shown, &leader);
	for (int i = 0; i < state->nworkers; i++)
		add_together(&shown, state->workers[i]);
	show_run(cxt->es, all, &shown);
	if (state->nworkers == 0)
		return;

	ExplainOpenGroup("Processes", "Processes", false, cxt->es);
	show_process(cxt->es, -1, &leader);
	for (int i = 0; i < state->nworkers; i++)
		show_process(cxt->es, i, state->workers[i]);
	ExplainCloseGroup("Processes", "Processes", false, cxt->es);
}

/* Whose order do rows leave in? */
static void
show_order(const ExplainCxt *cxt)
{
	static const char *const orders[] = {
		[ANAGO_ORDER_FORWARD] = "Forward",
		[ANAGO_ORDER_BACKWARD] = "Backward"
	};
	const AnagoPipelineDesc *desc = cxt->state->desc;

	if (desc->order != ANAGO_ORDER_NONE)
		ExplainPropertyText("Order Kept",
							desc->child_source ? "Child Plan" : orders[desc->order],
							cxt->es);
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

	if (state->desc->operators != NULL)
		ExplainPropertyText("Operators", state->desc->operators, es);
	show_order(&cxt);
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
