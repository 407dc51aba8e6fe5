/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Look at pages without raising errors.
 *
 * A damaged page must not fail a query that stock would have executed without
 * reading it.  A subtransaction takes back whatever an error leaves behind:
 * pins, locks, reads on their way.  It costs a few microseconds and no
 * transaction ID, so that it works on a standby as well.  It is committed, as
 * an abort would end the progress report of a command that plans something.
 * In parallel mode, where functions may plan queries, there is none to be had
 * before PostgreSQL 17: nothing is looked at there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "survey/guard.h"

static bool busy = false;

bool
anago_guard_busy(void)
{
	return busy;
}

/* Errors of this class are for the session, whatever it was doing. */
static bool
must_be_raised(const ErrorData *error)
{
	return ERRCODE_TO_CATEGORY(error->sqlerrcode) ==
		ERRCODE_OPERATOR_INTERVENTION;
}

/* What an error was, for those who want to know; or raise it. */
static void
pass_over(ErrorData *error, Oid relid)
{
	if (must_be_raised(error))
		ReThrowError(error);
	ereport(DEBUG1,
			(errmsg_internal("anago could not look at relation %u: %s",
							 relid, error->message)));
	FreeErrorData(error);
}

bool
anago_guarded_look(Oid relid, AnagoLook look, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext work;
	volatile bool found = false;

	if (busy || IsInParallelMode())
		return false;

	work = AllocSetContextCreate(context, "anago survey", ALLOCSET_SMALL_SIZES);
	BeginInternalSubTransaction(NULL);
	busy = true;
	PG_TRY();
	{
		Relation	rel = index_open(relid, NoLock);

		MemoryContextSwitchTo(work);
		found = look(rel, arg);
		busy = false;
		index_close(rel, NoLock);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		busy = false;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		pass_over(error, relid);
		found = false;
	}
	PG_END_TRY();
	MemoryContextDelete(work);
	return found;
}
