/*-------------------------------------------------------------------------
 *
 * matches.h
 *	  The matches of one leaf page, on their way to the heap.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MATCHES_H
#define ANAGO_MATCHES_H

#include "postgres.h"

#include "ops/btree/btree.h"

/* Turn them round, before it is known which are visible. */
extern void anago_matches_reverse(AnagoMatches *matches);

/*
 * Of a look's matches, not looked up yet: no more than `most` are of use.  *goes_on: does
 * the range?  It need not be followed further where that is enough; where the
 * end of a longer range is of use, that is not looked for.  NULL: none is left.
 */
extern AnagoMatches *anago_matches_keep_most(AnagoStep *step, AnagoMatches *matches,
											 int most, bool *goes_on);

/*
 * The CPU's prefetching of heap tuples, some matches ahead of their use; set
 * located to zero before the first.
 */
#define ANAGO_AHEAD			8

/* Matches of a leaf below which that does not repay its lookups. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_AHEAD_MIN_MATCHES	2
#else
#define ANAGO_AHEAD_MIN_MATCHES	64
#endif

typedef struct AnagoAhead
{
	int			located;		/* of matches, whose blocks were looked for */
	Buffer		buf[ANAGO_AHEAD];	/* these, by hit modulo ANAGO_AHEAD; hints */
} AnagoAhead;

extern PGDLLEXPORT void anago_matches_touch(AnagoStep *step, AnagoMatches *matches, int next,
								AnagoAhead *ahead);

/* The heap tuple of a match is dead to everybody. */
extern PGDLLEXPORT void anago_matches_kill(AnagoStep *step, AnagoMatches *matches, int which);

/* Give up one reference; with the last, dead matches are marked in the leaf. */
extern PGDLLEXPORT void anago_matches_release(AnagoStep *step, AnagoMatches *matches);

#endif							/* ANAGO_MATCHES_H */
