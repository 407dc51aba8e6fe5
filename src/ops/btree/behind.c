/*-------------------------------------------------------------------------
 *
 * behind.c
 *	  Looks at what refers to rows that a late look finds.  See behind.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "ops/btree/behind.h"
#include "ops/btree/fan.h"
#include "ops/btree/probe.h"
#include "pipeline/held.h"

/* Room for so many at first. */
#define PROBES_FIRST	64

/* --- begin --- */

/* What keys of a row that is found are taken from: their columns alone. */
static void
begin_slot(AnagoStep *step)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, step->desc->exprs[ANAGO_EXPRS_KEYS])
		columns = lappend(columns, castNode(RelabelType, lfirst(lc))->arg);
	step->of_found = CreateExprContext(step->op.pipeline->estate);
	step->of_found->ecxt_outertuple =
		MakeSingleTupleTableSlot(ExecTypeFromExprList(columns), &TTSOpsVirtual);
}

void
anago_behind_begin(AnagoStep *step, const AnagoPipelineDesc *desc,
				   void (*spawn) (AnagoProbe *probe))
{
	int			i = step->op.index - 1;
	AnagoStep  *before;

	while (desc->steps[i].level != step->desc->level - 1)
		i--;
	before = (AnagoStep *) step->op.pipeline->ops[i + 1];
	step->before = before;
	begin_slot(step);
	if (before->behind == NULL)
		before->behind = palloc0(sizeof(AnagoBehind));
	before->behind->spawn = spawn;
	before->behind->steps[before->behind->nsteps++] = step;
}

void
anago_behind_forget(AnagoStep *step)
{
	if (step->behind != NULL)
		step->behind->nprobes = 0;
}

/* --- rows that are found --- */

/* Is that version known to be dead, or never to have been? */
static bool
is_dead(HeapTupleHeader tuple)
{
	return HeapTupleHeaderXminInvalid(tuple) ||
		((tuple->t_infomask & HEAP_XMAX_COMMITTED) != 0 &&
		 (tuple->t_infomask & HEAP_XMAX_IS_MULTI) == 0 &&
		 !HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_infomask));
}

/* The row of an index entry, along its versions on that page; false: there is none. */
static bool
find_tuple(const AnagoStep *step, Page page, OffsetNumber offnum, HeapTuple tuple)
{
	for (int n = 0; n < MaxHeapTuplesPerPage; n++)
	{
		ItemId		lp;

		if (offnum < FirstOffsetNumber || offnum > PageGetMaxOffsetNumber(page))
			return false;
		lp = PageGetItemId(page, offnum);
		if (ItemIdIsRedirected(lp))
		{
			offnum = ItemIdGetRedirect(lp);
			continue;
		}
		if (!ItemIdIsNormal(lp))
			return false;
		tuple->t_data = (HeapTupleHeader) PageGetItem(page, lp);
		tuple->t_len = ItemIdGetLength(lp);
		tuple->t_tableOid = RelationGetRelid(step->heap);
		if (!is_dead(tuple->t_data))
			return true;
		if (!HeapTupleHeaderIsHotUpdated(tuple->t_data))
			return false;
		offnum = ItemPointerGetOffsetNumber(&tuple->t_data->t_ctid);
	}
	return false;
}

/* Must it be fetched from elsewhere, or unpacked, before it can be compared? */
static bool
is_packed(Form_pg_attribute att, Datum value)
{
	return att->attlen == -1 &&
		(VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
		 VARATT_IS_COMPRESSED(DatumGetPointer(value)));
}

/* Its columns that keys of a step behind want; false: it leads nowhere. */
static bool
get_keys(const AnagoStep *step, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(step->before->heap);
	TupleTableSlot *slot = step->of_found->ecxt_outertuple;
	int			n = 0;
	ListCell   *lc;

	ExecClearTuple(slot);
	foreach(lc, step->desc->attnos)
	{
		AttrNumber	attno = lfirst_int(lc);
		Form_pg_attribute att;
		Datum		value;

		if (attno > desc->natts)
			return false;
		att = TupleDescAttr(desc, attno - 1);
		if (att->attisdropped ||
			att->atttypid != TupleDescAttr(slot->tts_tupleDescriptor, n)->atttypid)
			return false;
		value = heap_getattr(tuple, attno, desc, &slot->tts_isnull[n]);
		if (slot->tts_isnull[n] || is_packed(att, value))
			return false;
		slot->tts_values[n++] = value;
	}
	ExecStoreVirtualTuple(slot);
	return true;
}

/* --- their probes --- */

/* The row's probes become one family. */
static AnagoFan *
fan_of(AnagoProbe *probe)
{
	AnagoFan   *fan = probe->fan;
	Size		size = offsetof(AnagoFan, which);
	bool		done = probe->done;

	if (fan != NULL)
		return fan;
	fan = anago_pipeline_alloc(probe->step->op.pipeline, size);
	memset(fan, 0, size);
	fan->size = size;
	dlist_init(&fan->probes);
	anago_fan_add(fan, probe);
	probe->done = done;
	return fan;
}

static void
add_probe(AnagoProbe *probe, AnagoStep *step)
{
	AnagoBehind *behind = probe->step->behind;
	AnagoFan   *fan = fan_of(probe);
	AnagoProbe *next;

	if (behind->nprobes == behind->max_probes)
		behind->probes = anago_pipeline_grow(probe->step->op.pipeline, behind->probes,
											 &behind->max_probes, PROBES_FIRST);
	if (probe->row != NULL)
		probe->row->refs++;
	next = anago_probe_make(step, probe->row);
	step->op.counters.probes++;
	anago_fan_add(fan, next);
	behind->probes[behind->nprobes++] = next;
	ResetExprContext(step->of_found);
}

void
anago_behind_see(AnagoProbe *probe, AnagoMatches *matches, int from, int to, Buffer buf)
{
	const AnagoStep *step = probe->step;
	const AnagoBehind *behind = step->behind;
	bool		open = false;

	if (step->op.pipeline->held->afterwards != NULL)
		return;
	/* not while the page is locked */
	for (int j = 0; j < behind->nsteps; j++)
		open |= anago_probe_may_match(behind->steps[j]);
	if (!open)
		return;
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	for (int i = from; i < to; i++)
	{
		HeapTupleData tuple = {0};

		if (!find_tuple(step, BufferGetPage(buf),
						ItemPointerGetOffsetNumber(&matches->tids[i]), &tuple))
			continue;
		for (int j = 0; j < behind->nsteps; j++)
			if (behind->steps[j]->gate_open && get_keys(behind->steps[j], &tuple))
				add_probe(probe, behind->steps[j]);
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
}

int
anago_behind_depth(const AnagoStep *step)
{
	const AnagoBehind *behind = step->behind;

	return ANAGO_DEPTH_PROBE(behind->nprobes > 0 ?
							 behind->probes[behind->nprobes - 1]->step :
							 behind->steps[0]);
}

void
anago_behind_spawn(AnagoStep *step)
{
	AnagoBehind *behind = step->behind;

	if (behind->nprobes > 0)
		behind->spawn(behind->probes[--behind->nprobes]);
}
