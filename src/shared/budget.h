/*-------------------------------------------------------------------------
 *
 * budget.h
 *	  Reads in flight, bounded over all processes of one query.
 *
 * Each process takes from the budget before it issues reads, and gives back
 * as they are complete.  One read is free to each process that has none on
 * its way, so that nobody starves; room for these is kept:
 *
 *		reads in flight <= Max(limit, processes)
 *
 * What one process may take at most is its share of the limit, which grows as
 * others leave.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BUDGET_H
#define ANAGO_BUDGET_H

#include "postgres.h"

#include "port/atomics.h"

typedef struct AnagoBudget
{
	uint32		limit;			/* reads */
	uint32		reserved;		/* processes, each of which has one for free */
	pg_atomic_uint32 inflight;
	pg_atomic_uint32 peak;		/* most at one time */
	pg_atomic_uint32 users;		/* processes that have work */
} AnagoBudget;

static inline void
anago_budget_init(AnagoBudget *budget, int limit, int processes)
{
	budget->limit = Max(limit, processes);
	budget->reserved = processes;
	pg_atomic_init_u32(&budget->inflight, 0);
	pg_atomic_init_u32(&budget->peak, 0);
	pg_atomic_init_u32(&budget->users, 0);
}

/* What one process may have in flight now. */
static inline int
anago_budget_share(AnagoBudget *budget)
{
	uint32		users = pg_atomic_read_u32(&budget->users);

	return Max(budget->limit / Max(users, 1), 1);
}

/*
 * Take up to `want` reads; returns how many were had.  `own` is what this
 * process has in flight already.
 */
static inline int
anago_budget_take(AnagoBudget *budget, int want, int own)
{
	uint32		now = pg_atomic_read_u32(&budget->inflight);
	uint32		peak = pg_atomic_read_u32(&budget->peak);
	int			granted;

	do
	{
		int			open = (int) (budget->limit - budget->reserved) - (int) now;

		granted = Max(Min(want, open), own == 0 ? 1 : 0);
		if (granted == 0)
			return 0;
	} while (!pg_atomic_compare_exchange_u32(&budget->inflight, &now,
											 now + granted));

	now += granted;
	Assert(now <= budget->limit);
	while (now > peak &&
		   !pg_atomic_compare_exchange_u32(&budget->peak, &peak, now))
		;
	return granted;
}

static inline void
anago_budget_give(AnagoBudget *budget, int n)
{
	Assert(pg_atomic_read_u32(&budget->inflight) >= (uint32) n);
	pg_atomic_fetch_sub_u32(&budget->inflight, n);
}

#endif							/* ANAGO_BUDGET_H */
