/*-------------------------------------------------------------------------
 *
 * sched.c
 *	  The scheduler of one query in one process: depth first, bounded.
 *
 * Every task has a depth: its place along the pipeline, sources lowest.  The
 * loop always runs a task of the greatest depth that is ready, so rows leave
 * the pipeline before new ones enter it:
 *
 *		ready[]		depth 6:  t17 -> t12		runs first
 *					depth 3:  t9
 *					depth 0:  source			runs when nothing else can
 *		stalled[]	depth 6:  t4				waits for room at depth 6
 *
 * Bounds.  A task may spawn at depth d, or become one of depth d, only while
 * fewer than `bound` tasks live there, where bound is at most twice the window
 * of reads in flight (so that a depth alone can keep the window full while others
 * are on the CPU); a task that finds no room stalls.  A task that found room,
 * and then had to wait for the page that tells what it is to spawn, may spawn
 * one there whatever others have done meanwhile.  All such are of one depth,
 * which has no more of them than its own bound; so
 *
 *		live[d] <= 2 * bound
 *
 * Demand.  Where the query may stop before the last row (LIMIT, EXISTS) there is
 * room for as many as are worth it by what is known then: demand.h.
 *
 * Memory.  There is no room either while the query takes more memory than it
 * may (memory.h), but for one task where nothing as deep or deeper lives.
 *
 * Order.  Where rows leave in order a task that has the head's place is let in
 * whatever else holds, and is the first to be; the bounds are for the others
 * (places.h).  So what waits for its turn can't keep out whom it waits for.
 *
 * Why this ends: tasks of the greatest depth spawn nothing, so each of them
 * is ready or waits for a page, and pages arrive.  When they are gone there is
 * room there, so the next depth goes on, and so forth.  Of the deepest tasks
 * that live one always goes on, however much memory is taken; when all that
 * came from it has ended, the next one does.
 *
 * Naps.  A task that has asked the CPU for a page in shared buffers lets some others run
 * first, of whatever depth.  When eight nap, or nothing is ready, the one that has napped
 * longest goes on.  It holds no page meanwhile and counts as live.
 *
 * Sleep.  Only when nothing is ready does the loop sleep for a page.  Before
 * that it issues wanted reads as soon as a batch of them has gathered, so the
 * device works while tasks do.
 *
 *	  sched.c		spawning, running, sleeping
 *	  queues.c		who is ready, and who stalls
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "sched/queues.h"
#include "sched/sched.h"

/* Wanted reads are issued when that many have gathered... */
#define ISSUE_BATCH			16

/* ... or when so many tasks have run since the page layer was last asked. */
#define POLL_INTERVAL		32

StaticAssertDecl(ANAGO_MAX_DEPTHS <= 64, "ready_depths has 64 bits");
StaticAssertDecl(ANAGO_MAX_DEPTHS <= ANAGO_PRIORITIES,
				 "depth is used as the priority of a page wait");

static void
wake(void *arg, AnagoWaiter *waiter)
{
	AnagoTask  *task = (AnagoTask *) waiter;

	Assert(task->state == ANAGO_TASK_WAITING);
	anago_queue_push_ready((AnagoSched *) arg, task);
}

void
anago_sched_retire(AnagoSched *sched)
{
	if (!anago_order_advance(sched->order))
		return;
	if (sched->nstalled > 0)
	{
		anago_queue_unstall_head(sched);
		for (int depth = 1; depth < sched->order->bounded; depth++)
			anago_queue_unstall(sched, depth);
	}
	if (sched->order->head != NULL && sched->order->head->kept != NULL)
		sched->ordered.turn(sched->ordered.arg);
}

static void
leave_place(AnagoSched *sched, AnagoTask *task)
{
	anago_place_leave(sched->order, task->place, task->depth);
	task->place = NULL;
	anago_sched_retire(sched);
}

static void
finish(AnagoSched *sched, AnagoTask *task)
{
	int			depth = task->depth;

	Assert(!task->waiter.waiting && task->waiter.read == NULL);
	anago_slab_give(&sched->slab, task);
	anago_sched_count_out(sched, depth);
	sched->nlive--;
	if (task->place != NULL)
		leave_place(sched, task);
	anago_queue_unstall(sched, depth);
}

/* --- the loop --- */

/*
 * Nothing is ready: sleep until a page arrives.  False: all is done, or it must
 * not sleep and none has arrived.
 *
 * Stalled tasks are looked at here too: the window may have grown, and those
 * that were let go on for a room may all have ended without using it.
 */
static bool
sleep_for_page(AnagoSched *sched)
{
	anago_queue_unstall_all(sched);
	if (sched->ready_depths != 0)
		return true;
	if (sched->peers.feed != NULL && sched->peers.feed(sched->peers.arg))
		return true;
	if (anago_pages_are_idle(sched->pages))
	{
		Assert(sched->nlive == 0 && sched->nstalled == 0);
		return false;
	}
	if (sched->sleepless && anago_pages_wanted(sched->pages) < sched->gather)
		anago_pages_collect(sched->pages);
	else
	{
		anago_pages_pump(sched->pages, !sched->sleepless);
		sched->since_poll = 0;
	}
	anago_queue_unstall_all(sched);
	return !sched->sleepless || sched->ready_depths != 0;
}

/* Is it time to look at the others, and do they say to stop? */
static inline bool
told_to_stop(AnagoSched *sched)
{
	if (sched->peers.tick == NULL || --sched->until_tick > 0)
		return false;
	sched->until_tick = ANAGO_TICK_INTERVAL;
	return !sched->peers.tick(sched->peers.arg, sched->nlive);
}

static inline void
keep_device_busy(AnagoSched *sched)
{
	int			wanted = anago_pages_wanted(sched->pages);
	int			inflight = anago_pages_inflight(sched->pages);

	if (++sched->since_poll < POLL_INTERVAL &&
		(wanted < ISSUE_BATCH || inflight >= anago_pages_window(sched->pages)))
		return;
	sched->since_poll = 0;
	if (wanted + inflight > 0)
		anago_pages_pump(sched->pages, false);
	else
		anago_pages_tell(sched->pages);
}

/*
 * Not to work on, though there may be work: what holds pins is let go of, and peers say
 * for how long.  A task: this one has a page that has come, and is to run before.
 */
static AnagoTask *
rest(AnagoSched *sched, bool *stop)
{
	AnagoTask  *task = NULL;

	if (anago_pages_settle(sched->pages))
		task = anago_queue_pop_woken(sched);
	if (task == NULL)
		*stop = !sched->peers.rest(sched->peers.arg);
	return task;
}

static inline bool
is_held(const AnagoSched *sched)
{
	return sched->peers.hold != NULL && pg_atomic_read_u32(sched->peers.hold) != 0;
}

/* Deal with a task that suspended itself; true if a row is to be emitted. */
static inline bool
settle(AnagoSched *sched, AnagoTask *task, AnagoVerdict verdict)
{
	switch (verdict)
	{
		case ANAGO_DONE:
			finish(sched, task);
			return false;
		case ANAGO_WAIT:
			Assert(task->waiter.waiting);
			task->state = ANAGO_TASK_WAITING;
			return false;
		case ANAGO_NAP:
			anago_queue_push_nap(sched, task);
			return false;
		case ANAGO_YIELD:
		case ANAGO_AGAIN:
			anago_queue_push_ready(sched, task);
			return false;
		case ANAGO_STALL:
			anago_queue_push_stalled(sched, task);
			return false;
		case ANAGO_EMIT:
			task->state = ANAGO_TASK_EMITTING;
			sched->emitting = task;
			if (sched->room.demand.patience > 0)
				anago_demand_row(&sched->room.demand, sched->ndepths);
			return true;
	}
	pg_unreachable();
}

/* Not inlined, so that profiles tell the scheduler from its caller. */
pg_noinline bool
anago_sched_run(AnagoSched *sched)
{
	AnagoTask  *task = sched->emitting;

	sched->emitting = NULL;
	for (;;)
	{
		AnagoVerdict verdict;
		bool		stop = false;

		CHECK_FOR_INTERRUPTS();

		if (task == NULL && is_held(sched))
			task = rest(sched, &stop);
		if (stop)
			return false;
		if (task == NULL)
		{
			keep_device_busy(sched);
			task = anago_queue_pop_ready(sched);
		}
		if (task == NULL)
		{
			/* after a sleep as well, however few tasks it was for */
			sched->until_tick = 0;
			if (!sleep_for_page(sched))
				return false;
			continue;
		}
		if (told_to_stop(sched))
		{
			anago_queue_push_ready(sched, task);
			return false;
		}
		task->state = ANAGO_TASK_RUNNING;
		sched->running = task;
		verdict = task->ops->run(task);
		if (verdict == ANAGO_AGAIN)
			continue;
		sched->running = NULL;
		if (settle(sched, task, verdict))
			return true;
		task = NULL;
	}
}

bool
anago_sched_run_ready(AnagoSched *sched, int gather)
{
	bool		emitted;

	sched->sleepless = true;
	sched->gather = Min(gather, ISSUE_BATCH);
	emitted = anago_sched_run(sched);
	sched->sleepless = false;
	return emitted;
}

/* --- interface --- */

AnagoSched *
anago_sched_begin(int ndepths, AnagoPages *pages, AnagoMemory *memory,
				  const AnagoSchedPeers *peers,
				  const AnagoSchedOrder *order, AnagoCounts *counts)
{
	AnagoSched *sched = palloc0(sizeof(AnagoSched));

	Assert(ndepths > 0 && ndepths <= ANAGO_MAX_DEPTHS);
	sched->ndepths = ndepths;
	anago_slab_init(&sched->slab);
	sched->room.memory = memory;
	sched->room.ndepths = ndepths;
	sched->room.pages = pages;
	for (int i = 0; i < ndepths; i++)
		sched->room.weight[i] = ANAGO_TASK_BYTES;
	sched->peers = *peers;
	sched->counts = counts;
	counts->task_size = ANAGO_TASK_SIZE;
	sched->ordered = *order;
	if (order->turn != NULL)
		sched->order = sched->room.order =
			anago_order_begin(memory, order->ndepths, order->bounded,
										 &counts->kept_peak);
	sched->pages = pages;
	anago_pages_set_wake(pages, wake, sched);
	return sched;
}

void
anago_sched_expect_rows(AnagoSched *sched, int patience, int64 wanted,
						AnagoQuota *quota)
{
	anago_demand_begin(&sched->room.demand, patience, wanted, quota);
}

void
anago_sched_reset(AnagoSched *sched)
{
	memset(sched->ready, 0, sizeof(sched->ready));
	memset(sched->stalled, 0, sizeof(sched->stalled));
	memset(sched->room.live, 0, sizeof(sched->room.live));
	sched->ready_depths = 0;
	sched->first_nap = sched->nnaps = 0;
	sched->room.task_bytes = 0;
	sched->nlive = sched->nstalled = sched->since_poll = 0;
	sched->emitting = sched->running = NULL;
	if (sched->order != NULL)
		anago_order_reset(sched->order);
	anago_slab_reset(&sched->slab);
}

static void
inherit_place(AnagoSched *sched, AnagoTask *task)
{
	task->place = sched->running != NULL ? sched->running->place :
		anago_order_last(sched->order);
	anago_place_enter(task->place, task->depth);
}

AnagoTask *
anago_sched_spawn(AnagoSched *sched, const AnagoTaskOps *ops, int depth)
{
	AnagoTask  *task = anago_slab_take(&sched->slab);

	task->ops = ops;
	task->depth = depth;
	task->waiter.priority = depth;
	anago_queue_push_ready(sched, task);

	anago_sched_count_in(sched, depth);
	if (sched->order != NULL && depth < sched->order->ndepths)
		inherit_place(sched, task);
	sched->nlive++;
	sched->counts->tasks++;
	if (sched->nlive > sched->counts->live_peak)
		sched->counts->live_peak = sched->nlive;
	return task;
}

void
anago_sched_become(AnagoSched *sched, AnagoTask *task,
				   const AnagoTaskOps *ops, int depth)
{
	Assert(task->state == ANAGO_TASK_RUNNING);
	Assert(!task->waiter.waiting && task->waiter.read == NULL);
	anago_sched_count_out(sched, task->depth);
	anago_sched_count_in(sched, depth);
	if (task->place != NULL)
	{
		anago_place_enter(task->place, depth);
		anago_place_leave(sched->order, task->place, task->depth);
	}
	anago_queue_unstall(sched, task->depth);
	task->ops = ops;
	task->depth = depth;
	task->waiter.priority = depth;
	task->resume = 0;
}

void
anago_sched_own_place(AnagoSched *sched, AnagoTask *task)
{
	AnagoPlace *of_parent = task->place;

	task->place = anago_order_before(sched->order, of_parent);
	anago_place_enter(task->place, task->depth);
	anago_place_leave(sched->order, of_parent, task->depth);
}

AnagoOrder *
anago_sched_order(AnagoSched *sched)
{
	return sched->order;
}

AnagoPlace *
anago_sched_place(const AnagoSched *sched)
{
	return sched->running->place;
}

int
anago_sched_room(const AnagoSched *sched, int depth)
{
	return anago_queue_room(sched, depth);
}

void
anago_sched_expect(AnagoSched *sched, int depth, Size bytes)
{
	anago_room_expect(&sched->room, depth, bytes);
}

bool
anago_sched_has_deeper(const AnagoSched *sched, int depth)
{
	return sched->ready_depths >> depth > 1;
}

bool
anago_sched_may_nap(const AnagoSched *sched)
{
	return sched->nlive > 1 && sched->nnaps < ANAGO_NAPS && sched->order == NULL &&
		sched->room.demand.patience == 0;
}

bool
anago_sched_is_short(const AnagoSched *sched)
{
	return anago_room_is_short(&sched->room);
}

bool
anago_sched_has_use(const AnagoSched *sched)
{
	return anago_queue_has_use(sched);
}
