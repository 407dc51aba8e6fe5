/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  Errors that looks meet.  See fault.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"

#include "node/fault.h"

static void
note_code(void *arg)
{
	((AnagoFaultWatch *) arg)->code = geterrcode();
}

void
anago_fault_watch(AnagoFaultWatch *watch)
{
	watch->code = 0;
	watch->callback.callback = note_code;
	watch->callback.arg = watch;
	watch->callback.previous = error_context_stack;
	error_context_stack = &watch->callback;
}

void
anago_fault_unwatch(const AnagoFaultWatch *watch)
{
	error_context_stack = watch->callback.previous;
}

/* That a worker has gone without a word is raised like any error ("lost connection"). */
static bool
may_be_of_worker(const AnagoFaultWatch *watch, int code)
{
	return code != watch->code ||
		(code == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE && ParallelContextActive());
}

bool
anago_fault_is_of_query(const AnagoFaultWatch *watch)
{
	int			code = geterrcode();
	int			category = ERRCODE_TO_CATEGORY(code);

	return may_be_of_worker(watch, code) || code == ERRCODE_OUT_OF_MEMORY ||
		category == ERRCODE_OPERATOR_INTERVENTION ||
		category == ERRCODE_TRANSACTION_ROLLBACK;
}

AnagoIdentity
anago_identity(void)
{
	AnagoIdentity now;

	GetUserIdAndSecContext(&now.user, &now.context);
	now.nest_level = GetCurrentTransactionNestLevel();
	return now;
}

bool
anago_identity_is(AnagoIdentity before)
{
	AnagoIdentity now = anago_identity();

	return now.user == before.user && now.context == before.context &&
		now.nest_level == before.nest_level;
}
