/*-------------------------------------------------------------------------
 *
 * swap_memory.h
 *	  What the processes of the swap of two standbys share, and SQL shows.
 *
 * In main shared memory alone: without preloading there are no such processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SWAP_MEMORY_H
#define ANAGO_SWAP_MEMORY_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "resource/swap.h"

#define ANAGO_SWAP_ERROR	256

/* This standby, by its process. */
typedef struct AnagoSwapReport
{
	int			pid;			/* 0: there is none */
	AnagoSwapServer server;
	AnagoSwapReason reason;
	TimestampTz since;
	bool		stands_still;	/* replay */
	int			transactions;
} AnagoSwapReport;

/* The other one, by the process that asks it. */
typedef struct AnagoSwapOther
{
	int			pid;			/* 0: there is none */
	TimestampTz at;				/* of the latest answer; 0: none yet, */
	uint64		heard;			/* and in ns of anago_budgets_now() */
	AnagoSwapServer server;
	char		error[ANAGO_SWAP_ERROR];	/* empty: it answers */
} AnagoSwapOther;

/* From _PG_init. */
extern void anago_swap_memory_init(void);

/* Without memory all is 0. */
extern AnagoSwapReport anago_swap_report(void);
extern AnagoSwapOther anago_swap_other(void);
extern void anago_swap_set_report(const AnagoSwapReport *report);
extern void anago_swap_set_other(const AnagoSwapOther *other);

/* Without a lock. */
extern int	anago_swap_other_pid(void);

#endif							/* ANAGO_SWAP_MEMORY_H */
