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
#include "utils/ruleutils.h"

#include "compat.h"
#include "ops/btree/late.h"
#include "ops/btree/show.h"

static const char *
join_label(const AnagoOp *op, const AnagoStepDesc *sd)
{
	if ((op->index == 0 && op->pipeline->child == NULL) || op->pipeline->looks)
		return NULL;
	switch (sd->jointype)
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

static const char *
access_label(const AnagoStepDesc *sd, bool index_only)
{
	if (sd->toast)
		return "TOAST";
	if (sd->look != ANAGO_LOOK_MATCHES)
		return "Index Insertion";
	return index_only ? "Index Only Scan" : "Index Scan";
}

/* Is a row's key all that is to be said of where it leads? */
static bool
shows_key(const AnagoStepDesc *sd)
{
	return sd->look != ANAGO_LOOK_MATCHES || OidIsValid(sd->heapid);
}

/* The name of a table or index, which may be gone if nothing keeps it there. */
static const char *
name_of(Oid relid)
{
	const char *name = get_rel_name(relid);

	return name != NULL ? name : "(dropped)";
}

/* The line that a step begins with, up to what it scans. */
static void
show_head(const AnagoOp *op, const AnagoStepDesc *sd, bool index_only, ExplainState *es)
{
	const char *join = join_label(op, sd);

	anago_explain_indent(es);
	appendStringInfo(es->str, "%s %d: ", op->pipeline->looks ? "Look" : "Step",
					 op->index + 1);
	if (join != NULL)
		appendStringInfo(es->str, "%s Join, ", join);
	appendStringInfoString(es->str, access_label(sd, index_only));
}

/* That of which values are fetched. */
static char *
column_of(const AnagoExplain *ex, const AnagoStepDesc *sd)
{
	return deparse_expression(linitial(sd->exprs[ANAGO_EXPRS_SHOW_COND]), ex->deparse,
							  ex->prefix, false);
}

static void
show_text(const AnagoStep *step, const AnagoExplain *ex)
{
	const AnagoStepDesc *sd = step->desc;

	show_head(&step->op, sd, sd->index_only, ex->es);
	ex->es->indent++;
	if (sd->toast)
	{
		appendStringInfo(ex->es->str, " of %s\n", column_of(ex, sd));
		return;
	}
	appendStringInfo(ex->es->str, " using %s on %s\n",
					 quote_identifier(name_of(sd->indexid)),
					 anago_desc_is_late(sd) ? quote_identifier(name_of(sd->heapid)) :
					 anago_explain_relation(ex, sd->scanrelid));
}

static void
show_access(const AnagoOp *op, const AnagoStepDesc *sd, bool index_only, ExplainState *es)
{
	const char *join = join_label(op, sd);

	ExplainPropertyText("Access", access_label(sd, index_only), es);
	if (join != NULL)
		ExplainPropertyText("Join Type", join, es);
}

static void
show_structured(const AnagoStep *step, const AnagoExplain *ex)
{
	const AnagoStepDesc *sd = step->desc;

	show_access(&step->op, sd, sd->index_only, ex->es);
	if (sd->toast)
	{
		ExplainPropertyText("Column", column_of(ex, sd), ex->es);
		return;
	}
	ExplainPropertyText("Index Name", name_of(sd->indexid), ex->es);
	if (anago_desc_is_late(sd))
		ExplainPropertyText("Relation Name", name_of(sd->heapid), ex->es);
	else
		anago_explain_relation_properties(ex, sd->scanrelid);
}

/* Are its members arms of one table? */
static bool
has_arms_alone(const AnagoStepDesc *sd)
{
	return sd->nmembers > 1 && anago_desc_ntables(sd) == 1;
}

/* In how many processes, where not in one. */
static void
show_processes(ExplainState *es, int64 n)
{
	if (n > 1)
		appendStringInfo(es->str, ", in " INT64_FORMAT " processes", n);
	appendStringInfoChar(es->str, '\n');
}

static void
show_turn(ExplainState *es, const AnagoStepCounts *counts)
{
	if (counts->turns > 0)
	{
		anago_explain_indent(es);
		appendStringInfo(es->str, "Turned into Hash: after " INT64_FORMAT " probes, "
						 INT64_FORMAT " rows, " INT64_FORMAT "kB",
						 counts->turned_after, counts->hash_rows, counts->hash_kb);
		show_processes(es, counts->turns);
	}
	if (counts->turns_back > 0)
	{
		anago_explain_indent(es);
		appendStringInfo(es->str, "Turned back into Probes: after " INT64_FORMAT " lookups",
						 counts->turned_back_after);
		show_processes(es, counts->turns_back);
	}
	if (counts->turns_failed > 0)
	{
		anago_explain_indent(es);
		appendStringInfoString(es->str, "Not Turned into Hash: too large");
		show_processes(es, counts->turns_failed);
	}
}

/* Looks take no rows from the index alone: how many core will is not theirs to say. */
static void
show_counts(const AnagoOp *op, const AnagoStepDesc *desc, bool index_only,
			ExplainState *es, const AnagoStepCounts *counts)
{
	AnagoStepCounts shown = *counts;

	shown.heap_fetches = index_only && !op->pipeline->looks ? shown.tids - shown.index_only : -1;
	shown.pruned = desc->nmembers > 0 && !has_arms_alone(desc) ? shown.pruned : -1;
	if (shown.turns == 0)
		shown.turns = shown.turned_after = shown.hash_rows = shown.hash_kb = -1;
	if (shown.turns_failed == 0)
		shown.turns_failed = -1;
	if (shown.turns_back == 0)
		shown.turns_back = shown.turned_back_after = -1;
	/* rows of a table that the user may not be allowed to read are not counted */
	if (shows_key(desc))
		shown.tids = shown.fetched = shown.rows = -1;
	anago_explain_step_counts(es, &shown);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		show_turn(es, &shown);
}

/* Its keys are columns of rows that another look finds. */
static void
show_found_key(const AnagoStep *step, const AnagoExplain *ex)
{
	Oid			relid = step->before->desc->heapid;
	List	   *key = NIL;
	ListCell   *lc;

	foreach(lc, step->desc->attnos)
	{
		const char *name = get_attname(relid, lfirst_int(lc), true);

		key = lappend(key, psprintf("%s.%s", quote_identifier(name_of(relid)),
									name != NULL ? quote_identifier(name) : "(dropped)"));
	}
	ExplainPropertyList("Index Key", key, ex->es);
}

static void
show_table_exprs(const AnagoExplain *ex, const AnagoStepDesc *table)
{
	if (table->toast)
		return;
	anago_explain_expr(ex, "One-Time Filter", table->exprs[ANAGO_EXPRS_GATE]);
	if (shows_key(table))
		anago_explain_exprs(ex, "Index Key", table->exprs[ANAGO_EXPRS_SHOW_COND]);
	else
		anago_explain_expr(ex, "Index Cond", table->exprs[ANAGO_EXPRS_SHOW_COND]);
	anago_explain_expr(ex, "Filter", table->exprs[ANAGO_EXPRS_FILTER]);
}

static void
show_join_exprs(const AnagoExplain *ex, const AnagoStepDesc *join)
{
	anago_explain_expr(ex, "Join Filter", join->exprs[ANAGO_EXPRS_JOIN]);
	anago_explain_expr(ex, "Row Filter", join->exprs[ANAGO_EXPRS_OTHER]);
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
	if (step->before != NULL)
		show_found_key(step, ex);
	else
		show_table_exprs(ex, sd);
	show_join_exprs(ex, sd);
	if (counters != NULL)
		show_counts(op, sd, sd->index_only, es, counters);
	if (text)
		es->indent--;
	ExplainCloseGroup("Step", NULL, true, es);
}

/* --- several tables, or arms --- */

/*
 * Which they are: with VERBOSE, as there may be a thousand; a table's alias is of
 * core's own making and says nothing.
 */
static void
show_tables(const AnagoExplain *ex, const AnagoStepDesc *sd)
{
	List	   *names = NIL;

	if (!ex->es->verbose)
		return;
	for (int i = 0; i < sd->nmembers; i++)
	{
		const AnagoStepDesc *member = &sd->members[i];
		const RangeTblEntry *rte = list_nth(ex->es->rtable, member->scanrelid - 1);

		names = lappend(names,
						psprintf("%s.%s using %s",
								 quote_identifier(get_namespace_name_or_temp(get_rel_namespace(rte->relid))),
								 quote_identifier(get_rel_name(rte->relid)),
								 quote_identifier(get_rel_name(member->indexid))));
	}
	ExplainPropertyList("Tables", names, ex->es);
}

static bool
all_index_only(const AnagoStepDesc *sd)
{
	for (int i = 0; i < sd->nmembers; i++)
		if (!sd->members[i].index_only)
			return false;
	return true;
}

/* How one arm of an OR looks a table up; `named`: there is one table only. */
static void
show_arm(const AnagoExplain *ex, const AnagoStepDesc *arm, bool named)
{
	ExplainState *es = ex->es;
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;

	ExplainOpenGroup("Arm", NULL, true, es);
	if (text)
	{
		anago_explain_indent(es);
		appendStringInfoString(es->str, access_label(arm, arm->index_only));
		if (named)
			appendStringInfo(es->str, " using %s", quote_identifier(name_of(arm->indexid)));
		appendStringInfoChar(es->str, '\n');
		es->indent++;
	}
	else if (named)
		ExplainPropertyText("Index Name", name_of(arm->indexid), es);
	show_table_exprs(ex, arm);
	if (text)
		es->indent--;
	ExplainCloseGroup("Arm", NULL, true, es);
}

/* Conditions are those of the first table; others may differ in what is implied. */
static void
show_first_table(const AnagoExplain *ex, const AnagoStepDesc *sd)
{
	int			last = anago_desc_last_arm(sd, 0);

	if (last == 0)
	{
		show_table_exprs(ex, &sd->members[0]);
		return;
	}
	ExplainOpenGroup("Arms", "Arms", false, ex->es);
	for (int i = 0; i <= last; i++)
		show_arm(ex, &sd->members[i], has_arms_alone(sd));
	ExplainCloseGroup("Arms", "Arms", false, ex->es);
}

/* The line of text that such a step begins with. */
static void
show_append_head(const AnagoOp *op, const AnagoExplain *ex, const AnagoStepDesc *sd)
{
	StringInfo	str = ex->es->str;
	int			ntables = anago_desc_ntables(sd);

	show_head(op, sd, all_index_only(sd), ex->es);
	appendStringInfo(str, " on %s (", anago_explain_relation(ex, sd->scanrelid));
	if (has_arms_alone(sd))
	{
		appendStringInfo(str, "%d arms)\n", sd->nmembers);
		return;
	}
	appendStringInfo(str, "%d tables%s", ntables,
					 sd->prune.nlevels > 0 ? ", pruned by row" : "");
	if (sd->prune.nth > 0)
		appendStringInfo(str, ": the row's table %d", sd->prune.nth);
	appendStringInfoString(str, ")\n");
}

static void
show_number(const AnagoStepDesc *sd, ExplainState *es)
{
	ExplainPropertyInteger("Number of Tables", NULL, anago_desc_ntables(sd), es);
	ExplainPropertyBool("Pruned by Row", sd->prune.nlevels > 0, es);
	if (sd->prune.nth > 0)
		ExplainPropertyInteger("Number of Row's Table", NULL, sd->prune.nth, es);
}

void
anago_append_show(const AnagoOp *op, const AnagoExplain *ex,
				  const AnagoStepDesc *sd, const AnagoStepCounts *counters)
{
	ExplainState *es = ex->es;
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;
	bool		index_only = all_index_only(sd);

	ExplainOpenGroup("Step", NULL, true, es);
	if (text)
	{
		show_append_head(op, ex, sd);
		es->indent++;
	}
	else
	{
		show_access(op, sd, index_only, es);
		anago_explain_relation_properties(ex, sd->scanrelid);
		if (!has_arms_alone(sd))
			show_number(sd, es);
	}
	if (!has_arms_alone(sd))
		show_tables(ex, sd);
	show_first_table(ex, sd);
	show_join_exprs(ex, sd);
	if (counters != NULL)
		show_counts(op, sd, index_only, es, counters);
	if (text)
		es->indent--;
	ExplainCloseGroup("Step", NULL, true, es);
}
