/*-------------------------------------------------------------------------
 *
 * meet.h
 *	  What a scheduler is told of other processes, and of the order of rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MEET_H
#define ANAGO_MEET_H

#include "postgres.h"

#include "port/atomics.h"

typedef struct AnagoSched AnagoSched;

/*
 * How a scheduler meets the others of a parallel query.
 *
 * feed() is asked when nothing is ready to run: true if it has spawned a task.
 * tick() is told every ANAGO_TICK_INTERVAL tasks how many live; false: all is
 * to stop.  While *hold is not 0 no task runs: rest() is called, with no read on
 * its way and no page pinned for a task, and returns when work may go on; false as
 * for tick().
 */
typedef struct AnagoSchedPeers
{
	bool		(*feed) (void *arg);
	bool		(*tick) (void *arg, int nlive);
	bool		(*rest) (void *arg);
	pg_atomic_uint32 *hold;		/* or NULL */
	void	   *arg;
} AnagoSchedPeers;

/*
 * Where rows are to leave in order (places.h): depths from `ndepths` on have no
 * places, and those below `bounded` are where places are begun.  turn() is told
 * that rows which are kept at the head may leave.  turn NULL: in no order.
 */
typedef struct AnagoSchedOrder
{
	int			ndepths;
	int			bounded;
	void		(*turn) (void *arg);
	void	   *arg;
} AnagoSchedOrder;

#endif							/* ANAGO_MEET_H */
