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

#include "counts.h"

struct ExplainState;

typedef struct AnagoExplain
{
	struct ExplainState *es;
	List	   *deparse;		/* of the plan node */
	bool		prefix;			/* write Vars with their table's name */
} AnagoExplain;

/* Text format: indent the line that is begun. */
extern PGDLLEXPORT void anago_explain_indent(struct ExplainState *es);

/* Conditions as a property; nothing if there are none. */
extern PGDLLEXPORT void anago_explain_expr(const AnagoExplain *ex, const char *label,
							   List *quals);

/* Expressions, none of them a condition; nothing if there are none. */
extern PGDLLEXPORT void anago_explain_exprs(const AnagoExplain *ex, const char *label,
								List *exprs);

/*
 * A table of the statement, as text: "name alias", each quoted as needed, with the
 * schema if verbose.  And in structured formats.
 */
extern PGDLLEXPORT char *anago_explain_relation(const AnagoExplain *ex, Index rti);
extern PGDLLEXPORT void anago_explain_relation_properties(const AnagoExplain *ex, Index rti);

/* Is a count of that value shown here? */
extern PGDLLEXPORT bool anago_explain_has(struct ExplainState *es, const AnagoCountDesc *desc,
							  double value);

/* A count, in the unit in which it is shown; in text behind `before`. */
extern PGDLLEXPORT void anago_explain_count(struct ExplainState *es, const AnagoCountDesc *desc,
								const char *before, double value);

/* The counts of an operator; a line in text. */
extern PGDLLEXPORT void anago_explain_step_counts(struct ExplainState *es,
									  const AnagoStepCounts *counts);

#endif							/* ANAGO_EXPLAIN_H */
