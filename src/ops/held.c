/*-------------------------------------------------------------------------
 *
 * held.c
 *	  Source and sink of looks: rows that are held back (pipeline/held.h).
 *
 * The source pulls rows of a child plan while they may be held.  It ends where
 * no more may, and is started again when rows have left: a task that waits for
 * what happens outside of the scheduler would keep that from sleeping.
 *
 * What reaches the sink is done.  If it is the row that leaves next, the sink
 * lets the executor have control.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "executor/tuptable.h"

#include "ops/ops.h"
#include "pipeline/row.h"
#include "pipeline/state.h"

typedef struct HeldSource
{
	AnagoOp		op;				/* must be first */
	bool		at_work;		/* its task lives */
	Oid		   *toastids;		/* of each column: AnagoColumnDesc.toastid */
} HeldSource;

typedef struct HeldTask
{
	AnagoTask	task;
	HeldSource *source;
} HeldTask;

StaticAssertDecl(sizeof(HeldTask) <= ANAGO_TASK_SIZE, "task fits its slot");

static void
held_begin(AnagoOp *op, const AnagoPipelineDesc *desc, int eflags)
{
	HeldSource *source = (HeldSource *) op;

	source->toastids = palloc(sizeof(Oid) * (op->ncols + 1));
	for (int i = 0; i < op->ncols; i++)
		source->toastids[i] = desc->columns[i].toastid;
}

/* A value is replaced by its number in that TOAST table; NULL: it is not there. */
static void
make_number(Oid toastid, Datum *value, bool *isnull)
{
	struct varatt_external pointer;
	struct varlena *attr = (struct varlena *) DatumGetPointer(*value);

	if (*isnull)
		return;
	*isnull = true;
	if (!VARATT_IS_EXTERNAL_ONDISK(attr))
		return;
	VARATT_EXTERNAL_GET_POINTER(pointer, attr);
	*value = ObjectIdGetDatum(pointer.va_valueid);
	*isnull = pointer.va_toastrelid != toastid;
}

/* Pull one row, and have its keys in the wide slot; false at the end. */
static bool
pull(HeldSource *source)
{
	AnagoPipeline *pipeline = source->op.pipeline;
	AnagoHeld  *held = pipeline->held;
	TupleTableSlot *wide = pipeline->wide;
	TupleTableSlot *from = anago_held_pull(held);

	if (from == NULL)
		return false;
	pipeline->bound = NULL;
	wide->tts_values[ANAGO_HELD_LABEL_COLUMN] =
		Int32GetDatum(anago_held_label(held->end - 1));
	wide->tts_isnull[ANAGO_HELD_LABEL_COLUMN] = false;
	for (int i = ANAGO_HELD_LABEL_COLUMN + 1; i < source->op.ncols; i++)
	{
		wide->tts_values[i] = slot_getattr(from, source->op.attnos[i],
										   &wide->tts_isnull[i]);
		if (OidIsValid(source->toastids[i]))
			make_number(source->toastids[i], &wide->tts_values[i],
						&wide->tts_isnull[i]);
	}
	return true;
}

static AnagoVerdict
held_run(AnagoTask *task)
{
	HeldSource *source = ((HeldTask *) task)->source;

	ANAGO_BEGIN(task);
	while (anago_held_has_room(source->op.pipeline->held))
	{
		ANAGO_AWAIT_NEXT(task, &source->op);
		/* none may be by now */
		if (!anago_held_has_room(source->op.pipeline->held) || !pull(source))
			break;
		ANAGO_PASS_ON(task, &source->op, NULL);
		ANAGO_SUSPEND(task, ANAGO_YIELD);
	}
	source->at_work = false;
	ANAGO_END(task);
}

static const AnagoTaskOps held_ops = {"held rows", held_run};

/* May be called again, and then does nothing where there is nothing to do. */
static void
held_start(AnagoOp *op)
{
	HeldSource *source = (HeldSource *) op;

	if (source->at_work || !anago_held_has_room(op->pipeline->held))
		return;
	source->at_work = true;
	((HeldTask *) anago_sched_spawn(op->pipeline->sched, &held_ops,
									op->depth))->source = source;
}

static void
held_release(AnagoOp *op)
{
	((HeldSource *) op)->at_work = false;
}

static AnagoAccepted
held_accept(AnagoOp *op, AnagoRow *outer)
{
	AnagoPipeline *pipeline = op->pipeline;
	int			label = DatumGetInt32(pipeline->wide->tts_values[ANAGO_HELD_LABEL_COLUMN]);

	return anago_held_set_done(pipeline->held, label) ? ANAGO_OUT : ANAGO_TAKEN;
}

const AnagoOpKind anago_held_source_kind = {
	.name = "held",
	.ndepths = 1,
	.size = sizeof(HeldSource),
	.begin = held_begin,
	.release = held_release,
	.start = held_start,
};

const AnagoOpKind anago_held_sink_kind = {
	.name = "held",
	.size = sizeof(AnagoOp),
	.accept = held_accept,
};
