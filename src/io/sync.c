/*-------------------------------------------------------------------------
 *
 * sync.c
 *	  I/O method `sync`: nothing is ever on its way.
 *
 * Its capacity of zero tells the page layer to answer every request by
 * ReadBuffer(), so most of the table stays empty.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "io/io.h"

static bool
sync_available(const char **why, const char **hint)
{
	return true;
}

static AnagoIo *
sync_begin(int max_inflight)
{
	return palloc0(sizeof(AnagoIo));
}

static void
sync_end(AnagoIo *io)
{
}

static int
sync_capacity(const AnagoIo *io)
{
	return 0;
}

static int
sync_expect(int max_inflight)
{
	return 0;
}

const AnagoIoMethodOps anago_io_sync_ops = {
	.name = "sync",
	.available = sync_available,
	.begin = sync_begin,
	.end = sync_end,
	.capacity = sync_capacity,
	.expect = sync_expect,
};
