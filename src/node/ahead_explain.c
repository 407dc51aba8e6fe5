/*-------------------------------------------------------------------------
 *
 * ahead_explain.c
 *	  EXPLAIN of the plan node AnagoAhead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/ruleutils.h"

#include "compat.h"
#include "node/ahead.h"
#include "node/node.h"

/* How many rows were held; text has them in one line. */
static void
show_held(const AnagoHeld *held, ExplainState *es)
{
	double		mean = held->pulled > 0 ? (double) held->sum / held->pulled : 0;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		anago_explain_indent(es);
		appendStringInfo(es->str, "Rows Ahead: peak=%d mean=%.1f\n", held->peak, mean);
		return;
	}
	ExplainPropertyInteger("Peak Rows Ahead", NULL, held->peak, es);
	ExplainPropertyFloat("Mean Rows Ahead", NULL, mean, 1, es);
}

static void
show_looks(const AnagoPipeline *pipeline, const AnagoExplain *ex,
		   const AnagoCounters *counters)
{
	ExplainOpenGroup("Looks", "Looks", false, ex->es);
	for (int i = 0; i < pipeline->nsteps; i++)
	{
		const AnagoOp *op = anago_pipeline_op(pipeline, i);

		op->kind->explain(op, ex, counters ? &counters->steps[i] : NULL);
	}
	ExplainCloseGroup("Looks", "Looks", false, ex->es);
}

void
anago_ahead_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	AnagoAheadState *state = (AnagoAheadState *) node;
	AnagoCounters counters = {0};
	AnagoExplain ex;

	if (state->pipeline == NULL)
		return;
	ex.es = es;
	ex.deparse = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan,
										  ancestors);
	ex.prefix = true;
	anago_pipeline_count(state->pipeline, &counters);
	show_looks(state->pipeline, &ex, es->analyze ? &counters : NULL);
	if (!es->analyze || !counters.started || (!es->buffers && !es->timing))
		return;
	show_held(state->held, es);
	anago_explain_run(es, &counters);
}
