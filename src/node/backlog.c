/*-------------------------------------------------------------------------
 *
 * backlog.c
 *	  Rows whose late looks are made while triggers run.  See backlog.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/plannodes.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "node/backlog.h"

/* Room for so many at first. */
#define SLOTS_FIRST		64

/* Rows of a batch: of those that had looks before, and of shared buffers' number. */
#define PART_OF_ROWS	2
#define PART_OF_BUFFERS	16

/* All that have rows. */
static dlist_head backlogs = DLIST_STATIC_INIT(backlogs);

AnagoBacklog *
anago_backlog_create(List *tables, int nlooks, Size limit,
					 void (*go_on) (void *arg), void *arg)
{
	AnagoBacklog *backlog = palloc0(sizeof(AnagoBacklog));

	backlog->context = CurrentMemoryContext;
	backlog->tables = tables;
	backlog->nlooks = nlooks;
	backlog->limit = limit;
	backlog->go_on = go_on;
	backlog->arg = arg;
	return backlog;
}

/* The query's memory goes: it has ended, or was aborted some time ago. */
static void
leave_list(void *arg)
{
	dlist_delete(&((AnagoBacklog *) arg)->node);
}

static void
begin(AnagoBacklog *backlog, int64 before)
{
	MemoryContextCallback *callback =
		MemoryContextAlloc(backlog->context, sizeof(MemoryContextCallback));

	backlog->subid = GetCurrentSubTransactionId();
	backlog->slots = SLOTS_FIRST;
	backlog->rows = MemoryContextAlloc(backlog->context,
									   sizeof(MinimalTuple) * backlog->slots);
	backlog->looked = before;
	backlog->batch = Max(Min(before / PART_OF_ROWS, NBuffers / PART_OF_BUFFERS), 1);
	callback->func = leave_list;
	callback->arg = backlog;
	dlist_push_head(&backlogs, &backlog->node);
	MemoryContextRegisterResetCallback(backlog->context, callback);
}

void
anago_backlog_add(AnagoBacklog *backlog, TupleTableSlot *slot, int64 before)
{
	MemoryContext old;

	if (backlog->full)
		return;
	if (backlog->rows == NULL)
		begin(backlog, before);
	if (backlog->n == backlog->slots)
	{
		backlog->slots *= 2;
		backlog->rows = repalloc_huge(backlog->rows,
									  sizeof(MinimalTuple) * backlog->slots);
	}
	old = MemoryContextSwitchTo(backlog->context);
	backlog->rows[backlog->n] = ExecCopySlotMinimalTuple(slot);
	MemoryContextSwitchTo(old);
	backlog->bytes += backlog->rows[backlog->n]->t_len + sizeof(MinimalTuple);
	backlog->n++;
	backlog->full = backlog->bytes >= backlog->limit;
}

MinimalTuple
anago_backlog_next(AnagoBacklog *backlog)
{
	if (backlog->next == backlog->n)
		return NULL;
	backlog->looked++;
	return backlog->rows[backlog->next++];
}

void
anago_backlog_give_up(AnagoBacklog *backlog)
{
	backlog->next = backlog->n;
	backlog->full = true;
}

static bool
waits_for(const AnagoBacklog *backlog, const QueryDesc *query)
{
	ListCell   *lc;

	if (!backlog->ended || backlog->next == backlog->n ||
		!SubTransactionIsActive(backlog->subid))
		return false;
	foreach(lc, query->plannedstmt->relationOids)
		if (list_member_oid(backlog->tables, lfirst_oid(lc)))
			return true;
	return false;
}

void
anago_backlogs_see(const QueryDesc *query)
{
	dlist_iter	iter;

	dlist_foreach(iter, &backlogs)
	{
		AnagoBacklog *backlog = dlist_container(AnagoBacklog, node, iter.cur);

		if (!waits_for(backlog, query))
			continue;
		backlog->queries++;
		if (backlog->queries / backlog->nlooks + backlog->batch >= backlog->looked)
			backlog->go_on(backlog->arg);
	}
}
