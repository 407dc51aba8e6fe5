/*-------------------------------------------------------------------------
 *
 * items.c
 *	  Work that any process of a parallel query may take.  See items.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "shared/items.h"

/* A claim is that part of what each process might still get. */
#define CLAIM_PARTS		4

/*
 * As long as so many pieces for each process wait to be taken, nothing more is
 * published: whoever runs out of work finds some.
 */
#define ENOUGH_PIECES	4

StaticAssertDecl(offsetof(AnagoPoolItem, bytes) == sizeof(AnagoSharedItem) &&
				 offsetof(AnagoSourceItem, bytes) == sizeof(AnagoSharedItem),
				 "an item's bytes follow it");

static inline bool
in_use(uint32 generation)
{
	return (generation & 1) != 0;
}

static inline char *
bytes_of(AnagoSharedItem *shared)
{
	return (char *) (shared + 1);
}

static AnagoSharedItem *
shared_item(const AnagoShare *share, AnagoItem item)
{
	if (item.slot != ANAGO_SOURCE_SLOT)
		return &share->pool->items[item.slot].item;
	Assert(share->segment->source_item);
	return anago_segment_source(share->segment);
}

void
anago_items_drop(AnagoPool *pool, int node)
{
	for (int i = 0; i < pool->nitems; i++)
	{
		AnagoSharedItem *shared = &pool->items[i].item;

		LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
		if (in_use(shared->generation) && shared->node == node)
			shared->generation++;
		LWLockRelease(&shared->lock);
	}
}

/* Numbers to be claimed, of `left`. */
static uint32
claim_size(const AnagoShare *share, int n, uint32 left, AnagoClaim size)
{
	uint32		count = left / (CLAIM_PARTS * share->segment->nparticipants);
	int			nparts = share->segment->source.nparts;

	switch (size)
	{
		case ANAGO_CLAIM_SOME:
			count = Min(count, ANAGO_CLAIM_MAX);
			break;
		case ANAGO_CLAIM_PART:
			count = (n + nparts - 1) / nparts;
			break;
		case ANAGO_CLAIM_FEW:
			count = Min(count, ANAGO_CLAIM_MAX_FEW);
			break;
	}
	return Min(Max(count, 1), left);
}

bool
anago_claim(AnagoShare *share, int n, AnagoClaim size, int *from, int *to)
{
	pg_atomic_uint32 *claimed = &share->segment->source.claimed;
	uint32		first = pg_atomic_read_u32(claimed);
	uint32		count;

	do
	{
		if (first >= (uint32) n)
			return false;
		count = claim_size(share, n, n - first, size);
	} while (!pg_atomic_compare_exchange_u32(claimed, &first, first + count));

	*from = first;
	*to = first + count;
	Assert(*to <= n);
	return true;
}

/*
 * These looks without a lock are hints, except that an item in use is seen by
 * whoever has been told of it.
 */
bool
anago_item_welcome(const AnagoShare *share)
{
	const AnagoSegment *segment = share->segment;
	int			waiting = 0;
	bool		slot = false;

	for (int i = 0; i < share->pool->nitems; i++)
	{
		const AnagoSharedItem *shared = &share->pool->items[i].item;

		if (!in_use(shared->generation))
			slot = true;
		else if (shared->node == segment->node)
			waiting += anago_pieces_left(&shared->batch);
	}
	return slot && waiting < ENOUGH_PIECES * segment->nparticipants;
}

bool
anago_item_publish(AnagoShare *share, int op, const char *bytes, int nbytes,
				   const AnagoBatch *batch, AnagoItem *item)
{
	Assert(nbytes <= ANAGO_ITEM_BYTES);
	Assert(batch->seq > 0 && batch->piece <= batch->last);
	for (int i = 0; i < share->pool->nitems; i++)
	{
		AnagoSharedItem *shared = &share->pool->items[i].item;

		if (in_use(shared->generation))
			continue;
		LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
		if (in_use(shared->generation))
		{
			LWLockRelease(&shared->lock);
			continue;
		}
		shared->node = share->segment->node;
		shared->op = op;
		shared->nbytes = nbytes;
		memcpy(bytes_of(shared), bytes, nbytes);
		shared->batch = *batch;
		item->slot = i;
		item->generation = share->entered[i] = ++shared->generation;
		LWLockRelease(&shared->lock);
		anago_segment_changed(share->segment);
		return true;
	}
	return false;
}

AnagoTaken
anago_item_take(AnagoShare *share, AnagoItem item, AnagoBatch *to, char *bytes,
				int *piece)
{
	AnagoSharedItem *shared = shared_item(share, item);
	AnagoTaken	taken = ANAGO_TAKEN_END;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	if (shared->generation == item.generation)
	{
		if (anago_pieces_left(&shared->batch) > 0)
			taken = ANAGO_TAKEN_PIECE;
		else if (shared->batch.more)
			taken = ANAGO_TAKEN_LAST;
		else
			shared->generation++;
	}
	if (taken != ANAGO_TAKEN_END && to->seq != shared->batch.seq)
	{
		*to = shared->batch;
		if (bytes != NULL)
			memcpy(bytes, bytes_of(shared), shared->nbytes);
	}
	if (taken == ANAGO_TAKEN_PIECE)
		*piece = shared->batch.piece++;
	LWLockRelease(&shared->lock);
	return taken;
}

bool
anago_item_install(AnagoShare *share, AnagoItem item, const AnagoBatch *from,
				   const char *bytes, int nbytes)
{
	AnagoSharedItem *shared = shared_item(share, item);
	bool		installed = false;

	Assert(from->piece <= from->last);
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	if (shared->generation == item.generation && shared->batch.seq == from->seq - 1)
	{
		Assert(anago_pieces_left(&shared->batch) == 0);
		shared->batch = *from;
		if (bytes != NULL)
		{
			memcpy(bytes_of(shared), bytes, nbytes);
			shared->nbytes = nbytes;
		}
		installed = true;
	}
	LWLockRelease(&shared->lock);
	if (installed)
		anago_segment_changed(share->segment);
	return installed;
}

bool
anago_item_take_whole(AnagoShare *share, AnagoItem item)
{
	AnagoSharedItem *shared = shared_item(share, item);
	bool		taken;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	taken = shared->generation == item.generation && shared->batch.seq == 0;
	if (taken)
		shared->generation++;
	LWLockRelease(&shared->lock);
	return taken;
}

static inline bool
is_new(const AnagoShare *share, int slot)
{
	const AnagoSharedItem *shared = &share->pool->items[slot].item;

	return in_use(shared->generation) && shared->node == share->segment->node &&
		share->entered[slot] != shared->generation;
}

bool
anago_item_to_enter(const AnagoShare *share)
{
	for (int i = 0; i < share->pool->nitems; i++)
		if (is_new(share, i))
			return true;
	return false;
}

bool
anago_item_enter(AnagoShare *share, AnagoItem *item, int *op, char *bytes)
{
	for (int i = 0; i < share->pool->nitems; i++)
	{
		AnagoSharedItem *shared = &share->pool->items[i].item;
		bool		entered = false;

		if (!is_new(share, i))
			continue;
		LWLockAcquire(&shared->lock, LW_SHARED);
		if (is_new(share, i))
		{
			*op = shared->op;
			memcpy(bytes, bytes_of(shared), shared->nbytes);
			item->slot = i;
			item->generation = share->entered[i] = shared->generation;
			entered = true;
		}
		LWLockRelease(&shared->lock);
		if (entered)
			return true;
	}
	return false;
}
