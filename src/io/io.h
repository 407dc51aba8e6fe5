/*-------------------------------------------------------------------------
 *
 * io.h
 *	  Ways of bringing blocks in: one const table of functions per method.
 *
 * The life of one read, as the page layer drives it:
 *
 *		issue() -> on its way -> poll() returns it -> finish() -> buffer
 *
 * forget() may take the place of everything after issue().  A method whose
 * reads are only hints (`uring`, `sim`) never fails: a read that went wrong is
 * returned by poll() like any other, and the ReadBuffer() in finish() then
 * raises whatever PostgreSQL itself raises for that block.
 *
 * Invariants
 *	- an accepted read is returned by poll() exactly once, unless forgotten;
 *	- reads on their way (and, where ops->holds_pins, reads not yet finished
 *	  or forgotten) <= max_inflight of the AnagoIo;
 *	- in pgBufferUsage a block counts as read from issue() on, whether or not
 *	  it is finished: BUFFERS has what the device was asked for;
 *	- only finish(), and issue() of a method with holds_pins, raise errors;
 *	- what the kernel or another process may still write to (ring, scratch
 *	  area, ReadBuffersOperation) is in memory that lives as long as the
 *	  process, so that an AnagoIo may vanish at any time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_IO_H
#define ANAGO_IO_H

#include "postgres.h"

#include "portability/instr_time.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/rel.h"

typedef struct AnagoIoMethodOps AnagoIoMethodOps;

/* Longest uninterruptible sleep, so that a cancel is heard soon. */
#define ANAGO_IO_WAIT_MS	10

/* What became of a read that issue() accepted. */
typedef enum AnagoIoIssue
{
	ANAGO_IO_ISSUED,			/* it is on its way */
	ANAGO_IO_NO_DESCRIPTOR,		/* a hint that could not be made: finish() */
	ANAGO_IO_NO_RING			/* will wait for the device */
} AnagoIoIssue;

/* One block to be read; embedded in the page layer's own struct. */
typedef struct AnagoIoRead
{
	Relation	rel;			/* main fork, not temporary */
	BlockNumber blkno;
	int			slot;			/* the method's; -1 unless issued */
	AnagoIoIssue issue;			/* set by issue() of `uring`; else ISSUED */
	bool		inlined;		/* was complete when submission returned: no
								 * device was waited for */
} AnagoIoRead;

/*
 * One user of a method, for one query in one process.  Methods embed it as
 * their first member.  It lives in the memory context that was current at
 * anago_io_begin(); a reset callback of that context ends it if an error
 * keeps anago_io_end() from being called.
 */
typedef struct AnagoIo
{
	const AnagoIoMethodOps *ops;
	int			max_inflight;
	bool		ended;
	MemoryContextCallback on_reset;
} AnagoIo;

struct AnagoIoMethodOps
{
	const char *name;			/* as in anago.io_method */
	bool		holds_pins;		/* keeps the block pinned from issue on */
	bool		simulated;		/* what reads take says nothing of a device */

	/*
	 * May the method be used in this process?  If not, *why is set to a
	 * message (static storage) and *hint to a sentence or NULL.
	 */
	bool		(*available) (const char **why, const char **hint);

	/* Allocate and set up; `base` members are filled in by io.c. */
	AnagoIo    *(*begin) (int max_inflight);

	/*
	 * Give back what outlives memory; must not raise, touch a buffer or wait.
	 * The page layer has forgotten every read unless an error is under way.
	 */
	void		(*end) (AnagoIo *io);

	/* Reads that could be on their way together; 0: use ReadBuffer(). */
	int			(*capacity) (const AnagoIo *io);

	/*
	 * For the planner: of max_inflight reads, how many would the method keep
	 * going at the same time, if it began now?  It is available.
	 */
	int			(*expect) (int max_inflight);

	/* Start reads[0..n-1] in order; returns how many were accepted. */
	int			(*issue) (AnagoIo *io, AnagoIoRead **reads, int n);

	/* Put up to `max` completed reads into done[]; never waits. */
	int			(*poll) (AnagoIo *io, AnagoIoRead **done, int max);

	/*
	 * Sleep until some read may have completed; at most about
	 * ANAGO_IO_WAIT_MS unless interrupts are served meanwhile.  Interrupts
	 * are the caller's business.
	 */
	void		(*wait) (AnagoIo *io);

	/* Pinned, valid buffer of a completed read.  Raises core's errors. */
	Buffer		(*finish) (AnagoIo *io, AnagoIoRead *read);

	/*
	 * An accepted, not yet finished read is no longer wanted.  No waiting.
	 * The relation is still open.
	 */
	void		(*forget) (AnagoIo *io, AnagoIoRead *read);

	/* Treat this resident block as absent?  NULL: never.  (sim) */
	bool		(*hide_hit) (AnagoIo *io);
};

extern const AnagoIoMethodOps anago_io_sync_ops;
extern const AnagoIoMethodOps anago_io_uring_ops;
extern const AnagoIoMethodOps anago_io_pgaio_ops;
extern const AnagoIoMethodOps anago_io_sim_ops;

/*
 * Pick the method by anago.io_method (see io.c) and begin.  max_inflight is
 * between 1 and the page layer's hard bound.
 */
extern AnagoIo *anago_io_begin(int max_inflight);

/* End; the memory goes with its context. */
extern void anago_io_end(AnagoIo *io);

/*
 * How many reads would overlap in a query that began now; at most max_inflight,
 * 0 or 1: none.  The method is picked as by anago_io_begin(), so that a
 * process that plans tries to have its ring, once.
 */
extern int	anago_io_expect(int max_inflight);

/*
 * Times in this process that a query found a method refused and took the next
 * one.
 */
extern int64 anago_io_fallbacks(void);

/*
 * Around a wait for reads in which core counts no time of its own: with
 * track_io_timing it counts as time of reads (BUFFERS, pg_stat_io, database).
 */
extern instr_time anago_io_timing_start(void);
extern void anago_io_timing_end(instr_time start);

/* Wait event AnagoPageRead, for pgstat_report_wait_start(). */
extern uint32 anago_io_wait_event(void);

#endif							/* ANAGO_IO_H */
