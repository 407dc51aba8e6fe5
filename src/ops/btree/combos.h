/*-------------------------------------------------------------------------
 *
 * combos.h
 *	  Combinations of IN-list elements, found by what is on a page.
 *
 * Combinations are numbered in the order of the index (keys.h), so what
 * lies between two of them is found by binary search, as a tuple is in a page:
 *
 *		index (a, b)		a IN (1, 7) AND b IN (3, 4, 9)
 *		combinations		0: 1 3   1: 1 4   2: 1 9   3: 7 3   4: 7 4   5: 7 9
 *		entries of a page	... 1 2 | 1 3 | 1 5 | 2 1 | 7 4 | ...
 *		found					      0                4
 *
 * A walk covers a run of combinations from .. to - 1.  Of a page of level 1,
 * children are left out into which no combination of the run falls, and one
 * visit to a leaf collects the matches of all that fall on it.
 *
 * For all functions below the keys are bound for the probe's values; they
 * leave them bound for some combination.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_COMBOS_H
#define ANAGO_COMBOS_H

#include "postgres.h"

#include "storage/buf.h"

#include "ops/btree/btree.h"
#include "ops/btree/run.h"

/*
 * The first combination of from .. to - 1 that has part of its range behind
 * the tuple at `off`, or at it; bound, unless it is `to`: there is none.
 */
extern int	anago_combo_reaching(AnagoProbe *probe, Page page, OffsetNumber off,
								 int from, int to);

/*
 * Which combinations of *from .. *to - 1 have part of a child of a page of
 * level 1; false: none has.  *next is the next child that any of them has.
 */
extern bool anago_combo_child(AnagoProbe *probe, Page page, OffsetNumber child,
							  int *from, int *to, OffsetNumber *next);

/*
 * Combinations that are next to each other walk the index together if they
 * begin below one page of level 1, which is seen on level 2.  So the next run of
 * from .. to - 1 ends at a place that is found by a descent:
 *
 *		anago_runs_begin(probe, &next, from);
 *		while (anago_runs_find(probe, &next, from, to))
 *			read next.blkno, anago_runs_see(probe, &next, buf, from, to);
 *
 * Backward, the next run are the last ones, which end below one page.  Where
 * values are skipped there is one combination, which has many runs.
 */
extern void anago_runs_begin(AnagoProbe *probe, AnagoNextRun *next, int from);

/* As far as copies of inner pages lead.  True: next->blkno is to be read. */
extern bool anago_runs_find(AnagoProbe *probe, AnagoNextRun *next,
							int from, int to);

/* Forget what was found, for the runs of another probe. */
extern void anago_runs_end(AnagoPipeline *pipeline, AnagoNextRun *next);

/* `buf` is pinned; it is given up. */
extern void anago_runs_see(AnagoProbe *probe, AnagoNextRun *next, Buffer buf,
						   int from, int to);

#endif							/* ANAGO_COMBOS_H */
