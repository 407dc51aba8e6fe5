/*-------------------------------------------------------------------------
 *
 * source.c
 *	  Sources: where the rows of a pipeline come from.
 *
 * The unit source is one row without columns, so that an index scan is simply
 * the probe of that row.  The child source pulls a core plan, one row at a
 * time and only while step 0 has room.
 *
 * The processes of a parallel query each have one: the unit rows share the
 * ranges of one, and core hands out the rows of a partial child plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/tuptable.h"

#include "ops/probe.h"
#include "ops/row.h"
#include "ops/source.h"
#include "ops/static.h"

typedef struct ChildTask
{
	AnagoTask	task;
	AnagoQuery *query;
} ChildTask;

StaticAssertDecl(sizeof(ChildTask) <= ANAGO_TASK_SIZE, "task fits its slot");

/* Pull one row into step 0; false at the end. */
static bool
pull(AnagoQuery *query)
{
	TupleTableSlot *from;
	TupleTableSlot *wide = query->wide;

	/* it may wait for other processes, so that nobody must wait for us then */
	if (query->share != NULL)
		anago_share_visit(query->share);
	from = ExecProcNode(query->child);
	if (query->share != NULL)
		anago_share_visit(query->share);
	if (TupIsNull(from))
		return false;
	query->source_rows++;
	query->bound = NULL;
	slot_getallattrs(from);
	for (int i = 0; i < query->source_ncols; i++)
	{
		wide->tts_values[i] = from->tts_values[query->source_attnos[i] - 1];
		wide->tts_isnull[i] = from->tts_isnull[query->source_attnos[i] - 1];
	}
	anago_probe_spawn(&query->steps[0],
					  anago_row_make(query, ANAGO_STEP_SOURCE, NULL));
	return true;
}

static AnagoVerdict
child_run(AnagoTask *task)
{
	AnagoQuery *query = ((ChildTask *) task)->query;

	ANAGO_BEGIN(task);
	for (;;)
	{
		ANAGO_AWAIT_ROOM(task, query->sched, ANAGO_DEPTH_PROBE(&query->steps[0]));
		if (!pull(query))
			break;
		ANAGO_SUSPEND(task, ANAGO_YIELD);
	}
	ANAGO_END(task);
}

static const AnagoTaskOps child_ops = {"child plan", child_run};

void
anago_source_spawn(AnagoQuery *query)
{
	if (query->in_parts && query->child == NULL)
		anago_static_spawn(query);
	else if (query->child == NULL)
	{
		query->bound = NULL;
		anago_probe_spawn(&query->steps[0], NULL);
	}
	else
	{
		ChildTask  *self = (ChildTask *)
			anago_sched_spawn(query->sched, &child_ops, ANAGO_DEPTH_SOURCE);

		self->query = query;
	}
}
