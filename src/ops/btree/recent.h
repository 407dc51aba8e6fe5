/*-------------------------------------------------------------------------
 *
 * recent.h
 *	  Where in shared buffers this session has found the blocks that it came to.
 *
 * A probe looks up in the buffer table where its leaf is, and each heap block: some cache
 * misses, and a lock.  Probes come to a block again where they are many for the pages
 * that there are, and so do those of the next execution, which is where a scan of one range
 * comes to them again.  So a session remembers, from so many lookups on, where blocks were:
 *
 *		block 700017 -> slot 17 ->	block 700017, buffer 4711
 *
 * What is remembered is a hint, which whoever pins the buffer compares with what is
 * there by then (ReadRecentBuffer()).  One slot for all blocks of the same remainder;
 * the latest stays.
 *
 * Slots become more as lookups do: the page faults of 256 kB of them take as long as a
 * hundred probes.  All together take no more than a hash table may by now, nor than a bound, and
 * one no more than half of that; those of what has not been come to for longest make room.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RECENT_H
#define ANAGO_RECENT_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "compat.h"

/* Bound on the slots of a table or index; a power of two. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_RECENT_SLOTS		16
#else
#define ANAGO_RECENT_SLOTS		((uint32) 1 << 20)
#endif

/* Bound on what all take together, in bytes, whatever memory a hash table may have. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_RECENT_BYTES		512
#else
#define ANAGO_RECENT_BYTES		((Size) 16 << 20)
#endif

/* Lookups from which on it is worth it.  Fewer hardly meet a block twice. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_RECENT_LOOKUPS	2
#else
#define ANAGO_RECENT_LOOKUPS	256
#endif

/* Slots for each lookup so far, where they become more: when lookups are as many as slots. */
#define ANAGO_RECENT_GROWTH		4

/* Tables and indexes that are remembered. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_RECENT_FILES		4
#else
#define ANAGO_RECENT_FILES		256
#endif

/* Of these, where one table or index may be. */
#define ANAGO_RECENT_WAYS		4

/* So many that the session came to last keep their slots. */
#define ANAGO_RECENT_LATELY		(ANAGO_RECENT_FILES / 16)

typedef struct AnagoRecentSlot
{
	BlockNumber blkno;
	Buffer		buf;			/* InvalidBuffer: none */
} AnagoRecentSlot;

/* Of one table or index.  It may become that of another one at any time. */
typedef struct AnagoRecent
{
	AnagoLocator file;
	uint64		used;			/* the greater, the later */
	int64		lookups;
	int64		grows_at;		/* lookups */
	uint32		mask;
	AnagoRecentSlot *slots;		/* NULL: none was worth it yet */
} AnagoRecent;

/*
 * Where in shared buffers a block of the relation, which is not a temporary one, is; InvalidBuffer:
 * nowhere.  A hint.  *recent is what is remembered of the relation, or NULL if that is not known
 * yet.
 */
extern Buffer anago_recent_find(AnagoRecent **recent, Relation rel, BlockNumber blkno);

/* It was not there.  `recent` may be NULL, or of another relation by now. */
extern void anago_recent_forget(const AnagoRecent *recent, Relation rel, BlockNumber blkno);

#endif							/* ANAGO_RECENT_H */
