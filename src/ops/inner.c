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

struct AnagoInner
{
	MemoryContext context;
	int			n;
	struct
	{
		BlockNumber blkno;
		char	   *page;		/* NULL: free */
	}			slots[SLOTS];
};

/* The slot of a block, or the free one where it would be. */
static inline int
slot_of(const AnagoInner *inner, BlockNumber blkno)
{
	uint32		i = murmurhash32(blkno) & (SLOTS - 1);

	while (inner->slots[i].page != NULL && inner->slots[i].blkno != blkno)
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
	return (Page) inner->slots[slot_of(inner, blkno)].page;
}

void
anago_inner_forget(AnagoInner *inner)
{
	for (int i = 0; i < SLOTS; i++)
		if (inner->slots[i].page != NULL)
			pfree(inner->slots[i].page);
	memset(inner->slots, 0, sizeof(inner->slots));
	inner->n = 0;
}

Page
anago_inner_add(AnagoInner *inner, BlockNumber blkno, Page page)
{
	int			i = slot_of(inner, blkno);

	if (inner->slots[i].page != NULL)
		return (Page) inner->slots[i].page;
	if (inner->n == ANAGO_INNER_PAGES)
		return NULL;
	inner->slots[i].page = MemoryContextAlloc(inner->context, BLCKSZ);
	memcpy(inner->slots[i].page, page, BLCKSZ);
	inner->slots[i].blkno = blkno;
	inner->n++;
	return (Page) inner->slots[i].page;
}
