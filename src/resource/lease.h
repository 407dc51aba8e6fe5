/*-------------------------------------------------------------------------
 *
 * lease.h
 *	  What one page layer has of all budgets above it.
 *
 * A page layer asks here before it issues reads, and says when they are complete.
 * What it is granted has been granted by its query's budget, if that is parallel,
 * and by the server's.  However it ends, by an error as well, the server has
 * back what it held; a query that fails takes its own budget with it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_LEASE_H
#define ANAGO_LEASE_H

#include "postgres.h"

#include "lib/ilist.h"

#include "counts.h"
#include "shared/budget.h"

typedef struct AnagoLease
{
	AnagoBudget *query;			/* of a parallel query, or NULL */
	const AnagoCounts *counts;	/* what is told of them */
	bool		open;
	bool		is_short;		/* the server granted nothing, when last asked */
	int			held;			/* reads */
	Oid			user;			/* whose rights the query has, */
	NameData	role;			/* and what that one is called */
	dlist_node	node;			/* of those that are open */
	int			wants;			/* as told */
	int64		reads;
	int64		timed;
	int64		timed_us;
	int64		rows;
	int64		tasks;
	MemoryContextCallback on_reset;
} AnagoLease;

/*
 * Begin, in zeroed memory of CurrentMemoryContext, of a query with the rights of
 * `user`; with that memory it ends, if not before.  May look up catalogs.
 */
extern void anago_lease_begin(AnagoLease *lease, AnagoBudget *query, Oid user,
							  const AnagoCounts *counts);
extern void anago_lease_end(AnagoLease *lease);

/* What may be in flight now. */
extern int	anago_lease_share(const AnagoLease *lease);

/*
 * Of `want` reads, how many may be issued; these are to be told of by
 * anago_lease_issued(), which gives the others back, and one by one by
 * anago_lease_done().
 */
extern int	anago_lease_take(AnagoLease *lease, int want);
extern void anago_lease_issued(AnagoLease *lease, int taken, int issued);
extern void anago_lease_done(AnagoLease *lease);

/*
 * How many reads there would be in flight, if there might; how long they last, or 0;
 * what is counted.
 */
extern void anago_lease_tell(AnagoLease *lease, int wants, double latency_us);

/* Is nothing in flight because the server grants nothing?  Then sleep a little. */
static inline bool
anago_lease_is_short(const AnagoLease *lease)
{
	return lease->is_short && lease->held == 0;
}

extern void anago_lease_nap(AnagoLease *lease);

/*
 * A block was read from the device in place; sleeps for as long as the server's
 * reads per second want it.  May raise an error, if that is a cancel.
 */
extern void anago_lease_in_place(AnagoLease *lease);

#endif							/* ANAGO_LEASE_H */
