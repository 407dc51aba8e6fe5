/*-------------------------------------------------------------------------
 *
 * wal.h
 *	  Write-ahead log of a statement that goes through many pages.
 *
 * The first change of a page after a checkpoint puts all of it into the log.  A
 * statement whose pages come fast fills the log's buffers between two rounds of the
 * WAL writer, every 200 ms, and then writes them out itself, a page at a time, with
 * whatever it holds locked, and syncs each segment that is full.  So the WAL writer
 * is woken whenever this process has added a part of the buffers.  It writes and
 * syncs no more than it would have a little later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_WAL_H
#define ANAGO_WAL_H

#include "postgres.h"

#include "executor/instrument.h"

/* What this process has added when the WAL writer is to be woken next, in bytes. */
extern uint64 anago_wal_wake_at;

/* Wake it, if it is there. */
extern void anago_wal_wake(void);

/* A row leaves a node below a change: is it time? */
static inline void
anago_wal_row(void)
{
	if (unlikely(pgWalUsage.wal_bytes >= anago_wal_wake_at))
		anago_wal_wake();
}

#endif							/* ANAGO_WAL_H */
