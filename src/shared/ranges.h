/*-------------------------------------------------------------------------
 *
 * ranges.h
 *	  Work that any process of a parallel query may take: the combinations of
 *	  the source, and index ranges that several processes walk together.
 *
 * The source of an index scan is one row without columns; each combination of
 * its IN-list elements is one range of the index (ops/btree/keys.h).  They are
 * claimed in runs of numbers, which are walked together.
 *
 * A range that is wider than a leaf is published by whoever comes upon it:
 *
 *		step, combination, row		what is looked for
 *		page						copy of a page of level 1 of the index
 *		child .. last				its children that nobody has taken yet
 *		next						page right of it where the range goes on
 *
 * Everyone takes one child after the other.  When none is left, everyone
 * reads the next page; the first who has it installs it, and the others go on
 * with the copy that was installed, as theirs may be of another moment, which
 * cuts the key space in other places.
 *
 * Invariants
 *	- a child is handed out once;
 *	- pages of a range are installed in their order, each once: `seq` counts
 *	  them;
 *	- `generation` names a range: a slot that is used again has another one,
 *	  whichever node uses it;
 *	- the process that published a range takes part in it to its end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RANGES_H
#define ANAGO_RANGES_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/block.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/off.h"

/*
 * Ranges that are published together by all nodes of a query, and bytes of the
 * row that one is probed for; a longer one is not published.  ANAGO_TINY_BOUNDS
 * is for stress tests.
 */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_SHARED_RANGES		1
#else
#define ANAGO_SHARED_RANGES		8
#endif
#define ANAGO_SHARED_ROW_BYTES	2048

/* Combinations that are claimed at a time, at most. */
#define ANAGO_CLAIM_MAX			4096

/* What is looked for; the row's bytes are behind it in a published range. */
typedef struct AnagoRangeName
{
	int16		step;
	int32		combo;			/* a run of combinations, */
	int32		combo_end;		/* to before this one */
	int32		row_bytes;		/* 0: the unit row */
} AnagoRangeName;

/* A page of level 1 and what is to be taken of it. */
typedef struct AnagoRangePage
{
	uint32		seq;
	OffsetNumber child;			/* to be taken next */
	OffsetNumber last;			/* child > last: all have been taken */
	BlockNumber next;			/* where the range goes on, or Invalid */
	bool		ends;			/* the last child is the range's last */
	bool		from_start;		/* it may hold entries before the range */
	char		page[BLCKSZ] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoRangePage;

/* Children of the page that nobody has taken. */
static inline int
anago_children_left(const AnagoRangePage *at)
{
	return at->child <= at->last ? at->last - at->child + 1 : 0;
}

typedef struct AnagoSharedRange
{
	LWLock		lock;			/* of all the following */
	uint32		generation;		/* odd: in use, */
	int			node;			/* by that plan node */
	AnagoRangeName name;
	AnagoRangePage at;
	char		row[ANAGO_SHARED_ROW_BYTES] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoSharedRange;

/*
 * The source.  For anago.mode = static it is cut once into `nparts` parts, by
 * turns: no lock, as pages are read meanwhile, and cancels are to be heard.
 */
typedef struct AnagoSharedSource
{
	pg_atomic_uint32 claimed;	/* combinations, from 0 */
	int			nparts;			/* that it is to be cut into */
	pg_atomic_uint32 busy;		/* it is somebody's turn */
	ConditionVariable turn;		/* that is over */
	/* the following is read and written by whose turn it is */
	int			parts;			/* cut off already */
	bool		opened;			/* the following is known */
	uint64		children;		/* of pages of level 1, in the whole range, */
	uint64		cut;			/* of these, in parts already; where the next
								 * one begins: anago_source_page() */
} AnagoSharedSource;

typedef enum AnagoTaken
{
	ANAGO_TAKEN_CHILD,			/* *child is the caller's */
	ANAGO_TAKEN_LOAD,			/* read to->next and install it */
	ANAGO_TAKEN_END				/* nothing is left of the range */
} AnagoTaken;

struct AnagoPool;
struct AnagoShare;

/* A new pool's ranges; give back those that a node has not walked to the end. */
extern void anago_ranges_init(struct AnagoPool *pool);
extern void anago_ranges_drop(struct AnagoPool *pool, int node);

/*
 * Claim combinations *from .. *to - 1 out of `n`; false: none is left.
 * `in_parts`: as many as one of source->nparts equal parts has.
 */
extern bool anago_claim_combos(struct AnagoShare *share, int n, bool in_parts,
							   int *from, int *to);

/*
 * Publish a range with its first page.  Returns the slot, with *generation,
 * or -1 if there is no slot, or there is enough work already.
 */
extern int	anago_range_publish(struct AnagoShare *share, const AnagoRangeName *name,
								const char *row, const AnagoRangePage *at,
								uint32 *generation);

/* Would a range be published now?  A cheap look without locks. */
extern bool anago_range_welcome(const struct AnagoShare *share);

/*
 * Take a child.  `to` is the caller's copy of the page (seq 0: none); if
 * another page is current it is copied there first.
 */
extern AnagoTaken anago_range_take(struct AnagoShare *share, int slot,
								   uint32 generation, AnagoRangePage *to,
								   OffsetNumber *child);

/*
 * Offer the page behind page number `from->seq - 1`.  False: somebody else
 * was faster, and it is not this page.
 */
extern bool anago_range_install(struct AnagoShare *share, int slot,
								uint32 generation, const AnagoRangePage *from);

/*
 * A published range that this process has not entered, or -1.  Copies its name
 * and row (ANAGO_SHARED_ROW_BYTES).  The process has entered it by that.
 */
extern int	anago_range_enter(struct AnagoShare *share, AnagoRangeName *name,
							  char *row, uint32 *generation);

/* Is there one to be entered? */
extern bool anago_range_to_enter(const struct AnagoShare *share);

#endif							/* ANAGO_RANGES_H */
