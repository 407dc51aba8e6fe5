/*-------------------------------------------------------------------------
 *
 * sched.h
 *	  The scheduler of one query in one process.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SCHED_H
#define ANAGO_SCHED_H

#include "postgres.h"

#include "counts.h"
#include "sched/demand.h"
#include "sched/meet.h"
#include "sched/memory.h"
#include "sched/places.h"
#include "sched/task.h"

/* Tasks between two ticks. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_TICK_INTERVAL		4
#else
#define ANAGO_TICK_INTERVAL		256
#endif

/*
 * Begin: memory comes from CurrentMemoryContext, and lives as long as that.
 * `pages` is what tasks read by; those that it wakes are this scheduler's.
 * `memory` is what the operators take beside that, and the limit for both.
 * `peers` and `order` are copied; all zero: there are none.  What happens is
 * added to `counts`.
 */
extern AnagoSched *anago_sched_begin(int ndepths, AnagoPages *pages,
									 AnagoMemory *memory,
									 const AnagoSchedPeers *peers,
									 const AnagoSchedOrder *order,
									 AnagoCounts *counts);

/*
 * A scan is about to begin, of which not all rows may be wanted, if patience is
 * not 0; see demand.h.
 */
extern void anago_sched_expect_rows(AnagoSched *sched, int patience,
									int64 wanted, AnagoQuota *quota);

/*
 * Give up all tasks.  The pages that they wait for are given up
 * with them, by whom these belong to (anago_pages_reset).
 */
extern void anago_sched_reset(AnagoSched *sched);

/* A new task, zeroed, ready to run.  Never fails but by out of memory. */
extern PGDLLEXPORT AnagoTask *anago_sched_spawn(AnagoSched *sched, const AnagoTaskOps *ops,
									int depth);

/*
 * In an ordered pipeline: a task that was just spawned gets a place of its own,
 * before that of the running task.
 */
extern void anago_sched_own_place(AnagoSched *sched, AnagoTask *task);

/* The order of an ordered pipeline's places, and the running task's place. */
extern AnagoOrder *anago_sched_order(AnagoSched *sched);
extern AnagoPlace *anago_sched_place(const AnagoSched *sched);

/* Rows of the head may have left: whose turn is it now? */
extern void anago_sched_retire(AnagoSched *sched);

/* The running task goes on, from the start, as a task of another kind. */
extern PGDLLEXPORT void anago_sched_become(AnagoSched *sched, AnagoTask *task,
							   const AnagoTaskOps *ops, int depth);

/*
 * Tasks that may yet be spawned at that depth within its bound and the limit
 * of memory (can be < 0).
 */
extern PGDLLEXPORT int	anago_sched_room(const AnagoSched *sched, int depth);

/*
 * A task of that depth was seen to take so many bytes beside its slot: others
 * there may come to do so, too, and are counted with that from now on.
 */
extern PGDLLEXPORT void anago_sched_expect(AnagoSched *sched, int depth, Size bytes);

/*
 * May the running task nap?  Not where there are no others, nor where it matters which
 * rows come first: what others do meanwhile may be of no use then.
 */
extern PGDLLEXPORT bool anago_sched_may_nap(const AnagoSched *sched);

/* Is memory what there may be no room for? */
extern PGDLLEXPORT bool anago_sched_is_short(const AnagoSched *sched);

/*
 * Would another task be run before one of that depth that yields?  Asked by the
 * running task.
 */
extern PGDLLEXPORT bool anago_sched_has_deeper(const AnagoSched *sched, int depth);

/* Could the process have more reads in flight than are wanted? */
extern PGDLLEXPORT bool anago_sched_has_use(const AnagoSched *sched);

static inline bool
anago_sched_has_room(const AnagoSched *sched, int depth)
{
	return anago_sched_room(sched, depth) > 0;
}

/*
 * Run tasks until one emits a row (true), or none is left or tick() said to
 * stop (false).  The next call goes on with the task that emitted.
 */
extern bool anago_sched_run(AnagoSched *sched);

/*
 * The same, but without sleeping: false also where all that lives waits for
 * pages, or for room.  Fewer wanted reads than `gather` (or than a batch has, if that is
 * less) need not be issued before it returns.
 */
extern bool anago_sched_run_ready(AnagoSched *sched, int gather);

#endif							/* ANAGO_SCHED_H */
