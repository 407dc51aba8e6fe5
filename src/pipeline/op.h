/*-------------------------------------------------------------------------
 *
 * op.h
 *	  The contract of an operator.
 *
 * A pipeline is a chain of operators: a source, steps, a sink.  Rows go along
 * it in one way only: there is room at the next operator, and then it accepts
 * the row.
 *
 *		source			 step 0			   step 1			 sink
 *		start  --row-->  accept			   accept			 accept
 *						 TAKEN, tasks -->  TAKEN, tasks -->  OUT, to the executor
 *
 * An operator is a struct that embeds an AnagoOp as its first member, and a
 * const AnagoOpKind; which one a pipeline has in which role is chosen when its
 * query is planned (operators.h).  What it does when it is started,
 * or has accepted a row, it does in tasks of its own; these hand on what they
 * find.
 *
 * Invariants
 *	- accept() is called by a running task, or by whatever else may spawn
 *	  tasks, and only where there is room; for the rows of one visited block
 *	  that is asked when the visit begins, and again where memory gets short;
 *	- the wide slot then holds the row: the fragments of `outer`, and the
 *	  columns that the operator before has filled, which nobody has copied yet.
 *	  `outer` stays the caller's; who needs the row for longer than the call
 *	  makes a fragment of it (row.h);
 *	- ANAGO_OUT says that the wide slot is with the executor now.  The caller's
 *	  task suspends with ANAGO_EMIT, keeps what the slot points into (the pin of
 *	  a page, say), and goes on when the next row is asked for.  So the last
 *	  step's rows leave without a copy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_OP_H
#define ANAGO_OP_H

#include "postgres.h"

#include <limits.h>

#include "access/attnum.h"
#include "pipeline/counters.h"
#include "pipeline/desc.h"
#include "pipeline/explain.h"
#include "sched/task.h"
#include "shared/items.h"

typedef struct AnagoOp AnagoOp;
typedef struct AnagoPipeline AnagoPipeline;
typedef struct AnagoRow AnagoRow;

/* What became of a row. */
typedef enum AnagoAccepted
{
	ANAGO_TAKEN,				/* the operator goes on with it */
	ANAGO_OUT					/* it is with the executor */
} AnagoAccepted;

/* One for each kind of operator.  What may be NULL says so. */
typedef struct AnagoOpKind
{
	const char *name;

	/* Depths of the scheduler that its tasks use; 0: it has no tasks. */
	int			ndepths;

	/* Bytes of its struct, which begins with an AnagoOp. */
	Size		size;

	/*
	 * Open what it needs, but read no page; the AnagoOp is filled in, the rest
	 * zero.  With EXEC_FLAG_EXPLAIN_ONLY nothing follows but explain() and
	 * end().  Or NULL.
	 */
	void		(*begin) (AnagoOp *op, const AnagoPipelineDesc *desc, int eflags);

	/* All rows begin anew; its tasks are gone.  Or NULL. */
	void		(*rescan) (AnagoOp *op);

	/*
	 * Let go of what it holds between calls, pins above all; may come twice.
	 * Its tasks won't run any more.  Or NULL.
	 */
	void		(*release) (AnagoOp *op);

	/*
	 * Let go of pins that it keeps between tasks, which go on later.  Or NULL.
	 */
	void		(*unpin) (AnagoOp *op);

	/* Close what begin() opened.  Or NULL. */
	void		(*end) (AnagoOp *op);

	/* A source's: spawn its first tasks, or hand its only row on.  Else NULL. */
	void		(*start) (AnagoOp *op);

	/* Rows that it can accept now (can be < 0).  NULL: there is always room. */
	int			(*room) (const AnagoOp *op);

	/*
	 * Add what its parts have counted to what the operator itself has.  Or
	 * NULL.
	 */
	void		(*count) (const AnagoOp *op, AnagoStepCounts *sum);

	/*
	 * A group of its own in EXPLAIN.  `counters` are those of all processes;
	 * NULL: it did not run.  Or NULL.
	 */
	void		(*explain) (const AnagoOp *op, const AnagoExplain *ex,
							const AnagoStepCounts *counters);

	/* A source has none. */
	AnagoAccepted (*accept) (AnagoOp *op, AnagoRow *outer);

	/*
	 * A step's, in a parallel query (peers.h).  adopt: a row that some other
	 * process had accepted; it is bound, and the caller's reference goes to
	 * the operator.  enter: an item that the same operator of some other
	 * process has published, with what it says of it; work at it, too.  There
	 * has been room at its first depth for the one, at its second for the
	 * other.  more: spawn what else this process has kept for the time when
	 * nothing is ready, or of looks what has waited for the late ones to be
	 * taken up; false: there is nothing.  A source or sink has none,
	 * and a step that publishes nothing no enter.
	 */
	void		(*adopt) (AnagoOp *op, AnagoRow *row);
	void		(*enter) (AnagoOp *op, AnagoItem item, char *bytes);
	bool		(*more) (AnagoOp *op);

	/*
	 * Bytes of shared memory that all processes have for the unit source's row
	 * in anago.mode = static: anago_segment_source(), zeroed.
	 */
	Size		source_size;

	/*
	 * A sink's, where rows leave in order: rows that it has kept at the head of
	 * the order may leave (sched/places.h).  Else NULL.
	 */
	void		(*turn) (AnagoOp *op);
} AnagoOpKind;

struct AnagoOp
{
	const AnagoOpKind *kind;
	AnagoPipeline *pipeline;
	AnagoOp    *next;			/* NULL: this is the sink */
	int			index;			/* ANAGO_STEP_SOURCE, a step from 0, or for the
								 * sink the number of steps */
	int			depth;			/* the first of its depths */

	/* columns it fills: wide slot entries first_col .. first_col + ncols - 1 */
	int			first_col;
	int			ncols;
	AttrNumber *attnos;			/* in whatever it takes them from; in ascending
								 * order */
	AnagoStepCounts counters;
};

static inline int
anago_op_room(const AnagoOp *op)
{
	return op->kind->room == NULL ? INT_MAX : op->kind->room(op);
}

/* The depth whose want of room keeps `op` from taking a row: its own, or one's behind. */
extern PGDLLEXPORT int anago_op_short_of(const AnagoOp *op);

/* Suspend until the operator behind `op` has room for a row. */
#define ANAGO_AWAIT_NEXT(task, op) \
	ANAGO_AWAIT_NEXT_IN(task, task, op)

/* The same, in a coroutine that the task has called (ANAGO_CALL). */
#define ANAGO_AWAIT_NEXT_IN(frame, task, op) \
	while (anago_op_room((op)->next) <= 0) \
	{ \
		(task)->stalled_on = anago_op_short_of((op)->next); \
		ANAGO_SUSPEND(frame, ANAGO_STALL); \
	}

/*
 * Hand the row in the wide slot on to the operator behind `op`, and suspend if
 * it is out by that.
 */
#define ANAGO_PASS_ON(task, op, outer) \
	ANAGO_PASS_ON_AT(task, op, outer, 2 * __LINE__)

#define ANAGO_PASS_ON_AT(task, op, outer, place) \
	do { \
		if ((op)->next->kind->accept((op)->next, (outer)) == ANAGO_OUT) \
			ANAGO_SUSPEND_AT(task, ANAGO_EMIT, place); \
	} while (0)

#endif							/* ANAGO_OP_H */
