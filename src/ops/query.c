/*-------------------------------------------------------------------------
 *
 * query.c
 *	  A pipeline while a query runs: from its description to rows.
 *
 *	  query.c	begin, next, rescan, end
 *	  ops.c		the kinds of operators
 *	  unit.c	source: one row without columns
 *	  child.c	source: a core plan
 *	  emit.c	sink: the executor
 *	  step.c	step: probes of a B-tree index
 *	  probe.c	one row in one step: join types
 *	  keys.c	its index conditions: how they bound the walk
 *	  values.c	what they compare with
 *	  tighten.c	the tightest of several on one column
 *	  order.c	what follows from the order of an index
 *	  root.c	where walks of the index begin
 *	  range.c	its walk of the index
 *	  combos.c	combinations of IN-list elements on a page
 *	  leaf.c	one leaf page of it
 *	  inner.c	copies of inner pages
 *	  btree.c	questions to a B-tree page
 *	  span.c	leaves of it that are yet to be taken
 *	  heap.c	its matches in the table
 *	  fill.c	a match's columns in the wide slot
 *	  row.c		rows in flight
 *	  spread.c	how a query spreads over processes
 *	  static.c	the same, cut once
 *	  counters.c	what a process has done
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "guc.h"
#include "ops/query.h"
#include "ops/spread.h"

#ifdef ANAGO_TINY_BOUNDS
/* Bytes of one process's query, so that many find no room in tests. */
#define TINY_LIMIT	(64 * 1024)
#endif

/* --- begin --- */

static void
begin_columns(AnagoQuery *query, const AnagoPipelineDesc *desc)
{
	TupleDesc	tupdesc = query->wide->tts_tupleDescriptor;

	Assert(tupdesc->natts == desc->ncolumns);
	query->ncolumns = desc->ncolumns;
	query->typlens = palloc(sizeof(int16) * (desc->ncolumns + 1));
	query->typbyvals = palloc(sizeof(bool) * (desc->ncolumns + 1));
	for (int i = 0; i < desc->ncolumns; i++)
	{
		query->typlens[i] = TupleDescAttr(tupdesc, i)->attlen;
		query->typbyvals[i] = TupleDescAttr(tupdesc, i)->attbyval;
	}
}

/* The limit is of each process, as that of a hash table of core's. */
static void
begin_memory(AnagoQuery *query)
{
	Size		limit = get_hash_memory_limit();

#ifdef ANAGO_TINY_BOUNDS
	limit = Min(limit, TINY_LIMIT);
#endif
	query->whole = AllocSetContextCreate(query->estate->es_query_cxt, "anago",
										 ALLOCSET_DEFAULT_SIZES);
	query->context = AllocSetContextCreate(query->whole, "anago rows",
										   ANAGO_ROW_BLOCKS);
	anago_memory_begin(&query->memory, query->context, limit);
}

/* The wide slot entries that an operator fills, in order. */
static void
find_columns(AnagoOp *op, const AnagoPipelineDesc *desc)
{
	op->attnos = palloc(sizeof(AttrNumber) * (desc->ncolumns + 1));
	for (int i = 0; i < desc->ncolumns; i++)
	{
		if (desc->columns[i].step != op->index)
			continue;
		if (op->ncols == 0)
			op->first_col = i;
		Assert(i == op->first_col + op->ncols);
		op->attnos[op->ncols++] = desc->columns[i].attno;
	}
}

static const AnagoOpKind *
kind_at(const AnagoPipelineDesc *desc, int index)
{
	if (index == ANAGO_STEP_SOURCE)
		return anago_op_kinds[desc->child_source ? ANAGO_OP_CHILD : ANAGO_OP_UNIT];
	return anago_op_kinds[index < desc->nsteps ? ANAGO_OP_PROBE : ANAGO_OP_EMIT];
}

/* Put the chain of operators together, source first. */
static void
begin_ops(AnagoQuery *query, const AnagoPipelineDesc *desc, int eflags)
{
	query->nsteps = desc->nsteps;
	query->ops = palloc0(sizeof(AnagoOp *) * (desc->nsteps + 2));
	for (int i = 0; i < desc->nsteps + 2; i++)
	{
		const AnagoOpKind *kind = kind_at(desc, i - 1);
		AnagoOp    *op = palloc0(kind->size);

		op->kind = kind;
		op->query = query;
		op->index = i - 1;
		op->depth = query->ndepths;
		query->ndepths += kind->ndepths;
		find_columns(op, desc);
		query->ops[i] = op;
		if (i > 0)
			query->ops[i - 1]->next = op;
	}
	Assert(query->ndepths <= ANAGO_MAX_DEPTHS);
	for (AnagoOp *op = query->ops[0]; op != NULL; op = op->next)
		if (op->kind->begin != NULL)
			op->kind->begin(op, desc, eflags);
}

AnagoQuery *
anago_query_begin(PlanState *ps, const AnagoPipelineDesc *desc,
				  PlanState *child, TupleTableSlot *wide, int eflags)
{
	AnagoQuery *query = palloc0(sizeof(AnagoQuery));

	query->ps = ps;
	query->estate = ps->state;
	query->snapshot = ps->state->es_snapshot;
	query->child = child;
	query->wide = wide;
	query->give_to = -1;
	query->before = palloc0(sizeof(AnagoCounters));
	begin_columns(query, desc);

	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		begin_memory(query);
	begin_ops(query, desc, eflags);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return query;

	query->econtext = CreateExprContext(query->estate);
	query->econtext->ecxt_scantuple = wide;
	query->gate = ExecInitQual(desc->gate, ps);
	query->use_dead_hints = !TransactionStartedDuringRecovery();
	return query;
}

/* --- run --- */

/* The first row is asked for: from here on I/O happens. */
static void
start(AnagoQuery *query)
{
	AnagoSchedPeers peers = {0};
	MemoryContext old;

	if (query->sched == NULL)
	{
		if (!IsMVCCSnapshot(query->snapshot))
			elog(ERROR, "anago needs an MVCC snapshot");

		/* as a participant it goes with the segment, else rescans keep it */
		old = MemoryContextSwitchTo(query->context);
		if (query->segment != NULL)
		{
			query->share = anago_share_attach(query->segment, query->pool,
											  query->participant, query->patient);
			query->in_parts = query->segment->in_parts;
			anago_spread_peers(query, &peers);
		}
		MemoryContextSwitchTo(query->whole);
		query->sched = anago_sched_begin(query->ndepths,
										 anago_mode != ANAGO_MODE_OOO,
										 anago_max_inflight_reads,
										 &query->memory, &peers);
		query->pages = anago_sched_pages(query->sched);
		MemoryContextSwitchTo(old);
	}
	query->ops[0]->kind->start(query->ops[0]);
}

/*
 * The executor may have materialized the slot that it was given, after which
 * its values point into memory of the slot's own that goes now.
 */
static void
renew_slot(AnagoQuery *query)
{
	ExecClearTuple(query->wide);
	ExecStoreVirtualTuple(query->wide);
	query->bound = NULL;
}

/* Let go of the pins that operators hold between calls. */
static void
release_pins(AnagoQuery *query)
{
	for (AnagoOp *op = query->ops[0]; op != NULL; op = op->next)
		if (op->kind->release != NULL)
			op->kind->release(op);
}

/*
 * No row comes any more, or all begins anew: pins, tasks, reads and memory of
 * rows go.  An Append keeps thousands of nodes that have ended until the query
 * ends; what is left of each should be small.
 */
static void
let_go(AnagoQuery *query)
{
	release_pins(query);
	anago_query_keep_peak(query);
	if (query->sched != NULL)
		anago_sched_reset(query->sched);
	/* a participant's share is in there */
	if (query->share == NULL)
		MemoryContextReset(query->context);
	query->memory.used = 0;
	query->bound = NULL;
}

/* As a participant of a parallel query. */
static bool
next_shared(AnagoQuery *query)
{
	bool		row;

	anago_share_visit(query->share);
	do
		row = anago_sched_run(query->sched);
	while (!row && anago_spread_more(query));
	anago_share_visit(query->share);
	if (!row)
	{
		let_go(query);
		query->exhausted = true;
	}
	return row;
}

bool
anago_query_next(AnagoQuery *query)
{
	if (query->exhausted)
		return false;
	if (TTS_EMPTY(query->wide) || TTS_SHOULDFREE(query->wide))
		renew_slot(query);
	if (!query->started)
	{
		query->started = true;
		query->exhausted = !ExecQual(query->gate, query->econtext);
		if (query->exhausted)
			return false;
		start(query);
	}
	if (query->share != NULL)
		return next_shared(query);
	if (anago_sched_run(query->sched))
		return true;
	let_go(query);
	query->exhausted = true;
	return false;
}

void
anago_query_set_segment(AnagoQuery *query, AnagoSegment *segment,
						AnagoPool *pool, int participant, bool patient,
						AnagoCounters *published)
{
	query->segment = segment;
	query->pool = pool;
	query->participant = participant;
	query->patient = patient;
	query->published = published;
	if (published == NULL)
		return;
	memcpy(query->before, published, anago_counters_size(query->nsteps));
	query->given = published->given;
	for (int i = 0; i < query->nsteps; i++)
		anago_query_op(query, i)->counters = published->steps[i];
}

/*
 * Scheduler and page layer know the segment, so that they go, too; what they
 * have counted is kept.
 */
void
anago_query_part(AnagoQuery *query)
{
	if (query->share == NULL)
		return;
	release_pins(query);
	anago_query_publish(query);
	anago_query_count(query, query->before);
	anago_query_keep_peak(query);
	anago_sched_end(query->sched);
	query->sched = NULL;
	query->pages = NULL;
	anago_share_end(query->share);
	query->share = NULL;
	query->parts = NULL;
	query->in_parts = false;
	query->give_to = -1;
	query->exhausted = true;
}

void
anago_query_shutdown(AnagoQuery *query)
{
	if (query->segment == NULL)
		return;
	anago_query_part(query);
	query->segment = NULL;
	query->exhausted = true;
}

void
anago_query_rescan(AnagoQuery *query)
{
	/* as ExecScanReScan does: the scan is on no row */
	ExecClearTuple(query->wide);
	if (!query->started && !query->exhausted)
		return;
	anago_query_part(query);
	let_go(query);
	ReScanExprContext(query->econtext);
	for (AnagoOp *op = query->ops[0]; op != NULL; op = op->next)
		if (op->kind->rescan != NULL)
			op->kind->rescan(op);
	query->started = query->exhausted = false;
}

void
anago_query_end(AnagoQuery *query)
{
	anago_query_part(query);
	release_pins(query);
	if (query->sched != NULL)
		anago_sched_end(query->sched);
	for (AnagoOp *op = query->ops[0]; op != NULL; op = op->next)
		if (op->kind->end != NULL)
			op->kind->end(op);
}
