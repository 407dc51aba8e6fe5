/*-------------------------------------------------------------------------
 *
 * wal.c
 *	  The WAL writer is woken while rows are changed.  See wal.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"

#include "compat.h"
#include "node/wal.h"

/* Of the log's buffers, what is added until then. */
#define PART_OF_BUFFERS		8

uint64		anago_wal_wake_at = 0;

void
anago_wal_wake(void)
{
	uint64		part = (uint64) XLOGbuffers * XLOG_BLCKSZ / PART_OF_BUFFERS;
	bool		is_first = anago_wal_wake_at == 0;

	anago_wal_wake_at = pgWalUsage.wal_bytes + part;
	if (!is_first)
		anago_wake_wal_writer();
}
