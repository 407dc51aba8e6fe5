/*-------------------------------------------------------------------------
 *
 * retire.c
 *	  The sink of an ordered pipeline: rows for the executor, each in its turn.
 *
 * A row whose turn it is goes out as it is, without a copy, as in emit.c.  One
 * that was found before its turn is kept as a fragment at its place
 * (sched/places.h).  When that is the head, a task of the greatest depth hands
 * out what is kept there, before any other task runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "ops/ops.h"
#include "pipeline/row.h"
#include "pipeline/state.h"

typedef struct RetireSink
{
	AnagoOp		op;				/* must be first */
	bool		at_work;		/* its task lives */
} RetireSink;

typedef struct KeptRow
{
	AnagoKept	kept;			/* must be first */
	AnagoRow   *row;			/* NULL: it has no columns */
	ItemPointerData tid;		/* which row of which table it is, as fill.c says */
	Oid			table;
} KeptRow;

typedef struct RetireTask
{
	AnagoTask	task;
	RetireSink *sink;
	KeptRow    *out;			/* with the executor */
} RetireTask;

StaticAssertDecl(sizeof(RetireTask) <= ANAGO_TASK_SIZE, "task fits its slot");

static void
keep(AnagoOp *op, AnagoPlace *place, AnagoRow *outer)
{
	AnagoPipeline *pipeline = op->pipeline;
	KeptRow    *kept = anago_pipeline_alloc(pipeline, sizeof(KeptRow));

	kept->row = anago_row_make(pipeline, op->index - 1, outer);
	kept->tid = pipeline->wide->tts_tid;
	kept->table = pipeline->wide->tts_tableOid;
	anago_order_keep(anago_sched_order(pipeline->sched), place, &kept->kept);
}

/* Put the next row of the head into the wide slot; false: it has none. */
static bool
hand_out(RetireTask *self)
{
	AnagoPipeline *pipeline = self->sink->op.pipeline;
	KeptRow    *kept = (KeptRow *)
		anago_order_take(anago_sched_order(pipeline->sched));

	self->out = kept;
	if (kept == NULL)
		return false;
	anago_row_bind(pipeline, kept->row);
	pipeline->wide->tts_tid = kept->tid;
	pipeline->wide->tts_tableOid = kept->table;
	return true;
}

/* The executor has asked for the row behind it. */
static void
give_up(RetireTask *self)
{
	AnagoPipeline *pipeline = self->sink->op.pipeline;

	anago_row_release(pipeline, self->out->row);
	anago_pipeline_free(pipeline, self->out, sizeof(KeptRow));
	anago_sched_retire(pipeline->sched);
}

static AnagoVerdict
retire_run(AnagoTask *task)
{
	RetireTask *self = (RetireTask *) task;

	ANAGO_BEGIN(task);
	while (hand_out(self))
	{
		ANAGO_SUSPEND(task, ANAGO_EMIT);
		give_up(self);
	}
	self->sink->at_work = false;
	ANAGO_END(task);
}

static const AnagoTaskOps retire_ops = {"retire", retire_run};

static void
retire_turn(AnagoOp *op)
{
	RetireSink *sink = (RetireSink *) op;

	if (sink->at_work)
		return;
	sink->at_work = true;
	((RetireTask *) anago_sched_spawn(op->pipeline->sched, &retire_ops,
									  op->depth))->sink = sink;
}

static AnagoAccepted
retire_accept(AnagoOp *op, AnagoRow *outer)
{
	AnagoSched *sched = op->pipeline->sched;
	AnagoPlace *place = anago_sched_place(sched);

	if (place == anago_sched_order(sched)->head && place->kept == NULL)
		return ANAGO_OUT;
	keep(op, place, outer);
	return ANAGO_TAKEN;
}

/* What is not kept takes no room. */
static int
retire_room(const AnagoOp *op)
{
	return anago_sched_has_room(op->pipeline->sched, op->depth) ? INT_MAX : 0;
}

static void
retire_release(AnagoOp *op)
{
	((RetireSink *) op)->at_work = false;
}

const AnagoOpKind anago_retire_kind = {
	.name = "retire",
	.ndepths = 1,
	.size = sizeof(RetireSink),
	.release = retire_release,
	.room = retire_room,
	.accept = retire_accept,
	.turn = retire_turn,
};
