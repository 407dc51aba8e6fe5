/*-------------------------------------------------------------------------
 *
 * queues.c
 *	  The scheduler's queues: tasks that stall, and those that are ready.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "sched/queues.h"

void
anago_queue_push_stalled(AnagoSched *sched, AnagoTask *task)
{
	if (task->place != NULL)
		task->place->stalled++;
	task->state = ANAGO_TASK_STALLED;
	task->next = sched->stalled[task->stalled_on];
	sched->stalled[task->stalled_on] = task;
	sched->nstalled++;
	sched->counts->stalls++;
}

/* `at` is where it hangs in its list. */
static void
unlink_stalled(AnagoSched *sched, AnagoTask **at)
{
	AnagoTask  *task = *at;

	if (task->place != NULL)
		task->place->stalled--;
	*at = task->next;
	sched->nstalled--;
	anago_queue_push_ready(sched, task);
}

/* Where rows leave in order: the one that is nearest to the head. */
static void
pop_stalled(AnagoSched *sched, int on)
{
	AnagoTask **nearest = &sched->stalled[on];

	if (sched->order != NULL)
		for (AnagoTask **at = &(*nearest)->next; *at != NULL; at = &(*at)->next)
			if ((*at)->place->label < (*nearest)->place->label)
				nearest = at;
	unlink_stalled(sched, nearest);
}

void
anago_queue_unstall_head(AnagoSched *sched)
{
	AnagoPlace *head = sched->order->head;

	for (int depth = 0; head && head->stalled > 0 && depth < sched->ndepths; depth++)
	{
		AnagoTask **at = &sched->stalled[depth];

		while (*at != NULL)
			if ((*at)->place == head && anago_room_at_head(&sched->room, depth) > 0)
				unlink_stalled(sched, at);
			else
				at = &(*at)->next;
	}
}

void
anago_queue_unstall_some(AnagoSched *sched, int depth)
{
	int			room = anago_queue_room(sched, depth);

	/* what the first one takes, the next must see */
	if (anago_room_is_short(&sched->room))
		room = Min(room, 1);
	while (room-- > 0 && sched->stalled[depth] != NULL)
		pop_stalled(sched, depth);
}

void
anago_queue_unstall_all(AnagoSched *sched)
{
	for (int depth = 0; sched->nstalled > 0 && depth < sched->ndepths; depth++)
		anago_queue_unstall(sched, depth);
	if (sched->order != NULL)
		anago_queue_unstall_head(sched);

	/* one at a time, and only when there is nothing else to do */
	if (sched->stalled[ANAGO_STALL_WINDOW] != NULL &&
		sched->ready_depths == 0 && anago_queue_has_use(sched))
		pop_stalled(sched, ANAGO_STALL_WINDOW);
}

AnagoTask *
anago_queue_pop_woken(AnagoSched *sched)
{
	for (int depth = 0; depth < sched->ndepths; depth++)
		for (AnagoTask **at = &sched->ready[depth]; *at != NULL; at = &(*at)->next)
		{
			AnagoTask  *task = *at;

			if (task->waiter.read == NULL)
				continue;
			*at = task->next;
			task->next = NULL;
			if (sched->ready[depth] == NULL)
				sched->ready_depths &= ~(UINT64CONST(1) << depth);
			return task;
		}
	return NULL;
}
