/*-------------------------------------------------------------------------
 *
 * task.h
 *	  Tasks: stackless coroutines, the unit of out-of-order execution.
 *
 * A task is a small struct that an operator embeds as the first member of a
 * struct of its own.  Its code is one function, run(), which goes on from
 * where it last suspended itself; nothing of it lives on the C stack
 * meanwhile, so locals do not survive a suspension.  It is written with the
 * macros below:
 *
 *		static AnagoVerdict
 *		some_run(AnagoTask *task)
 *		{
 *			SomeTask   *self = (SomeTask *) task;
 *			Buffer		buf;
 *
 *			ANAGO_BEGIN(task);
 *			while (...)
 *			{
 *				ANAGO_AWAIT_PAGE(task, buf, pages, rel, self->blkno);
 *				...
 *			}
 *			ANAGO_END(task);
 *		}
 *
 * The technique is Duff's device as used in Dunkels et al., "Protothreads"
 * (SenSys 2006).  A `switch` of the operator's own must not enclose a
 * suspension.
 *
 * Why not stackful: see docs/architecture.md.
 *
 * States
 *
 *		FREE -> READY -> RUNNING -+-> WAITING  -> READY		page arrived
 *								  +-> READY					yielded
 *								  +-> NAPPING  -> RUNNING	some others have run
 *								  +-> STALLED  -> READY		room for children
 *								  +-> EMITTING -> RUNNING	next row asked for
 *								  +-> FREE					done
 *
 * All transitions are made by sched.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TASK_H
#define ANAGO_TASK_H

#include "postgres.h"

#include "page/page.h"

typedef enum AnagoTaskState
{
	ANAGO_TASK_FREE,
	ANAGO_TASK_READY,			/* in the ready stack of its depth */
	ANAGO_TASK_RUNNING,
	ANAGO_TASK_WAITING,			/* known to the page layer by its waiter */
	ANAGO_TASK_NAPPING,			/* some others run first */
	ANAGO_TASK_STALLED,			/* wants to spawn where there is no room */
	ANAGO_TASK_EMITTING			/* its row is with the executor */
} AnagoTaskState;

/* Why run() returned. */
typedef enum AnagoVerdict
{
	ANAGO_DONE,
	ANAGO_WAIT,					/* for a page */
	ANAGO_YIELD,				/* deeper tasks first */
	ANAGO_NAP,					/* whatever others first: the CPU is fetching */
	ANAGO_AGAIN,				/* it became another kind: run that at once */
	ANAGO_STALL,				/* for room at task->stalled_on */
	ANAGO_EMIT					/* a row for the executor */
} AnagoVerdict;

typedef struct AnagoTask AnagoTask;

/* What an operator says of a kind of task; const, one for each kind. */
typedef struct AnagoTaskOps
{
	const char *name;
	AnagoVerdict (*run) (AnagoTask *task);
} AnagoTaskOps;

struct AnagoTask
{
	AnagoWaiter waiter;			/* must be first: wake-up casts it back */
	AnagoTask  *next;			/* in a ready stack, a stalled or a free list */
	const AnagoTaskOps *ops;
	struct AnagoPlace *place;	/* in the serial order (places.h), or NULL */
	uint16		resume;			/* where run() goes on; 0: from the start */
	uint8		state;			/* AnagoTaskState */
	uint8		depth;			/* deeper tasks run first */
	uint8		stalled_on;		/* while STALLED: depth that has no room, or
								 * ANAGO_STALL_WINDOW */
};

/*
 * Bound on the size of a task, in bytes, checked where kinds are defined.
 * All tasks come from one free list, so this is also what each takes.
 */
#define ANAGO_TASK_SIZE		160

/* Bound on depths; the pipeline uses four for each step and two more. */
#define ANAGO_MAX_DEPTHS	64

/* For stalled_on: not room at a depth, but room in the window of reads. */
#define ANAGO_STALL_WINDOW	ANAGO_MAX_DEPTHS

#define ANAGO_BEGIN(task) \
	switch ((task)->resume) \
	{ \
		case 0:

/* A macro of two suspensions stands on one line, and so has two places. */
#define ANAGO_SUSPEND_AT(task, verdict, place) \
	do { \
		(task)->resume = (place); \
		return (verdict); \
		case (place):; \
	} while (0)

#define ANAGO_SUSPEND(task, verdict) \
	ANAGO_SUSPEND_AT(task, verdict, 2 * __LINE__)

#define ANAGO_END(task) \
	} \
	return ANAGO_DONE

/* Suspend until the block is there; then `buf` is pinned by the caller. */
#define ANAGO_AWAIT_PAGE(task, buf, pages, rel, blkno) \
	while (((buf) = anago_page_get((pages), (rel), (blkno), \
								   &(task)->waiter)) == InvalidBuffer) \
		ANAGO_SUSPEND(task, ANAGO_WAIT)

/*
 * Suspend until the process has use for more work: what others could do as
 * well is not to be taken before.
 */
#define ANAGO_AWAIT_USE(task, sched) \
	while (!anago_sched_has_use(sched)) \
	{ \
		(task)->stalled_on = ANAGO_STALL_WINDOW; \
		ANAGO_SUSPEND(task, ANAGO_STALL); \
	}

/* Suspend until a task may be spawned at `child_depth`. */
#define ANAGO_AWAIT_ROOM(task, sched, child_depth) \
	ANAGO_AWAIT_ROOM_IN(task, task, sched, child_depth)

/*
 * A task may call another coroutine, and goes on when that is at its end.  That
 * one has a point to resume at of its own: a struct with a `resume`, which the
 * macros take in place of the task, and which it sets to 0 at its end.  Where it
 * has made the task one of another kind (ANAGO_AGAIN), there is no going on.
 */
#define ANAGO_CALL(task, verdict, call) \
	while (((verdict) = (call)) != ANAGO_DONE) \
	{ \
		if ((verdict) == ANAGO_AGAIN) \
			return ANAGO_AGAIN; \
		ANAGO_SUSPEND(task, verdict); \
	}

#define ANAGO_AWAIT_ROOM_IN(frame, task, sched, child_depth) \
	while (!anago_sched_has_room((sched), (child_depth))) \
	{ \
		(task)->stalled_on = (child_depth); \
		ANAGO_SUSPEND_AT(frame, ANAGO_STALL, 2 * __LINE__ + 1); \
	}

#endif							/* ANAGO_TASK_H */
