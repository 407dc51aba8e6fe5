/*-------------------------------------------------------------------------
 *
 * segment.h
 *	  What stands in the memory that the processes of one parallel query share:
 *	  segments and a pool.
 *
 * Both are pieces of the parallel query's DSM, made by the leader.  Each plan
 * node has a segment, which is small:
 *
 *		header			stop flag, in-flight budget, rows wanted, condition
 *						variable
 *		participants[]	one for each process: presence, load, its messages
 *		counters[]		what each worker has counted, for EXPLAIN
 *		source			what those who divide the source tell each other
 *
 * What is large is in a pool, one for all nodes below a Gather, of which a node
 * has something only while it needs it:
 *
 *		items[]			work that several processes do together (items.h)
 *		mailboxes[]		rows handed to a participant (mailbox.h)
 *
 * All of it is part of the one piece of shared memory that core allocates for
 * the query, so that nothing can be missing later; a node that finds the pool
 * used up does not share that piece of work, which costs time only.  So where
 * shared memory is short the pool is empty.
 *
 * What an item or a row is made of is known to the operator that made it; to
 * all that is here it is bytes.
 *
 * Participant 0 is the leader, i + 1 the parallel worker i.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SEGMENT_H
#define ANAGO_SEGMENT_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/proc.h"

#include "layout.h"
#include "shared/budget.h"
#include "shared/quota.h"

/* --- participants --- */

/*
 *		ABSENT -> ACTIVE <-> WAITING -> LEFT
 *					<-> PARKED
 */
typedef enum AnagoPresence
{
	ANAGO_ABSENT,				/* has not come (yet) */
	ANAGO_ACTIVE,				/* has tasks, or looks for some */
	ANAGO_WAITING,				/* has none, and sleeps */
	ANAGO_PARKED,				/* may have some, and sleeps */
	ANAGO_LEFT
} AnagoPresence;

typedef struct AnagoParticipant
{
	pg_atomic_uint32 presence;	/* AnagoPresence; LEFT is set under the lock */
	pg_atomic_uint32 crossings; /* entries to and exits from the run loop: odd
								 * inside of it */
	pg_atomic_uint32 load;		/* live tasks, at its latest look around */
	PGPROC	   *proc;			/* from ACTIVE on */
	LWLock		lock;			/* of the following, and its counters; */
	pg_atomic_uint32 messages;	/* in its mailbox: may be looked at without */
	int			mailbox;		/* in the pool, or ANAGO_NO_MAILBOX */
} AnagoParticipant;

/* --- items --- */

/*
 * Items that are published together by all nodes of a query; bytes that say
 * what an item is, and bytes of one batch of it.  ANAGO_TINY_BOUNDS is for
 * stress tests.
 */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_ITEMS_MAX		1
#else
#define ANAGO_ITEMS_MAX		8
#endif
#define ANAGO_ITEM_BYTES	2048
#define ANAGO_BATCH_BYTES	(BLCKSZ + 32)

/* Bytes that go with a batch of the source's item: two separators. */
#define ANAGO_SOURCE_BYTES	(2 * MAXALIGN(BLCKSZ / 3))

/* Pieces of an item that can be taken now; what they are is in the bytes. */
typedef struct AnagoBatch
{
	uint32		seq;			/* of all batches of the item, from 1; 0: none */
	int32		piece;			/* to be taken next */
	int32		last;			/* piece > last: all have been taken */
	bool		more;			/* another batch follows */
	char		bytes[ANAGO_BATCH_BYTES] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoBatch;

/* Pieces of the batch that nobody has taken. */
static inline int
anago_pieces_left(const AnagoBatch *batch)
{
	return batch->piece <= batch->last ? batch->last - batch->piece + 1 : 0;
}

typedef struct AnagoSharedItem
{
	LWLock		lock;			/* of all the following */
	uint32		generation;		/* odd: in use, */
	int			node;			/* by that plan node, */
	int			op;				/* by this operator of it */
	int			nbytes;			/* that follow */
	AnagoBatch	batch;
} AnagoSharedItem;

/* One of the pool; the bytes say what it is. */
typedef struct AnagoPoolItem
{
	AnagoSharedItem item;		/* must be first */
	char		bytes[ANAGO_ITEM_BYTES] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoPoolItem;

/* --- mailboxes --- */

/* Bytes of a mailbox, a power of two, and of the largest row in it. */
#define ANAGO_MAILBOX_BYTES		16384
#define ANAGO_MESSAGE_BYTES		1024

/* Messages that may wait in one, and mailboxes of one pool. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_MESSAGES_MAX		1
#define ANAGO_MAILBOXES_MAX		1
#else
#define ANAGO_MESSAGES_MAX		64
#define ANAGO_MAILBOXES_MAX		8
#endif

#define ANAGO_NO_MAILBOX		(-1)

/*
 *		head: bytes put in since the beginning		tail: bytes taken out
 *		|<----------- in use: head - tail ---------->|
 *
 * A message stands in one piece, so that what is left at the end of the buffer
 * may be skipped.
 */
typedef struct AnagoMailbox
{
	pg_atomic_uint32 taken;		/* is some participant's; */
	uint32		head;			/* the rest is guarded by that one's lock */
	uint32		tail;
	char		bytes[ANAGO_MAILBOX_BYTES] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoMailbox;

/* --- the source --- */

/*
 * Work that is known to all processes from the start, as numbers 0 .. n - 1,
 * which they claim; or, for anago.mode = static, what they cut into `nparts`
 * parts, by turns.  No lock is held during a turn, as pages are read meanwhile,
 * and cancels are to be heard.
 */
typedef struct AnagoSharedSource
{
	pg_atomic_uint32 claimed;	/* numbers, from 0 */
	int			nparts;			/* that it is to be cut into */
	pg_atomic_uint32 busy;		/* it is somebody's turn */
	ConditionVariable turn;		/* that is over */
} AnagoSharedSource;

/*
 * Where rows leave each process in order, the source is an item that is there
 * from the start: whoever takes pieces of it takes them in the order of the
 * index.  The bytes belong to the batch.
 */
typedef struct AnagoSourceItem
{
	AnagoSharedItem item;		/* must be first */
	char		bytes[ANAGO_SOURCE_BYTES] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoSourceItem;

/* It is used once. */
#define ANAGO_SOURCE_GENERATION		1

/* --- all of it --- */

typedef struct AnagoSegment
{
	uint32		layout;			/* ANAGO_LAYOUT: who reads the rest must have
								 * the same */
	int			node;			/* the plan node's number */
	int			nparticipants;
	Size		counters_size;	/* of one worker's */
	Size		source_size;	/* of what an operator keeps for the source */
	bool		in_parts;		/* anago.mode = static */
	bool		in_order;		/* each process gives its rows in order, */
	bool		source_item;	/* and the source is an AnagoSourceItem */
	bool		of_server;		/* the leader has found the server's budgets */
	pg_atomic_uint32 stop;		/* no more rows are wanted */
	pg_atomic_uint32 nwaiting;
	ConditionVariable changed;	/* work has been published, somebody left */
	AnagoBudget budget;
	AnagoQuota	quota;
	AnagoSharedSource source;
	AnagoParticipant participants[FLEXIBLE_ARRAY_MEMBER];
	/* counters follow, and what an operator keeps */
} AnagoSegment;

typedef struct AnagoPool
{
	int			nitems;
	int			nmailboxes;
	AnagoPoolItem items[FLEXIBLE_ARRAY_MEMBER];
	/* mailboxes follow */
} AnagoPool;

static inline AnagoMailbox *
anago_pool_mailbox(AnagoPool *pool, int i)
{
	Assert(i >= 0 && i < pool->nmailboxes);
	return (AnagoMailbox *) &pool->items[pool->nitems] + i;
}

/* One process's end of it, in memory of its own. */
typedef struct AnagoShare
{
	AnagoSegment *segment;
	AnagoPool  *pool;
	int			me;
	bool		patient;		/* others' rows need not be read meanwhile */
	uint32		entered[ANAGO_ITEMS_MAX];	/* generations that this process
											 * works at, or has worked at */
} AnagoShare;

static inline AnagoParticipant *
anago_share_self(const AnagoShare *share)
{
	return &share->segment->participants[share->me];
}

/*
 * Bytes of a pool, and make one in that much memory; an empty one has nothing,
 * where there is no room for more.
 */
extern Size anago_pool_size(int nparticipants, bool empty);
extern void anago_pool_init(AnagoPool *pool, int nparticipants, bool empty);

typedef struct AnagoSegmentSpec
{
	int			node;			/* the plan node's number */
	int			nparticipants;	/* with the leader */
	Size		counters_size;	/* bytes of what one worker counts, */
	Size		source_size;	/* and of what an operator keeps for the source */
	bool		in_parts;		/* the source is to be cut, for static mode */
	bool		in_order;		/* each process gives its rows in order, */
	bool		source_item;	/* and takes them from an item (source_size is
								 * not looked at) */
	bool		of_server;		/* the leader has found the server's budgets */
	int			nparts;			/* that a source in parts has */
	int			max_inflight;	/* bound on reads of all processes */
	bool		may_stop;		/* of the rows; as for anago_quota_init */
	int64		wanted;
	bool		together;
} AnagoSegmentSpec;

/*
 * Bytes of a segment; make one in that much zeroed or unzeroed memory; make
 * it new for a rescan, while no other process is attached: counters stay, and
 * of the spec only what follows source_item is looked at.  The pool has nothing of the
 * node's any more.
 */
extern Size anago_segment_size(const AnagoSegmentSpec *spec);
extern void anago_segment_init(AnagoSegment *segment,
							   const AnagoSegmentSpec *spec);
extern void anago_segment_reset(AnagoSegment *segment, const AnagoSegmentSpec *spec);

/* Zeroed by anago_segment_init; of worker 0 .. nparticipants - 2. */
extern void *anago_segment_counters(AnagoSegment *segment, int worker);

/*
 * What an operator keeps for the source, zeroed by init and reset; or the
 * source's item.
 */
extern void *anago_segment_source(AnagoSegment *segment);

/* Wake those who wait. */
extern void anago_segment_changed(AnagoSegment *segment);

#endif							/* ANAGO_SEGMENT_H */
