/*-------------------------------------------------------------------------
 *
 * queues.h
 *	  What the scheduler is made of, and its queues.  Private to sched/.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_QUEUES_H
#define ANAGO_QUEUES_H

#include "postgres.h"

#include "counts.h"
#include "sched/meet.h"
#include "sched/room.h"
#include "sched/slab.h"
#include "sched/task.h"

/*
 * Tasks that nap at a time.  A CPU has some ten misses under way at once (its line fill
 * buffers), and each of these waits for two or three.
 */
#define ANAGO_NAPS	8

struct AnagoSched
{
	AnagoRoom	room;			/* how many tasks live, and what bounds them */
	AnagoPages *pages;
	int			ndepths;
	AnagoOrder *order;			/* or NULL: rows leave in no order */
	AnagoSchedPeers peers;		/* feed is NULL: none */
	int			until_tick;		/* tasks */
	AnagoSlab	slab;			/* of tasks */
	uint64		ready_depths;	/* bit d: ready[d] is not empty */
	AnagoTask  *ready[ANAGO_MAX_DEPTHS];
	AnagoTask  *stalled[ANAGO_MAX_DEPTHS + 1];	/* by what they wait for */
	AnagoTask  *naps[ANAGO_NAPS];	/* a ring: those that nap, */
	int			first_nap;		/* the longest */
	int			nnaps;
	int			widest;			/* greatest window_bound() so far */
	int			nlive;
	int			nstalled;
	int			since_poll;
	bool		sleepless;		/* anago_sched_run_ready(), */
	int			gather;			/* with that */
	AnagoTask  *emitting;
	AnagoTask  *running;		/* of meaning while one runs */
	AnagoCounts *counts;
	AnagoSchedOrder ordered;
};

/* --- how many live, and what they take --- */

static inline void
anago_sched_count_in(AnagoSched *sched, int depth)
{
	sched->room.live[depth]++;
	sched->room.task_bytes += sched->room.weight[depth];
#ifdef USE_ASSERT_CHECKING
	/* the window may have been wider before the method was known */
	sched->widest = Max(sched->widest, anago_window_bound(&sched->room));
	Assert(sched->room.live[depth] <= 2 * sched->widest + (sched->order != NULL));
#endif
}

static inline void
anago_sched_count_out(AnagoSched *sched, int depth)
{
	Assert(sched->room.live[depth] > 0);
	sched->room.live[depth]--;
	anago_demand_task_ended(&sched->room.demand, depth);
	sched->room.task_bytes -= sched->room.weight[depth];
}

/* --- queues: the only code that changes a task's state --- */

static inline void
anago_queue_push_ready(AnagoSched *sched, AnagoTask *task)
{
	Assert(task->depth < sched->ndepths);
	task->state = ANAGO_TASK_READY;
	task->next = sched->ready[task->depth];
	sched->ready[task->depth] = task;
	sched->ready_depths |= UINT64CONST(1) << task->depth;
}

/* Only where there is room: anago_sched_may_nap(). */
static inline void
anago_queue_push_nap(AnagoSched *sched, AnagoTask *task)
{
	Assert(sched->nnaps < ANAGO_NAPS);
	task->state = ANAGO_TASK_NAPPING;
	sched->naps[(sched->first_nap + sched->nnaps++) % ANAGO_NAPS] = task;
}

static inline AnagoTask *
pop_nap(AnagoSched *sched)
{
	AnagoTask  *task = sched->naps[sched->first_nap];

	Assert(task->state == ANAGO_TASK_NAPPING);
	sched->first_nap = (sched->first_nap + 1) % ANAGO_NAPS;
	sched->nnaps--;
	return task;
}

/* The deepest, or the one that has napped longest if no more can. */
static inline AnagoTask *
anago_queue_pop_ready(AnagoSched *sched)
{
	AnagoTask  *task;
	int			depth;

	if (sched->nnaps == ANAGO_NAPS || (sched->nnaps > 0 && sched->ready_depths == 0))
		return pop_nap(sched);
	if (sched->ready_depths == 0)
		return NULL;
	depth = 63 - __builtin_clzll(sched->ready_depths);
	task = sched->ready[depth];
	Assert(task->state == ANAGO_TASK_READY && task->depth == depth);
	sched->ready[depth] = task->next;
	if (task->next == NULL)
		sched->ready_depths &= ~(UINT64CONST(1) << depth);
	task->next = NULL;
	return task;
}

/* As anago_sched_room(), for the running task, and as anago_sched_has_use(). */
static inline int
anago_queue_room(const AnagoSched *sched, int depth)
{
	return anago_room(&sched->room, sched->running ? sched->running->place : NULL,
					  depth);
}

static inline bool
anago_queue_has_use(const AnagoSched *sched)
{
	return anago_pages_wanted(sched->pages) == 0 &&
		anago_pages_inflight(sched->pages) < anago_pages_window(sched->pages);
}

/* Wait for room at task->stalled_on. */
extern void anago_queue_push_stalled(AnagoSched *sched, AnagoTask *task);

/* Those that stall at the head of an order and may go on. */
extern void anago_queue_unstall_head(AnagoSched *sched);

/*
 * Room appeared at `depth`: let as many go on as may spawn there.  They look
 * again themselves, for others may have been faster.
 */
extern void anago_queue_unstall_some(AnagoSched *sched, int depth);

static inline void
anago_queue_unstall(AnagoSched *sched, int depth)
{
	if (sched->stalled[depth] != NULL)
		anago_queue_unstall_some(sched, depth);
}

/* Whoever may go on now, at whatever depth. */
extern void anago_queue_unstall_all(AnagoSched *sched);

/*
 * A task whose page has come, and which holds that page's pin until it runs; NULL: there
 * is none.
 */
extern AnagoTask *anago_queue_pop_woken(AnagoSched *sched);

#endif							/* ANAGO_QUEUES_H */
