/*-------------------------------------------------------------------------
 *
 * open.c
 *	  Open and close what a step has of one table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"

#include "ops/btree/fill.h"
#include "ops/btree/heap.h"
#include "ops/btree/kinds.h"
#include "ops/btree/late.h"
#include "ops/btree/leaf.h"
#include "ops/btree/open.h"
#include "ops/btree/turn.h"
#include "tryopen.h"

static void
create_areas(AnagoStep *step)
{
	MemoryContext whole = step->op.pipeline->whole;

	step->found = anago_found_create(whole);
	step->visit = MemoryContextAlloc(whole, sizeof(AnagoVisit));
	step->visit->buf = InvalidBuffer;
}

void
anago_step_share_areas(AnagoStep *step, const AnagoStep *with)
{
	step->found = with->found;
	step->visit = with->visit;
}

/*
 * Rows have the order of the source: of the index, if that is the unit row, and
 * then every task of this step has a place of its own.  Else each row has
 * one, whatever comes of it.
 */
void
anago_step_begin_order(AnagoStep *step)
{
	const AnagoPipeline *pipeline = step->op.pipeline;
	bool		of_index = pipeline->child == NULL;

	if (pipeline->order == ANAGO_ORDER_NONE)
		return;
	step->ordered = of_index && step->op.index == 0;
	step->backward = step->ordered && pipeline->order == ANAGO_ORDER_BACKWARD;
	step->gets_places = step->op.index == (of_index ? 1 : 0);
	if (step->ordered)
		step->visits = &anago_visit_in_order;
	if (step->backward)
		step->range = &anago_range_backward;
}

Relation
anago_step_open_index(EState *estate, const AnagoStepDesc *desc)
{
	return index_open(desc->indexid,
					  exec_rt_fetch(desc->scanrelid, estate)->rellockmode);
}

/* Of a table that the statement names. */
static void
open_named(AnagoStep *step)
{
	EState	   *estate = step->op.pipeline->estate;

	step->heap = ExecOpenScanRelation(estate, step->desc->scanrelid, 0);
	step->indexrel = anago_step_open_index(estate, step->desc);
	step->heap_slot = MakeSingleTupleTableSlot(RelationGetDescr(step->heap),
											   &TTSOpsHeapTuple);
	anago_fill_init(step);
	anago_keys_init(&step->keys, step->indexrel, step->desc, step->op.pipeline->ps);
}

/*
 * Its lock is kept to the end, or where it is not free at once there are no looks.
 * Core takes the same one for each value.
 */
static void
open_toast(AnagoStep *step)
{
	step->heap = anago_try_open(step->desc->heapid);
	if (step->heap != NULL)
		step->indexrel = anago_try_open(step->desc->indexid);
	if (step->indexrel != NULL)
		anago_keys_init(&step->keys, step->indexrel, step->desc, step->op.pipeline->ps);
}

static void
close_toast(AnagoStep *step)
{
	anago_try_close(step->indexrel);
	anago_try_close(step->heap);
}

void
anago_step_open(AnagoStep *step, const AnagoStepDesc *desc, int parts)
{
	AnagoPipeline *pipeline = step->op.pipeline;
	PlanState  *ps = pipeline->ps;

	step->desc = desc;
	step->vmbuffer = InvalidBuffer;
	step->look = pipeline->looks;
	/* where a few entries are of use, or one leaf, those behind it may not be */
	step->range = desc->most > 0 || desc->look != ANAGO_LOOK_MATCHES ?
		&anago_range_right_links : pipeline->operators.methods[ANAGO_ROLE_RANGE];
	step->visits = pipeline->operators.methods[ANAGO_ROLE_HEAP_VISIT];
	step->inner = anago_inner_create(pipeline->whole, &pipeline->memory, parts);
	step->recent_leaves = step->recent_blocks = NULL;
	if (step->visit == NULL)
		create_areas(step);
	anago_step_begin_order(step);
	if (desc->toast)
		open_toast(step);
	else if (step->indexrel != NULL)
		anago_keys_init(&step->keys, step->indexrel, desc, ps);
	else if (!anago_desc_is_late(desc) && !desc->routed)
		open_named(step);
	step->when = ExecInitQual(desc->exprs[ANAGO_EXPRS_WHEN], ps);
	step->gate = ExecInitQual(desc->exprs[ANAGO_EXPRS_GATE], ps);
	step->filter = ExecInitQual(desc->exprs[ANAGO_EXPRS_FILTER], ps);
	step->join = ExecInitQual(desc->exprs[ANAGO_EXPRS_JOIN], ps);
	step->other = ExecInitQual(desc->exprs[ANAGO_EXPRS_OTHER], ps);
	anago_turn_begin(step);
}

void
anago_step_release(AnagoStep *step)
{
	if (step->visit != NULL)
		anago_heap_abandon(step);
	if (BufferIsValid(step->vmbuffer))
		ReleaseBuffer(step->vmbuffer);
	step->vmbuffer = InvalidBuffer;
}

void
anago_step_close(AnagoStep *step)
{
	if (step->heap_slot != NULL)
		ExecDropSingleTupleTableSlot(step->heap_slot);
	if (step->desc->toast)
		close_toast(step);
	else if (step->indexrel != NULL && !anago_desc_is_late(step->desc))
		index_close(step->indexrel, NoLock);
}
