/*-------------------------------------------------------------------------
 *
 * show.c
 *	  EXPLAIN of a step that probes a B-tree index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "ops/btree/show.h"

static const char *
join_label(const AnagoStep *step)
{
	if (step->op.index == 0 && step->op.pipeline->child == NULL)
		return NULL;
	switch (step->desc->jointype)
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

/* "name alias", each quoted as needed, with the schema if verbose. */
static char *
relation_text(const AnagoExplain *ex, Index rti)
{
	RangeTblEntry *rte = list_nth(ex->es->rtable, rti - 1);
	char	   *alias = list_nth(ex->es->rtable_names, rti - 1);
	char	   *name = get_rel_name(rte->relid);
	StringInfoData buf;

	initStringInfo(&buf);
	if (ex->es->verbose)
		appendStringInfo(&buf, "%s.",
						 quote_identifier(get_namespace_name_or_temp(get_rel_namespace(rte->relid))));
	appendStringInfoString(&buf, quote_identifier(name));
	if (alias != NULL && strcmp(alias, name) != 0)
		appendStringInfo(&buf, " %s", quote_identifier(alias));
	return buf.data;
}

static void
show_text(const AnagoStep *step, const AnagoExplain *ex)
{
	const AnagoStepDesc *sd = step->desc;
	const char *join = join_label(step);
	StringInfo	str = ex->es->str;

	anago_explain_indent(ex->es);
	appendStringInfo(str, "Step %d: ", step->op.index + 1);
	if (join != NULL)
		appendStringInfo(str, "%s Join, ", join);
	appendStringInfo(str, "%s using %s on %s\n",
					 sd->index_only ? "Index Only Scan" : "Index Scan",
					 quote_identifier(get_rel_name(sd->indexid)),
					 relation_text(ex, sd->scanrelid));
	ex->es->indent++;
}

static void
show_structured(const AnagoStep *step, const AnagoExplain *ex)
{
	const AnagoStepDesc *sd = step->desc;
	const char *join = join_label(step);
	RangeTblEntry *rte = list_nth(ex->es->rtable, sd->scanrelid - 1);
	char	   *alias = list_nth(ex->es->rtable_names, sd->scanrelid - 1);

	ExplainPropertyText("Access",
						sd->index_only ? "Index Only Scan" : "Index Scan",
						ex->es);
	if (join != NULL)
		ExplainPropertyText("Join Type", join, ex->es);
	ExplainPropertyText("Index Name", get_rel_name(sd->indexid), ex->es);
	ExplainPropertyText("Relation Name", get_rel_name(rte->relid), ex->es);
	if (ex->es->verbose)
		ExplainPropertyText("Schema",
							get_namespace_name_or_temp(get_rel_namespace(rte->relid)),
							ex->es);
	if (alias != NULL)
		ExplainPropertyText("Alias", alias, ex->es);
}

static void
show_counts(const AnagoStep *step, ExplainState *es, const AnagoStepCounts *counts)
{
	AnagoStepCounts shown = *counts;

	shown.heap_fetches = step->desc->index_only ? shown.tids - shown.index_only : -1;
	anago_explain_step_counts(es, &shown);
}

void
anago_step_show(const AnagoOp *op, const AnagoExplain *ex,
				const AnagoStepCounts *counters)
{
	const AnagoStep *step = (const AnagoStep *) op;
	const AnagoStepDesc *sd = step->desc;
	ExplainState *es = ex->es;
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;

	ExplainOpenGroup("Step", NULL, true, es);
	if (text)
		show_text(step, ex);
	else
		show_structured(step, ex);
	anago_explain_expr(ex, "One-Time Filter", sd->exprs[ANAGO_EXPRS_GATE]);
	anago_explain_expr(ex, "Index Cond", sd->exprs[ANAGO_EXPRS_SHOW_COND]);
	anago_explain_expr(ex, "Filter", sd->exprs[ANAGO_EXPRS_FILTER]);
	anago_explain_expr(ex, "Join Filter", sd->exprs[ANAGO_EXPRS_JOIN]);
	anago_explain_expr(ex, "Row Filter", sd->exprs[ANAGO_EXPRS_OTHER]);
	if (counters != NULL)
		show_counts(step, es, counters);
	if (text)
		es->indent--;
	ExplainCloseGroup("Step", NULL, true, es);
}
