/*-------------------------------------------------------------------------
 *
 * recent.c
 *	  Where in shared buffers a step has found the blocks that it came to.
 *	  See recent.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "ops/btree/recent.h"

StaticAssertDecl((ANAGO_RECENT_SLOTS & (ANAGO_RECENT_SLOTS - 1)) == 0,
				 "slots are addressed by a mask");

void
anago_recent_init(AnagoRecent *recent, const AnagoMemory *memory, int parts)
{
	Size		slots = memory->limit / ANAGO_RECENT_SHARE / parts / sizeof(AnagoRecentSlot);

	recent->slots = NULL;
	recent->max_slots = slots == 0 ? 0 :
		pg_prevpower2_32((uint32) Min(slots, ANAGO_RECENT_SLOTS));
}

void
anago_recent_begin(AnagoRecent *recent, BlockNumber blocks, MemoryContext context,
				   AnagoMemory *memory)
{
	uint32		n = recent->max_slots;
	Size		size;

	Assert(recent->slots == NULL && n > 0);
	while (n > 1 && n / 2 >= blocks)
		n /= 2;
	size = n * sizeof(AnagoRecentSlot);
	recent->slots = MemoryContextAlloc(context, size);
	for (uint32 i = 0; i < n; i++)
		recent->slots[i].blkno = InvalidBlockNumber;
	recent->mask = n - 1;
	anago_memory_fix(memory, size);
}
