/*-------------------------------------------------------------------------
 *
 * new_pages.c
 *	  Which pages new rows of a table will go to.  See new_pages.h.
 *
 * Core is followed by a cursor that runs ahead of it in one page of the map, of which
 * there is a copy.  Now and then that is made anew, and core's place is compared:
 *
 *		core		cursor
 *		 |------------|				it has come to what was foretold: go on
 *	|				  |				it is elsewhere: begin where it is, and go as far
 *									ahead of it as rows are
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "storage/fsm_internals.h"
#include "storage/itemid.h"
#include "storage/smgr.h"

#include "ops/new_pages.h"

/* Rows after which core's place is looked at again. */
#define ROWS_PER_COPY	16

/* What the map tells apart, in bytes, as in freespace.c. */
#define MAP_STEP		(BLCKSZ / 256)

/* Levels of the map. */
#define MAP_LEVELS		(SlotsPerFSMPage >= 1626 ? 3 : 4)

struct AnagoNewPages
{
	Relation	heap;
	Size		reserved;		/* of each page, by its fill factor */
	int			until_copy;		/* rows */
	int			nrows;			/* that pages are yet to be found for, */
	Size		size;			/* each of so many bytes */
	BlockNumber first;			/* the copy's first page, or Invalid: there is none,
								 * or nothing is left in it */
	BlockNumber nblocks;		/* of the table, then */
	BlockNumber core;			/* where core was last */
	BlockNumber next;			/* the cursor: the page to be thought of next, */
	Size		room;			/* and what the one before has left */
	uint8		slots[FLEXIBLE_ARRAY_MEMBER];	/* of the map */
};

AnagoNewPages *
anago_new_pages_create(Relation heap)
{
	AnagoNewPages *pages = palloc0(offsetof(AnagoNewPages, slots) + SlotsPerFSMPage);

	pages->heap = heap;
	pages->reserved = RelationGetTargetPageFreeSpace(heap, HEAP_DEFAULT_FILLFACTOR);
	pages->first = pages->next = InvalidBlockNumber;
	return pages;
}

/* The block of the map that has a page's slot. */
static BlockNumber
map_block(BlockNumber blkno)
{
	BlockNumber before = blkno / SlotsPerFSMPage;
	BlockNumber n = 0;

	for (int level = 0; level < MAP_LEVELS; level++)
	{
		n += before + 1;
		before /= SlotsPerFSMPage;
	}
	return n - 1;
}

/* Copy the part of the map where core is; its own next place there, or -1. */
static int
copy_map(AnagoNewPages *pages)
{
	Relation	heap = pages->heap;
	BlockNumber block = map_block(pages->core);
	Buffer		buf;
	FSMPage		map;
	int			next;

	if (!smgrexists(RelationGetSmgr(heap), FSM_FORKNUM) ||
		block >= RelationGetNumberOfBlocksInFork(heap, FSM_FORKNUM))
		return -1;
	buf = ReadBufferExtended(heap, FSM_FORKNUM, block, RBM_NORMAL, NULL);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	map = (FSMPage) PageGetContents(BufferGetPage(buf));
	next = map->fp_next_slot;
	memcpy(pages->slots, map->fp_nodes + NonLeafNodesPerPage, SlotsPerFSMPage);
	UnlockReleaseBuffer(buf);
	pages->first = pages->core - pages->core % SlotsPerFSMPage;
	pages->nblocks = RelationGetNumberOfBlocks(heap);
	return next >= 0 && next < SlotsPerFSMPage ? next : 0;
}

/* See the top. */
static void
follow_core(AnagoNewPages *pages, int others)
{
	BlockNumber before = pages->core;
	BlockNumber first = pages->first;
	int			next;

	pages->until_copy = ROWS_PER_COPY;
	pages->core = RelationGetTargetBlock(pages->heap);
	pages->first = InvalidBlockNumber;
	next = pages->core == InvalidBlockNumber ? -1 : copy_map(pages);
	if (pages->first == first && pages->core >= before && pages->core < pages->next)
		return;
	pages->nrows = 0;
	if (next < 0)
		return;
	pages->next = pages->first + next;
	pages->nrows = others;
	pages->room = 0;
}

/* Go on to the next page with room; at the end of the copy, from its start. */
static BlockNumber
find_room(AnagoNewPages *pages)
{
	unsigned	least = Min((pages->size + pages->reserved + MAP_STEP - 1) / MAP_STEP, 255);
	int			at = pages->next - pages->first;

	for (int i = 0; i < SlotsPerFSMPage; i++, at++)
	{
		int			slot = at % SlotsPerFSMPage;

		if (pages->slots[slot] < least)
			continue;
		pages->next = pages->first + slot + 1;
		pages->room = pages->slots[slot] * MAP_STEP - pages->reserved;
		/* it is core's by the time that it is thought of again */
		pages->slots[slot] = 0;
		return pages->first + slot;
	}
	pages->first = InvalidBlockNumber;
	return InvalidBlockNumber;
}

void
anago_new_pages_add(AnagoNewPages *pages, Size size, int others)
{
	if (pages->until_copy-- <= 0)
		follow_core(pages, others);
	pages->size = size;
	pages->nrows++;
}

BlockNumber
anago_new_pages_next(AnagoNewPages *pages)
{
	Size		taken = pages->size + sizeof(ItemIdData);
	BlockNumber blkno;

	while (pages->nrows > 0 && pages->room >= pages->size)
	{
		pages->room -= Min(taken, pages->room);
		pages->nrows--;
	}
	if (pages->nrows == 0 || pages->first == InvalidBlockNumber)
		return InvalidBlockNumber;
	blkno = find_room(pages);
	return blkno < pages->nblocks ? blkno : InvalidBlockNumber;
}
