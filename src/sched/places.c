/*-------------------------------------------------------------------------
 *
 * places.c
 *	  The order in which rows leave, where a serial order is asked for.
 *
 * Labels.  Which of two places is nearer to the head is told by a number, not
 * by a walk.  A new place takes one from the gap before its parent, near
 * the lower end of it, as more are to come behind it.  Where a gap is used up
 * all labels are given anew; there are few places.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sched/places.h"

/* Labels of places when they are given anew: their distance, and the last. */
#define LABEL_GAP		(UINT64CONST(1) << 32)
#define LABEL_LAST		(UINT64CONST(1) << 63)

/* By which part of a gap a new place stands behind its lower end. */
#define LABEL_PART		64

static Size
place_size(const AnagoOrder *order)
{
	return offsetof(AnagoPlace, live) + sizeof(int32) * order->ndepths;
}

AnagoOrder *
anago_order_begin(AnagoMemory *memory, int ndepths, int bounded,
				  int64 *kept_peak)
{
	AnagoOrder *order = palloc0(sizeof(AnagoOrder));

	order->memory = memory;
	order->ndepths = ndepths;
	order->bounded = bounded;
	order->feeds = -1;
	order->kept_peak = kept_peak;
	return order;
}

void
anago_order_reset(AnagoOrder *order)
{
	order->head = order->last = order->feeder = order->free = NULL;
	order->waiting = order->retired = order->expected = 0;
	order->nkept = 0;
}

/* --- the list --- */

static AnagoPlace *
new_place(AnagoOrder *order)
{
	AnagoPlace *place = order->free;

	if (place != NULL)
		order->free = place->next;
	else
		place = MemoryContextAlloc(order->memory->context, place_size(order));
	anago_memory_charge(order->memory, place_size(order));
	memset(place, 0, place_size(order));
	order->waiting++;
	return place;
}

static void
label_anew(AnagoOrder *order)
{
	uint64		label = 0;

	for (AnagoPlace *place = order->head; place != NULL; place = place->next)
		place->label = label += LABEL_GAP;
	order->last->label = LABEL_LAST;
}

/* A number between those of two neighbours. */
static uint64
label_between(AnagoOrder *order, const AnagoPlace *before, const AnagoPlace *behind)
{
	uint64		low = before ? before->label : 0;

	if (behind->label - low < 2)
	{
		label_anew(order);
		low = before ? before->label : 0;
	}
	return low + Max((behind->label - low) / LABEL_PART, 1);
}

AnagoPlace *
anago_order_last(AnagoOrder *order)
{
	if (order->last == NULL)
	{
		order->head = order->last = new_place(order);
		order->last->label = LABEL_LAST;
	}
	return order->last;
}

static AnagoPlace *
insert_before(AnagoOrder *order, AnagoPlace *place)
{
	AnagoPlace *result = new_place(order);
	AnagoPlace *before = place->prev;

	result->label = label_between(order, before, place);
	result->prev = before;
	result->next = place;
	place->prev = result;
	if (before != NULL)
		before->next = result;
	else
		order->head = result;
	return result;
}

/* Rows that were found before come first: they get a place of their own. */
AnagoPlace *
anago_order_before(AnagoOrder *order, AnagoPlace *place)
{
	if (place->kept != NULL)
	{
		AnagoPlace *rows = insert_before(order, place);

		rows->kept = place->kept;
		rows->last_kept = place->last_kept;
		place->kept = place->last_kept = NULL;
	}
	return insert_before(order, place);
}

void
anago_place_enter(AnagoPlace *place, int depth)
{
	place->tasks++;
	place->live[depth]++;
}

/* It goes; its turn, if that has not been, is that of the one behind it. */
static void
remove_place(AnagoOrder *order, AnagoPlace *place)
{
	anago_order_expect(order, place, 0);
	if (place->prev == NULL)
	{
		order->head = place->next;
		order->retired += place->gone + 1;
	}
	else
	{
		place->prev->next = place->next;
		place->next->gone += place->gone + 1;
	}
	if (place->next != NULL)
		place->next->prev = place->prev;
	else
		order->last = NULL;
	order->waiting--;
	place->next = order->free;
	order->free = place;
	anago_memory_discharge(order->memory, place_size(order));
}

static bool
is_empty(const AnagoPlace *place)
{
	return place->tasks == 0 && place->kept == NULL;
}

void
anago_place_leave(AnagoOrder *order, AnagoPlace *place, int depth)
{
	Assert(place->tasks > 0 && place->live[depth] > 0);
	place->tasks--;
	place->live[depth]--;
	if (is_empty(place) && place != order->head && place != order->last)
		remove_place(order, place);
}

bool
anago_order_advance(AnagoOrder *order)
{
	bool		moved = false;

	while (order->head != NULL && is_empty(order->head))
	{
		remove_place(order, order->head);
		moved = true;
	}
	return moved;
}

/* --- rows --- */

void
anago_order_keep(AnagoOrder *order, AnagoPlace *place, AnagoKept *row)
{
	row->next = NULL;
	if (place->kept == NULL)
		place->kept = row;
	else
		place->last_kept->next = row;
	place->last_kept = row;
	order->nkept++;
	*order->kept_peak = Max(*order->kept_peak, order->nkept);
}

AnagoKept *
anago_order_take(AnagoOrder *order)
{
	AnagoKept  *row = order->head ? order->head->kept : NULL;

	if (row == NULL)
		return NULL;
	order->head->kept = row->next;
	order->nkept--;
	return row;
}

/* --- the window --- */

void
anago_order_expect(AnagoOrder *order, AnagoPlace *place, int n)
{
	order->expected += n - place->expects;
	place->expects = n;
	if (n > 0 && (order->feeder == NULL || place->label < order->feeder->label))
		order->feeder = place;
	else if (n == 0 && place == order->feeder)
		while (order->feeder != NULL && order->feeder->expects == 0)
			order->feeder = order->feeder->next;
}

int
anago_order_room(const AnagoOrder *order, const AnagoPlace *place, int depth,
				 int bound)
{
	int64		begun = order->waiting;

	if (depth == order->feeds)
		begun += order->expected;
	else if (depth == order->feeds + 1 && place != NULL && place != order->feeder)
		begun += order->expected - place->expects;
	return (int) Max(bound - begun, -1);
}

bool
anago_order_head_is_done(const AnagoOrder *order, int depth)
{
	for (int d = depth; d < order->ndepths; d++)
		if (order->head->live[d] > 0)
			return false;
	return true;
}
