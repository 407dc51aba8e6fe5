/*-------------------------------------------------------------------------
 *
 * old_row.c
 *	  Step of looks: the row that an UPDATE is about to replace.
 *
 * The new row gets an entry in every index of the table, unless it stays on its page
 * and no column of an index changes (HOT): then in none.  The plan gives the columns
 * that are set, and where the old row is.  What else the entries have is in the old
 * row, whose page has just been read, as a rule, when the row was picked.  There it is
 * also to be seen whether the new one finds room:
 *
 *		row of the plan		ctid (7, 3), l_comment = 'late'
 *		old row				l_partkey = 155, l_suppkey = 17, ...
 *		page 7				free: 40 bytes; the new row takes 104: it leaves
 *		looks				the leaves of (155), (17), ...
 *
 * Rows of one page are mostly neighbours in the plan, too.  What those before one are
 * going to take of the free space is taken off it.  Where a new row finds none, the
 * page that it will go to instead is read, too (new_pages.h); no row waits for that.
 *
 * Where the table is partitioned, columns are those of the partitioned table, and the
 * plan gives also which partition the old row is in.  A row whose partition key changes
 * is taken for one that goes to another partition.
 *
 * That is a guess: triggers may make another row, and others may use the room.  If it
 * is wrong, pages are read in vain, or core reads them itself.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "compat.h"
#include "ops/old_tables.h"
#include "ops/ops.h"
#include "pipeline/row.h"
#include "pipeline/state.h"

typedef struct OldRow
{
	AnagoOp		op;				/* must be first */
	const AnagoStepDesc *desc;
	ExprState  *ctid;
	ExprState  *tableoid;		/* or NULL: there is one table */
	AnagoOldTables tables;
	int			nset;
	ExprState **values;			/* of columns that are set, */
	ExprState  *when;			/* of rows that are updated; NULL: all */
	bool		late;			/* late looks want its columns, too */
} OldRow;

/* Reads a page, and that is all. */
typedef struct PageTask
{
	AnagoTask	task;
	OldRow	   *step;
	AnagoOldTable *table;
	BlockNumber blkno;
} PageTask;

typedef struct OldRowTask
{
	AnagoTask	task;
	OldRow	   *step;
	AnagoRow   *row;
	AnagoOldTable *table;			/* NULL: it is not known */
	ItemPointerData tid;		/* invalid: there is none */
} OldRowTask;

StaticAssertDecl(sizeof(OldRowTask) <= ANAGO_TASK_SIZE, "task fits its slot");
StaticAssertDecl(sizeof(PageTask) <= ANAGO_TASK_SIZE, "task fits its slot");

/* --- begin, end --- */

/* Where the row that is bound is, now; NULL: it is not known. */
static AnagoOldTable *
find_table(OldRow *step)
{
	bool		isnull;
	Datum		relid;

	if (step->tableoid == NULL)
		return &step->tables.only;
	relid = ExecEvalExprSwitchContext(step->tableoid, step->op.pipeline->econtext,
									  &isnull);
	return isnull ? NULL : anago_old_tables_find(&step->tables, DatumGetObjectId(relid));
}

/* Do late looks want columns of this step, also when rows have been changed? */
static bool
is_wanted_late(const AnagoPipelineDesc *desc, int index)
{
	Bitmapset  *columns = NULL;

	for (int i = 0; i < desc->nsteps; i++)
	{
		if (!anago_desc_is_late(&desc->steps[i]) || desc->steps[i].level > 0)
			continue;
		pull_varattnos((Node *) desc->steps[i].exprs[ANAGO_EXPRS_KEYS], INDEX_VAR, &columns);
		pull_varattnos((Node *) desc->steps[i].exprs[ANAGO_EXPRS_WHEN], INDEX_VAR, &columns);
	}
	for (int i = 0; i < desc->ncolumns; i++)
		if (desc->columns[i].step == index &&
			bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, columns))
			return true;
	return false;
}

static void
old_row_begin(AnagoOp *op, const AnagoPipelineDesc *desc, int eflags)
{
	OldRow	   *step = (OldRow *) op;
	const List *values = desc->steps[op->index].exprs[ANAGO_EXPRS_COMPUTED];

	step->desc = &desc->steps[op->index];
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	step->ctid = ExecInitExpr(linitial(step->desc->exprs[ANAGO_EXPRS_KEYS]),
							  op->pipeline->ps);
	step->nset = list_length(values);
	step->values = palloc(sizeof(ExprState *) * (step->nset + 1));
	for (int i = 0; i < step->nset; i++)
		step->values[i] = ExecInitExpr(list_nth(values, i), op->pipeline->ps);
	step->when = ExecInitQual(step->desc->exprs[ANAGO_EXPRS_WHEN], op->pipeline->ps);
	step->late = is_wanted_late(desc, op->index);
	if (list_length(step->desc->exprs[ANAGO_EXPRS_KEYS]) > 1)
		step->tableoid = ExecInitExpr(lsecond(step->desc->exprs[ANAGO_EXPRS_KEYS]),
									  op->pipeline->ps);
	anago_old_tables_begin(&step->tables, op, step->desc, step->tableoid != NULL);
}

static void
old_row_end(AnagoOp *op)
{
	anago_old_tables_end(&((OldRow *) op)->tables);
}

/* --- the new row --- */

/* Bytes that it takes on a page. */
static Size
new_size(const AnagoOldTable *table)
{
	TupleDesc	desc = RelationGetDescr(table->heap);
	const TupleTableSlot *slot = table->slot;
	Size		size = SizeofHeapTupleHeader;

	for (int i = 0; i < desc->natts; i++)
		if (slot->tts_isnull[i])
		{
			size += BITMAPLEN(desc->natts);
			break;
		}
	size = MAXALIGN(size) + heap_compute_data_size(desc, slot->tts_values,
												   slot->tts_isnull);
	return MAXALIGN(Min(size, TOAST_TUPLE_THRESHOLD));
}

/* How the new row differs from the old one. */
typedef struct Difference
{
	bool		indexed;		/* in a column of an index, */
	bool		moves;			/* or of a partition key */
} Difference;

/* Have the slot hold the new row. */
static Difference
set_columns(OldRow *step, AnagoOldTable *table)
{
	TupleTableSlot *slot = table->slot;
	Difference	differs = {false, false};

	for (int i = 0; i < step->nset; i++)
	{
		const AnagoSetColumn *column = &table->set[i];
		int			at = column->attno - 1;
		Form_pg_attribute att = TupleDescAttr(slot->tts_tupleDescriptor, at);
		bool		isnull;
		Datum		value = ExecEvalExprSwitchContext(step->values[i],
													  step->op.pipeline->econtext,
													  &isnull);

		if ((column->indexed || column->moves) &&
			(isnull != slot->tts_isnull[at] ||
			 (!isnull && !datumIsEqual(value, slot->tts_values[at], att->attbyval,
									   att->attlen))))
		{
			differs.indexed |= column->indexed;
			differs.moves |= column->moves;
		}
		slot->tts_values[at] = value;
		slot->tts_isnull[at] = isnull;
	}
	return differs;
}

/* Is there no room for so many bytes, with so much free on its page? */
static bool
finds_no_room(AnagoOldTable *table, BlockNumber blkno, Size size, Size room)
{
	if (blkno != table->blkno)
		table->promised = 0;
	table->blkno = blkno;
	if (size + table->promised > room)
		return true;
	table->promised += size + sizeof(ItemIdData);
	return false;
}

/* --- the page that it goes to --- */

static AnagoVerdict
page_run(AnagoTask *task)
{
	PageTask   *self = (PageTask *) task;
	Buffer		buf;

	ANAGO_BEGIN(task);
	ANAGO_AWAIT_PAGE(task, buf, self->step->op.pipeline->pages, self->table->heap,
					 self->blkno);
	ReleaseBuffer(buf);
	ANAGO_END(task);
}

static const AnagoTaskOps page_ops = {"new page", page_run};

/* A row of that size leaves its page. */
static void
read_new_pages(OldRow *step, AnagoOldTable *table, Size size)
{
	AnagoSched *sched = step->op.pipeline->sched;
	int			depth = step->op.depth + 1;
	const AnagoHeld *held = step->op.pipeline->held;
	BlockNumber blkno;

	anago_new_pages_add(table->new_pages, size, (int) (held->end - held->first) - 1);
	while (anago_sched_has_room(sched, depth) &&
		   (blkno = anago_new_pages_next(table->new_pages)) != InvalidBlockNumber)
	{
		PageTask   *task = (PageTask *) anago_sched_spawn(sched, &page_ops, depth);

		task->step = step;
		task->table = table;
		task->blkno = blkno;
	}
}

/* --- the old row --- */

/* A copy of it in per-tuple memory, and the space that is free on its page. */
static HeapTuple
copy_tuple(const OldRow *step, const AnagoOldTable *table, ItemPointer tid, Buffer buf,
		   Size *room)
{
	ExprContext *econtext = step->op.pipeline->econtext;
	OffsetNumber offnum = ItemPointerGetOffsetNumber(tid);
	HeapTuple	copy = NULL;
	Page		page = BufferGetPage(buf);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	*room = PageGetHeapFreeSpace(page);
	if (offnum <= PageGetMaxOffsetNumber(page) &&
		ItemIdIsNormal(PageGetItemId(page, offnum)))
	{
		ItemId		lp = PageGetItemId(page, offnum);
		HeapTupleData tuple;
		MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

		tuple.t_data = (HeapTupleHeader) PageGetItem(page, lp);
		tuple.t_len = ItemIdGetLength(lp);
		tuple.t_tableOid = table->relid;
		tuple.t_self = *tid;
		copy = heap_copytuple(&tuple);
		MemoryContextSwitchTo(old);
	}
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	return copy;
}

static void
fill_none(OldRow *step)
{
	TupleTableSlot *wide = step->op.pipeline->wide;

	for (int i = step->op.first_col; i < step->op.first_col + step->op.ncols; i++)
	{
		wide->tts_values[i] = (Datum) 0;
		wide->tts_isnull[i] = true;
	}
}

/* Will the new row get entries in indexes?  Pages that it may go to are read. */
static bool
gets_entries(OldRow *step, AnagoOldTable *table, BlockNumber blkno, Size room)
{
	Difference	differs;
	Size		size;

	if (step->op.pipeline->held->afterwards != NULL ||
		!ExecQual(step->when, step->op.pipeline->econtext))
		return false;
	differs = set_columns(step, table);
	if (differs.moves)
		return true;
	size = new_size(table);
	if (!finds_no_room(table, blkno, size, room))
		return differs.indexed;
	read_new_pages(step, table, size);
	return true;
}

/* Its columns, and whether the new one gets entries, in the wide slot. */
static void
fill(OldRow *step, AnagoOldTable *table, HeapTuple tuple, Size room)
{
	TupleTableSlot *slot = table->slot;
	Datum	   *values = step->op.pipeline->wide->tts_values + step->op.first_col;
	bool	   *isnull = step->op.pipeline->wide->tts_isnull + step->op.first_col;
	int			last = step->op.ncols - 1;

	Assert(table->attnos[last] == ANAGO_ATTNO_COMPUTED);
	ExecStoreHeapTuple(tuple, slot, false);
	slot_getallattrs(slot);
	for (int i = 0; i < last; i++)
	{
		values[i] = slot->tts_values[table->attnos[i] - 1];
		isnull[i] = slot->tts_isnull[table->attnos[i] - 1];
	}
	values[last] = BoolGetDatum(gets_entries(step, table,
											 ItemPointerGetBlockNumber(&tuple->t_self),
											 room));
	isnull[last] = false;
	ExecClearTuple(slot);
	if (DatumGetBool(values[last]))
		step->op.counters.rows++;
}

/* Takes over the pin. */
static void
see_page(OldRowTask *self, Buffer buf)
{
	OldRow	   *step = self->step;
	Size		room;
	HeapTuple	tuple;

	anago_row_bind(step->op.pipeline, self->row);
	ResetExprContext(step->op.pipeline->econtext);
	tuple = copy_tuple(step, self->table, &self->tid, buf, &room);
	ReleaseBuffer(buf);
	if (tuple == NULL)
		fill_none(step);
	else
		fill(step, self->table, tuple, room);
}

/* --- the task --- */

static AnagoVerdict
old_row_run(AnagoTask *task)
{
	OldRowTask *self = (OldRowTask *) task;
	OldRow	   *step = self->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	Buffer		buf;

	ANAGO_BEGIN(task);
	ANAGO_AWAIT_NEXT(task, &step->op);
	if (ItemPointerIsValid(&self->tid))
	{
		ANAGO_AWAIT_PAGE(task, buf, pipeline->pages, self->table->heap,
						 ItemPointerGetBlockNumber(&self->tid));
		see_page(self, buf);
	}
	else
	{
		anago_row_bind(pipeline, self->row);
		fill_none(step);
	}
	ANAGO_PASS_ON(task, &step->op, self->row);
	anago_row_release(pipeline, self->row);
	ANAGO_END(task);
}

static const AnagoTaskOps old_row_ops = {"old row", old_row_run};

static int
old_row_room(const AnagoOp *op)
{
	return anago_sched_room(op->pipeline->sched, op->depth);
}

static AnagoAccepted
old_row_accept(AnagoOp *op, AnagoRow *outer)
{
	OldRow	   *step = (OldRow *) op;
	AnagoPipeline *pipeline = op->pipeline;
	AnagoRow   *row = anago_row_make(pipeline, op->index - 1, outer);
	OldRowTask *self = (OldRowTask *) anago_sched_spawn(pipeline->sched, &old_row_ops,
														op->depth);
	bool		isnull;
	Datum		ctid;

	op->counters.probes++;
	self->step = step;
	self->row = row;
	ItemPointerSetInvalid(&self->tid);
	ResetExprContext(pipeline->econtext);
	ctid = ExecEvalExprSwitchContext(step->ctid, pipeline->econtext, &isnull);
	self->table = find_table(step);
	if (!isnull && self->table != NULL &&
		(pipeline->held->afterwards == NULL || step->late))
		self->tid = *(ItemPointer) DatumGetPointer(ctid);
	return ANAGO_TAKEN;
}

/* --- EXPLAIN --- */

#define ACCESS	"Tid Scan"

static void
show_what(const OldRow *step, const AnagoExplain *ex)
{
	Index		rti = step->desc->scanrelid;

	if (ex->es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Access", ACCESS, ex->es);
		anago_explain_relation_properties(ex, rti);
		return;
	}
	anago_explain_indent(ex->es);
	appendStringInfo(ex->es->str, "Look %d: " ACCESS " on %s\n", step->op.index + 1,
					 anago_explain_relation(ex, rti));
	ex->es->indent++;
}

static void
old_row_explain(const AnagoOp *op, const AnagoExplain *ex, const AnagoStepCounts *counters)
{
	ExplainState *es = ex->es;

	ExplainOpenGroup("Step", NULL, true, es);
	show_what((const OldRow *) op, ex);
	if (counters != NULL)
	{
		AnagoStepCounts shown = *counters;

		shown.tids = shown.descents = shown.fetched = shown.filtered = -1;
		shown.heap_fetches = shown.pruned = -1;
		anago_explain_step_counts(es, &shown);
	}
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent--;
	ExplainCloseGroup("Step", NULL, true, es);
}

const AnagoOpKind anago_old_row_kind = {
	.name = "old row",
	.ndepths = 2,
	.size = sizeof(OldRow),
	.begin = old_row_begin,
	.end = old_row_end,
	.room = old_row_room,
	.accept = old_row_accept,
	.explain = old_row_explain,
};
