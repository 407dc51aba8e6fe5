/*-------------------------------------------------------------------------
 *
 * query.c
 *	  A pipeline while a query runs: from its description to rows.
 *
 *	  query.c	begin, next, rescan, end
 *	  source.c	where rows come from
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

#include "access/genam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "guc.h"
#include "ops/fill.h"
#include "ops/heap.h"
#include "ops/leaf.h"
#include "ops/query.h"
#include "ops/source.h"
#include "ops/spread.h"

#ifdef ANAGO_TINY_BOUNDS
/* Bytes of one process's query, so that many find no room in tests. */
#define TINY_LIMIT	(64 * 1024)
#endif

/* --- begin --- */

/* The wide slot entries that a step (or the source) fills, in order. */
static AttrNumber *
columns_of_step(const AnagoPipelineDesc *desc, int step, int *first, int *n)
{
	AttrNumber *attnos = palloc(sizeof(AttrNumber) * (desc->ncolumns + 1));

	*first = *n = 0;
	for (int i = 0; i < desc->ncolumns; i++)
	{
		if (desc->columns[i].step != step)
			continue;
		if (*n == 0)
			*first = i;
		Assert(i == *first + *n);
		attnos[(*n)++] = desc->columns[i].attno;
	}
	return attnos;
}

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
begin_step(AnagoQuery *query, const AnagoPipelineDesc *desc, int index, int eflags)
{
	AnagoStep  *step = &query->steps[index];
	const AnagoStepDesc *sd = &desc->steps[index];
	PlanState  *ps = query->ps;

	step->query = query;
	step->desc = sd;
	step->index = index;
	step->last = (index == desc->nsteps - 1);
	step->heap = ExecOpenScanRelation(query->estate, sd->scanrelid, eflags);
	step->attnos = columns_of_step(desc, index, &step->first_col, &step->ncols);
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
begin_columns(AnagoQuery *query, const AnagoPipelineDesc *desc)
{
	TupleDesc	tupdesc = query->wide->tts_tupleDescriptor;
	int			first;

	Assert(tupdesc->natts == desc->ncolumns);
	query->ncolumns = desc->ncolumns;
	query->typlens = palloc(sizeof(int16) * (desc->ncolumns + 1));
	query->typbyvals = palloc(sizeof(bool) * (desc->ncolumns + 1));
	for (int i = 0; i < desc->ncolumns; i++)
	{
		query->typlens[i] = TupleDescAttr(tupdesc, i)->attlen;
		query->typbyvals[i] = TupleDescAttr(tupdesc, i)->attbyval;
	}
	query->source_attnos = columns_of_step(desc, ANAGO_STEP_SOURCE, &first,
										   &query->source_ncols);
	Assert(first == 0);
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
	query->nsteps = desc->nsteps;
	query->steps = palloc0(sizeof(AnagoStep) * desc->nsteps);
	for (int i = 0; i < desc->nsteps; i++)
		begin_step(query, desc, i, eflags);
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
		query->sched = anago_sched_begin(ANAGO_DEPTHS(query->nsteps),
										 anago_mode != ANAGO_MODE_OOO,
										 anago_max_inflight_reads,
										 &query->memory, &peers);
		query->pages = anago_sched_pages(query->sched);
		MemoryContextSwitchTo(old);
	}
	anago_source_spawn(query);
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
	for (int i = 0; i < query->nsteps; i++)
	{
		AnagoStep  *step = &query->steps[i];

		if (step->visit != NULL)
			anago_heap_abandon(step);
		if (BufferIsValid(step->vmbuffer))
			ReleaseBuffer(step->vmbuffer);
		step->vmbuffer = InvalidBuffer;
	}
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
		query->steps[i].counters = published->steps[i];
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
	for (int i = 0; i < query->nsteps; i++)
		query->steps[i].gate_known = false;
	query->started = query->exhausted = false;
}

void
anago_query_end(AnagoQuery *query)
{
	anago_query_part(query);
	release_pins(query);
	if (query->sched != NULL)
		anago_sched_end(query->sched);
	for (int i = 0; i < query->nsteps; i++)
	{
		AnagoStep  *step = &query->steps[i];

		if (step->heap_slot != NULL)
			ExecDropSingleTupleTableSlot(step->heap_slot);
		if (step->indexrel != NULL)
			index_close(step->indexrel, NoLock);
	}
}
