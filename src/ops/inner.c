/*-------------------------------------------------------------------------
 *
 * inner.c
 *	  Copies of inner B-tree pages, so that descents skip hot pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "ops/inner.h"

/* Open addressing, at most half full. */
#define SLOTS	(2 * ANAGO_INNER_PAGES)

StaticAssertDecl((SLOTS & (SLOTS - 1)) == 0, "slots are addressed by a mask");

typedef struct Slot
{
	bool		used;
	BlockNumber blkno;
	char	   *page;			/* NULL: met once, not yet copied */
} Slot;

struct AnagoInner
{
	MemoryContext context;
	int			n;				/* slots used */
	Slot	   *slots;			/* NULL while n is 0 */
};

/* The slot of a block, or the free one where it would be. */
static inline int
slot_of(const AnagoInner *inner, BlockNumber blkno)
{
	uint32		i = murmurhash32(blkno) & (SLOTS - 1);

	while (inner->slots[i].used && inner->slots[i].blkno != blkno)
		i = (i + 1) & (SLOTS - 1);
	return i;
}

AnagoInner *
anago_inner_create(MemoryContext context)
{
	AnagoInner *inner = MemoryContextAllocZero(context, sizeof(AnagoInner));

	inner->context = context;
	return inner;
}

Page
anago_inner_find(const AnagoInner *inner, BlockNumber blkno)
{
	if (inner->n == 0)
		return NULL;
	return (Page) inner->slots[slot_of(inner, blkno)].page;
}

void
anago_inner_forget(AnagoInner *inner)
{
	if (inner->n == 0)
		return;
	for (int i = 0; i < SLOTS; i++)
		if (inner->slots[i].page != NULL)
			pfree(inner->slots[i].page);
	pfree(inner->slots);
	inner->slots = NULL;
	inner->n = 0;
}

void
anago_inner_add(AnagoInner *inner, BlockNumber blkno, Page page)
{
	Slot	   *slot;

	if (inner->n == 0)
		inner->slots = MemoryContextAllocZero(inner->context,
											  sizeof(Slot) * SLOTS);
	slot = &inner->slots[slot_of(inner, blkno)];
	if (!slot->used && inner->n < ANAGO_INNER_PAGES)
	{
		slot->used = true;
		slot->blkno = blkno;
		inner->n++;
	}
	else if (slot->used && slot->page == NULL)
	{
		slot->page = MemoryContextAlloc(inner->context, BLCKSZ);
		memcpy(slot->page, page, BLCKSZ);
	}
}
