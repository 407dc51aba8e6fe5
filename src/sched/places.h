/*-------------------------------------------------------------------------
 *
 * places.h
 *	  The order in which rows leave, where a serial order is asked for.
 *
 * As a CPU executes out of order and retires in order: what tasks do stays
 * unordered, but each has a place in the serial order, and a row leaves only
 * when all places before its own are gone.
 *
 *		list of places		head -> p1 -> p2 -> p3 -> p4 -> last
 *		tasks that have it		 1	   0	 2	   1	  1
 *		rows kept there			 0	   3	 0	   1	  0
 *
 * p1 is the head: rows of its task leave at once.  When that task ends p2 is
 * the head: the three rows that wait there leave, then p3 is.
 *
 * A task that is spawned has its parent's place, or one of its own, which then
 * comes before the parent's and behind all that the parent has given birth to
 * so far.  So the list is what a serial execution would do, one after the
 * other.  Rows of one place have no order among each other but that in which
 * they were found.
 *
 * Invariants
 *	- a place is in the list as long as a task has it, or a row is kept there;
 *	- labels ascend along the list;
 *	- the head has a task or a kept row.
 *
 * The window.  Places that wait for their turn are bounded: by as many as
 * keep the device busy and, as it is never sure that more rows are wanted, by
 * what those whose turn has been pay for (demand.h).  Nearer ones are preferred
 * where there is a choice, and the head is let in whatever bounds say (sched.c):
 * so the window can be full, but not for good.
 *
 * Feeders.  A leaf has hundreds of entries, and each takes a place when its turn
 * to be begun comes.  Should a later leaf fill the window meanwhile, the nearer
 * one could go on only as the head, with one entry after the other.  So what
 * others expect is kept free for them, by all but the nearest that expects any.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PLACES_H
#define ANAGO_PLACES_H

#include "postgres.h"

#include "sched/memory.h"

/* A row that waits for its turn; whoever keeps it embeds this first. */
typedef struct AnagoKept
{
	struct AnagoKept *next;
} AnagoKept;

typedef struct AnagoPlace
{
	struct AnagoPlace *prev;
	struct AnagoPlace *next;	/* or next free one */
	uint64		label;
	int32		tasks;			/* that have this place */
	int32		stalled;		/* of these */
	int32		expects;		/* places that may come from its task: a guess */
	int32		gone;			/* places that were between it and the one before */
	AnagoKept  *kept;			/* rows, in the order in which they leave */
	AnagoKept  *last_kept;
	int32		live[FLEXIBLE_ARRAY_MEMBER];	/* tasks by depth */
} AnagoPlace;

typedef struct AnagoOrder
{
	AnagoMemory *memory;
	int			ndepths;		/* depths whose tasks have places */
	int			bounded;		/* the window bounds the depths below this one, */
	int			feeds;			/* and at this one also what is expected; or -1 */
	AnagoPlace *head;			/* NULL: no place is left */
	AnagoPlace *last;
	AnagoPlace *feeder;			/* the nearest that expects any, or NULL */
	AnagoPlace *free;
	int64		waiting;		/* places in the list */
	int64		retired;		/* places whose turn has been */
	int64		expected;		/* sum of `expects` */
	int64		nkept;			/* rows kept now, */
	int64	   *kept_peak;		/* and at the peak */
} AnagoOrder;

/* Memory comes from CurrentMemoryContext; places are counted in `memory`. */
extern AnagoOrder *anago_order_begin(AnagoMemory *memory, int ndepths, int bounded,
									 int64 *kept_peak);

/* Forget all places; their memory goes otherwise. */
extern void anago_order_reset(AnagoOrder *order);

/* The last place of all, for what comes behind everything. */
extern AnagoPlace *anago_order_last(AnagoOrder *order);

/* A new place before `place`, behind all rows that are kept there. */
extern AnagoPlace *anago_order_before(AnagoOrder *order, AnagoPlace *place);

/* A task of that depth has the place; has it no longer. */
extern void anago_place_enter(AnagoPlace *place, int depth);
extern void anago_place_leave(AnagoOrder *order, AnagoPlace *place, int depth);

/* Places at the head without task or row go.  True: there is another head. */
extern bool anago_order_advance(AnagoOrder *order);

/* Keep a row at a place; take the next one of the head, or NULL. */
extern void anago_order_keep(AnagoOrder *order, AnagoPlace *place, AnagoKept *row);
extern AnagoKept *anago_order_take(AnagoOrder *order);

/* So many places may come from the task whose place it is. */
extern void anago_order_expect(AnagoOrder *order, AnagoPlace *place, int n);

/*
 * Places that may yet be begun at that depth, if `bound` may wait (can be < 0),
 * by a task with that place or, NULL, by nobody.
 */
extern int	anago_order_room(const AnagoOrder *order, const AnagoPlace *place,
							 int depth, int bound);

/* Has the head no task at that depth or below it? */
extern bool anago_order_head_is_done(const AnagoOrder *order, int depth);

#endif							/* ANAGO_PLACES_H */
