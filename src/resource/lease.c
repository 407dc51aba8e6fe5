/*-------------------------------------------------------------------------
 *
 * lease.c
 *	  What one page layer has of all budgets above it.  See lease.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"

#include "compat.h"
#include "resource/budgets.h"
#include "resource/elastic.h"
#include "resource/groups.h"
#include "resource/lease.h"

/* A sleep for want of budget: others give theirs back without a word. */
#define NAP_MS	1

static uint32
wait_event(void)
{
	static uint32 event = 0;

	return anago_wait_event(&event, "AnagoBudget");
}

/* ---- for whom ---- */

static dlist_head leases = DLIST_STATIC_INIT(leases);

/* For whom reads are taken just now; InvalidOid: that is not known. */
static Oid	acting_for = InvalidOid;

/*
 * A session may have open queries of several roles.  One of them runs, and what those of
 * other roles have in flight stands still.
 */
static void
act_for(const AnagoLease *lease)
{
	int			held = 0;
	dlist_iter	iter;

	if (lease->user == acting_for)
		return;
	dlist_foreach(iter, &leases)
	{
		const AnagoLease *other = dlist_container(AnagoLease, node, iter.cur);

		held += other->user == lease->user ? other->held : 0;
	}
	anago_groups_act_for(&lease->role, held);
	acting_for = lease->user;
}

/* ---- begin and end ---- */

static void
tell_wants(AnagoLease *lease, int wants)
{
	uint32		others = pg_atomic_read_u32(&anago_slot->wants);

	/* (less than told: the process is about to end, with another slot) */
	others -= Min(others, lease->wants);
	if (wants != lease->wants)
		pg_atomic_write_u32(&anago_slot->wants, others + wants);
	if (wants > 0 && others + lease->wants == 0)
		anago_budgets_wake_guard();
	lease->wants = wants;
}

/* What the server has of it; memory of the query may be gone. */
static void
close_lease(AnagoLease *lease)
{
	if (!lease->open)
		return;
	lease->open = false;
	if (lease->held > 0)
	{
		act_for(lease);
		anago_slot_done(lease->held);
	}
	lease->held = 0;
	dlist_delete(&lease->node);
	tell_wants(lease, 0);
	anago_elastic_lease_ended();
	anago_slot_leave();
}

static void
on_reset(void *arg)
{
	close_lease(arg);
}

void
anago_lease_begin(AnagoLease *lease, AnagoBudget *query, Oid user,
				  const AnagoCounts *counts)
{
	lease->query = query;
	lease->user = user;
	anago_groups_name_role(user, &lease->role);
	lease->counts = counts;
	/* a rescan in a parallel query goes on counting */
	lease->reads = counts->reads + counts->sync_reads;
	lease->timed = counts->reads;
	lease->timed_us = counts->latency_us;
	lease->rows = counts->rows;
	lease->tasks = counts->tasks;
	lease->on_reset.func = on_reset;
	lease->on_reset.arg = lease;
	anago_slot_enter();
	anago_elastic_lease_begun();
	lease->open = true;
	dlist_push_tail(&leases, &lease->node);
	acting_for = InvalidOid;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &lease->on_reset);
}

void
anago_lease_end(AnagoLease *lease)
{
	Assert(lease->held == 0);
	close_lease(lease);
}

/* ---- taking ---- */

int
anago_lease_share(const AnagoLease *lease)
{
	int			share = lease->query != NULL ? anago_budget_share(lease->query) : INT_MAX;

	if (anago_budgets_limited() || anago_elastic_is_on())
	{
		int			allowed;

		act_for(lease);
		allowed = anago_slot_allowed();
		share = Min(share, allowed);
	}
	return share;
}

/* A query's budget has one at least for whoever has none: that is kept. */
int
anago_lease_take(AnagoLease *lease, int want)
{
	int			of_query = want;
	int			taken;

	if (lease->query != NULL)
		of_query = anago_budget_take(lease->query, want, lease->held);
	if (of_query == 0)
		return 0;
	act_for(lease);
	taken = anago_slot_take(of_query, lease->held);
	lease->is_short = taken == 0;
	lease->held += taken;
	if (lease->query != NULL && taken < of_query)
		anago_budget_give_back(lease->query, of_query - taken);
	return taken;
}

void
anago_lease_issued(AnagoLease *lease, int taken, int issued)
{
	if (lease->query != NULL)
		anago_budget_issued(lease->query, taken, issued);
	if (issued == taken)
		return;
	act_for(lease);
	lease->held -= taken - issued;
	anago_slot_done(taken - issued);
}

void
anago_lease_done(AnagoLease *lease)
{
	Assert(lease->held > 0);
	act_for(lease);
	lease->held--;
	anago_slot_done(1);
	if (lease->query != NULL)
		anago_budget_done(lease->query);
}

/* ---- telling ---- */

static inline void
tell_more(pg_atomic_uint64 *to, int64 *told, int64 now)
{
	if (now == *told)
		return;
	pg_atomic_write_u64(to, pg_atomic_read_u64(to) + (now - *told));
	*told = now;
}

void
anago_lease_tell(AnagoLease *lease, int wants, double latency_us)
{
	const AnagoCounts *counts = lease->counts;

	tell_wants(lease, wants);
	pg_atomic_write_u32(&anago_slot->latency_us, (uint32) Min(latency_us, PG_INT32_MAX));
	tell_more(&anago_slot->reads, &lease->reads, counts->reads + counts->sync_reads);
	tell_more(&anago_slot->timed, &lease->timed, counts->reads);
	tell_more(&anago_slot->timed_us, &lease->timed_us, counts->latency_us);
	tell_more(&anago_slot->rows, &lease->rows, counts->rows);
	tell_more(&anago_slot->tasks, &lease->tasks, counts->tasks);
	if (lease->query != NULL)
		pg_atomic_write_u32(&anago_slot->processes,
							anago_read_positive(&lease->query->users));
}

/* ---- sleeping ---- */

static void
sleep_ms(int ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 ms, wait_event());
	ResetLatch(MyLatch);
}

void
anago_lease_nap(AnagoLease *lease)
{
	AnagoShortage shortage;
	int			ms = anago_slot_wait(&shortage);

	sleep_ms(Max(ms, NAP_MS));
}

void
anago_lease_in_place(AnagoLease *lease)
{
	AnagoShortage shortage;
	int			ms;

	if (!anago_budgets_limited())
		return;
	act_for(lease);
	ms = anago_slot_in_place(&shortage);
	if (ms == 0)
		return;
	while (ms > 0)
	{
		pg_atomic_write_u32(&anago_slot->shortage, shortage);
		CHECK_FOR_INTERRUPTS();
		sleep_ms(ms);
		ms = anago_slot_wait(&shortage);
	}
	pg_atomic_write_u32(&anago_slot->shortage, ANAGO_SHORT_OF_NOTHING);
}
