/*-------------------------------------------------------------------------
 *
 * merged.c
 *	  Step of looks: rows that a MergeAppend comes to, of which a LIMIT wants a few.
 *
 * Core's MergeAppend begins with the first row of each table.  Then it gives the least of
 * them, takes the next row of that table in its place, and so on.  Index entries
 * tell what it is going to take, as they have the column that rows are merged by:
 *
 *		LIMIT 3		ev_a	30* 28* 11 ..		looks at each table read the first row,
 *					ev_b	29* 27* 26 ..		and keep the entries; those of rows 28
 *					ev_c	25* 24  ..			and 27 are read here
 *
 * Rows 30, 29 and 28 are given.  27 is taken where 29 was, before 28 is found to come first.
 *
 * Where entries are equal in that column, or dead, core may take others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/visibilitymap.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"

#include "ops/btree/firsts.h"
#include "ops/btree/leaf.h"
#include "ops/btree/merged.h"
#include "ops/ops.h"
#include "pipeline/row.h"

typedef struct Entry
{
	Datum		key;			/* passed by value */
	bool		isnull;
	bool		wanted;			/* its row is to be read */
	ItemPointerData tid;
} Entry;

/* The first entries that one look has found for a row, in order. */
typedef struct AnagoMerged
{
	struct AnagoMerged *next;	/* of another table, or NULL */
	AnagoStep  *step;
	Size		size;
	int			n;
	int			at;				/* the one that is compared */
	Entry		entries[FLEXIBLE_ARRAY_MEMBER];
} AnagoMerged;

typedef struct MergedStep
{
	AnagoOp		op;				/* must be first */
	const AnagoStepDesc *desc;
	SortSupportData sort;
} MergedStep;

/* A row whose pages are being read. */
typedef struct Reading
{
	AnagoRow   *row;
	AnagoMerged *merged;
	int			tasks;			/* at work for it */
} Reading;

typedef struct MergedTask
{
	AnagoTask	task;
	MergedStep *step;
	Reading    *reading;
	AnagoMerged *of;			/* where the task is, or its page */
	int			at;
} MergedTask;

StaticAssertDecl(sizeof(MergedTask) <= ANAGO_TASK_SIZE, "task fits its slot");

/* --- what looks have found --- */

static void
set_entry(Entry *entry, const AnagoStep *step, Page page, const AnagoMatches *matches,
		  int which)
{
	OffsetNumber off = anago_found_offset(step->found, which);
	IndexTuple	itup = (IndexTuple) PageGetItem(page, PageGetItemId(page, off));

	entry->key = index_getattr(itup, step->desc->firsts.merged,
							   RelationGetDescr(step->indexrel), &entry->isnull);
	entry->tid = matches->tids[which];
	entry->wanted = false;
}

void
anago_merged_add(AnagoProbe *probe, Page page, const AnagoMatches *matches, bool goes_on)
{
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	int			n = Min(matches->n, step->desc->firsts.most);
	Size		size = offsetof(AnagoMerged, entries) + sizeof(Entry) * n;
	AnagoMerged *merged;
	AnagoHeldRow *row;

	/* the end of a longer range is not known */
	if (step->desc->from_end && goes_on)
		return;
	anago_row_bind(pipeline, probe->row);
	row = anago_firsts_row(pipeline, &step->desc->firsts);
	merged = anago_pipeline_alloc(pipeline, size);
	merged->step = step;
	merged->size = size;
	merged->n = n;
	merged->at = 0;
	for (int i = 0; i < n; i++)
		set_entry(&merged->entries[i], step, page, matches,
				  step->desc->from_end ? matches->n - 1 - i : i);
	merged->next = row->merged;
	row->merged = merged;
}

static void
free_merged(AnagoPipeline *pipeline, AnagoMerged *merged)
{
	while (merged != NULL)
	{
		AnagoMerged *next = merged->next;

		anago_pipeline_free(pipeline, merged, merged->size);
		merged = next;
	}
}

/* --- the merge --- */

/* Does `a` come before `b`? */
static bool
comes_before(MergedStep *step, const AnagoMerged *a, const AnagoMerged *b)
{
	const Entry *left = &a->entries[a->at];
	const Entry *right = &b->entries[b->at];

	return ApplySortComparator(left->key, left->isnull, right->key, right->isnull,
							   &step->sort) < 0;
}

/* The one whose row is given next, or NULL. */
static AnagoMerged *
find_least(MergedStep *step, AnagoMerged *all)
{
	AnagoMerged *least = NULL;

	for (AnagoMerged *merged = all; merged != NULL; merged = merged->next)
		if (merged->at < merged->n &&
			(least == NULL || comes_before(step, merged, least)))
			least = merged;
	return least;
}

/* Is there no need for its row, as the index says all? */
static bool
is_index_only(AnagoStep *step, const Entry *entry)
{
	return step->desc->index_only &&
		VM_ALL_VISIBLE(step->heap, ItemPointerGetBlockNumber(&entry->tid),
					   &step->vmbuffer);
}

/* Rows that core comes to behind the first of each table.  How many rows it gives? */
static int
merge(MergedStep *step, AnagoMerged *all)
{
	AnagoMerged *least;
	int			given = 0;

	while (given < step->desc->firsts.most && (least = find_least(step, all)) != NULL)
	{
		least->at++;
		if (++given < step->desc->firsts.most && least->at < least->n)
			least->entries[least->at].wanted =
				!is_index_only(least->step, &least->entries[least->at]);
	}
	return given;
}

/* --- tasks --- */

/* Stand at the next one that is wanted; false: there is none. */
static bool
find_wanted(MergedTask *self)
{
	for (; self->of != NULL; self->of = self->of->next, self->at = 0)
		for (; self->at < self->of->n; self->at++)
			if (self->of->entries[self->at].wanted)
				return true;
	return false;
}

static void
end_reading(MergedStep *step, Reading *reading)
{
	AnagoPipeline *pipeline = step->op.pipeline;

	free_merged(pipeline, reading->merged);
	anago_row_release(pipeline, reading->row);
	anago_pipeline_free(pipeline, reading, sizeof(Reading));
}

static AnagoVerdict
pass_run(AnagoTask *task)
{
	MergedTask *self = (MergedTask *) task;
	AnagoPipeline *pipeline = self->step->op.pipeline;

	ANAGO_BEGIN(task);
	ANAGO_AWAIT_NEXT(task, &self->step->op);
	anago_row_bind(pipeline, self->reading->row);
	ANAGO_PASS_ON(task, &self->step->op, self->reading->row);
	end_reading(self->step, self->reading);
	ANAGO_END(task);
}

static const AnagoTaskOps pass_ops = {"merged rows read", pass_run};

/* A task has done its part: the last one hands the row on. */
static AnagoVerdict
end_part(MergedTask *self)
{
	if (--self->reading->tasks > 0)
		return ANAGO_DONE;
	anago_sched_become(self->step->op.pipeline->sched, &self->task, &pass_ops,
					   self->task.depth);
	return ANAGO_AGAIN;
}

static AnagoVerdict
page_run(AnagoTask *task)
{
	MergedTask *self = (MergedTask *) task;
	AnagoPipeline *pipeline = self->step->op.pipeline;
	Buffer		buf;

	ANAGO_BEGIN(task);
	ANAGO_AWAIT_PAGE(task, buf, pipeline->pages, self->of->step->heap,
					 ItemPointerGetBlockNumber(&self->of->entries[self->at].tid));
	ReleaseBuffer(buf);
	(void) anago_held_add_page(pipeline->held);
	return end_part(self);
	ANAGO_END(task);
}

static const AnagoTaskOps page_ops = {"merged row", page_run};

static void
spawn_page(MergedTask *of)
{
	MergedStep *step = of->step;
	MergedTask *task = (MergedTask *) anago_sched_spawn(step->op.pipeline->sched, &page_ops,
														step->op.depth + 1);

	task->step = step;
	task->reading = of->reading;
	task->of = of->of;
	task->at = of->at++;
	of->reading->tasks++;
	step->op.counters.rows++;
}

static AnagoVerdict
merged_run(AnagoTask *task)
{
	MergedTask *self = (MergedTask *) task;
	AnagoPipeline *pipeline = self->step->op.pipeline;

	ANAGO_BEGIN(task);
	while (find_wanted(self) && pipeline->held->pages < pipeline->held->most_pages)
	{
		ANAGO_AWAIT_ROOM(task, pipeline->sched, self->step->op.depth + 1);
		spawn_page(self);
	}
	return end_part(self);
	ANAGO_END(task);
}

static const AnagoTaskOps merged_ops = {"merge", merged_run};

/* --- the operator --- */

static void
merged_begin(AnagoOp *op, const AnagoPipelineDesc *desc, int eflags)
{
	MergedStep *step = (MergedStep *) op;
	const AnagoKeyDesc *key;

	step->desc = &desc->steps[op->index];
	key = &step->desc->keys[0];
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	step->sort.ssup_cxt = CurrentMemoryContext;
	step->sort.ssup_collation = key->collation;
	step->sort.ssup_nulls_first = step->desc->from_end;
	PrepareSortSupportFromOrderingOp(key->opno, &step->sort);
}

static int
merged_room(const AnagoOp *op)
{
	return Min(anago_op_room(op->next),
			   anago_sched_room(op->pipeline->sched, op->depth));
}

/* The entries that have been found for the row that is bound, which it has no longer. */
static AnagoMerged *
take_merged(AnagoPipeline *pipeline)
{
	Datum		label = pipeline->wide->tts_values[ANAGO_HELD_LABEL_COLUMN];
	AnagoHeldRow *row = anago_held_row(pipeline->held, DatumGetInt32(label));
	AnagoMerged *merged = row->merged;

	row->merged = NULL;
	return merged;
}

static void
spawn_merge(MergedStep *step, AnagoMerged *merged, AnagoRow *outer)
{
	AnagoPipeline *pipeline = step->op.pipeline;
	AnagoRow   *row = anago_row_make(pipeline, step->op.index - 1, outer);
	Reading    *reading = anago_pipeline_alloc(pipeline, sizeof(Reading));
	MergedTask *task = (MergedTask *) anago_sched_spawn(pipeline->sched, &merged_ops,
														step->op.depth);

	reading->row = row;
	reading->merged = merged;
	reading->tasks = 1;
	task->step = step;
	task->reading = reading;
	task->of = merged;
	task->at = 0;
}

static AnagoAccepted
merged_accept(AnagoOp *op, AnagoRow *outer)
{
	MergedStep *step = (MergedStep *) op;
	AnagoMerged *merged = take_merged(op->pipeline);
	int			given;

	if (merged == NULL)
		return op->next->kind->accept(op->next, outer);
	op->counters.probes++;
	given = merge(step, merged);
	anago_firsts_given(op->pipeline, &step->desc->firsts, given);
	spawn_merge(step, merged, outer);
	return ANAGO_TAKEN;
}

/* --- EXPLAIN --- */

#define ACCESS	"Merged Rows"

static void
merged_explain(const AnagoOp *op, const AnagoExplain *ex, const AnagoStepCounts *counters)
{
	ExplainState *es = ex->es;
	AnagoStepCounts shown;

	ExplainOpenGroup("Step", NULL, true, es);
	if (es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Access", ACCESS, es);
	else
	{
		anago_explain_indent(es);
		appendStringInfo(es->str, "Look %d: " ACCESS "\n", op->index + 1);
		es->indent++;
	}
	if (counters != NULL)
	{
		shown = *counters;
		shown.tids = shown.descents = shown.fetched = shown.filtered = -1;
		shown.heap_fetches = shown.pruned = -1;
		shown.turns = shown.turned_after = shown.hash_rows = shown.hash_kb = -1;
		shown.turns_failed = shown.turns_back = shown.turned_back_after = -1;
		anago_explain_step_counts(es, &shown);
	}
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent--;
	ExplainCloseGroup("Step", NULL, true, es);
}

const AnagoOpKind anago_merged_kind = {
	.name = "rows merged",
	.ndepths = 2,
	.size = sizeof(MergedStep),
	.begin = merged_begin,
	.room = merged_room,
	.accept = merged_accept,
	.explain = merged_explain,
};
