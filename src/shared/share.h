/*-------------------------------------------------------------------------
 *
 * share.h
 *	  What the processes of one parallel query share: segments and a pool.
 *
 * Both are pieces of the parallel query's DSM, made by the leader.  Each plan
 * node has a segment, which is small:
 *
 *		header			stop flag, in-flight budget, condition variable
 *		participants[]	one for each process: presence, load, its letters
 *		counters[]		what each worker has counted, for EXPLAIN
 *		page			anago.mode = static: where the source is to be cut
 *
 * What is large is in a pool, one for all nodes below a Gather, of which a node
 * has something only while it needs it:
 *
 *		ranges[]		index ranges that several processes walk (ranges.c)
 *		boxes[]			letter boxes (letters.c)
 *
 * All of it is part of the one piece of shared memory that core allocates for
 * the query, so that nothing can be missing later; a node that finds the pool
 * used up does not share that piece of work, which costs time only.  So where
 * shared memory is short the pool is empty.
 *
 * Participant 0 is the leader, i + 1 the parallel worker i.
 *
 *		ABSENT -> ACTIVE <-> WAITING -> LEFT
 *
 * Nothing here is needed for right rows: whoever publishes a range also walks
 * it until nothing of it is left, and a letter box is empty before its owner
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

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/proc.h"

#include "layout.h"
#include "shared/budget.h"
#include "shared/letters.h"
#include "shared/ranges.h"

typedef enum AnagoPresence
{
	ANAGO_ABSENT,				/* has not come (yet) */
	ANAGO_ACTIVE,				/* has tasks, or looks for some */
	ANAGO_WAITING,				/* has none, and sleeps */
	ANAGO_LEFT
} AnagoPresence;

typedef struct AnagoParticipant
{
	pg_atomic_uint32 presence;	/* AnagoPresence; LEFT is set under the lock */
	pg_atomic_uint32 crossings;	/* entries to and exits from the run loop: odd
								 * inside of it */
	pg_atomic_uint32 load;		/* live tasks, at its latest look around */
	PGPROC	   *proc;			/* from ACTIVE on */
	LWLock		lock;			/* of the following, and its counters; */
	pg_atomic_uint32 letters;	/* in its box: may be looked at without */
	int			box;			/* in the pool, or ANAGO_NO_BOX */
} AnagoParticipant;

static inline bool
anago_letters_empty(AnagoParticipant *participant)
{
	return pg_atomic_read_u32(&participant->letters) == 0;
}

typedef struct AnagoSegment
{
	uint32		layout;			/* ANAGO_LAYOUT: who reads the rest must have
								 * the same */
	int			node;			/* the plan node's number */
	int			nparticipants;
	Size		counters_size;	/* of one worker's */
	bool		in_parts;		/* anago.mode = static */
	pg_atomic_uint32 stop;		/* no more rows are wanted */
	pg_atomic_uint32 nwaiting;
	ConditionVariable changed;	/* work has been published, somebody left */
	AnagoBudget budget;
	AnagoSharedSource source;
	AnagoParticipant participants[FLEXIBLE_ARRAY_MEMBER];
	/* counters follow, and the page */
} AnagoSegment;

typedef struct AnagoPool
{
	int			nranges;
	int			nboxes;
	AnagoSharedRange ranges[FLEXIBLE_ARRAY_MEMBER];
	/* boxes follow */
} AnagoPool;

static inline AnagoLetterBox *
anago_pool_box(AnagoPool *pool, int i)
{
	Assert(i >= 0 && i < pool->nboxes);
	return (AnagoLetterBox *) &pool->ranges[pool->nranges] + i;
}

/* One process's end of it, in memory of its own. */
typedef struct AnagoShare
{
	AnagoSegment *segment;
	AnagoPool  *pool;
	int			me;
	bool		patient;		/* others' rows need not be read meanwhile */
	uint32		entered[ANAGO_SHARED_RANGES];	/* generations that this
												 * process walks or has walked */
} AnagoShare;

/*
 * Bytes of a pool, and make one in that much memory; an empty one has nothing,
 * where there is no room for more.
 */
extern Size anago_pool_size(int nparticipants, bool empty);
extern void anago_pool_init(AnagoPool *pool, int nparticipants, bool empty);

/* What a segment is made for. */
typedef struct AnagoSegmentSpec
{
	int			node;			/* the plan node's number */
	int			nparticipants;
	Size		counters_size;	/* bytes of what one worker counts */
	bool		in_parts;		/* the source is cut once, for static mode, */
	int			nparts;			/* into that many parts */
	int			max_inflight;	/* bound on reads of all processes */
} AnagoSegmentSpec;

/*
 * Bytes of a segment; make one in that much zeroed or unzeroed memory; make
 * it new for a rescan, while no other process is attached: counters stay, and
 * of the spec only the last two are looked at.
 */
extern Size anago_segment_size(const AnagoSegmentSpec *spec);
extern void anago_segment_init(AnagoSegment *segment,
							   const AnagoSegmentSpec *spec);
extern void anago_segment_reset(AnagoSegment *segment, AnagoPool *pool,
								const AnagoSegmentSpec *spec);

/* Zeroed by anago_segment_init; of worker 0 .. nparticipants - 2. */
extern void *anago_segment_counters(AnagoSegment *segment, int worker);

/* In parts: where the next one begins; for whose turn it is. */
extern AnagoRangePage *anago_source_page(AnagoSegment *segment);

/*
 * Come in: ABSENT -> ACTIVE.  In CurrentMemoryContext.  `patient`: it may wait
 * for work as long as the others have some; else the leader, which must be
 * there to read their rows, waits for no more than some milliseconds.
 */
extern AnagoShare *anago_share_attach(AnagoSegment *segment, AnagoPool *pool,
									  int participant, bool patient);

static inline AnagoParticipant *
anago_share_self(const AnagoShare *share)
{
	return &share->segment->participants[share->me];
}

/*
 * For good.  False: a letter has come meanwhile, and is to be read first;
 * unless `now`, when no more rows are wanted of this process.
 */
extern bool anago_share_leave(AnagoShare *share, bool now);

/* The process takes part no longer, if it still does; frees nothing. */
extern void anago_share_end(AnagoShare *share);

/* All participants are to stop, as the leader wants no more rows. */
extern void anago_share_stop(AnagoSegment *segment);

static inline bool
anago_share_stopped(const AnagoShare *share)
{
	return pg_atomic_read_u32(&share->segment->stop) != 0;
}

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
 * Wait for one's turn at the source, interruptibly (wait event AnagoWork), and
 * end it.  After an error it never ends; the query does.
 */
extern void anago_source_enter(AnagoShare *share);
extern void anago_source_leave(AnagoShare *share);

/* Wake those who wait. */
extern void anago_share_changed(AnagoSegment *segment);

/*
 * Conservative migration: tell the own load, and look at the others'.  If one
 * of them has far less than the mean of all, returns which one, and in *n how
 * many rows are to be handed to it; else -1.
 */
extern int	anago_share_balance(AnagoShare *share, int load, int *n);

#endif							/* ANAGO_SHARE_H */
