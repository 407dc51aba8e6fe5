/*-------------------------------------------------------------------------
 *
 * recent.h
 *	  Where in shared buffers a step has found the blocks that it came to.
 *
 * A probe looks up in the buffer table where its leaf is, and each heap block: some cache
 * misses, and a lock.  Probes come to a block again where they are many for the pages
 * that there are.  So a step remembers, from so many probes on, where blocks were:
 *
 *		block 700017 -> slot 17 ->	block 700017, buffer 4711
 *
 * What is remembered is a hint, which whoever pins the buffer compares with what is
 * there by then (ReadRecentBuffer()).  One slot for all blocks of the same remainder;
 * the latest stays.
 *
 * Slots become more as probes do: the page faults of 256 kB of them take as long as a
 * hundred probes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RECENT_H
#define ANAGO_RECENT_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/buf.h"

#include "sched/memory.h"

/* Bound on the slots of a table or index, of 8 bytes each; a power of two. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_RECENT_SLOTS		16
#else
#define ANAGO_RECENT_SLOTS		65536
#endif

/* Probes of a step from which on it is kept.  Fewer hardly meet a block twice. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_RECENT_PROBES		2
#else
#define ANAGO_RECENT_PROBES		256
#endif

/* Slots for each probe so far, where they become more: when probes are as many as slots. */
#define ANAGO_RECENT_GROWTH		4

/* Of the query's memory, the part that all steps' slots may take together. */
#define ANAGO_RECENT_SHARE		8

typedef struct AnagoRecentSlot
{
	BlockNumber blkno;			/* InvalidBlockNumber: none */
	Buffer		buf;
} AnagoRecentSlot;

/* Of one table or index. */
typedef struct AnagoRecent
{
	uint32		max_slots;		/* a power of two, or 0: nothing is remembered */
	uint32		mask;
	int64		grows_at;		/* probes */
	AnagoRecentSlot *slots;		/* NULL: none was wanted yet */
} AnagoRecent;

/* For one table or index of `parts`. */
extern void anago_recent_init(AnagoRecent *recent, const AnagoMemory *memory, int parts);

/*
 * Have slots for so many probes, grows_at or more, of so many blocks.  Memory comes from
 * `context`, lasts as long, and is counted in `memory`.
 */
extern void anago_recent_grow(AnagoRecent *recent, BlockNumber blocks, int64 probes,
							  MemoryContext context, AnagoMemory *memory);

/* Where the block is remembered to be: with that number, or some other one. */
static inline AnagoRecentSlot *
anago_recent_slot(const AnagoRecent *recent, BlockNumber blkno)
{
	return &recent->slots[blkno & recent->mask];
}

/* It is no longer there. */
static inline void
anago_recent_forget(const AnagoRecent *recent, BlockNumber blkno)
{
	if (recent->slots != NULL && anago_recent_slot(recent, blkno)->blkno == blkno)
		anago_recent_slot(recent, blkno)->blkno = InvalidBlockNumber;
}

#endif							/* ANAGO_RECENT_H */
