/*-------------------------------------------------------------------------
 *
 * recent.c
 *	  Where in shared buffers this session has found the blocks that it came to.
 *	  See recent.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/nodeHash.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "ops/btree/recent.h"

StaticAssertDecl((ANAGO_RECENT_SLOTS & (ANAGO_RECENT_SLOTS - 1)) == 0,
				 "slots are addressed by a mask");

static AnagoRecent files[ANAGO_RECENT_FILES];
static uint64 uses = 0;

/* Bytes of all slots. */
static Size kept = 0;

static Size
size_of_slots(const AnagoRecent *recent)
{
	return recent->slots == NULL ? 0 : (Size) (recent->mask + 1) * sizeof(AnagoRecentSlot);
}

static void
drop_slots(AnagoRecent *recent)
{
	if (recent->slots == NULL)
		return;
	kept -= size_of_slots(recent);
	pfree(recent->slots);
	recent->slots = NULL;
	recent->mask = 0;
	recent->lookups = 0;
	recent->grows_at = ANAGO_RECENT_LOOKUPS;
}

static AnagoRecent *
find(Relation rel)
{
	for (int i = 0; i < ANAGO_RECENT_FILES; i++)
		if (files[i].used > 0 && anago_recent_is_of(&files[i], rel))
			return &files[i];
	return NULL;
}

/* What has not been used for longest. */
static AnagoRecent *
oldest(bool with_slots)
{
	AnagoRecent *result = NULL;

	for (int i = 0; i < ANAGO_RECENT_FILES; i++)
		if ((!with_slots || files[i].slots != NULL) &&
			(result == NULL || files[i].used < result->used))
			result = &files[i];
	return result;
}

AnagoRecent *
anago_recent_of(Relation rel)
{
	AnagoRecent *recent = find(rel);

	if (recent == NULL)
	{
		recent = oldest(false);
		drop_slots(recent);
		recent->file = ANAGO_REL_LOCATOR(rel);
		recent->lookups = 0;
		recent->grows_at = ANAGO_RECENT_LOOKUPS;
	}
	recent->used = ++uses;
	return recent;
}

/* Bytes that all may take: those of a hash table, which they are one of, and a bound. */
static Size
most_bytes(void)
{
	return Min(get_hash_memory_limit(), ANAGO_RECENT_BYTES);
}

/* No more than there are blocks, nor than lookups make worth it, nor half of all. */
static uint32
slots_for(const AnagoRecent *recent, BlockNumber blocks)
{
	Size		most = most_bytes() / 2 / sizeof(AnagoRecentSlot);
	uint32		n = pg_prevpower2_32((uint32) Min(most, ANAGO_RECENT_SLOTS));

	while (n > 1 && (n / 2 >= blocks || n / 2 >= recent->lookups * ANAGO_RECENT_GROWTH))
		n /= 2;
	return n;
}

/*
 * Is there room for more slots, without those that were used before the last few
 * relations that this session has come to?
 */
static bool
make_room(const AnagoRecent *recent, Size more)
{
	Size		most = most_bytes();

	while (kept + more > most)
	{
		AnagoRecent *other = oldest(true);

		if (other == NULL || other == recent || other->used + ANAGO_RECENT_FILES / 4 > uses)
			return false;
		drop_slots(other);
	}
	return true;
}

void
anago_recent_grow(AnagoRecent *recent, BlockNumber blocks)
{
	AnagoRecentSlot *old = recent->slots;
	uint32		nold = old == NULL ? 0 : recent->mask + 1;
	uint32		n = slots_for(recent, blocks);
	Size		more = ((Size) n - Min(n, nold)) * sizeof(AnagoRecentSlot);
	AnagoRecentSlot *slots;

	recent->grows_at = n < ANAGO_RECENT_SLOTS && n < blocks ?
		Max(n, recent->lookups * 2) : PG_INT64_MAX;
	if (n <= nold || !make_room(recent, more))
		return;
	slots = MemoryContextAllocExtended(TopMemoryContext, n * sizeof(AnagoRecentSlot),
									   MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
	if (slots == NULL)
		return;
	recent->slots = slots;
	recent->mask = n - 1;
	kept += more;
	for (uint32 i = 0; i < nold; i++)
		if (BufferIsValid(old[i].buf))
			*anago_recent_slot(recent, old[i].blkno) = old[i];
	if (old != NULL)
		pfree(old);
}
