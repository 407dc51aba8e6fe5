/*-------------------------------------------------------------------------
 *
 * query.h
 *	  What the operators of one pipeline share while a query runs.
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
 * While no read is on its way, whoever reads a leaf looks its matches up itself
 * in those heap blocks that are in shared buffers; a task for each is of use only
 * where there is something to wait for.
 *
 * Who finds a match hands it on (pipeline/op.h): the sink emits it (the wide
 * slot points into the page, nothing is copied), a step makes a fragment of it
 * and spawns a probe.  The last task of a probe to end hands on the
 * null-extended row of an outer or anti join that found no match.
 *
 * Invariants
 *	- a probe lives while it has tasks, a row while it has probes or children;
 *	- no task holds a pin or a lock while it is suspended, but for the one
 *	  that is emitting (the heap page its row points into) and the visibility
 *	  map page that an index-only step keeps;
 *	- the wide slot belongs to the running task, from anago_row_bind() until
 *	  it suspends; an emitting task finds it as it left it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_QUERY_H
#define ANAGO_QUERY_H

#include "postgres.h"

#include "access/htup_details.h"
#include "nodes/execnodes.h"
#include "utils/snapshot.h"

#include "ops/inner.h"
#include "ops/keys.h"
#include "pipeline/desc.h"
#include "pipeline/op.h"
#include "sched/sched.h"
#include "shared/share.h"

typedef struct AnagoStep AnagoStep;
typedef struct AnagoFound AnagoFound;
typedef struct AnagoParts AnagoParts;

/*
 * The columns that one step (or the source) adds to a row.  Immutable once
 * made.  values[] is followed by isnull[], then by the bytes of values passed
 * by reference.
 */
struct AnagoRow
{
	struct AnagoRow *parent;	/* fragment of an earlier step, or NULL */
	int32		refs;			/* children and probes */
	int16		step;			/* who made it: ANAGO_STEP_SOURCE or a step */
	Size		size;			/* bytes of this chunk */
	Datum		values[FLEXIBLE_ARRAY_MEMBER];
};

/* One row in one step: what its tasks share. */
typedef struct AnagoProbe
{
	AnagoStep  *step;
	AnagoRow   *row;			/* NULL: the unit row */
	int32		tasks;			/* tasks at work for it */
	bool		matched;		/* some match was found */
	bool		done;			/* no further match is of interest */
	Size		size;			/* bytes of this and what keys refer to */
	AnagoKeyValues keys;		/* must be last: flexible */
} AnagoProbe;

/* Matches of one leaf page; shared by the heap tasks that look them up. */
typedef struct AnagoHits
{
	int32		refs;
	int32		n;
	BlockNumber leaf;			/* where they were found, */
	XLogRecPtr	lsn;			/* as of that state of it */
	int32		nkilled;
	Size		size;			/* bytes of this chunk and of killed */
	bool	   *killed;			/* matches that are dead to all, or NULL */
	bool	   *visible;		/* index-only: heap block is all-visible */
	IndexTuple *itups;			/* index-only: copies, in this same chunk */
	ItemPointerData tids[FLEXIBLE_ARRAY_MEMBER];
} AnagoHits;

/* Tuples found in one heap block, while that block is pinned. */
typedef struct AnagoVisit
{
	Buffer		buf;			/* InvalidBuffer: none */
	int			n;
	int			next;
	HeapTupleData tuples[MaxHeapTuplesPerPage];
	int			hit[MaxHeapTuplesPerPage];	/* index into AnagoHits */
} AnagoVisit;

/*
 * What one process has done for a query.  Flat, so that it can stand in the
 * segment of a parallel query, where it ends behind the query's own steps.
 */
typedef struct AnagoCounters
{
	bool		started;		/* a row has been asked for */
	char		method[16];		/* of I/O; "": none was needed */
	AnagoSchedCounters sched;
	AnagoPageCounters pages;
	int64		memory;			/* bytes, at the peak */
	int64		given;			/* rows handed to other processes */
	int64		fallbacks;		/* by a worker: I/O methods refused */
	int			nsteps;			/* of the following */
	AnagoStepCounters steps[ANAGO_MAX_STEPS];
} AnagoCounters;

/* Bytes of one in shared memory. */
static inline Size
anago_counters_size(int nsteps)
{
	return offsetof(AnagoCounters, steps) + sizeof(AnagoStepCounters) * nsteps;
}

struct AnagoStep
{
	AnagoOp		op;				/* must be first; its attnos are the table's, or
								 * the index's if index-only */
	const AnagoStepDesc *desc;

	Relation	heap;			/* closed by the executor */
	Relation	indexrel;		/* closed by anago_query_end; NULL in EXPLAIN */

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
	bool		keys_allocate;	/* values of some must be copied */
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

	Buffer		vmbuffer;		/* visibility map page used last, or none */
	AnagoVisit *visit;
	AnagoFound *found;			/* work area of leaf.c */
};

struct AnagoQuery
{
	PlanState  *ps;				/* the CustomScanState */
	EState	   *estate;
	Snapshot	snapshot;
	AnagoSched *sched;			/* NULL until the first row is asked for */
	AnagoPages *pages;
	MemoryContext whole;		/* all that the query allocates, */
	MemoryContext context;		/* and below it: rows, probes, hits; reset by
								 * rescan */
	AnagoMemory memory;
	Size		memory_peak;	/* bytes, of scans that have ended */
	ExprContext *econtext;		/* of filters and keys; scan tuple = wide */
	TupleTableSlot *wide;
	AnagoRow   *bound;			/* row whose columns the wide slot holds */
	bool		use_dead_hints; /* heed and set dead marks of index entries */
	bool		started;		/* since begin or rescan */
	bool		exhausted;

	AnagoSegment *segment;		/* of a parallel query, or NULL */
	AnagoPool  *pool;			/* with it */
	int			participant;	/* in it */
	bool		patient;		/* as for anago_share_attach */
	AnagoShare *share;			/* while this process takes part */
	int			give_to;		/* participant that has too little to do, or
								 * -1, */
	int			give_n;			/* and how many rows it is to be given */
	int64		given;			/* rows given away */
	AnagoCounters *published;	/* of this process, in the segment, or NULL */
	AnagoCounters *before;		/* of schedulers that have ended; memory: of
								 * all that has been let go */
	bool		in_parts;		/* anago.mode = static, with a share */
	AnagoParts *parts;			/* this process's part, or NULL */

	ExprState  *gate;			/* one-time condition of all, or NULL */

	PlanState  *child;			/* of the source, or NULL: unit source */
	int			nsteps;
	AnagoOp   **ops;			/* source, steps, sink */
	int			ndepths;		/* of all of them */
	int			ncolumns;
	int16	   *typlens;		/* of the wide row's columns */
	bool	   *typbyvals;
};

/* The operator of a step, or ANAGO_STEP_SOURCE. */
static inline AnagoOp *
anago_query_op(const AnagoQuery *query, int step)
{
	return query->ops[step + 1];
}

static inline AnagoStep *
anago_query_step(const AnagoQuery *query, int step)
{
	return (AnagoStep *) anago_query_op(query, step);
}

/*
 * Depths of a step.  A kind of task spawns only kinds of greater depth, which
 * is what keeps the scheduler free of deadlock.
 */
#define ANAGO_DEPTH_PROBE(step)		((step)->op.depth)
#define ANAGO_DEPTH_RANGE(step)		((step)->op.depth + 1)
#define ANAGO_DEPTH_LEAF(step)		((step)->op.depth + 2)
#define ANAGO_DEPTH_HEAP(step)		((step)->op.depth + 3)
#define ANAGO_STEP_DEPTHS			4

StaticAssertDecl(1 + ANAGO_STEP_DEPTHS * ANAGO_MAX_STEPS <= ANAGO_MAX_DEPTHS,
				 "depths suffice");

/*
 * query.c
 *
 * anago_query_begin opens indexes and compiles expressions (not with
 * EXEC_FLAG_EXPLAIN_ONLY); it reads no page.  anago_query_next leaves a row in
 * query->wide, valid until the next call, or returns false at the end.
 */
extern AnagoQuery *anago_query_begin(PlanState *ps, const AnagoPipelineDesc *desc,
									 PlanState *child, TupleTableSlot *wide,
									 int eflags);
extern bool anago_query_next(AnagoQuery *query);
extern void anago_query_rescan(AnagoQuery *query);
extern void anago_query_end(AnagoQuery *query);

/*
 * Run as a participant of a parallel query from the next start on.  A worker
 * publishes its counters, and goes on from those it finds there.
 */
extern void anago_query_set_segment(AnagoQuery *query, AnagoSegment *segment,
									AnagoPool *pool, int participant,
									bool patient,
									AnagoCounters *published);

/*
 * Take part no longer, if this process does: no more rows come until a rescan.
 * Shutdown: the segment goes, too.
 */
extern void anago_query_part(AnagoQuery *query);
extern void anago_query_shutdown(AnagoQuery *query);

/* counters.c: what this process has done so far, and the sum of two. */
extern void anago_query_count(const AnagoQuery *query, AnagoCounters *counters);
extern void anago_query_keep_peak(AnagoQuery *query);
extern void anago_query_publish(AnagoQuery *query);
extern void anago_counters_add(AnagoCounters *to, const AnagoCounters *from);

/* Memory from query->context whose amount depends on rows. */
static inline void *
anago_query_alloc(AnagoQuery *query, Size size)
{
	void	   *chunk = MemoryContextAllocHuge(query->context, size);

	anago_memory_charge(&query->memory, size);
	return chunk;
}

static inline void
anago_query_free(AnagoQuery *query, void *chunk, Size size)
{
	anago_memory_discharge(&query->memory, size);
	pfree(chunk);
}

#endif							/* ANAGO_QUERY_H */
