/*-------------------------------------------------------------------------
 *
 * share.c
 *	  The processes of one parallel query.  See share.h.
 *
 *	  share.c		coming, waiting, leaving, balance
 *	  items.c		work that several processes do together
 *	  mailbox.c		rows handed from one process to another
 *	  segment.c		what stands in shared memory
 *	  budget.h		reads in flight, over all processes
 *	  quota.h		rows that all of them are wanted to give
 *	  server.c		memory that all processes of the server share
 *	  placement.c	memory nodes and cores: the decision
 *	  worker_node.c	the same, put into effect
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "pgstat.h"

#include "compat.h"
#include "shared/items.h"
#include "shared/mailbox.h"
#include "shared/share.h"

/* Which bits of a wait event say of what class it is. */
#define WAIT_EVENT_CLASS	0xFF000000U

/* How long a sleep is before the others are looked at again, in ms... */
#define NAP_MS				1

/* ...and how many naps is waited for processes that are all held up. */
#define PATIENCE_NAPS		3

/* A process is far under the mean with less than this part of it... */
#define FAR_UNDER			4

/* ...where that matters at all: tasks. */
#define BALANCE_MIN_LOAD	16

/* Rows handed over after one look around. */
#define BALANCE_MAX_ROWS	16

/*
 * A participant that is not patient waits no longer than that, in naps: until
 * it is known whether what a worker has just begun on is much.
 */
#define IMPATIENT_NAPS		5

/* ---- coming and leaving ---- */

AnagoShare *
anago_share_attach(AnagoSegment *segment, AnagoPool *pool, int participant,
				   bool patient)
{
	AnagoShare *share = palloc0(sizeof(AnagoShare));

	Assert(participant >= 0 && participant < segment->nparticipants);
	share->segment = segment;
	share->pool = pool;
	share->me = participant;
	share->patient = patient;
	segment->participants[participant].proc = MyProc;
	pg_write_barrier();
	pg_atomic_write_u32(&segment->participants[participant].presence, ANAGO_ACTIVE);
	pg_atomic_fetch_add_u32(&segment->budget.users, 1);
	return share;
}

bool
anago_share_leave(AnagoShare *share, bool now)
{
	AnagoParticipant *self = anago_share_self(share);
	bool		left;

	Assert(pg_atomic_read_u32(&self->presence) == ANAGO_ACTIVE);
	LWLockAcquire(&self->lock, LW_EXCLUSIVE);
	left = now || anago_mailbox_is_empty(self);
	if (left)
	{
		anago_mailbox_drop(share->pool, self);
		pg_atomic_write_u32(&self->presence, ANAGO_LEFT);
	}
	LWLockRelease(&self->lock);
	if (left)
	{
		pg_atomic_fetch_sub_u32(&share->segment->budget.users, 1);
		anago_segment_changed(share->segment);
	}
	return left;
}

void
anago_share_end(AnagoShare *share)
{
	AnagoParticipant *self = anago_share_self(share);

	if (pg_atomic_read_u32(&self->presence) != ANAGO_LEFT)
		anago_share_leave(share, true);
}

void
anago_share_stop(AnagoSegment *segment)
{
	pg_atomic_write_u32(&segment->stop, 1);
	anago_segment_changed(segment);
}

void
anago_share_reset(AnagoSegment *segment, AnagoPool *pool,
				  const AnagoSegmentSpec *spec)
{
	anago_items_drop(pool, segment->node);
	for (int i = 0; i < segment->nparticipants; i++)
		anago_mailbox_drop(pool, &segment->participants[i]);
	anago_segment_reset(segment, spec);
}

/* ---- waiting ---- */

static uint32
work_wait_event(void)
{
	static uint32 event = 0;

	return anago_wait_event(&event, "AnagoWork");
}

static uint32
parked_wait_event(void)
{
	static uint32 event = 0;

	return anago_wait_event(&event, "AnagoParked");
}

bool
anago_share_has_work(const AnagoShare *share)
{
	return !anago_mailbox_is_empty(anago_share_self(share)) ||
		anago_item_to_enter(share);
}

/*
 * Does it sleep, outside of its run loop?  There every sleep has a wait event;
 * one that merely waits for a CPU has none.  Reads and short locks end by
 * themselves.
 */
static bool
is_held_up(AnagoParticipant *other)
{
	uint32		event;

	if ((pg_atomic_read_u32(&other->crossings) & 1) != 0)
		return false;
	/* `proc` was written before ACTIVE, which the caller has seen */
	pg_read_barrier();
	event = *(volatile uint32 *) &other->proc->wait_event_info;
	return event != 0 &&
		(event & WAIT_EVENT_CLASS) != PG_WAIT_IO &&
		(event & WAIT_EVENT_CLASS) != PG_WAIT_LWLOCK;
}

/*
 * Is somebody else at work, and is one of them not held up?  One that is parked
 * goes on as soon as the others have nothing to do.
 */
static bool
others_at_work(const AnagoShare *share, bool *any_held_up, bool *all_held_up)
{
	bool		active = false;

	*any_held_up = false;
	*all_held_up = true;
	for (int i = 0; i < share->segment->nparticipants; i++)
	{
		AnagoParticipant *other = &share->segment->participants[i];
		uint32		presence = pg_atomic_read_u32(&other->presence);

		if (i == share->me ||
			(presence != ANAGO_ACTIVE && presence != ANAGO_PARKED))
			continue;
		active = true;
		if (presence == ANAGO_ACTIVE && is_held_up(other))
			*any_held_up = true;
		else
			*all_held_up = false;
	}
	return active;
}

/*
 * May it pay to look again a little later?  The leader of a query whose rows
 * are gathered up first goes as soon as any worker waits for it to read.
 */
static bool
worth_waiting(const AnagoShare *share, int *naps)
{
	bool		any;
	bool		all;

	if (!others_at_work(share, &any, &all))
		return false;
	*naps = (share->me == 0 ? any : all) ? *naps + 1 : 0;
	return *naps <= PATIENCE_NAPS;
}

static bool
wait_for_work(AnagoShare *share)
{
	AnagoSegment *segment = share->segment;
	int			naps = 0;
	int			allowed = share->patient ? PG_INT32_MAX : IMPATIENT_NAPS;
	bool		found;

	ConditionVariablePrepareToSleep(&segment->changed);
	for (;;)
	{
		bool		more;

		/* in this order: what was published before somebody left is seen */
		more = worth_waiting(share, &naps);
		pg_read_barrier();
		found = anago_share_has_work(share);
		if (found || !more || anago_share_stopped(share) || allowed-- == 0)
			break;
		ConditionVariableTimedSleep(&segment->changed, NAP_MS,
									work_wait_event());
	}
	ConditionVariableCancelSleep();
	return found && !anago_share_stopped(share);
}

/* ACTIVE -> WAITING, */
static void
begin_waiting(AnagoShare *share)
{
	AnagoParticipant *self = anago_share_self(share);

	pg_atomic_write_u32(&self->load, 0);
	pg_atomic_write_u32(&self->presence, ANAGO_WAITING);
	pg_atomic_fetch_sub_u32(&share->segment->budget.users, 1);
	pg_atomic_fetch_add_u32(&share->segment->nwaiting, 1);
}

/* and back. */
static void
end_waiting(AnagoShare *share)
{
	pg_atomic_fetch_sub_u32(&share->segment->nwaiting, 1);
	pg_atomic_fetch_add_u32(&share->segment->budget.users, 1);
	pg_atomic_write_u32(&anago_share_self(share)->presence, ANAGO_ACTIVE);
}

bool
anago_share_wait(AnagoShare *share)
{
	bool		found;

	begin_waiting(share);
	found = wait_for_work(share);
	end_waiting(share);
	return found;
}

void
anago_share_park(AnagoShare *share, bool (*still) (void), long nap_ms)
{
	AnagoSegment *segment = share->segment;
	AnagoParticipant *self = anago_share_self(share);

	pg_atomic_write_u32(&self->presence, ANAGO_PARKED);
	pg_atomic_fetch_sub_u32(&segment->budget.users, 1);
	ConditionVariablePrepareToSleep(&segment->changed);
	while (!anago_share_stopped(share) && still())
		ConditionVariableTimedSleep(&segment->changed, nap_ms, parked_wait_event());
	ConditionVariableCancelSleep();
	pg_atomic_fetch_add_u32(&segment->budget.users, 1);
	pg_atomic_write_u32(&self->presence, ANAGO_ACTIVE);
}

/*
 * Where nobody is at work, or all who are may be waiting for this process, it
 * begins in any case; a row may have been handed to it, too.
 */
static void
wait_to_begin(AnagoShare *share)
{
	AnagoSegment *segment = share->segment;
	int			naps = 0;

	ConditionVariablePrepareToSleep(&segment->changed);
	while (!anago_share_stopped(share) &&
		   !anago_quota_begin(&segment->quota, false))
	{
		if (!worth_waiting(share, &naps) ||
			!anago_mailbox_is_empty(anago_share_self(share)))
		{
			(void) anago_quota_begin(&segment->quota, true);
			break;
		}
		ConditionVariableTimedSleep(&segment->changed, NAP_MS,
									work_wait_event());
	}
	ConditionVariableCancelSleep();
}

void
anago_share_begin(AnagoShare *share)
{
	if (anago_quota_begin(&share->segment->quota, share->me == 0))
		return;
	begin_waiting(share);
	wait_to_begin(share);
	end_waiting(share);
}

void
anago_source_enter(AnagoShare *share)
{
	AnagoSharedSource *source = &share->segment->source;
	uint32		idle = 0;

	while (!pg_atomic_compare_exchange_u32(&source->busy, &idle, 1))
	{
		ConditionVariableSleep(&source->turn, work_wait_event());
		idle = 0;
	}
	ConditionVariableCancelSleep();
}

void
anago_source_leave(AnagoShare *share)
{
	AnagoSharedSource *source = &share->segment->source;

	/* an exchange, as a mere write is no barrier for what was written before */
	pg_atomic_exchange_u32(&source->busy, 0);
	ConditionVariableSignal(&source->turn);
}

/* ---- balance ---- */

int
anago_share_balance(AnagoShare *share, int load, int *n)
{
	AnagoSegment *segment = share->segment;
	uint32		sum = load;
	uint32		least = load;
	int			to = -1;
	int			present = 1;

	pg_atomic_write_u32(&segment->participants[share->me].load, load);

	for (int i = 0; i < segment->nparticipants; i++)
	{
		AnagoParticipant *other = &segment->participants[i];
		uint32		presence = pg_atomic_read_u32(&other->presence);
		uint32		its_load = pg_atomic_read_u32(&other->load);

		/* rows given to the leader would wait while it reads the workers' */
		if (i == share->me ||
			(presence != ANAGO_WAITING && (presence != ANAGO_ACTIVE || i == 0)))
			continue;
		present++;
		sum += its_load;
		if (its_load < least)
		{
			least = its_load;
			to = i;
		}
	}
	if (to < 0 || load < BALANCE_MIN_LOAD || least >= sum / present / FAR_UNDER)
		return -1;
	*n = Min(sum / present - least, BALANCE_MAX_ROWS);
	return to;
}
