/*-------------------------------------------------------------------------
 *
 * memo.h
 *	  What is found out once for a query level, and asked for each join.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MEMO_H
#define ANAGO_MEMO_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/answer.h"
#include "plan/plan.h"

/* Steps that probe one relation, as AnagoPathSteps. */
typedef struct AnagoProbes
{
	bool		known;
	List	   *steps;
	bool		wanted_known;
	Relids		wanted;			/* of these its paths take values */
	double		risk;			/* of its own rows (risk.c); 0: not asked */
} AnagoProbes;

typedef struct AnagoMemo
{
	const PlannerInfo *root;
	AnagoAnswer effects;		/* is there anything in it that must not be
								 * evaluated ahead of demand? */
	int			nrels;
	AnagoProbes *probes;		/* by relid */
	List	   *expressions;	/* that were asked for their values, */
	List	   *values;			/* and these */
} AnagoMemo;

/* Of this level; valid until another level is asked for. */
extern AnagoMemo *anago_memo(PlannerInfo *root);

/*
 * As core's function.  It calls the stable functions of an expression, which may be
 * somebody's own and take their time: here once.
 */
extern Node *anago_estimate_value(PlannerInfo *root, Node *expr);

/* Each planning has another number, also one within another. */
extern void anago_begin_planning(void);
extern uint64 anago_planning_number(void);

/* As core's function, whose answer stays the same while a query is planned. */
extern void anago_page_costs(const RelOptInfo *rel, double *random_page,
							 double *seq_page);

/* The same of the reads that the I/O method can keep going. */
extern void anago_memo_init(AnagoExpectOverlap expect_overlap);
extern int	anago_kept_overlap(int most);

/*
 * Has this planning made any path of ours?  Where all is cached most have not, and
 * need not look for one in each join's lists.  What it was of the planning that this
 * one is within is set again when this one ends.
 */
extern bool anago_any_path;

/* Where what a memo keeps must be allocated. */
extern MemoryContext anago_memo_context(PlannerInfo *root);

#endif							/* ANAGO_MEMO_H */
