/*-------------------------------------------------------------------------
 *
 * budget.h
 *	  Reads in flight, bounded over all processes of one query.
 *
 * Each process takes from the budget before it issues reads, gives back what it
 * could not issue after all, and the rest as they are complete.  One read is free
 * to each process that has none on its way, so that nobody starves; room for
 * these is kept:
 *
 *		reads in flight <= reads taken <= Max(limit, processes)
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
	pg_atomic_uint32 taken;
	pg_atomic_uint32 inflight;	/* of these, issued */
	pg_atomic_uint32 peak;		/* most in flight at one time */
	pg_atomic_uint32 users;		/* processes that have work */
} AnagoBudget;

static inline void
anago_budget_init(AnagoBudget *budget, int limit, int processes)
{
	budget->limit = Max(limit, processes);
	budget->reserved = processes;
	pg_atomic_init_u32(&budget->taken, 0);
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
	uint32		now = pg_atomic_read_u32(&budget->taken);
	int			granted;

	do
	{
		int			open = (int) (budget->limit - budget->reserved) - (int) now;

		granted = Max(Min(want, open), own == 0 ? 1 : 0);
		if (granted == 0)
			return 0;
	} while (!pg_atomic_compare_exchange_u32(&budget->taken, &now,
											 now + granted));
	Assert(now + granted <= budget->limit);
	return granted;
}

/* So many that were taken are not to be issued. */
static inline void
anago_budget_give_back(AnagoBudget *budget, int n)
{
	pg_atomic_fetch_sub_u32(&budget->taken, n);
}

/* Of `taken` reads, so many have been issued; the others are given back. */
static inline void
anago_budget_issued(AnagoBudget *budget, int taken, int issued)
{
	uint32		now = pg_atomic_add_fetch_u32(&budget->inflight, issued);
	uint32		peak = pg_atomic_read_u32(&budget->peak);

	Assert(issued <= taken);
	while (now > peak &&
		   !pg_atomic_compare_exchange_u32(&budget->peak, &peak, now))
		;
	if (issued < taken)
		anago_budget_give_back(budget, taken - issued);
}

/* One is in flight no longer. */
static inline void
anago_budget_done(AnagoBudget *budget)
{
	pg_atomic_fetch_sub_u32(&budget->inflight, 1);
	pg_atomic_fetch_sub_u32(&budget->taken, 1);
}

#endif							/* ANAGO_BUDGET_H */
