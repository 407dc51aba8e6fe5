/*-------------------------------------------------------------------------
 *
 * touch.h
 *	  Bring cached blocks nearer to the CPU before they are used.
 *
 * A block in shared buffers is some cache misses away: the buffer table's
 * entry, the buffer's header, the page's header, the line pointer, the tuple.
 * A scan that knows which tuples it wants next can have the last three of
 * these misses overlap.  Nothing here takes a pin or promises anything; a
 * block that is replaced meanwhile only makes a hint useless.
 *
 * Cf. Chen, Ailamaki, Gibbons, Mowry, "Improving Hash Join Performance through
 * Prefetching" (ICDE 2004), software pipelining.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TOUCH_H
#define ANAGO_TOUCH_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/buf.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "utils/rel.h"

/* The buffer that holds the block now, or InvalidBuffer.  Main fork. */
extern Buffer anago_touch_locate(Relation rel, BlockNumber blkno);

/*
 * The rest is inline: to GCC a function of prefetches alone has no effect, so that it
 * removes the calls where it sees across files (link-time optimization).
 */

/* What a CPU moves at a time, in bytes; only speed depends on it. */
#define ANAGO_CACHE_LINE	64

/* Fetch the page's header and a line pointer's cache lines. */
static pg_attribute_always_inline void
anago_touch_page(Buffer buf, OffsetNumber offnum)
{
	char	   *page = (char *) BufferGetBlock(buf);

	__builtin_prefetch(GetBufferDescriptor(buf - 1), 1);
	__builtin_prefetch(page);
	__builtin_prefetch(PageGetItemId((Page) page, offnum));
}

/*
 * The same of a leaf, whose special space and high key are at its end; the line
 * pointer is where a search begins.
 */
static pg_attribute_always_inline void
anago_touch_leaf(Buffer buf, OffsetNumber middle)
{
	anago_touch_page(buf, middle);
	__builtin_prefetch((char *) BufferGetBlock(buf) + BLCKSZ - ANAGO_CACHE_LINE);
}

/*
 * Fetch the tuple's first cache lines; the line pointer is read for that.  The page is
 * not pinned: what is read may be of another page by now, and is used for an address
 * within this buffer only.
 */
static pg_attribute_always_inline void
anago_touch_tuple(Buffer buf, OffsetNumber offnum)
{
#ifndef USE_VALGRIND
	char	   *page = (char *) BufferGetBlock(buf);
	unsigned	offset = ItemIdGetOffset(PageGetItemId((Page) page, offnum));

	if (offset <= BLCKSZ - 2 * ANAGO_CACHE_LINE)
	{
		__builtin_prefetch(page + offset);
		__builtin_prefetch(page + offset + ANAGO_CACHE_LINE);
	}
#endif
}

#endif							/* ANAGO_TOUCH_H */
