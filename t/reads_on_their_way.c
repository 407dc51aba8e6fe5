/*
 * What becomes of this process' reads that are on their way, with a server whose
 * reads are asynchronous (18).  Built by the TAP test that needs it.
 */
#include "postgres.h"

#include "fmgr.h"
#include "storage/aio_internal.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(anago_test_reads);

/* Reads whose end this process has not seen; with `owned` those in an owner's list. */
Datum
anago_test_reads(PG_FUNCTION_ARGS)
{
	bool		owned = PG_GETARG_BOOL(0);
	int			n = 0;

	for (uint32 i = 0; i < pgaio_ctl->io_handle_count; i++)
	{
		PgAioHandle *handle = &pgaio_ctl->io_handles[i];

		if (handle->owner_procno == MyProcNumber &&
			handle->state >= PGAIO_HS_DEFINED && (!owned || handle->resowner != NULL))
			n++;
	}
	PG_RETURN_INT32(n);
}
