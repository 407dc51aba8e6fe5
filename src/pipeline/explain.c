/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  What EXPLAIN of an operator is written with.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "compat.h"
#include "pipeline/explain.h"

/* Core's ExplainIndentText() is not exported by all versions. */
void
anago_explain_indent(ExplainState *es)
{
	Assert(es->format == EXPLAIN_FORMAT_TEXT);
	appendStringInfoSpaces(es->str, es->indent * 2);
}

void
anago_explain_expr(const AnagoExplain *ex, const char *label, List *quals)
{
	char	   *text;

	if (quals == NIL)
		return;
	text = deparse_expression((Node *) make_ands_explicit(quals), ex->deparse,
							  ex->prefix, false);
	ExplainPropertyText(label, text, ex->es);
}

void
anago_explain_exprs(const AnagoExplain *ex, const char *label, List *exprs)
{
	List	   *texts = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
		texts = lappend(texts, deparse_expression(lfirst(lc), ex->deparse,
												  ex->prefix, false));
	if (texts != NIL)
		ExplainPropertyList(label, texts, ex->es);
}

/* --- tables --- */

char *
anago_explain_relation(const AnagoExplain *ex, Index rti)
{
	RangeTblEntry *rte = list_nth(ex->es->rtable, rti - 1);
	char	   *alias = list_nth(ex->es->rtable_names, rti - 1);
	char	   *name = rte->rtekind == RTE_RELATION ? get_rel_name(rte->relid) : alias;
	StringInfoData buf;

	initStringInfo(&buf);
	if (ex->es->verbose && rte->rtekind == RTE_RELATION)
		appendStringInfo(&buf, "%s.",
						 quote_identifier(get_namespace_name_or_temp(get_rel_namespace(rte->relid))));
	appendStringInfoString(&buf, quote_identifier(name));
	if (alias != NULL && strcmp(alias, name) != 0)
		appendStringInfo(&buf, " %s", quote_identifier(alias));
	return buf.data;
}

void
anago_explain_relation_properties(const AnagoExplain *ex, Index rti)
{
	RangeTblEntry *rte = list_nth(ex->es->rtable, rti - 1);
	char	   *alias = list_nth(ex->es->rtable_names, rti - 1);

	if (rte->rtekind == RTE_RELATION)
		ExplainPropertyText("Relation Name", get_rel_name(rte->relid), ex->es);
	if (ex->es->verbose && rte->rtekind == RTE_RELATION)
		ExplainPropertyText("Schema",
							get_namespace_name_or_temp(get_rel_namespace(rte->relid)),
							ex->es);
	if (alias != NULL)
		ExplainPropertyText("Alias", alias, ex->es);
}

/* --- counts --- */

bool
anago_explain_has(ExplainState *es, const AnagoCountDesc *desc, double value)
{
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;

	return desc->property != NULL && value >= 0 && (!desc->timing || es->timing) &&
		!(text && desc->quiet && value == 0);
}

/* Digits behind the point. */
static int
digits_of(const AnagoCountDesc *desc)
{
	if (desc->unit == ANAGO_UNIT_MS)
		return 3;
	return desc->sum == ANAGO_MEAN || desc->sum == ANAGO_MEAN_TOGETHER ? 1 : 0;
}

static const struct
{
	const char *text;
	const char *structured;
}			units[] = {
	[ANAGO_UNIT_ONE] = {"", NULL},
	[ANAGO_UNIT_BYTES] = {" bytes", "B"},
	[ANAGO_UNIT_KB] = {"kB", "kB"},
	[ANAGO_UNIT_MS] = {" ms", "ms"},
};

void
anago_explain_count(ExplainState *es, const AnagoCountDesc *desc,
					const char *before, double value)
{
	int			digits = digits_of(desc);

	if (es->format == EXPLAIN_FORMAT_TEXT)
		appendStringInfo(es->str, "%s%.*f%s", before, digits, value,
						 units[desc->unit].text);
	else if (digits > 0)
		ExplainPropertyFloat(desc->property, units[desc->unit].structured, value,
							 digits, es);
	else
		ExplainPropertyInteger(desc->property, units[desc->unit].structured,
							   (int64) value, es);
}

static void
show_step_counts(ExplainState *es, const AnagoStepCounts *counts, bool late)
{
	for (int i = 0; i < ANAGO_NSTEP_COUNTS; i++)
	{
		const AnagoCountDesc *desc = &anago_step_counts[i];
		double		value = anago_count_of(desc, counts);

		if (anago_explain_has(es, desc, value) && desc->text != NULL &&
			desc->late == late)
			anago_explain_count(es, desc, desc->text, value);
	}
}

void
anago_explain_step_counts(ExplainState *es, const AnagoStepCounts *counts)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		anago_explain_indent(es);
		show_step_counts(es, counts, false);
		show_step_counts(es, counts, true);
		appendStringInfoChar(es->str, '\n');
		return;
	}
	for (int i = 0; i < ANAGO_NSTEP_COUNTS; i++)
	{
		const AnagoCountDesc *desc = &anago_step_counts[i];
		double		value = anago_count_of(desc, counts);

		if (anago_explain_has(es, desc, value))
			anago_explain_count(es, desc, NULL, value);
	}
}
