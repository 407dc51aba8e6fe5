/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  What EXPLAIN of an operator is written with.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_EXPLAIN_H
#define ANAGO_EXPLAIN_H

#include "postgres.h"

#include "nodes/pg_list.h"

struct ExplainState;

typedef struct AnagoExplain
{
	struct ExplainState *es;
	List	   *deparse;		/* of the plan node */
	bool		prefix;			/* write Vars with their table's name */
} AnagoExplain;

/* Text format: indent the line that is begun. */
extern void anago_explain_indent(struct ExplainState *es);

/* Conditions as a property; nothing if there are none. */
extern void anago_explain_expr(const AnagoExplain *ex, const char *label,
							   List *quals);

#endif							/* ANAGO_EXPLAIN_H */
