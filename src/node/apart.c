/*-------------------------------------------------------------------------
 *
 * apart.c
 *	  Looks run apart from the query.  See apart.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "node/apart.h"
#include "node/fault.h"

ResourceOwner
anago_apart_begin(void)
{
	return ResourceOwnerCreate(CurrentResourceOwner, "anago looks");
}

/*
 * As a subtransaction's end does it.  Where all went well nothing is left to be released
 * but reads that are on their way: core has them in the owner's list, which goes now.
 */
static void
end_owner(ResourceOwner *owner, bool well)
{
	ResourceOwnerRelease(*owner, RESOURCE_RELEASE_BEFORE_LOCKS, well, false);
	ResourceOwnerRelease(*owner, RESOURCE_RELEASE_LOCKS, well, false);
	ResourceOwnerRelease(*owner, RESOURCE_RELEASE_AFTER_LOCKS, well, false);
	ResourceOwnerDelete(*owner);
	*owner = NULL;
}

/* What a subtransaction's abort does about what looks may take. */
static void
give_up_looks(AnagoPipeline *looks, ResourceOwner *owner)
{
	HOLD_INTERRUPTS();
	LWLockReleaseAll();
	pgstat_report_wait_end();
	anago_abort_io();
	UnlockBuffers();
	ConditionVariableCancelSleep();
	end_owner(owner, false);
	anago_pipeline_abandon(looks);
	RESUME_INTERRUPTS();
}

void
anago_apart(AnagoPipeline *looks, ResourceOwner *owner, AnagoAct act)
{
	ResourceOwner of_query = CurrentResourceOwner;
	MemoryContext context = CurrentMemoryContext;
	AnagoIdentity before = anago_identity();
	AnagoFaultWatch watch;

	anago_fault_watch(&watch);
	looks->held->owner = of_query;
	looks->held->callbacks = watch.callback.previous;
	CurrentResourceOwner = *owner;
	PG_TRY();
	{
		act(looks);
	}
	PG_CATCH();
	{
		bool		raised = looks->held->in_child || anago_fault_is_of_query(&watch) ||
			!anago_identity_is(before);

		CurrentResourceOwner = of_query;
		MemoryContextSwitchTo(context);
		/* afterwards it is another query that fails, and this one may go on */
		if (!raised || looks->held->afterwards != NULL)
			give_up_looks(looks, owner);
		if (raised)
			PG_RE_THROW();
		FlushErrorState();
	}
	PG_END_TRY();
	anago_fault_unwatch(&watch);
	CurrentResourceOwner = of_query;
}

void
anago_apart_end(AnagoPipeline *looks, ResourceOwner *owner)
{
	ResourceOwner of_query = CurrentResourceOwner;

	if (*owner == NULL)
		return;
	CurrentResourceOwner = *owner;
	anago_pipeline_rescan(looks);
	CurrentResourceOwner = of_query;
	end_owner(owner, true);
}
