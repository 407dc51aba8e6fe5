/*-------------------------------------------------------------------------
 *
 * fill.h
 *	  A match's columns in the wide slot.
 *
 * The outer row must be bound.  What is filled in may point into the tuple and
 * into the per-tuple memory of pipeline->econtext, which is reset before: both
 * stay as they are until a fragment has been made of it or, in the last step,
 * until the next row is asked for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_FILL_H
#define ANAGO_FILL_H

#include "postgres.h"

#include "ops/btree/btree.h"

/* Once the step's columns, tables and heap slot are known. */
extern void anago_fill_init(AnagoStep *step);

/*
 * The columns that the step computes of the others, once these are filled in
 * and the match has passed the step's filter.
 */
extern void anago_fill_computed(AnagoStep *step);

/* From a tuple of the table, whose block is pinned. */
extern void anago_fill_from_heap(AnagoProbe *probe, HeapTuple tuple);

/* From the index tuple of an index-only step, whose heap tuple is `tid`. */
extern void anago_fill_from_index(AnagoProbe *probe, IndexTuple itup,
								  ItemPointer tid);

#endif							/* ANAGO_FILL_H */
