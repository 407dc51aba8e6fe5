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
