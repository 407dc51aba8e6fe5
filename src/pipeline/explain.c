/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  What EXPLAIN of an operator is written with.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
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
