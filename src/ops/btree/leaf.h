/*-------------------------------------------------------------------------
 *
 * leaf.h
 *	  Collect the matches of one leaf page.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_LEAF_H
#define ANAGO_LEAF_H

#include "postgres.h"

#include "ops/btree/btree.h"

/* Work area of a step. */
extern PGDLLEXPORT AnagoFound *anago_found_create(MemoryContext context);

/* The tuple of the page that the match is from: of the leaf collected last. */
extern OffsetNumber anago_found_offset(const AnagoFound *found, int which);

/*
 * Matches of combinations from .. to - 1, for which the keys are bound, on a
 * locked leaf page (with `from_start` there may be entries before the first)
 * in one chunk of pipeline->context with one reference, or NULL if there are
 * none.  *goes_on says whether any of them goes on right of this page.
 */
extern PGDLLEXPORT AnagoMatches *anago_leaf_collect(AnagoProbe *probe, Buffer buf,
										bool from_start, int from, int to,
										bool *goes_on);

/*
 * Prepare the matches for the heap, the leaf still pinned but not locked:
 * look the visibility map up for an index-only step, else put the matches
 * into heap order; where their order matters, put them into that.
 */
extern PGDLLEXPORT void anago_leaf_prepare(AnagoStep *step, AnagoMatches *matches);

#endif							/* ANAGO_LEAF_H */
