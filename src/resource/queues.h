/*-------------------------------------------------------------------------
 *
 * queues.h
 *	  What waits before the server: the queues of whoever hands transactions out to it.
 *
 * A pooler knows.  What it has to say a query of the DBA's fetches, anago.balancer_queues,
 * with a row for each queue and its length in the first column:
 *
 *		SELECT cl_waiting FROM public.dblink('host=/run/pgbouncer dbname=pgbouncer ...',
 *			'SHOW POOLS') AS pools(database text, ..., cl_waiting int, ...)
 *
 * So this library needs no libpq, and any pooler will do that SQL can reach.
 *
 *		balancer				anago queues, in anago.balancer_database
 *		--------				----------------------------------------
 *		starts it				in each period: the query
 *		report		<-----		how many queues, what waits, the variance
 *
 * The query has a process of its own, as it may take its time: the balancer never waits for
 * a pooler.  A report that is older than some periods is none.  Then it is not known what
 * waits, nobody is favoured, and all stays as it is until there is one again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_QUEUES_H
#define ANAGO_QUEUES_H

#include "postgres.h"

/* What waits in all of them; NaN: not known. */
typedef struct AnagoQueues
{
	int			n;				/* 0: nobody was to be asked */
	double		waiting;
	double		variance;		/* of their lengths, of the whole population */
} AnagoQueues;

/* For the balancer, in each period: see to it that there is a process if it is wanted. */
extern void anago_queues_keep(void);
extern AnagoQueues anago_queues_now(void);
extern void anago_queues_end(void);

/* The process. */
extern PGDLLEXPORT void anago_queues_main(Datum arg);

#endif							/* ANAGO_QUEUES_H */
