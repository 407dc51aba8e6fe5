/*-------------------------------------------------------------------------
 *
 * child.c
 *	  The child source: the rows of a core plan.
 *
 * It pulls that plan, one row at a time and only while the first step has room.
 * In a parallel query core hands out the rows of a partial plan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/tuptable.h"

#include "ops/ops.h"
#include "pipeline/peers.h"

typedef struct ChildSource
{
	AnagoOp		op;				/* must be first */
	PlanState  *child;
} ChildSource;

typedef struct ChildTask
{
	AnagoTask	task;
	ChildSource *source;
} ChildTask;

StaticAssertDecl(sizeof(ChildTask) <= ANAGO_TASK_SIZE, "task fits its slot");

/* Pull one row into the wide slot; false at the end. */
static bool
pull(ChildSource *source)
{
	AnagoPipeline *pipeline = source->op.pipeline;
	TupleTableSlot *from;
	TupleTableSlot *wide = pipeline->wide;

	/* it may wait for other processes, so that nobody must wait for us then */
	if (pipeline->peers.share != NULL)
		anago_peers_cross(pipeline, false);
	from = ExecProcNode(source->child);
	if (pipeline->peers.share != NULL)
		anago_peers_cross(pipeline, true);
	if (TupIsNull(from))
		return false;
	pipeline->bound = NULL;
	slot_getallattrs(from);
	for (int i = 0; i < source->op.ncols; i++)
	{
		wide->tts_values[i] = from->tts_values[source->op.attnos[i] - 1];
		wide->tts_isnull[i] = from->tts_isnull[source->op.attnos[i] - 1];
	}
	return true;
}

static AnagoVerdict
child_run(AnagoTask *task)
{
	ChildSource *source = ((ChildTask *) task)->source;

	ANAGO_BEGIN(task);
	for (;;)
	{
		ANAGO_AWAIT_NEXT(task, &source->op);
		if (!pull(source))
			break;
		ANAGO_PASS_ON(task, &source->op, NULL);
		ANAGO_SUSPEND(task, ANAGO_YIELD);
	}
	ANAGO_END(task);
}

static const AnagoTaskOps child_ops = {"child plan", child_run};

static void
child_begin(AnagoOp *op, const AnagoPipelineDesc *desc, int eflags)
{
	((ChildSource *) op)->child = op->pipeline->child;
	Assert(op->first_col == 0);
}

static void
child_start(AnagoOp *op)
{
	ChildTask  *self = (ChildTask *)
		anago_sched_spawn(op->pipeline->sched, &child_ops, op->depth);

	self->source = (ChildSource *) op;
}

const AnagoOpKind anago_child_kind = {
	.name = "child",
	.ndepths = 1,
	.size = sizeof(ChildSource),
	.begin = child_begin,
	.start = child_start,
};
