/*-------------------------------------------------------------------------
 *
 * page.h
 *	  "Give me this block": pages for tasks, without waiting.
 *
 * A caller that wants a block names itself by an AnagoWaiter, which it embeds
 * in its own task.  anago_page_get() either answers at once with a pinned
 * buffer, or it takes the waiter in and returns InvalidBuffer; the waiter is
 * then handed to the wake callback once its block is near, and the caller
 * asks again, with the same waiter, for the same block.  That second call
 * always answers with a buffer (or raises the error that stock PostgreSQL
 * raises for that block).
 *
 * Invariants
 *	- a waiter is in at most one list: of one read, or of nobody;
 *	- two waiters that want the same block share one read;
 *	- reads on their way <= window <= max_inflight <= ANAGO_MAX_INFLIGHT (guc.h); those
 *	  of all processes of a parallel query together are within its budget, and
 *	  those of all queries within the server's (resource/);
 *	- between calls this layer holds no pin but those of reads that the
 *	  `pgaio` method has on their way or that nobody has collected yet, and
 *	  these stay within the backend's pin limit;
 *	- hits + collected + shared_reads + sync_reads of the counters is the number
 *	  of requests, but for waiters that did not come back, and blocks that were
 *	  read but evicted before the last of their waiters came.
 *
 * Portions of the reasoning follow PostgreSQL's read_stream.c (look-ahead
 * distance that doubles while it pays) and aio/README.md.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PAGE_H
#define ANAGO_PAGE_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "page/waiter.h"
#include "shared/budget.h"

/* The window of reads in flight starts here and doubles while it pays. */
#define ANAGO_WINDOW_START	4

/*
 * Reads that may be in flight before any has been of use.  From there on the
 * window is no wider than the number of blocks that were read and used since
 * the scan began, so that a query that stops early (LIMIT, EXISTS, a closed
 * cursor) has read no more than twice the blocks it used and these.  Cf. the
 * look-ahead distance of read_stream.c, which doubles as blocks are consumed.
 */
#define ANAGO_WINDOW_UNPAID	16

/*
 * Begin: memory comes from CurrentMemoryContext and lives as long as it.
 * `synchronous` makes every call answer at once, by ReadBuffer()
 * (anago.mode = serial).  `budget` bounds the reads in flight of all processes
 * of a parallel query, or is NULL; `user` is whose rights the query has.  What happens is
 * added to `counts`.  The I/O method is picked by anago.io_method at the first block that
 * is not in shared buffers.
 */
extern AnagoPages *anago_pages_begin(bool synchronous, int max_inflight,
									 AnagoBudget *budget, Oid user,
									 AnagoCounts *counts);

/* Whom to wake; before the first request. */
extern void anago_pages_set_wake(AnagoPages *pages, AnagoWakeCallback wake,
								 void *arg);

/*
 * Forget all waiters and reads; pins go; nothing is waited for.  Waiters are
 * not touched: zero them before they are used again.  The I/O method is let go
 * with its memory and begins again at the next miss: this is for the end of a
 * scan as for its beginning.
 */
extern void anago_pages_reset(AnagoPages *pages);

/* As reset; the last call. */
extern void anago_pages_end(AnagoPages *pages);

/* See top.  Main fork only. */
extern PGDLLEXPORT Buffer anago_page_get(AnagoPages *pages, Relation rel, BlockNumber blkno,
							 AnagoWaiter *waiter);

/*
 * The block, if no other is on its way and this one can be had at once; else
 * InvalidBuffer, and anago_page_get() is the way to it.  While nothing is on its
 * way nobody waits, so that whoever goes on with page after page by this call
 * keeps no other task from running and no device from work.  Main fork only.
 */
extern PGDLLEXPORT Buffer anago_page_try(AnagoPages *pages, Relation rel, BlockNumber blkno);

/*
 * May the relation's pages be looked for in shared buffers?  Not where all is to be answered one by
 * one, and where the simulator has a say in hits.
 */
extern PGDLLEXPORT bool anago_page_may_be_near(const AnagoPages *pages, Relation rel);

/* The block, pinned, if the hint is right about where it is; else InvalidBuffer. */
extern PGDLLEXPORT Buffer anago_page_again(AnagoPages *pages, Relation rel, BlockNumber blkno,
										   Buffer hint);

/*
 * Issue wanted reads as far as the window has room, collect finished ones and
 * wake their waiters.  With `wait`, sleep until at least one waiter was woken
 * (interruptible; wait event AnagoPageRead); asserts that something is wanted
 * or on its way.
 */
extern void anago_pages_pump(AnagoPages *pages, bool wait);

/* Collect finished reads and wake their waiters, no more. */
extern void anago_pages_collect(AnagoPages *pages);

/*
 * Wait until no read is on its way, and issue none.  True, and sooner: there are pages
 * that have come and are pinned until their waiters come back.
 */
extern bool anago_pages_settle(AnagoPages *pages);

/* Have anago_activity show how far this has come; the pump does so, too. */
extern void anago_pages_tell(AnagoPages *pages);

/* Reads wanted but not yet issued; reads on their way. */
extern int	anago_pages_wanted(const AnagoPages *pages);
extern int	anago_pages_inflight(const AnagoPages *pages);

/* Neither: no task waits, and the device has nothing to do for us. */
static inline bool
anago_pages_are_idle(const AnagoPages *pages)
{
	return anago_pages_wanted(pages) + anago_pages_inflight(pages) == 0;
}

/* Reads that may now be in flight together; the run loop sizes itself by it. */
extern int	anago_pages_window(const AnagoPages *pages);

/* Name of the I/O method in use, as in anago.io_method; "": none yet. */
extern const char *anago_pages_method(const AnagoPages *pages);

#endif							/* ANAGO_PAGE_H */
