/*-------------------------------------------------------------------------
 *
 * routed.c
 *	  Step of looks: each row is looked for in the partition that it will go to.
 *
 *		parts (a, p)	index (p)		row: a = 7, p = 155
 *		  parts_odd		index (p)		the leaf for (155) of this one
 *		  parts_even	index (p)
 *
 * A key is over the row as the partitioned table has it, so that it is the same for
 * all partitions, however their columns are ordered; each has pages, and perhaps
 * an order of its index, of its own.
 *
 * A partition is opened when the first row comes that core has opened it for, too
 * (tryopen.h), and closed when looks pause.  Rows before that, and those of
 * partitions beyond a bound, go on without a look.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "compat.h"
#include "ops/btree/open.h"
#include "ops/btree/probe.h"
#include "ops/btree/range.h"
#include "ops/btree/show.h"
#include "ops/ops.h"
#include "pipeline/route.h"
#include "pipeline/row.h"
#include "tryopen.h"

/* Partitions that are open at a time, and that are known at all. */
#define MOST_OPEN		64
#define MOST_KNOWN		1024

/* So many share the memory for inner pages. */
#define SHARE_INNER		8

typedef struct Partition
{
	Oid			relid;			/* must be first */
	bool		useless;		/* nothing there can be looked at */
	AnagoStep  *step;			/* NULL: it has not been open yet; without an index:
								 * it is not now */
} Partition;

typedef struct RoutedStep
{
	AnagoStep	none;			/* must be first; for rows that have no look */
	int			parts;			/* of the memory for inner pages, for each */
	AnagoRouter *router;		/* NULL in EXPLAIN */
	HTAB	   *partitions;
	AnagoStep  *last;			/* made last, or NULL */
	AnagoStep  *open[MOST_OPEN];
	int			nopen;
} RoutedStep;

static void
routed_begin(AnagoOp *op, const AnagoPipelineDesc *desc, int eflags)
{
	RoutedStep *step = (RoutedStep *) op;
	HASHCTL		ctl = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(Partition),
		.hcxt = CurrentMemoryContext,
	};

	step->none.desc = &desc->steps[op->index];
	step->none.vmbuffer = InvalidBuffer;
	step->none.is_member = step->none.look = true;
	/* nothing is found there */
	step->none.gate_known = true;
	step->none.gate_open = false;
	step->parts = desc->nsteps * SHARE_INNER;
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	step->router = anago_router_create(op->pipeline, step->none.desc);
	step->partitions = hash_create("anago partitions", 16, &ctl,
								   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* --- partitions --- */

static bool
is_readable(Relation heap)
{
	return heap->rd_rel->relkind == RELKIND_RELATION &&
		heap->rd_rel->relam == HEAP_TABLE_AM_OID && !RelationUsesLocalBuffers(heap);
}

/* Its index; NULL: there is none, or not one that core goes to. */
static Relation
open_index(const RoutedStep *step, Partition *partition, Relation heap)
{
	Oid			indexid = anago_index_of_partition(heap, step->none.desc->indexid,
													   step->none.desc->alike);
	Relation	index = OidIsValid(indexid) ? anago_open_used(indexid) : NULL;

	if (!OidIsValid(indexid) ||
		(index != NULL && index->rd_rel->relam != BTREE_AM_OID))
	{
		partition->useless = true;
		anago_close_used(index);
		index = NULL;
	}
	return index;
}

static AnagoStep *
make_step(RoutedStep *routed)
{
	AnagoStep  *step = palloc0(sizeof(AnagoStep));

	step->op = routed->none.op;
	memset(&step->op.counters, 0, sizeof(AnagoStepCounts));
	step->is_member = true;
	if (routed->last != NULL)
		anago_step_share_areas(step, routed->last);
	anago_step_open(step, routed->none.desc, routed->parts);
	routed->last = step;
	return step;
}

/* What was known of the index may be of another file. */
static void
know_index(AnagoStep *step)
{
	AnagoLocator file = ANAGO_REL_LOCATOR(step->indexrel);

	step->stale = step->opened && !ANAGO_LOCATOR_EQUALS(file, step->file);
	step->file = file;
	if (step->keys.n == 0)
		anago_keys_init(&step->keys, step->indexrel, step->desc, step->op.pipeline->ps);
}

/* NULL: it can't be opened now, or ever. */
static AnagoStep *
open_partition(RoutedStep *routed, Partition *partition)
{
	Relation	heap = anago_open_used(partition->relid);
	Relation	index = NULL;

	if (heap == NULL)
		return NULL;
	if (is_readable(heap))
		index = open_index(routed, partition, heap);
	else
		partition->useless = true;
	if (index == NULL)
	{
		anago_close_used(heap);
		return NULL;
	}
	MemoryContextSwitchTo(routed->none.op.pipeline->estate->es_query_cxt);
	if (partition->step == NULL)
		partition->step = make_step(routed);
	partition->step->heap = heap;
	partition->step->indexrel = index;
	know_index(partition->step);
	routed->open[routed->nopen++] = partition->step;
	return partition->step;
}

static Partition *
find_partition(RoutedStep *routed, Oid relid)
{
	Partition  *partition = hash_search(routed->partitions, &relid, HASH_FIND, NULL);

	if (partition == NULL && hash_get_num_entries(routed->partitions) < MOST_KNOWN)
	{
		partition = hash_search(routed->partitions, &relid, HASH_ENTER, NULL);
		partition->useless = false;
		partition->step = NULL;
	}
	return partition;
}

/* Where the row that is bound is looked for. */
static AnagoStep *
find_step(RoutedStep *routed)
{
	ExprContext *econtext = routed->none.op.pipeline->econtext;
	MemoryContext old;
	Oid			relid;
	Partition  *partition;
	AnagoStep  *step = NULL;

	ResetExprContext(econtext);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	relid = anago_router_find(routed->router);
	partition = OidIsValid(relid) ? find_partition(routed, relid) : NULL;
	if (partition != NULL && !partition->useless)
	{
		step = partition->step;
		if ((step == NULL || step->indexrel == NULL) && routed->nopen < MOST_OPEN)
			step = open_partition(routed, partition);
	}
	MemoryContextSwitchTo(old);
	return step != NULL && step->indexrel != NULL ? step : &routed->none;
}

/* --- the operator --- */

static void
routed_adopt(AnagoOp *op, AnagoRow *row)
{
	RoutedStep *routed = (RoutedStep *) op;
	AnagoStep  *step = find_step(routed);

	if (step != &routed->none)
		op->counters.probes++;
	anago_range_spawn(anago_probe_make(step, row));
}

static AnagoAccepted
routed_accept(AnagoOp *op, AnagoRow *outer)
{
	routed_adopt(op, anago_row_make(op->pipeline, op->index - 1, outer));
	return ANAGO_TAKEN;
}

static int
routed_room(const AnagoOp *op)
{
	return anago_sched_room(op->pipeline->sched, op->depth);
}

static bool
routed_more(AnagoOp *op)
{
	return false;
}

static void
routed_unpin(AnagoOp *op)
{
	RoutedStep *routed = (RoutedStep *) op;

	for (int i = 0; i < routed->nopen; i++)
		anago_step_release(routed->open[i]);
}

/* Core may be through with what it has open when looks go on. */
static void
routed_release(AnagoOp *op)
{
	RoutedStep *routed = (RoutedStep *) op;

	routed_unpin(op);
	for (int i = 0; i < routed->nopen; i++)
	{
		anago_close_used(routed->open[i]->indexrel);
		anago_close_used(routed->open[i]->heap);
		routed->open[i]->indexrel = routed->open[i]->heap = NULL;
	}
	routed->nopen = 0;
	if (routed->router != NULL)
		anago_router_release(routed->router);
}

static void
routed_count(const AnagoOp *op, AnagoStepCounts *sum)
{
	const RoutedStep *routed = (const RoutedStep *) op;
	HASH_SEQ_STATUS seq;
	Partition  *partition;

	if (routed->partitions == NULL)
		return;
	hash_seq_init(&seq, routed->partitions);
	while ((partition = hash_seq_search(&seq)) != NULL)
		if (partition->step != NULL)
			anago_step_counts_add(sum, &partition->step->op.counters);
}

const AnagoOpKind anago_routed_kind = {
	.name = "probe of the partition that a row goes to",
	.ndepths = ANAGO_STEP_DEPTHS,
	.size = sizeof(RoutedStep),
	.begin = routed_begin,
	.release = routed_release,
	.unpin = routed_unpin,
	.room = routed_room,
	.accept = routed_accept,
	.count = routed_count,
	.explain = anago_step_show,
	.adopt = routed_adopt,
	.more = routed_more,
};
