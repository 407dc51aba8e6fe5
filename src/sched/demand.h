/*-------------------------------------------------------------------------
 *
 * demand.h
 *	  How many rows may yet be wanted, and what work that is worth.
 *
 * A query with LIMIT, EXISTS or a cursor may stop at any row.  What is begun
 * by then is in vain, so no more is begun than what has ended pays for, and no
 * more than the rows that may yet be wanted are expected to take:
 *
 *		tasks that may live at a depth = min(2 * window, paid, needed)
 *
 *		paid	one, or one for each `patience` tasks that have ended there
 *		needed	(rows left - rows expected of what lives as deep or deeper) /
 *				rows that a task there has given so far
 *
 * Paid is all there is to go by where the number of rows is not known: then what
 * is begun at a depth in vain is a small part of what has ended there.  As it is
 * in part the beginning of what deeper depths do in vain, patience is to grow
 * with the pipeline's length.  Where the number is known, and some rows have
 * left, a task that is needed twice over need not be paid as dearly.
 *
 * In a parallel query the rows of all processes count, and each may expect to
 * give its share of those that are left (shared/quota.h).
 *
 * Why no task waits forever: where nothing as deep or deeper lives, one task
 * may be begun at any depth.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_DEMAND_H
#define ANAGO_DEMAND_H

#include "postgres.h"

#include "sched/task.h"
#include "shared/quota.h"

typedef struct AnagoDemand
{
	int			patience;		/* tasks that end before one more is begun; 0:
								 * all rows are wanted */
	int64		wanted;			/* rows at most, or 0: not known */
	AnagoQuota *quota;			/* of all processes together, or NULL */
	int64		given;			/* rows that have left, unless patience is 0 */
	int64		ended[ANAGO_MAX_DEPTHS];	/* tasks */
	int64		ended_then[ANAGO_MAX_DEPTHS];	/* when the latest row left */
} AnagoDemand;

/* A scan begins. */
extern void anago_demand_begin(AnagoDemand *demand, int patience, int64 wanted,
							   AnagoQuota *quota);

/* A row has left. */
extern void anago_demand_row(AnagoDemand *demand, int ndepths);

/*
 * Of `most` tasks, how many may live at that depth?  `live`: how many do, by
 * depth.  Patience is not 0.
 */
extern int	anago_demand_bound(const AnagoDemand *demand, const int *live,
							   int ndepths, int depth, int most);

/*
 * Where rows leave in order: of `most` places, how many may wait for their turn
 * once that of `retired` has been?
 */
extern int	anago_demand_places(const AnagoDemand *demand, int64 retired, int most);

static inline void
anago_demand_task_ended(AnagoDemand *demand, int depth)
{
	demand->ended[depth]++;
}

#endif							/* ANAGO_DEMAND_H */
