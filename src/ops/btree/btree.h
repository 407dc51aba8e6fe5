/*-------------------------------------------------------------------------
 *
 * btree.h
 *	  A step that probes a B-tree index: what its files share.
 *
 * Life of a row, at step s:
 *
 *		AnagoRow (fragments of source and steps < s)
 *		  '-- AnagoProbe		one for each row that reaches step s
 *				|-- range task	one for each run of combinations of IN-list
 *				|				elements: descends the index, walks leaves
 *				|-- leaf task	one for each leaf of a wide range
 *				|-- heap task	one for each heap block with matches
 *				'-- heap task
 *
 * Whoever reads a leaf looks its matches up itself in those heap blocks that are in
 * shared buffers, as far as it knows that: while no read is on its way, or by a hint
 * (near.h).  A task for each is of use only where there is something to wait for.
 *
 * Who finds a match hands it on (pipeline/op.h): the sink emits it (the wide
 * slot points into the page, nothing is copied), a step makes a fragment of it
 * and spawns a probe.  The last task of a probe to end hands on the
 * null-extended row of an outer or anti join that found no match.
 *
 * A step of several tables has an AnagoStep for each, its members, and a row has
 * a probe in each that it can have matches in.  They have an AnagoFan in common,
 * as for the join they are one.  Arms of an OR are members as well.
 *
 * Invariants
 *	- a probe lives while it has tasks, a row while it has probes or children;
 *	- see also pipeline/state.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BTREE_H
#define ANAGO_BTREE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "lib/ilist.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "ops/btree/inner.h"
#include "ops/btree/keys.h"
#include "ops/btree/kinds.h"
#include "ops/btree/recent.h"
#include "pipeline/row.h"

typedef struct AnagoStep AnagoStep;
typedef struct AnagoFound AnagoFound;
typedef struct AnagoMembers AnagoMembers;
typedef struct AnagoParts AnagoParts;
struct AnagoJoinTable;

/*
 * One row in all members of a step; see fan.h.  Probes are made one after the
 * other, by the task of the last one made.
 */
typedef struct AnagoFan
{
	AnagoMembers *members;
	dlist_head	probes;			/* that live */
	int			nprobes;
	bool		matched;		/* some probe has found a match */
	bool		done;			/* no further match is of interest */
	Size		size;			/* bytes of this chunk */
	int			next;			/* of which[], to be probed for */
	int			n;
	int			which[FLEXIBLE_ARRAY_MEMBER];	/* members, by index */
} AnagoFan;

/* One row in one table of a step: what its tasks share. */
typedef struct AnagoProbe
{
	AnagoStep  *step;
	AnagoRow   *row;			/* NULL: the unit row */
	int32		tasks;			/* tasks at work for it */
	bool		matched;		/* some match was found */
	bool		done;			/* no further match is of interest */
	Size		size;			/* bytes of this and what keys refer to */
	AnagoFan   *fan;			/* NULL: the step has one table */
	dlist_node	sibling;		/* in fan->probes */
	AnagoKeyValues keys;		/* must be last: flexible */
} AnagoProbe;

/* Matches of one leaf page; shared by the heap tasks that look them up. */
typedef struct AnagoMatches
{
	int32		refs;
	int32		n;
	BlockNumber leaf;			/* where they were found, */
	XLogRecPtr	lsn;			/* as of that state of it */
	int32		nkilled;
	Size		size;			/* bytes of this chunk and of killed */
	struct AnagoMatches *left;	/* backward: of a leaf left of it, or NULL */
	bool	   *killed;			/* matches that are dead to all, or NULL */
	bool	   *visible;		/* index-only: heap block is all-visible */
	IndexTuple *itups;			/* index-only: copies, in this same chunk */
	ItemPointerData tids[FLEXIBLE_ARRAY_MEMBER];
} AnagoMatches;

/* Tuples found in one heap block, while that block is pinned. */
typedef struct AnagoVisit
{
	Buffer		buf;			/* InvalidBuffer: none */
	int			n;
	int			next;
	HeapTupleData tuples[MaxHeapTuplesPerPage];
	int			which[MaxHeapTuplesPerPage];	/* index into AnagoMatches.tids */
} AnagoVisit;

struct AnagoStep
{
	AnagoOp		op;				/* must be first; its attnos are the table's, or
								 * the index's if index-only */
	const AnagoStepDesc *desc;
	bool		is_member;		/* of a step of several tables; its op is a copy
								 * but for attnos and counters */
	bool		look;			/* pages are read, and rows never looked at */

	Relation	heap;			/* closed by the executor */
	Relation	indexrel;		/* closed by anago_pipeline_end; NULL in EXPLAIN.
								 * Both of a late look: see late.h */

	const AnagoRangeKind *range;	/* how leaves are come to, */
	const AnagoVisitKind *visits;	/* and their matches looked up */

	/* of its columns */
	AttrNumber	max_attno;
	int			nspecial;		/* the first: system columns, and 0
								 * for the whole row, */
	ExprState  *whole;			/* which this makes of the heap slot, or NULL */
	int			ncomputed;		/* the last: computed */
	ExprState **computed;
	int			nnames;			/* columns of the wide slot, from an index that
								 * has a `name` as cstring */
	int		   *names;
	TupleTableSlot *heap_slot;	/* for deforming; holds no pin */

	AnagoKeys	keys;
	ExprState  *when;			/* a look's condition on the row, or NULL */
	int			round;			/* a late look's (held.h): */
	int64		probed;			/* rows that it was made for in that, */
	int64		pages;			/* and what they have come to */
	AnagoLocator file;			/* that of its index when it was opened last, */
	AnagoRow  **waiting;		/* and the rows that wait for it (waiting.h): */
	int			nwaiting;
	int			max_waiting;
	struct AnagoBehind *behind; /* looks at what refers to rows that this one finds
								 * (behind.h), or NULL */
	AnagoStep  *before;			/* whose rows this one is at what refers to, or NULL; */
	ExprContext *of_found;		/* such a row, for keys */
	ExprState  *gate;			/* one-time condition, or NULL */
	bool		gate_known;		/* it has been evaluated, to this: */
	bool		gate_open;
	ExprState  *filter;
	ExprState  *join;
	ExprState  *other;

	/* the B-tree, as it was when the scan began */
	bool		opened;			/* the next two are known */
	bool		stale;			/* they, and inner, are too old to be of use */
	BlockNumber root;			/* InvalidBlockNumber: empty index */
	uint32		root_level;
	bool		heapkeyspace;
	AnagoInner *inner;			/* copies of inner pages */
	AnagoRecent *recent_leaves; /* where in shared buffers leaves were found, */
	AnagoRecent *recent_blocks; /* and blocks of the table; NULL: not asked for yet */

	/* turn.h */
	bool		may_turn;		/* into a hash join, which it has not done; in this
								 * process: */
	int64		rows_come;		/* rows that it has accepted, */
	int64		pages_waited;	/* pages that its tasks have waited for, */
	int64		tids_before;	/* and counters.tids before them */
	double		grown;			/* the table has so many times as many blocks as
								 * when it was planned; 0: not looked at */
	struct AnagoJoinTable *table;	/* it has turned, or NULL; */
	bool		turned_back;	/* it has not been used since: */
	double		probe_took;		/* what a row's probe took before, on an average, */
	int64		lookups;		/* rows that came to lookups, */
	int64		in_vain;		/* and rows that these came to and did not want */

	OffsetNumber middle;		/* of the entries of the leaf that was seen last */
	Buffer		vmbuffer;		/* visibility map page used last, or none; a
								 * member, of which there are many, keeps none */
	AnagoVisit *visit;
	AnagoFound *found;			/* work area of leaf.c */
	AnagoParts *parts;			/* static mode: this process's part, or NULL */

	/* in an ordered pipeline */
	bool		ordered;		/* its matches leave in the order of the index, */
	bool		backward;		/* or the reverse of it */
	bool		gets_places;	/* each row that it accepts has a place */
	double		leaf_matches;	/* of a leaf, on an average */
};

/* After a look into the visibility map. */
static inline void
anago_step_leave_map(AnagoStep *step)
{
	if (!step->is_member || !BufferIsValid(step->vmbuffer))
		return;
	ReleaseBuffer(step->vmbuffer);
	step->vmbuffer = InvalidBuffer;
}

/*
 * As ANAGO_AWAIT_PAGE, for a page of this step: one that is waited for or read in
 * place is counted, unless another task waits for it already.
 */
static inline Buffer
anago_step_page(AnagoStep *step, Relation rel, BlockNumber blkno, AnagoWaiter *waiter)
{
	const AnagoCounts *run = &step->op.pipeline->counters->run;
	int64		shared = run->shared_reads;
	int64		in_place = run->sync_reads;
	Buffer		buf = anago_page_get(step->op.pipeline->pages, rel, blkno, waiter);

	step->pages_waited += run->sync_reads - in_place +
		(BufferIsValid(buf) ? 0 : 1) - (run->shared_reads - shared);
	return buf;
}

#define ANAGO_AWAIT_STEP_PAGE(task, buf, step, rel, blkno) \
	while (((buf) = anago_step_page((step), (rel), (blkno), \
									&(task)->waiter)) == InvalidBuffer) \
		ANAGO_SUSPEND(task, ANAGO_WAIT)

/*
 * Depths of a step.  A kind of task spawns only kinds of greater depth, which
 * is what keeps the scheduler free of deadlock.
 */
#define ANAGO_DEPTH_PROBE(step)		((step)->op.depth)
#define ANAGO_DEPTH_RANGE(step)		((step)->op.depth + 1)
#define ANAGO_DEPTH_LEAF(step)		((step)->op.depth + 2)
#define ANAGO_DEPTH_HEAP(step)		((step)->op.depth + 3)
#define ANAGO_STEP_DEPTHS			4

/* A source and a sink may have one each. */
StaticAssertDecl(2 + ANAGO_STEP_DEPTHS * ANAGO_MAX_STEPS <= ANAGO_MAX_DEPTHS,
				 "depths suffice");

#endif							/* ANAGO_BTREE_H */
