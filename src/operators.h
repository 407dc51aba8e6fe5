/*-------------------------------------------------------------------------
 *
 * operators.h
 *	  Which implementations there are of what a pipeline is made of.
 *
 * A pipeline is put together of roles: a source, steps, a sink, and of parts of
 * a step.  For each role there is an implementation of ours, by which everything
 * is done unless another one is chosen:
 *
 *		SET anago.operators = 'range=right_links, heap_visit=by_row'
 *
 * Others may come from other libraries.  Such a library has a const table of
 * them in an AnagoOperatorModule, which it puts into a list of all in this
 * process; the list begins at a rendezvous variable, so that it does not matter
 * which library was loaded first.  docs/operators.md is for who writes one.
 *
 * The choice is made when a query is planned, and is written into its plan: all
 * of its processes have the same.  A worker that does not find what its plan
 * names raises an error.
 *
 * Invariant: what is in the list is looked at no further than its first four
 * members, unless it is of this version.  Libraries are never unloaded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_OPERATORS_H
#define ANAGO_OPERATORS_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

/* What can be implemented otherwise; names in operators.c. */
typedef enum AnagoRole
{
	ANAGO_ROLE_UNIT_SOURCE,		/* AnagoOpKind (pipeline/op.h) */
	ANAGO_ROLE_CHILD_SOURCE,	/* the same */
	ANAGO_ROLE_STEP,			/* the same */
	ANAGO_ROLE_APPEND_STEP,		/* the same */
	ANAGO_ROLE_SINK,			/* the same */
	ANAGO_ROLE_ORDERED_SINK,	/* the same; where rows leave in order */
	ANAGO_ROLE_RANGE,			/* AnagoRangeKind (ops/btree/kinds.h) */
	ANAGO_ROLE_HEAP_VISIT,		/* AnagoVisitKind (ops/btree/kinds.h) */
	ANAGO_ROLE_HELD_SOURCE,		/* AnagoOpKind; of looks */
	ANAGO_ROLE_HELD_SINK,		/* the same */
	ANAGO_ROLE_OLD_ROW,			/* the same */
	ANAGO_ROLE_ROUTED_STEP,		/* the same */
	ANAGO_ROLE_MERGED,			/* the same */
	ANAGO_ROLES
} AnagoRole;

typedef struct AnagoImplementation
{
	const char *role;
	const char *name;
	const void *methods;		/* of the role's type */
} AnagoImplementation;

/* To be raised when a contract changes in a way that sizes do not tell. */
#define ANAGO_OPERATORS_VERSION	1

/* Sizes of what both libraries know: one that was compiled with other headers
 * has others. */
#define ANAGO_OPERATOR_SIZES	10

typedef struct AnagoOperatorModule
{
	/* the same in all versions */
	uint32		version;		/* ANAGO_OPERATORS_VERSION */
	uint32		size;			/* of this struct */
	const char *library;		/* for messages */
	struct AnagoOperatorModule *next;

	/* of this version */
	uint32		sizes[ANAGO_OPERATOR_SIZES];
	int			n;
	const AnagoImplementation *implementations;
} AnagoOperatorModule;

#define ANAGO_OPERATORS_VARIABLE	"anago_operators"

/*
 * From _PG_init of a library that has some, which is `module`'s: as its last
 * act, for an error in it keeps the library loaded.
 */
static inline void
anago_operators_register(AnagoOperatorModule *module)
{
	AnagoOperatorModule **list = (AnagoOperatorModule **)
		find_rendezvous_variable(ANAGO_OPERATORS_VARIABLE);

	for (AnagoOperatorModule *m = *list; m != NULL; m = m->next)
		if (m == module)
			return;
	module->next = *list;
	*list = module;
}

/* What was chosen for each role. */
typedef struct AnagoOperators
{
	const void *methods[ANAGO_ROLES];
} AnagoOperators;

/* From _PG_init: our own. */
extern void anago_operators_init(const AnagoOperatorModule *own);

/*
 * For a plan: what the setting chooses of what there is, "role=name, ...".
 * NULL: our own for all.  What is not there is replaced by our own, with a
 * warning, one for each value of the setting and role.
 */
extern char *anago_operators_choose(void);

/* What such a text names; an error if it is not there. */
extern void anago_operators_find(const char *chosen, AnagoOperators *operators);

/* Of the setting anago.operators. */
extern bool anago_operators_check(char **newval, void **extra, GucSource source);
extern void anago_operators_assigned(void);

#endif							/* ANAGO_OPERATORS_H */
