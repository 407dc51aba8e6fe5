/*-------------------------------------------------------------------------
 *
 * ranges.c
 *	  Work that any process of a parallel query may take.  See ranges.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "shared/share.h"

/* A claim is that part of what each process might still get. */
#define CLAIM_PARTS		4

/*
 * As long as so many children for each process wait to be taken, nothing more
 * is published: whoever runs out of work finds some.
 */
#define ENOUGH_CHILDREN	4

static inline bool
in_use(uint32 generation)
{
	return (generation & 1) != 0;
}

void
anago_ranges_init(AnagoPool *pool)
{
	for (int i = 0; i < pool->nranges; i++)
	{
		AnagoSharedRange *range = &pool->ranges[i];

		/* any of core's: an extension's would be used up one for each query */
		LWLockInitialize(&range->lock, LWTRANCHE_PARALLEL_QUERY_DSA);
		range->generation = 0;
		range->at.child = FirstOffsetNumber;
		range->at.last = InvalidOffsetNumber;
	}
}

void
anago_ranges_drop(AnagoPool *pool, int node)
{
	for (int i = 0; i < pool->nranges; i++)
	{
		AnagoSharedRange *range = &pool->ranges[i];

		LWLockAcquire(&range->lock, LW_EXCLUSIVE);
		if (in_use(range->generation) && range->node == node)
			range->generation++;
		LWLockRelease(&range->lock);
	}
}

bool
anago_claim_combos(AnagoShare *share, int n, bool in_parts, int *from, int *to)
{
	AnagoSharedSource *source = &share->segment->source;
	pg_atomic_uint32 *claimed = &source->claimed;
	uint32		first = pg_atomic_read_u32(claimed);
	uint32		count;

	do
	{
		if (first >= (uint32) n)
			return false;
		if (in_parts)
			count = (n + source->nparts - 1) / source->nparts;
		else
			count = Min((n - first) / (CLAIM_PARTS * share->segment->nparticipants),
						ANAGO_CLAIM_MAX);
		count = Min(Max(count, 1), n - first);
	} while (!pg_atomic_compare_exchange_u32(claimed, &first, first + count));

	*from = first;
	*to = first + count;
	Assert(*to <= n);
	return true;
}

/*
 * These looks without a lock are hints, except that a range in use is seen by
 * whoever has been told of it.
 */
bool
anago_range_welcome(const AnagoShare *share)
{
	const AnagoSegment *segment = share->segment;
	int			waiting = 0;
	bool		slot = false;

	for (int i = 0; i < share->pool->nranges; i++)
	{
		const AnagoSharedRange *range = &share->pool->ranges[i];

		if (!in_use(range->generation))
			slot = true;
		else if (range->node == segment->node)
			waiting += anago_children_left(&range->at);
	}
	return slot && waiting < ENOUGH_CHILDREN * segment->nparticipants;
}

int
anago_range_publish(AnagoShare *share, const AnagoRangeName *name,
					const char *row, const AnagoRangePage *at,
					uint32 *generation)
{
	Assert(name->row_bytes <= ANAGO_SHARED_ROW_BYTES);
	Assert(at->seq > 0 && at->child <= at->last);
	for (int i = 0; i < share->pool->nranges; i++)
	{
		AnagoSharedRange *range = &share->pool->ranges[i];

		if (in_use(range->generation))
			continue;
		LWLockAcquire(&range->lock, LW_EXCLUSIVE);
		if (in_use(range->generation))
		{
			LWLockRelease(&range->lock);
			continue;
		}
		range->node = share->segment->node;
		range->name = *name;
		memcpy(range->row, row, name->row_bytes);
		range->at = *at;
		share->entered[i] = *generation = ++range->generation;
		LWLockRelease(&range->lock);
		anago_share_changed(share->segment);
		return i;
	}
	return -1;
}

AnagoTaken
anago_range_take(AnagoShare *share, int slot, uint32 generation,
				 AnagoRangePage *to, OffsetNumber *child)
{
	AnagoSharedRange *range = &share->pool->ranges[slot];
	AnagoTaken	taken;

	LWLockAcquire(&range->lock, LW_EXCLUSIVE);
	if (range->generation != generation)
		taken = ANAGO_TAKEN_END;
	else if (range->at.child <= range->at.last)
	{
		if (to->seq != range->at.seq)
			*to = range->at;
		*child = range->at.child++;
		taken = ANAGO_TAKEN_CHILD;
	}
	else if (range->at.next != InvalidBlockNumber)
	{
		to->seq = range->at.seq;
		to->next = range->at.next;
		taken = ANAGO_TAKEN_LOAD;
	}
	else
	{
		range->generation++;
		taken = ANAGO_TAKEN_END;
	}
	LWLockRelease(&range->lock);
	return taken;
}

bool
anago_range_install(AnagoShare *share, int slot, uint32 generation,
					const AnagoRangePage *from)
{
	AnagoSharedRange *range = &share->pool->ranges[slot];
	bool		installed = false;

	Assert(from->child <= from->last);
	LWLockAcquire(&range->lock, LW_EXCLUSIVE);
	if (range->generation == generation && range->at.seq == from->seq - 1)
	{
		Assert(range->at.child > range->at.last);
		range->at = *from;
		installed = true;
	}
	LWLockRelease(&range->lock);
	if (installed)
		anago_share_changed(share->segment);
	return installed;
}

static inline bool
is_new(const AnagoShare *share, int slot)
{
	const AnagoSharedRange *range = &share->pool->ranges[slot];

	return in_use(range->generation) && range->node == share->segment->node &&
		share->entered[slot] != range->generation;
}

bool
anago_range_to_enter(const AnagoShare *share)
{
	for (int i = 0; i < share->pool->nranges; i++)
		if (is_new(share, i))
			return true;
	return false;
}

int
anago_range_enter(AnagoShare *share, AnagoRangeName *name, char *row,
				  uint32 *generation)
{
	for (int i = 0; i < share->pool->nranges; i++)
	{
		AnagoSharedRange *range = &share->pool->ranges[i];
		bool		entered = false;

		if (!is_new(share, i))
			continue;
		LWLockAcquire(&range->lock, LW_SHARED);
		if (is_new(share, i))
		{
			*name = range->name;
			memcpy(row, range->row, range->name.row_bytes);
			share->entered[i] = *generation = range->generation;
			entered = true;
		}
		LWLockRelease(&range->lock);
		if (entered)
			return i;
	}
	return -1;
}
