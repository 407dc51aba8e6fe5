/*-------------------------------------------------------------------------
 *
 * balance.h
 *	  From what was seen of a running server to HTAL's decision (htal.h), and from
 *	  its assignment to CPUs, and to limits of anago's queries.
 *
 * HTAL moves whole cores.  On few cores that is too much at a time, and with two
 * nothing could move at all, so what moves here are parts: on less than
 * ANAGO_BALANCE_PARTS cores each is cut into as many equal parts as make these.
 *
 *		2 cores		OLTP	OLAP		parts of 16: 1 is 1/8 of a core
 *		start		 8		 8			1 core each
 *		...			15		 1			1.875 and 0.125 cores
 *
 * CPUs are given whole, by these numbers rounded: OLTP and OLAP have one each where
 * there are two.  A class without a CPU of its own runs on all.  A CPU changes its
 * owner only if it has to.
 *
 * A pooler hands transactions out, if anybody does, and is no process of the server; the
 * balancer sleeps: no cores for dispatch, and none for it.  Log shipping has cores while
 * there are processes of it.  What waits in the pooler's queues waits for OLTP cores.  With
 * several queues these are key ranges; else all OLTP cores take from one, the kernel's.
 *
 * What waits is found in three parts.  Processes that use a CPU, and those that wait for
 * one, are in the kernel's figures: time by time.  A sample of what PostgreSQL says they
 * wait for would not have the second: who is woken by a new statement, and has no CPU
 * yet, is still at its old wait, without a transaction.  Other waits are sampled.
 *
 * Pure functions; neither this header nor balance.c includes postgres.h
 * (t/balance_test.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BALANCE_H
#define ANAGO_BALANCE_H

#include <stdbool.h>

#include "resource/htal.h"

/* So many parts, or as many as there are CPUs if that is more. */
#define ANAGO_BALANCE_PARTS		16

#define ANAGO_BALANCE_MAX_CPUS	1024

/* Less than that, a hundredth of a process in the mean, is no transactions. */
#define ANAGO_BALANCE_LEAST		0.01

/* Of a CPU that belongs to nobody. */
#define ANAGO_BALANCE_NO_OWNER	(-1)

/* What was seen in one period.  NaN: not known. */
typedef struct AnagoBalanceSeen
{
	double		ms;				/* how long it was */
	double		waiting;		/* OLTP processes that were in a transaction, and
								 * waited for something, but a CPU, mean */
	double		queueing_ms;	/* that these waited for a CPU, all together */
	int			queues;			/* of who hands transactions out; 0: nobody does, or it
								 * is not known */
	double		queueing_before;	/* transactions that wait in these, */
	double		queue_variance; /* and of their lengths */
	double		freshness;
	double		olap_iowait;	/* share of time of the CPUs of OLAP */
	double		cpu_ms[ANAGO_HTAL_CLASSES]; /* that processes of a class had one */
	int			processes[ANAGO_HTAL_CLASSES];
} AnagoBalanceSeen;

typedef struct AnagoBalance
{
	int			ncpus;
	int			parts;			/* of each */
	AnagoHtalCores of;			/* parts of each class */
	bool		shipping;		/* is there log shipping? */

	/* the latest decision, and what is seen of transactions */
	double		transactions;	/* processes that ran or waited, mean */
	AnagoHtalInputs inputs;
	AnagoHtalState state;
	AnagoHtalMove move;

	short		owner[ANAGO_BALANCE_MAX_CPUS];	/* AnagoHtalClass, or nobody */
} AnagoBalance;

/* Limits for queries of anago; 0: none. */
typedef struct AnagoBalanceLimits
{
	int			processes;
	int			reads;
} AnagoBalanceLimits;

extern void anago_balance_begin(AnagoBalance *balance, int ncpus);

/* One turn: inputs, state, move, and whose each CPU is. */
extern void anago_balance_step(AnagoBalance *balance,
							   const AnagoHtalThresholds *thresholds,
							   const AnagoBalanceSeen *seen);

/* Cores of a class. */
extern double anago_balance_cores(const AnagoBalance *balance, int class);

/*
 * While there are transactions, queries have as many processes as OLAP has cores, and
 * the same share of `most_reads` as of cores; else there is no limit.
 */
extern AnagoBalanceLimits anago_balance_limits(const AnagoBalance *balance,
											   int most_reads);

/* While there are transactions, a class may use so many cores; 0: any number. */
extern double anago_balance_quota(const AnagoBalance *balance, int class);

#endif							/* ANAGO_BALANCE_H */
