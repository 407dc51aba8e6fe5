/*-------------------------------------------------------------------------
 *
 * near.h
 *	  A page in shared buffers, brought nearer to the CPU while other tasks run.
 *
 * Probes of a join come to leaves and heap blocks in no order, each some cache misses
 * away though it is in shared buffers.  So a walk looks up where its next page is,
 * has the CPU fetch the beginning of it, and naps (ANAGO_NAP): some others run
 * meanwhile, and do the same.  Where a page is is remembered, as far as that is worth
 * it (recent.h).
 *
 * After Kocberber, Falsafi, Grot, "Asynchronous Memory Access Chaining" (PVLDB 9(4),
 * 2015): the chain of one lookup's misses overlaps with those of other lookups.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_NEAR_H
#define ANAGO_NEAR_H

#include "postgres.h"

#include "ops/btree/walk.h"

/*
 * The leaf that the walk wants next; the block of its next match.  True: the walk is to
 * nap before it goes on.  Either way anago_near_hint() says where the page is.
 */
extern bool anago_near_leaf(AnagoWalk *walk);
extern bool anago_near_match(AnagoWalk *walk);

/*
 * After that nap: the CPU is to fetch the match's tuple as well, while its page is pinned
 * and looked at.
 */
extern void anago_near_tuple(const AnagoWalk *walk);

/* Where it was found, or InvalidBuffer; by now another page may be there. */
extern Buffer anago_near_hint(const AnagoWalk *walk);

/* The block of the step's table or index, pinned, if the hint is right; else InvalidBuffer. */
extern Buffer anago_near_again(AnagoStep *step, Relation rel, BlockNumber blkno, Buffer hint);

/*
 * As ANAGO_AWAIT_STEP_PAGE, for a page that the hint may be right about.
 */
#define ANAGO_AWAIT_NEAR_PAGE(task, buf, step, rel, blkno, hint) \
	(buf) = anago_near_again((step), (rel), (blkno), (hint)); \
	if (!BufferIsValid(buf)) \
		ANAGO_AWAIT_STEP_PAGE(task, buf, step, rel, blkno)

#endif							/* ANAGO_NEAR_H */
