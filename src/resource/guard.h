/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  How many reads and processes queries may have, so that transactions are hardly
 *	  slower.
 *
 * The controller: a pure function of what was seen since the last time, and of a
 * state.  Neither this header nor guard.c includes postgres.h, and no clock is
 * looked at (t/guard_test.c invents what is seen).  Who looks, and puts into
 * effect what is decided, is guard_worker.c.
 *
 * A transaction's latency is the time that processes were busy with transactions,
 * by the number of these.  Where there are many short ones, two tails are looked at,
 * too (tail.h): that of transactions, and that of wake-ups of the guard's own process,
 * which waits for a CPU as whoever else wakes, a client that got its row, say, which no
 * session shows.  The worst of the three is what counts.  What they are without us is
 * learnt while no query of ours runs, and where one does by holding it up for a moment,
 * now and then, at first more often:
 *
 *		IDLE		no queries of ours: what transactions take is learnt
 *		FREE		no transactions: queries have everything
 *		PROBE		queries are held up: what transactions take is learnt
 *		LIMITS		the budget follows the slowdown
 *
 *		IDLE, FREE -- no queries --> IDLE
 *		PROBE, LIMITS -- no queries for GUARD_QUIET_MS --> IDLE
 *		any -- no transactions for GUARD_QUIET_MS --> FREE
 *		IDLE, FREE -- both --> PROBE, or LIMITS if what was learnt is not old
 *		PROBE -- enough was seen --> LIMITS
 *		LIMITS -- what was learnt is old --> PROBE
 *
 * Where more processes want to run than there are CPUs, parallel queries lose processes,
 * down to one each, and have them back where a CPU is idle and transactions are fast
 * enough; where these are too slow, queries lose reads.
 *
 * The budget is a number of reads in flight.  Below 1 it is the part of the time in
 * which there may be any: 0.25 is 1 read, for a quarter of the time.
 *
 * Invariants
 *	- ANAGO_GUARD_LEAST <= budget <= most, 1 <= processes <= ANAGO_GUARD_PROCESSES,
 *	  and all of it where the state is IDLE or FREE;
 *	- a probe lasts no longer than GUARD_PROBE_MAX_MS.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_GUARD_H
#define ANAGO_GUARD_H

#include <stdbool.h>

#include "resource/tail.h"

/* The least budget: queries always get on. */
#define ANAGO_GUARD_LEAST	0.05

/* So many processes are as good as no limit. */
#define ANAGO_GUARD_PROCESSES	4096

typedef enum AnagoGuardState
{
	ANAGO_GUARD_IDLE,
	ANAGO_GUARD_FREE,
	ANAGO_GUARD_PROBE,
	ANAGO_GUARD_LIMITS
} AnagoGuardState;

/* What was seen in the `ms` milliseconds since the last time. */
typedef struct AnagoGuardInput
{
	double		ms;
	int			queries;		/* processes of ours that want reads, or have some */
	double		wants;			/* reads in flight that these would have */
	double		transactions;	/* that began */
	int			workers;		/* processes of parallel queries of ours that work,
								 * or would, */
	int			parallel;		/* and how many queries these are */
	double		busy_ms;		/* of processes that began some: sum of time in
								 * which these did not wait for their client */
	double		late_ms;		/* of this, with transactions that were late already */
	double		wakes;			/* sleeps of the guard's process, */
	double		late_wakes_ms;	/* and by how much these were too long */
	double		others;			/* processes, mean, that were busy with one
								 * transaction all the time */
	double		others_io;		/* of these, the part that waited for reads, 0..1 */
	double		read_us;		/* mean latency of our reads; 0: there were none */
	double		runnable;		/* processes that a CPU has or that wait for one */
	int			cpus;
} AnagoGuardInput;

typedef struct AnagoGuard
{
	AnagoGuardState state;
	double		in_state_ms;
	double		budget;			/* reads in flight */
	int			processes;		/* of parallel queries, that may work */
	double		resume;			/* after a probe: with this budget, */
	int			resume_processes;	/* and these */
	int			calm;			/* judgements in a row that all is well */
	bool		edge_seen;		/* the budget was too large once, since there are
								 * transactions */
	double		crowd;			/* processes that a CPU has or that wait for one, mean */
	double		parked_ms;		/* since some were parked */
	double		quiet_ms;		/* since the latest transaction was seen */
	double		away_ms;		/* since a query wanted reads */

	/* what was learnt */
	double		unloaded_us;	/* a transaction's latency; 0: not known */
	double		age_ms;			/* since that was seen */
	double		read_unloaded_us;	/* least mean latency of our reads; 0: ... */
	AnagoTail	tail;			/* of transactions */
	AnagoTail	wakes_tail;
	int			probes;			/* in which tails were not known */
	double		rate;			/* transactions in a millisecond, mean of a second */
	double		wanted;			/* reads in flight that queries would have, the latest */

	/* what is gathered until it is enough to judge by */
	double		transactions;
	double		busy_ms;
	double		late_ms;
	double		wakes;
	double		late_wakes_ms;
	double		gathered_ms;

	/* the latest judgement, for the view */
	double		latency_us;
	double		slowdown;		/* of the mean; anago_guard_slowdown() has all */
} AnagoGuard;

/* Begin: everything is everybody's. */
extern void anago_guard_init(AnagoGuard *guard, int most);

/*
 * One turn; returns the budget, and guard->processes is what else there may be.
 * `target` is the slowdown that is put up with, above 1; `most` reads is as good as
 * no limit.
 */
extern double anago_guard_step(AnagoGuard *guard, const AnagoGuardInput *seen,
							   double target, int most);

/* The slowdown that counts: of the mean or of a tail, what is most. */
extern double anago_guard_slowdown(const AnagoGuard *guard);

/* From which latency on, in milliseconds, a transaction is late: 0.5 or more. */
extern double anago_guard_late_from_ms(const AnagoGuard *guard);

/* For messages. */
extern const char *anago_guard_state_name(AnagoGuardState state);

#endif							/* ANAGO_GUARD_H */
