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
	recent->grows_at = slots == 0 ? PG_INT64_MAX : ANAGO_RECENT_PROBES;
}

/* No more than there are blocks, nor than probes make worth it. */
static uint32
slots_for(const AnagoRecent *recent, BlockNumber blocks, int64 probes)
{
	uint32		n = recent->max_slots;

	while (n > 1 && (n / 2 >= blocks || n / 2 >= probes * ANAGO_RECENT_GROWTH))
		n /= 2;
	return n;
}

void
anago_recent_grow(AnagoRecent *recent, BlockNumber blocks, int64 probes,
				  MemoryContext context, AnagoMemory *memory)
{
	AnagoRecentSlot *old = recent->slots;
	uint32		nold = old == NULL ? 0 : recent->mask + 1;
	uint32		n = slots_for(recent, blocks, probes);

	Assert(n > 0 && probes >= recent->grows_at);
	recent->grows_at = n < recent->max_slots && n < blocks ? n : PG_INT64_MAX;
	if (n <= nold)
		return;
	anago_memory_fix(memory, (n - nold) * sizeof(AnagoRecentSlot));
	recent->slots = MemoryContextAlloc(context, n * sizeof(AnagoRecentSlot));
	recent->mask = n - 1;
	for (uint32 i = 0; i < n; i++)
		recent->slots[i] = (AnagoRecentSlot) {InvalidBlockNumber, InvalidBuffer};
	for (uint32 i = 0; i < nold; i++)
		if (old[i].blkno != InvalidBlockNumber)
			*anago_recent_slot(recent, old[i].blkno) = old[i];
	if (old != NULL)
		pfree(old);
}
