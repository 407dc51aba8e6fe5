/*-------------------------------------------------------------------------
 *
 * state.h
 *	  What the operators of one pipeline share while it runs.
 *
 * Invariants
 *	- a row lives while it has children, or an operator refers to it;
 *	- no task holds a pin or a lock while it is suspended, but for the one
 *	  that is emitting (the page its row points into) and the visibility map
 *	  page that an index-only step keeps;
 *	- the wide slot belongs to the running task, from anago_row_bind() until
 *	  it suspends; an emitting task finds it as it left it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_STATE_H
#define ANAGO_STATE_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/snapshot.h"

#include "operators.h"
#include "pipeline/counters.h"
#include "pipeline/held.h"
#include "pipeline/op.h"
#include "sched/sched.h"
#include "shared/share.h"

/*
 * What a process of a parallel query has beside its pipeline; all zero, and
 * give_to -1, in a query of one process.
 */
typedef struct AnagoPeers
{
	AnagoSegment *segment;		/* of a parallel query, or NULL */
	AnagoPool  *pool;			/* with it */
	int			participant;	/* in it */
	bool		patient;		/* as for anago_share_attach */
	bool		begun;			/* this process works, too */
	int64		used;			/* blocks that the quota knows of */
	AnagoShare *share;			/* while it is a participant */
	bool		in_parts;		/* anago.mode = static, with a share */
	bool		in_order;		/* each process gives its rows in order, with a
								 * share */
	int			give_to;		/* participant that has too little to do, or
								 * -1, */
	int			give_n;			/* and how many rows it is to be given */
	AnagoCounters *published;	/* of this process, in the segment, or NULL */
} AnagoPeers;

struct AnagoPipeline
{
	AnagoOperators operators;	/* what it is made of */
	PlanState  *ps;				/* the CustomScanState */
	EState	   *estate;
	Snapshot	snapshot;
	Oid			user;			/* whose rights it has */
	AnagoSched *sched;			/* NULL until the first row is asked for, */
	AnagoPages *pages;			/* as this; */
	MemoryContext engine;		/* both, below `whole` */
	MemoryContext whole;		/* all that the query allocates, */
	MemoryContext context;		/* and below it: what comes and goes with
								 * rows; reset by
								 * rescan */
	AnagoMemory memory;
	Size		memory_peak;	/* bytes, of scans that have ended */
	ExprContext *econtext;		/* of filters and keys; scan tuple = wide */
	TupleTableSlot *wide;
	AnagoRow   *bound;			/* row whose columns the wide slot holds */
	bool		use_dead_hints; /* heed and set dead marks of index entries */
	bool		looks;			/* steps only read, ahead of rows that are held */
	bool		late;			/* looks: late ones are at work; else rows wait for
								 * these */
	bool		abandoned;		/* looks: an error was raised in them */
	AnagoHeld  *held;			/* these, or NULL */
	bool		started;		/* since begin or rescan */
	bool		exhausted;

	AnagoPeers	peers;
	AnagoCounters *counters;	/* of this process; those of operators are
								 * theirs */

	ExprState  *gate;			/* one-time condition of all, or NULL */

	PlanState  *child;			/* of the source, or NULL: unit source */
	bool		may_stop;		/* as for anago_pipeline_expect(), of the scan */
	int64		wanted;			/* that begins next */
	AnagoDescOrder order;		/* see AnagoPipelineDesc */
	int			nsteps;
	AnagoOp   **ops;			/* source, steps, sink */
	int			ndepths;		/* of all of them */
	int			ncolumns;
	int16	   *typlens;		/* of the wide row's columns */
	bool	   *typbyvals;
};

/* The operator of a step, or ANAGO_STEP_SOURCE. */
static inline AnagoOp *
anago_pipeline_op(const AnagoPipeline *pipeline, int step)
{
	return pipeline->ops[step + 1];
}

/*
 * What this process has done so far.  keep_peak: memory is about to be given
 * back.  publish: for the leader to see, if this is a worker.
 */
extern void anago_pipeline_count(const AnagoPipeline *pipeline, AnagoCounters *counters);
extern void anago_pipeline_keep_peak(AnagoPipeline *pipeline);
extern void anago_pipeline_publish(AnagoPipeline *pipeline);

/* Memory from pipeline->context whose amount depends on rows. */
static inline void *
anago_pipeline_alloc(AnagoPipeline *pipeline, Size size)
{
	void	   *chunk = MemoryContextAllocHuge(pipeline->context, size);

	anago_memory_charge(&pipeline->memory, size);
	return chunk;
}

static inline void
anago_pipeline_free(AnagoPipeline *pipeline, void *chunk, Size size)
{
	anago_memory_discharge(&pipeline->memory, size);
	pfree(chunk);
}

/*
 * A list of pointers that is full, or NULL: with twice as much room, or with `first` places.
 * It is there until the query ends.
 */
extern void *anago_pipeline_grow(AnagoPipeline *pipeline, void *list, int *room,
								 int first);

#endif							/* ANAGO_STATE_H */
