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
#include "storage/off.h"
#include "utils/rel.h"

/* The buffer that holds the block now, or InvalidBuffer.  Main fork. */
extern Buffer anago_touch_locate(Relation rel, BlockNumber blkno);

/* Fetch the page's header and a line pointer's cache lines. */
extern void anago_touch_page(Buffer buf, OffsetNumber offnum);

/* Fetch the tuple's first cache lines; the line pointer is read for that. */
extern void anago_touch_tuple(Buffer buf, OffsetNumber offnum);

#endif							/* ANAGO_TOUCH_H */
