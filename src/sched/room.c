/*-------------------------------------------------------------------------
 *
 * room.c
 *	  How many tasks may yet be spawned; see Bounds, Demand, Memory and Order in
 *	  sched.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "sched/room.h"

/* Places that may wait for their turn, as a multiple of a depth's bound. */
#define WINDOW_OF_PLACES	4

/* By which part of a difference the weight of a task falls. */
#define WEIGHT_DECAY		16

/* Tasks that may live at one depth. */
static inline int
depth_bound(const AnagoRoom *bounds, int depth)
{
	int			bound = anago_window_bound(bounds);

	if (bounds->demand.patience == 0)
		return bound;
	return anago_demand_bound(&bounds->demand, bounds->live, bounds->ndepths,
							  depth, bound);
}

static inline Size
memory_taken(const AnagoRoom *bounds)
{
	return bounds->memory->used + bounds->task_bytes;
}

/* More is taken than what leaves room for all. */
static inline bool
memory_is_short(const AnagoRoom *bounds)
{
	return memory_taken(bounds) > bounds->memory->half;
}

/* As much is taken as leaves no room at that depth, nor above it. */
static bool
memory_is_full(const AnagoRoom *bounds, int depth)
{
	Size		half = bounds->memory->half;

	return memory_taken(bounds) > half + half / bounds->ndepths * depth;
}

/*
 * How many of `room` tasks may be spawned at that depth as far as memory goes.
 */
static int
memory_room(const AnagoRoom *bounds, int depth, int room)
{
	if (!memory_is_full(bounds, depth))
		return room;
	for (int d = depth; d < bounds->ndepths; d++)
		if (bounds->live[d] > 0)
			return 0;
	return 1;
}

/* --- where rows leave in order --- */

/*
 * The same as anago_room() for tasks of the head: bounds are theirs before
 * all others', and one may be spawned in any case where no other of them is as
 * deep or deeper.
 */
int
anago_room_at_head(const AnagoRoom *bounds, int depth)
{
	int			room;

	if (depth >= bounds->order->ndepths)
		return INT_MAX;
	room = depth_bound(bounds, depth) - bounds->live[depth];
	if (room <= 0 && anago_order_head_is_done(bounds->order, depth))
		return 1;
	return room;
}

/* Places that may wait for their turn. */
static int
places_bound(const AnagoRoom *bounds)
{
	return anago_demand_places(&bounds->demand, bounds->order->retired,
							   WINDOW_OF_PLACES * anago_window_bound(bounds));
}

/* And for all others. */
static int
room_in_order(const AnagoRoom *bounds, const AnagoPlace *place, int depth)
{
	const AnagoOrder *order = bounds->order;
	int			room;

	if (memory_is_full(bounds, depth))
		return 0;
	if (depth >= order->ndepths)
		return INT_MAX;
	room = depth_bound(bounds, depth) - bounds->live[depth];
	if (depth < order->bounded)
		room = Min(room, anago_order_room(order, place, depth,
										  places_bound(bounds)));
	return room;
}

int
anago_room(const AnagoRoom *bounds, const AnagoPlace *place, int depth)
{
	int			room;

	if (bounds->order != NULL)
		return place != NULL && place == bounds->order->head ?
			anago_room_at_head(bounds, depth) : room_in_order(bounds, place, depth);
	room = depth_bound(bounds, depth) - bounds->live[depth];
	if (room > 0 && memory_is_short(bounds))
		return memory_room(bounds, depth, room);
	return room;
}

void
anago_room_expect(AnagoRoom *bounds, int depth, Size bytes)
{
	Size		old = bounds->weight[depth];
	Size		now = ANAGO_TASK_BYTES + bytes;

	if (now == old)
		return;
	if (now < old)
		now = old - (old - now + WEIGHT_DECAY - 1) / WEIGHT_DECAY;
	bounds->weight[depth] = now;
	bounds->task_bytes += (now - old) * bounds->live[depth];
}

bool
anago_room_is_short(const AnagoRoom *bounds)
{
	return memory_is_short(bounds);
}
