/*-------------------------------------------------------------------------
 *
 * elastic.h
 *	  A running query gains and loses processes and reads.
 *
 * Processes of a parallel query that are not to work just now are parked: they sleep in
 * their run loop, between two tasks.  Tasks stay where they are; what has been published
 * of them others take.  Nothing is read meanwhile, and nothing pinned or locked.
 *
 * Who is parked is decided for all by whoever comes first when the latest decision is
 * ANAGO_DECIDE_US old (parking.h), as it is with the level of reads: by what each process
 * shows in its slot of where it is, and the limits,
 *
 *		anago.server_processes		of all queries of the server
 *		the guard's					the same, while transactions lack a CPU
 *		the balancer's				the same, by OLAP's cores
 *		anago_set_resources()		of one query: processes, and reads in flight
 *
 * A parked process decides, too, so that it is awake some milliseconds after the last
 * one that was at work has ended, or sleeps elsewhere.
 *
 *		NONE --> INSIDE <--> OUTSIDE		the run loop; core's code, child plans
 *					|	<--> WAITING		for others to have work
 *					+	<--> PARKED
 *
 * What a query was given by anago_set_resources() is in the slot of its leader, in one
 * word with a number of the query, so that none can be set for the next one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ELASTIC_H
#define ANAGO_ELASTIC_H

#include "postgres.h"

#include <limits.h>

#include "resource/budgets.h"

/* How old a decision may be; how long a parked process sleeps before it looks. */
#define ANAGO_DECIDE_US		2000
#define ANAGO_PARKED_MS		4

/* Is there any limit? */
static inline bool
anago_elastic_is_on(void)
{
	return (anago_budgets_limit(ANAGO_LIMIT_PROCESSES) |
			anago_governed_processes() |
			pg_atomic_read_u32(&anago_budgets->controls)) != 0;
}

extern void anago_elastic_decide(void);

/* See to it that what is decided is not too old. */
static inline void
anago_elastic_keep(void)
{
	if (anago_elastic_is_on())
		anago_elastic_decide();
}

/* Does the process of that slot work for a query of ours, or would if it were let? */
extern bool anago_elastic_works(int slot);

/* Is this process to be parked (still)? */
extern bool anago_elastic_is_parked(void);

/* Reads that the process may have in flight by its query's own limit. */
static inline int
anago_elastic_reads(void)
{
	uint32		own = pg_atomic_read_u32(&anago_slot->own_limit);

	return own > 0 && anago_elastic_is_on() ? (int) own : INT_MAX;
}

/* And all processes of the query together; 0: no limit. */
static inline int
anago_elastic_bound(void)
{
	return (int) pg_atomic_read_u32(&anago_budgets->slots[anago_slot->query].query_bound);
}

/* ---- what a process tells ---- */

static inline void
anago_elastic_phase(AnagoPhase phase)
{
	pg_atomic_write_u32(&anago_slot->phase, phase);
}

/*
 * A plan node of a statement begins, in the statement's leader; it ends with
 * CurrentMemoryContext.
 */
extern void anago_elastic_enter(void);

/* This process, which has a lease, takes part in a query of so many processes. */
extern void anago_elastic_participate(int planned);

/* It has one page layer more, or one less. */
extern void anago_elastic_lease_begun(void);
extern void anago_elastic_lease_ended(void);

/* ---- for the view ---- */

/* Processes of the query of that slot; false: it has but one. */
extern bool anago_elastic_processes(const AnagoSlot *slot, int *awake, int *planned);

#endif							/* ANAGO_ELASTIC_H */
