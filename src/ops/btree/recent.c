/*-------------------------------------------------------------------------
 *
 * recent.c
 *	  Where in shared buffers this session has found the blocks that it came to.
 *	  See recent.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/nodeHash.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "ops/btree/recent.h"
#include "page/touch.h"

StaticAssertDecl((ANAGO_RECENT_SLOTS & (ANAGO_RECENT_SLOTS - 1)) == 0,
				 "slots are addressed by a mask");

static AnagoRecent files[ANAGO_RECENT_FILES];
static uint64 uses = 0;

/* Bytes of all slots. */
static Size kept = 0;

/* Is it still the relation's? */
static inline bool
is_of(const AnagoRecent *recent, Relation rel)
{
	return ANAGO_LOCATOR_EQUALS(recent->file, ANAGO_REL_LOCATOR(rel));
}

/* Where the block is remembered to be: with that number, or some other one. */
static inline AnagoRecentSlot *
slot_of(const AnagoRecent *recent, BlockNumber blkno)
{
	return &recent->slots[blkno & recent->mask];
}

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

/* The few entries that may be the relation's: many tables are probed in turns, too. */
static AnagoRecent *
set_of(Relation rel)
{
	const AnagoLocator *file = &ANAGO_REL_LOCATOR(rel);
	uint32		hash = hash_bytes((const unsigned char *) file, sizeof(AnagoLocator));

	return &files[hash % (ANAGO_RECENT_FILES / ANAGO_RECENT_WAYS) * ANAGO_RECENT_WAYS];
}

static AnagoRecent *
find(AnagoRecent *set, Relation rel)
{
	for (int i = 0; i < ANAGO_RECENT_WAYS; i++)
		if (set[i].used > 0 && is_of(&set[i], rel))
			return &set[i];
	return NULL;
}

/* Of so many entries, what has not been used for longest. */
static AnagoRecent *
oldest(AnagoRecent *from, int n, bool with_slots)
{
	AnagoRecent *result = NULL;

	for (int i = 0; i < n; i++)
		if ((!with_slots || from[i].slots != NULL) &&
			(result == NULL || from[i].used < result->used))
			result = &from[i];
	return result;
}

/* Bytes that all may take: those of a hash table, which they are one of, and a bound. */
static Size
most_bytes(void)
{
	return Min(get_hash_memory_limit(), ANAGO_RECENT_BYTES);
}

/* work_mem may be less by now. */
static void
shrink(void)
{
	while (kept > most_bytes())
		drop_slots(oldest(files, ANAGO_RECENT_FILES, true));
}

static AnagoRecent *
recent_of(Relation rel)
{
	AnagoRecent *set = set_of(rel);
	AnagoRecent *recent = find(set, rel);

	if (recent == NULL)
	{
		recent = oldest(set, ANAGO_RECENT_WAYS, false);
		drop_slots(recent);
		recent->file = ANAGO_REL_LOCATOR(rel);
		recent->lookups = 0;
		recent->grows_at = ANAGO_RECENT_LOOKUPS;
	}
	recent->used = ++uses;
	shrink();
	return recent;
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
		AnagoRecent *other = oldest(files, ANAGO_RECENT_FILES, true);

		if (other == NULL || other == recent || other->used + ANAGO_RECENT_LATELY > uses)
			return false;
		drop_slots(other);
	}
	return true;
}

/* All slots, as pg_backend_memory_contexts shows them. */
static MemoryContext
slots_context(void)
{
	static MemoryContext context = NULL;

	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "anago recent", ALLOCSET_DEFAULT_SIZES);
	return context;
}

static void
grow(AnagoRecent *recent, BlockNumber blocks)
{
	AnagoRecentSlot *old = recent->slots;
	uint32		nold = old == NULL ? 0 : recent->mask + 1;
	uint32		n = slots_for(recent, blocks);
	Size		more = ((Size) n - Min(n, nold)) * sizeof(AnagoRecentSlot);
	AnagoRecentSlot *slots;

	/* asked again even if there are slots for all blocks: they may become more */
	recent->grows_at = Max(n, recent->lookups * 2);
	if (n <= nold || !make_room(recent, more))
		return;
	slots = MemoryContextAllocExtended(slots_context(), n * sizeof(AnagoRecentSlot),
									   MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
	if (slots == NULL)
		return;
	recent->slots = slots;
	recent->mask = n - 1;
	kept += more;
	for (uint32 i = 0; i < nold; i++)
		if (BufferIsValid(old[i].buf))
			*slot_of(recent, old[i].blkno) = old[i];
	if (old != NULL)
		pfree(old);
}

/* Have it remember, as far as that is worth it. */
static const AnagoRecent *
remember(AnagoRecent **recent, Relation rel)
{
	if (*recent == NULL || !is_of(*recent, rel))
		*recent = recent_of(rel);
	if (++(*recent)->lookups >= (*recent)->grows_at)
		grow(*recent, rel->rd_rel->relpages);
	return (*recent)->slots == NULL ? NULL : *recent;
}

Buffer
anago_recent_find(AnagoRecent **of_step, Relation rel, BlockNumber blkno)
{
	const AnagoRecent *recent = remember(of_step, rel);
	AnagoRecentSlot *slot;
	Buffer		buf;

	if (recent == NULL)
		return anago_touch_locate(rel, blkno);
	slot = slot_of(recent, blkno);
	if (slot->blkno == blkno && BufferIsValid(slot->buf))
		return slot->buf;
	buf = anago_touch_locate(rel, blkno);
	/* what is in no buffer is no reason to forget another block */
	if (BufferIsValid(buf))
		*slot = (AnagoRecentSlot) {blkno, buf};
	return buf;
}

void
anago_recent_forget(const AnagoRecent *recent, Relation rel, BlockNumber blkno)
{
	if (recent != NULL && is_of(recent, rel) && recent->slots != NULL &&
		slot_of(recent, blkno)->blkno == blkno)
		slot_of(recent, blkno)->buf = InvalidBuffer;
}
