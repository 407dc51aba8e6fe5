/*-------------------------------------------------------------------------
 *
 * step.c
 *	  A step: each row that it accepts is probed for in a B-tree index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"

#include "ops/fill.h"
#include "ops/heap.h"
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/probe.h"
#include "ops/row.h"
#include "ops/spread.h"

/* Do values of a probe's keys take memory beside the probe itself? */
static bool
keys_allocate(const AnagoKeys *keys)
{
	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (key->desc->kind == ANAGO_KEY_ARRAY || (key->copy && !key->typbyval))
			return true;
	}
	return false;
}

static void
step_begin(AnagoOp *op, const AnagoPipelineDesc *desc, int eflags)
{
	AnagoStep  *step = (AnagoStep *) op;
	AnagoQuery *query = op->query;
	const AnagoStepDesc *sd = &desc->steps[op->index];
	PlanState  *ps = query->ps;

	step->desc = sd;
	step->heap = ExecOpenScanRelation(query->estate, sd->scanrelid, eflags);
	step->vmbuffer = InvalidBuffer;

	/* like ExecInitIndexScan: EXPLAIN alone must not need the index */
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	step->indexrel = index_open(sd->indexid,
								exec_rt_fetch(sd->scanrelid, query->estate)->rellockmode);
	step->heap_slot = MakeSingleTupleTableSlot(RelationGetDescr(step->heap),
											   &TTSOpsHeapTuple);
	step->inner = anago_inner_create(query->whole, &query->memory, desc->nsteps);
	step->found = anago_found_create(query->whole);
	step->visit = MemoryContextAlloc(query->whole, sizeof(AnagoVisit));
	step->visit->buf = InvalidBuffer;
	anago_fill_init(step);
	anago_keys_init(&step->keys, step->indexrel, sd, ps);
	step->keys_allocate = keys_allocate(&step->keys);
	step->gate = ExecInitQual(sd->exprs[ANAGO_EXPRS_GATE], ps);
	step->filter = ExecInitQual(sd->exprs[ANAGO_EXPRS_FILTER], ps);
	step->join = ExecInitQual(sd->exprs[ANAGO_EXPRS_JOIN], ps);
	step->other = ExecInitQual(sd->exprs[ANAGO_EXPRS_OTHER], ps);
}

static void
step_rescan(AnagoOp *op)
{
	((AnagoStep *) op)->gate_known = false;
}

static void
step_release(AnagoOp *op)
{
	AnagoStep  *step = (AnagoStep *) op;

	if (step->visit != NULL)
		anago_heap_abandon(step);
	if (BufferIsValid(step->vmbuffer))
		ReleaseBuffer(step->vmbuffer);
	step->vmbuffer = InvalidBuffer;
}

static void
step_end(AnagoOp *op)
{
	AnagoStep  *step = (AnagoStep *) op;

	if (step->heap_slot != NULL)
		ExecDropSingleTupleTableSlot(step->heap_slot);
	if (step->indexrel != NULL)
		index_close(step->indexrel, NoLock);
}

static int
step_room(const AnagoOp *op)
{
	return anago_sched_room(op->query->sched, op->depth);
}

/*
 * A fragment is made of what the operator before has filled, and probed for
 * here, or by a process that has too little to do.  Rows of the source stay:
 * these are divided otherwise.
 */
static AnagoAccepted
step_accept(AnagoOp *op, AnagoRow *outer)
{
	AnagoQuery *query = op->query;
	AnagoRow   *row = anago_row_make(query, op->index - 1, outer);

	if (query->give_to >= 0 && op->index > 0 &&
		anago_spread_give(query, op->index, row))
		anago_row_release(query, row);
	else
		anago_probe_spawn((AnagoStep *) op, row);
	return ANAGO_TAKEN;
}

const AnagoOpKind anago_step_kind = {
	.name = "probe",
	.ndepths = ANAGO_STEP_DEPTHS,
	.size = sizeof(AnagoStep),
	.begin = step_begin,
	.rescan = step_rescan,
	.release = step_release,
	.end = step_end,
	.room = step_room,
	.accept = step_accept,
};
