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

#include "ops/btree/inner.h"

/* Open addressing, at most half full.  It begins small, as short queries do. */
#define SLOTS_START	16
#define SLOTS_MAX	(2 * ANAGO_INNER_PAGES)

StaticAssertDecl((SLOTS_START & (SLOTS_START - 1)) == 0 &&
				 (SLOTS_MAX & (SLOTS_MAX - 1)) == 0,
				 "slots are addressed by a mask");

typedef struct Slot
{
	char	   *page;			/* NULL: not yet copied */
	BlockNumber blkno;
	int			met;			/* how often, while not copied; 0: slot is free */
} Slot;

struct AnagoInner
{
	MemoryContext context;
	AnagoMemory *memory;
	int			ncopies;
	int			max_copies;
	int			n;				/* slots used */
	int			nslots;
	Slot	   *slots;			/* NULL while n is 0 */
};

/* The slot of a block, or the free one where it would be. */
static inline int
slot_of(const AnagoInner *inner, BlockNumber blkno)
{
	uint32		mask = inner->nslots - 1;
	uint32		i = murmurhash32(blkno) & mask;

	while (inner->slots[i].met > 0 && inner->slots[i].blkno != blkno)
		i = (i + 1) & mask;
	return i;
}

AnagoInner *
anago_inner_create(MemoryContext context, AnagoMemory *memory, int nsteps)
{
	AnagoInner *inner = MemoryContextAllocZero(context, sizeof(AnagoInner));
	Size		copies = memory->limit / 2 / nsteps / BLCKSZ;

	inner->context = context;
	inner->memory = memory;
	inner->max_copies = Max(Min(copies, ANAGO_INNER_PAGES), 1);
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
	for (int i = 0; i < inner->nslots; i++)
		if (inner->slots[i].page != NULL)
			pfree(inner->slots[i].page);
	anago_memory_fix(inner->memory, -(ssize_t) (inner->ncopies * BLCKSZ +
												inner->nslots * sizeof(Slot)));
	pfree(inner->slots);
	inner->slots = NULL;
	inner->n = inner->nslots = inner->ncopies = 0;
}

/* Make room for one more page. */
static void
make_room(AnagoInner *inner)
{
	Slot	   *old = inner->slots;
	int			nold = inner->nslots;

	if (2 * inner->n < nold)
		return;
	inner->nslots = nold == 0 ? SLOTS_START : 2 * nold;
	anago_memory_fix(inner->memory, (inner->nslots - nold) * sizeof(Slot));
	inner->slots = MemoryContextAllocZero(inner->context,
										  sizeof(Slot) * inner->nslots);
	for (int i = 0; i < nold; i++)
		if (old[i].met > 0)
			inner->slots[slot_of(inner, old[i].blkno)] = old[i];
	if (old != NULL)
		pfree(old);
}

void
anago_inner_add(AnagoInner *inner, BlockNumber blkno, Page page)
{
	Slot	   *slot;

	if (inner->n < ANAGO_INNER_PAGES)
		make_room(inner);
	slot = &inner->slots[slot_of(inner, blkno)];
	if (slot->met == 0)
	{
		if (inner->n == ANAGO_INNER_PAGES)
			return;
		slot->blkno = blkno;
		inner->n++;
	}
	/* others that were on their way to it may have come first */
	if (slot->page != NULL || ++slot->met < ANAGO_INNER_MEETINGS)
		return;
	if (inner->ncopies == inner->max_copies)
		return;
	inner->ncopies++;
	anago_memory_fix(inner->memory, BLCKSZ);
	slot->page = MemoryContextAlloc(inner->context, BLCKSZ);
	memcpy(slot->page, page, BLCKSZ);
}
