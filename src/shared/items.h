/*-------------------------------------------------------------------------
 *
 * items.h
 *	  Work that any process of a parallel query may take: numbers of the source,
 *	  and items that several processes work at together.
 *
 * What the source has to do may be known to all processes from the start, as
 * so many numbers.  They are claimed in runs.
 *
 * An item is published by the operator that comes upon work which is more than
 * one process should do:
 *
 *		op, bytes			whose it is, and what it is
 *		batch				pieces that can be taken now: piece .. last are
 *							those that nobody has taken yet
 *		batch.more			another batch follows
 *
 * Everyone takes one piece after the other.  When none is left, everyone finds
 * out what the next batch is; the first who has it installs it, and the others
 * go on with the copy that was installed, as theirs may be of another moment,
 * which cuts the work in other places.
 *
 * Only the operator knows what its bytes mean (for a range of a B-tree:
 * ops/btree/span.h).
 *
 * Where rows leave in order, what a process takes must not come before what it
 * has taken.  So the source is one item, which all processes know from the start,
 * and no other is published.  Its first batch (seq 0) has no pieces: what the
 * next one is, those find out who come first.  With a batch of it go bytes.
 *
 * Invariants
 *	- a piece is handed out once;
 *	- batches of an item are installed in their order, each once: `seq` counts
 *	  them;
 *	- `generation` names an item: a slot that is used again has another one,
 *	  whichever node uses it;
 *	- the process that published an item works at it to its end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ITEMS_H
#define ANAGO_ITEMS_H

#include "postgres.h"

#include "shared/segment.h"

/* Numbers that are claimed at a time, at most; and where few are. */
#define ANAGO_CLAIM_MAX		4096
#define ANAGO_CLAIM_MAX_FEW	16

/* A published item, as a process knows it. */
typedef struct AnagoItem
{
	int			slot;			/* of the pool, or ANAGO_SOURCE_SLOT; -1: none */
	uint32		generation;		/* of that slot */
} AnagoItem;

/* The slot behind those of the pool: the source's item, in the segment. */
#define ANAGO_SOURCE_SLOT	ANAGO_ITEMS_MAX

typedef enum AnagoTaken
{
	ANAGO_TAKEN_PIECE,			/* *piece is the caller's */
	ANAGO_TAKEN_LAST,			/* find out what follows `to`, and install it */
	ANAGO_TAKEN_END				/* nothing is left of the item */
} AnagoTaken;

/* How many numbers are claimed at a time. */
typedef enum AnagoClaim
{
	ANAGO_CLAIM_SOME,			/* fewer and fewer, the fewer are left */
	ANAGO_CLAIM_PART,			/* one of source->nparts equal parts */
	ANAGO_CLAIM_FEW				/* so that neighbours go to different processes */
} AnagoClaim;

/* Claim numbers *from .. *to - 1 out of `n`; false: none is left. */
extern PGDLLEXPORT bool anago_claim(AnagoShare *share, int n, AnagoClaim size, int *from, int *to);

/*
 * Publish an item with its first batch.  False: there is no slot for it, or
 * there is enough work already.
 */
extern PGDLLEXPORT bool anago_item_publish(AnagoShare *share, int op, const char *bytes, int nbytes,
							   const AnagoBatch *batch, AnagoItem *item);

/* Would an item be published now?  A cheap look without locks. */
extern PGDLLEXPORT bool anago_item_welcome(const AnagoShare *share);

/*
 * Take a piece.  `to` is the caller's copy of the batch (seq 0: none); if
 * another batch is current it is copied there first, and to `bytes`, unless NULL,
 * what goes with it.
 */
extern PGDLLEXPORT AnagoTaken anago_item_take(AnagoShare *share, AnagoItem item, AnagoBatch *to,
								  char *bytes, int *piece);

/*
 * Offer the batch behind number `from->seq - 1`, and `nbytes` that go with it.
 * False: somebody else was faster, and it is not this batch.
 */
extern PGDLLEXPORT bool anago_item_install(AnagoShare *share, AnagoItem item, const AnagoBatch *from,
							   const char *bytes, int nbytes);

/* The source's item, of a segment that has one. */
static inline AnagoItem
anago_item_of_source(void)
{
	return (AnagoItem) {.slot = ANAGO_SOURCE_SLOT,.generation = ANAGO_SOURCE_GENERATION};
}

/*
 * What is to be done cannot be handed out in pieces: one process does all of it.
 * False: it is not this one, or there are pieces.
 */
extern PGDLLEXPORT bool anago_item_take_whole(AnagoShare *share, AnagoItem item);

/*
 * An item that this process has not entered; false: there is none.  Copies what
 * it is (ANAGO_ITEM_BYTES).  The process has entered it by that.
 */
extern PGDLLEXPORT bool anago_item_enter(AnagoShare *share, AnagoItem *item, int *op, char *bytes);

/* Is there one to be entered? */
extern PGDLLEXPORT bool anago_item_to_enter(const AnagoShare *share);

/* Give back the items that a node has not worked at to the end. */
extern PGDLLEXPORT void anago_items_drop(AnagoPool *pool, int node);

#endif							/* ANAGO_ITEMS_H */
