/*-------------------------------------------------------------------------
 *
 * heap.h
 *	  Heap fetch: the matches of a probe that are in one heap block.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_HEAP_H
#define ANAGO_HEAP_H

#include "postgres.h"

#include "ops/btree/btree.h"

/*
 * Look up matches->tids[from .. to - 1], all of one block.  Spawn makes a task
 * that takes a reference to the probe and to the matches; become makes the
 * running task, which has both already, that task.
 */
extern PGDLLEXPORT void anago_heap_spawn(AnagoProbe *probe, AnagoMatches *matches, int from, int to);
extern PGDLLEXPORT void anago_heap_become(AnagoTask *task, AnagoProbe *probe,
							  AnagoMatches *matches, int from, int to);

/*
 * The same in place, by the running task: a visit of the block, if it is to be
 * had without waiting (anago_page_again, with the hint, or anago_page_try) and the next
 * step has room.  Returns how far it came, `from` if it can't be done.  After it
 * anago_heap_next must be called until it returns false, which ends the visit.
 */
extern PGDLLEXPORT int	anago_heap_visit(AnagoProbe *probe, AnagoMatches *matches, int from, int to,
										 Buffer hint);

/*
 * Put the visit's next match that is to go on into the wide slot.  Where rows
 * have taken all memory the visit ends before its time, and *to is set back to
 * the match that is to be looked up next.
 */
extern PGDLLEXPORT bool anago_heap_next(AnagoProbe *probe, AnagoMatches *matches, int *to);

/* Let go of the pin of a visit that was given up half way. */
extern PGDLLEXPORT void anago_heap_abandon(AnagoStep *step);

#endif							/* ANAGO_HEAP_H */
