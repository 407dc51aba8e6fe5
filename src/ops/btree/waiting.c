/*-------------------------------------------------------------------------
 *
 * waiting.c
 *	  Rows that wait until late looks are taken up.  See waiting.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/btree/probe.h"
#include "ops/btree/range.h"
#include "ops/btree/waiting.h"
#include "pipeline/row.h"

/* Room for so many at first. */
#define WAITING_FIRST	16

typedef struct WaitingTask
{
	AnagoTask	task;
	AnagoStep  *step;
	int			next;			/* of step->waiting */
} WaitingTask;

StaticAssertDecl(sizeof(WaitingTask) <= ANAGO_TASK_SIZE, "task fits its slot");

void
anago_waiting_add(AnagoStep *step, AnagoRow *row)
{
	if (step->nwaiting == step->max_waiting)
		step->waiting = anago_pipeline_grow(step->op.pipeline, step->waiting,
											&step->max_waiting, WAITING_FIRST);
	step->waiting[step->nwaiting++] = row;
}

void
anago_waiting_forget(AnagoStep *step)
{
	step->nwaiting = 0;
}

static AnagoVerdict
waiting_run(AnagoTask *task)
{
	WaitingTask *self = (WaitingTask *) task;
	AnagoStep  *step = self->step;
	AnagoPipeline *pipeline = step->op.pipeline;

	ANAGO_BEGIN(task);
	while (self->next < step->nwaiting)
	{
		ANAGO_AWAIT_ROOM(task, pipeline->sched, ANAGO_DEPTH_PROBE(step));
		anago_row_bind(pipeline, step->waiting[self->next]);
		step->op.kind->adopt(&step->op, step->waiting[self->next++]);
		ANAGO_SUSPEND(task, ANAGO_YIELD);
	}
	anago_waiting_forget(step);
	ANAGO_END(task);
}

static const AnagoTaskOps waiting_ops = {"waiting rows", waiting_run};

/* At the depth of the source, which pulls no row meanwhile. */
bool
anago_waiting_go_on(AnagoStep *step)
{
	AnagoPipeline *pipeline = step->op.pipeline;

	if (step->nwaiting == 0)
		return false;
	((WaitingTask *) anago_sched_spawn(pipeline->sched, &waiting_ops,
									   pipeline->ops[0]->depth))->step = step;
	return true;
}
