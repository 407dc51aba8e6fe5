/*-------------------------------------------------------------------------
 *
 * transactions.h
 *	  What transactions of other sessions do, seen from outside.
 *
 * Nothing is asked of them.  Each process shows in shared memory the number of its
 * transaction and what it waits for; a look at all of them, about once in a
 * millisecond, counts how many transactions began and how long processes were busy
 * with some.  "Others" are client sessions that run no query of ours just then.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TRANSACTIONS_H
#define ANAGO_TRANSACTIONS_H

#include "postgres.h"

#include "resource/guard.h"

/* Before all else; in the memory context that is current. */
extern void anago_transactions_begin(void);

/*
 * A look, `ms` milliseconds after the one before, or after looks began again.  A transaction is late that a session
 * was busy with for `late_from_ms`, as looks tell.
 */
extern void anago_transactions_look(double ms, double late_from_ms);

/* What was seen since the last time, all of an AnagoGuardInput. */
extern void anago_transactions_seen(AnagoGuardInput *seen);

/* Sessions that are in a transaction just now, whatever they wait for. */
extern int	anago_transactions_running(void);

/*
 * Processes of ours that want reads, and how many they want; but for those that stand
 * still or are exempt.
 */
extern int	anago_transactions_queries(double *wants);

#endif							/* ANAGO_TRANSACTIONS_H */
