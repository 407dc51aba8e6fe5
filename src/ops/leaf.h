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

#include "ops/query.h"

/* Work area of a step. */
extern AnagoFound *anago_found_create(MemoryContext context);

/*
 * Matches of combinations from .. to - 1, for which the keys are bound, on a
 * locked leaf page (with `from_start` there may be entries before the first)
 * in one chunk of query->context with one reference, or NULL if there are
 * none.  *goes_on says whether any of them goes on right of this page.
 */
extern AnagoHits *anago_leaf_collect(AnagoProbe *probe, Buffer buf,
									 bool from_start, int from, int to,
									 bool *goes_on);

/*
 * Prepare the matches for the heap, the leaf still pinned but not locked:
 * look the visibility map up for an index-only step, else put the matches
 * into heap order.
 */
extern void anago_leaf_prepare(AnagoStep *step, AnagoHits *hits);

/* End (exclusive) of the run of matches of one heap block from `from`. */
extern int	anago_hits_run(const AnagoHits *hits, int from);

/*
 * The CPU's prefetching of heap tuples, some matches ahead of their use; set
 * located to zero before the first.
 */
#define ANAGO_AHEAD			8

typedef struct AnagoAhead
{
	int			located;		/* of hits, whose blocks were looked for */
	Buffer		buf[ANAGO_AHEAD];	/* these, by hit modulo ANAGO_AHEAD; hints */
} AnagoAhead;

extern void anago_hits_touch(AnagoStep *step, AnagoHits *hits, int next,
							 AnagoAhead *ahead);

/* The heap tuple of a match is dead to everybody. */
extern void anago_hits_kill(AnagoStep *step, AnagoHits *hits, int hit);

/* Give up one reference; with the last, dead matches are marked in the leaf. */
extern void anago_hits_release(AnagoStep *step, AnagoHits *hits);

#endif							/* ANAGO_LEAF_H */
