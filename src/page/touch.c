/*-------------------------------------------------------------------------
 *
 * touch.c
 *	  Bring cached blocks nearer to the CPU before they are used.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lwlock.h"

#include "compat.h"
#include "page/touch.h"

/* What a CPU moves at a time, in bytes; only speed depends on it. */
#define CACHE_LINE	64

Buffer
anago_touch_locate(Relation rel, BlockNumber blkno)
{
	AnagoLocator locator = ANAGO_REL_LOCATOR(rel);
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			buf_id;

	anago_buffer_tag(&tag, &locator, blkno);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	buf_id = BufTableLookup(&tag, hash);
	LWLockRelease(lock);
	return buf_id + 1;
}

void
anago_touch_page(Buffer buf, OffsetNumber offnum)
{
	char	   *page = (char *) BufferGetBlock(buf);

	__builtin_prefetch(GetBufferDescriptor(buf - 1), 1);
	__builtin_prefetch(page);
	__builtin_prefetch(PageGetItemId((Page) page, offnum));
}

/*
 * The page is not pinned: what is read may be of another page by now, and is
 * used for an address within this buffer only.
 */
void
anago_touch_tuple(Buffer buf, OffsetNumber offnum)
{
#ifndef USE_VALGRIND
	char	   *page = (char *) BufferGetBlock(buf);
	unsigned	offset = ItemIdGetOffset(PageGetItemId((Page) page, offnum));

	if (offset <= BLCKSZ - 2 * CACHE_LINE)
	{
		__builtin_prefetch(page + offset);
		__builtin_prefetch(page + offset + CACHE_LINE);
	}
#endif
}
