/*-------------------------------------------------------------------------
 *
 * share.h
 *	  The processes of one parallel query: coming, waiting, leaving, balance.
 *
 * Nothing here is needed for right rows: whoever publishes an item also works
 * at it until nothing of it is left, and a mailbox is empty before its owner
 * leaves.  So a participant may leave at any time when it has no tasks, and
 * one that never comes is not missed.  Waiting for work of others is only
 * worth while, and it must not be waited for a process that is itself held up
 * by something outside, such as a full tuple queue, or a barrier of a parallel
 * hash join that the waiting process ought to arrive at.  Therefore a process
 * tells whether it is inside of its run loop; one that is outside of it, and
 * sleeps there on whatever it is, is not waited for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SHARE_H
#define ANAGO_SHARE_H

#include "postgres.h"

#include "shared/segment.h"

/*
 * Come in: ABSENT -> ACTIVE.  In CurrentMemoryContext.  `patient`: it may wait
 * for work as long as the others have some; else the leader, which must be
 * there to read their rows, waits for no more than some milliseconds.
 */
extern AnagoShare *anago_share_attach(AnagoSegment *segment, AnagoPool *pool,
									  int participant, bool patient);

/*
 * For good.  False: a message has come meanwhile, and is to be read first;
 * unless `now`, when no more rows are wanted of this process.
 */
extern bool anago_share_leave(AnagoShare *share, bool now);

/* Leave, if that has not been done; frees nothing. */
extern void anago_share_end(AnagoShare *share);

/* All participants are to stop, as no more rows are wanted. */
extern void anago_share_stop(AnagoSegment *segment);

/* Make a segment new for a rescan: see anago_segment_reset. */
extern void anago_share_reset(AnagoSegment *segment, AnagoPool *pool,
							  const AnagoSegmentSpec *spec);

/* Have they been told to, or are there enough? */
static inline bool
anago_share_stopped(const AnagoShare *share)
{
	return pg_atomic_read_u32(&share->segment->stop) != 0 ||
		anago_quota_is_met(&share->segment->quota);
}

/*
 * Begin to work, as soon as that is worth it (quota.h).  Interruptible; wait
 * event AnagoWork.
 */
extern void anago_share_begin(AnagoShare *share);

/* The run loop is entered or left, or left for a child plan's code. */
static inline void
anago_share_cross(AnagoShare *share)
{
	pg_atomic_uint32 *crossings = &anago_share_self(share)->crossings;

	/* nobody else writes it */
	pg_atomic_write_u32(crossings, pg_atomic_read_u32(crossings) + 1);
}

/* Is there work here to be taken? */
extern bool anago_share_has_work(const AnagoShare *share);

/*
 * Nothing to do: sleep until there may be (true), or until nothing is to be
 * expected (false).  Interruptible; wait event AnagoWork.
 */
extern bool anago_share_wait(AnagoShare *share);

/*
 * Not to work for now: sleep for as long as `still` says so, or until all are to stop.
 * To others it is at work, and is given no rows.  Interruptible; wait event AnagoParked.
 */
extern void anago_share_park(AnagoShare *share, bool (*still) (void), long nap_ms);

/*
 * Wait for one's turn at the source, interruptibly (wait event AnagoWork), and
 * end it.  After an error it never ends; the query does.
 */
extern void anago_source_enter(AnagoShare *share);
extern void anago_source_leave(AnagoShare *share);

/*
 * Conservative migration: tell the own load, and look at the others'.  If one
 * of them has far less than the mean of all, returns which one, and in *n how
 * many rows are to be handed to it; else -1.
 */
extern int	anago_share_balance(AnagoShare *share, int load, int *n);

#endif							/* ANAGO_SHARE_H */
