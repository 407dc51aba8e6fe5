/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  Index probe: one row that looks for its matches in one step.
 *
 * What a join type does with matches is here; how matches are found is in
 * range.c (index) and heap.c (table).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PROBE_H
#define ANAGO_PROBE_H

#include "postgres.h"

#include "ops/btree/btree.h"

/*
 * A probe of `row`, which must be bound and whose reference goes to the probe;
 * the caller spawns a task for it.
 */
extern PGDLLEXPORT AnagoProbe *anago_probe_make(AnagoStep *step, AnagoRow *row);

/* Can rows match at all?  Its one-time condition; a late look is opened by it. */
extern bool anago_probe_may_match(AnagoStep *step);

/* A probe of the unit row, for which no task is spawned yet, held as by one. */
extern PGDLLEXPORT AnagoProbe *anago_probe_hold(AnagoStep *step);

/*
 * The wide slot holds the outer row and a candidate's columns: does it
 * satisfy filter and join condition, and is it to go on?
 */
extern PGDLLEXPORT bool anago_probe_match(AnagoProbe *probe);

/*
 * To be asked by each task of a probe before it ends.  True: it is the last
 * one, and no match was found that keeps the outer row from being extended by
 * NULLs.
 */
extern PGDLLEXPORT bool anago_probe_is_unmatched(const AnagoProbe *probe);

/* Such a probe: does the wide slot now hold that row, and is it to go on? */
extern PGDLLEXPORT bool anago_probe_unmatched(AnagoProbe *probe);

/* A look's has come to a leaf or to a heap block: it may have been the last. */
extern PGDLLEXPORT void anago_probe_came_to_page(AnagoProbe *probe);

/* A task of the probe ends; the last one takes the probe with it. */
extern PGDLLEXPORT void anago_probe_release(AnagoProbe *probe);

/*
 * The end of a probe's task.  Of the last one the outer row goes on, extended by NULLs, if
 * that is still to be.
 */
#define ANAGO_END_OF_PROBE(task, step, probe) \
	if (anago_probe_is_unmatched(probe)) \
	{ \
		ANAGO_AWAIT_NEXT(task, &(step)->op); \
		if (anago_probe_unmatched(probe)) \
			ANAGO_PASS_ON_AT(task, &(step)->op, (probe)->row, 2 * __LINE__ + 1); \
	} \
	anago_probe_release(probe); \
	ANAGO_END(task)

#endif							/* ANAGO_PROBE_H */
