/*-------------------------------------------------------------------------
 *
 * pipeline.c
 *	  A pipeline while a query runs: from its description to rows.
 *
 *	  desc.c		what the planner tells the executor
 *	  op.h			the contract of an operator
 *	  pipeline.c	begin, next, rescan, end
 *	  state.c		what operators share, and what has been counted of it
 *	  row.c			rows in flight
 *	  held.c		rows that are held back while looks read ahead for them
 *	  prune.c		which of several tables a row is probed for in
 *	  route.c		which partition a new row will go to
 *	  peers.c		how a pipeline spreads over processes
 *	  counters.c	what a process has done, all of it in one piece
 *	  explain.c		what EXPLAIN of an operator is written with
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "guc.h"
#include "pipeline/peers.h"
#include "pipeline/pipeline.h"
#include "resource/elastic.h"

#ifdef ANAGO_TINY_BOUNDS
/* Bytes of one process's query, so that many find no room in tests. */
#define TINY_LIMIT	(64 * 1024)
#endif

/* Looks: rows that are held for each read that may yet be put off. */
#define HELD_FOR_A_READ		8

/* --- begin --- */

static void
begin_columns(AnagoPipeline *pipeline, const AnagoPipelineDesc *desc)
{
	TupleDesc	tupdesc = pipeline->wide->tts_tupleDescriptor;

	Assert(tupdesc->natts == desc->ncolumns);
	pipeline->ncolumns = desc->ncolumns;
	pipeline->typlens = palloc(sizeof(int16) * (desc->ncolumns + 1));
	pipeline->typbyvals = palloc(sizeof(bool) * (desc->ncolumns + 1));
	for (int i = 0; i < desc->ncolumns; i++)
	{
		pipeline->typlens[i] = TupleDescAttr(tupdesc, i)->attlen;
		pipeline->typbyvals[i] = TupleDescAttr(tupdesc, i)->attbyval;
	}
}

/*
 * The limit is of each process, as that of a hash table of core's.  Looks have
 * half of work_mem, and the rows that are held the other.
 */
static void
begin_memory(AnagoPipeline *pipeline)
{
	Size		limit = pipeline->looks ? (Size) work_mem * 1024 / 2 :
		get_hash_memory_limit();

#ifdef ANAGO_TINY_BOUNDS
	limit = Min(limit, TINY_LIMIT);
#endif
	pipeline->whole = AllocSetContextCreate(pipeline->estate->es_query_cxt, "anago",
											ALLOCSET_DEFAULT_SIZES);
	pipeline->context = AllocSetContextCreate(pipeline->whole, "anago rows",
											  ANAGO_ROW_BLOCKS);
	anago_memory_begin(&pipeline->memory, pipeline->context, limit);
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
kind_at(const AnagoPipeline *pipeline, const AnagoPipelineDesc *desc, int index)
{
	AnagoRole	role = ANAGO_ROLE_STEP;

	if (index == ANAGO_STEP_SOURCE)
		role = desc->looks ? ANAGO_ROLE_HELD_SOURCE :
			desc->child_source ? ANAGO_ROLE_CHILD_SOURCE : ANAGO_ROLE_UNIT_SOURCE;
	else if (index == desc->nsteps)
		role = desc->looks ? ANAGO_ROLE_HELD_SINK :
			desc->order == ANAGO_ORDER_NONE ? ANAGO_ROLE_SINK : ANAGO_ROLE_ORDERED_SINK;
	else if (desc->steps[index].look == ANAGO_LOOK_OLD_ROW)
		role = ANAGO_ROLE_OLD_ROW;
	else if (desc->steps[index].look == ANAGO_LOOK_MERGED)
		role = ANAGO_ROLE_MERGED;
	else if (desc->steps[index].routed)
		role = ANAGO_ROLE_ROUTED_STEP;
	else if (desc->steps[index].nmembers > 0)
		role = ANAGO_ROLE_APPEND_STEP;
	return pipeline->operators.methods[role];
}

/* Put the chain of operators together, source first. */
static void
begin_ops(AnagoPipeline *pipeline, const AnagoPipelineDesc *desc, int eflags)
{
	anago_operators_find(desc->operators, &pipeline->operators);
	pipeline->order = desc->order;
	pipeline->nsteps = desc->nsteps;
	pipeline->ops = palloc0(sizeof(AnagoOp *) * (desc->nsteps + 2));
	for (int i = 0; i < desc->nsteps + 2; i++)
	{
		const AnagoOpKind *kind = kind_at(pipeline, desc, i - 1);
		AnagoOp    *op = palloc0(kind->size);

		op->kind = kind;
		op->pipeline = pipeline;
		op->index = i - 1;
		op->depth = pipeline->ndepths;
		pipeline->ndepths += kind->ndepths;
		find_columns(op, desc);
		pipeline->ops[i] = op;
		if (i > 0)
			pipeline->ops[i - 1]->next = op;
	}
	Assert(pipeline->ndepths <= ANAGO_MAX_DEPTHS);
	for (AnagoOp *op = pipeline->ops[0]; op != NULL; op = op->next)
		if (op->kind->begin != NULL)
			op->kind->begin(op, desc, eflags);
}

/*
 * EXPLAIN shows below a node the subqueries that its expressions have, which it is
 * told of when they are initialized.
 */
static void
begin_subplans(PlanState *ps, const AnagoStepDesc *step)
{
	for (int i = 0; i < ANAGO_EXPRS_COUNT; i++)
		if (i != ANAGO_EXPRS_SHOW_COND && contain_subplans((Node *) step->exprs[i]))
			(void) ExecInitExprList(step->exprs[i], ps);
	for (int i = 0; i < step->nmembers; i++)
		begin_subplans(ps, &step->members[i]);
}

AnagoPipeline *
anago_pipeline_begin(PlanState *ps, const AnagoPipelineDesc *desc,
					 PlanState *child, TupleTableSlot *wide, int eflags)
{
	AnagoPipeline *pipeline = palloc0(sizeof(AnagoPipeline));
	MemoryContext old;

	pipeline->ps = ps;
	pipeline->estate = ps->state;
	pipeline->user = GetUserId();
	pipeline->looks = desc->looks;
	/* looks decide about no row, and leave no trace of what they have seen */
	pipeline->snapshot = desc->looks ? SnapshotAny : ps->state->es_snapshot;
	pipeline->child = child;
	pipeline->wide = wide;
	pipeline->peers.give_to = -1;
	pipeline->counters = palloc0(sizeof(AnagoCounters));
	begin_columns(pipeline, desc);

	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
	{
		begin_memory(pipeline);
		old = MemoryContextSwitchTo(pipeline->estate->es_query_cxt);
		anago_elastic_enter();
		MemoryContextSwitchTo(old);
		pipeline->econtext = CreateExprContext(pipeline->estate);
		pipeline->econtext->ecxt_scantuple = wide;
	}
	begin_ops(pipeline, desc, eflags);
	pipeline->gate = ExecInitQual(desc->gate, ps);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
	{
		for (int i = 0; i < desc->nsteps; i++)
			begin_subplans(ps, &desc->steps[i]);
		return pipeline;
	}

	pipeline->use_dead_hints = !TransactionStartedDuringRecovery();
	return pipeline;
}

/* --- run --- */

/* As a participant, what the leader knows of it holds. */
static void
expect_rows(AnagoPipeline *pipeline)
{
	AnagoQuota *quota = NULL;
	bool		may_stop = pipeline->may_stop;
	int64		wanted = pipeline->wanted;

	if (pipeline->peers.share != NULL)
	{
		quota = &pipeline->peers.segment->quota;
		may_stop = quota->may_stop;
		wanted = quota->wanted;
	}
	/* what waits for its turn is bounded by what has been taken */
	if (pipeline->order != ANAGO_ORDER_NONE)
		may_stop = true;
	anago_sched_expect_rows(pipeline->sched,
							may_stop ? ANAGO_PATIENCE_FOR_A_STEP * pipeline->nsteps : 0,
							wanted, quota != NULL && quota->together ? quota : NULL);
}

/* AnagoSchedOrder.turn */
static void
turn(void *arg)
{
	AnagoPipeline *pipeline = arg;
	AnagoOp    *sink = anago_pipeline_op(pipeline, pipeline->nsteps);

	sink->kind->turn(sink);
}

/*
 * All that comes from one row of the source, and from one match if that is the
 * unit row, has the same place; whatever leads to one is what the window bounds.
 */
static void
order_of(AnagoPipeline *pipeline, AnagoSchedOrder *order)
{
	const AnagoOp *source = pipeline->ops[0];
	const AnagoOp *rows = pipeline->child != NULL ? source->next : source->next->next;

	if (pipeline->order == ANAGO_ORDER_NONE)
		return;
	order->ndepths = anago_pipeline_op(pipeline, pipeline->nsteps)->depth;
	order->bounded = Min(rows->depth + 1, order->ndepths);
	order->turn = turn;
	order->arg = pipeline;
}

/*
 * What runs the tasks, in a context that goes with it.  As a participant it is
 * made anew for each segment, else rescans keep it.
 */
static void
begin_engine(AnagoPipeline *pipeline)
{
	AnagoPeers *peers = &pipeline->peers;
	AnagoSchedPeers meet = {0};
	AnagoSchedOrder order = {0};
	AnagoBudget *budget = NULL;
	MemoryContext old;

	if (!pipeline->looks && !IsMVCCSnapshot(pipeline->snapshot))
		elog(ERROR, "anago needs an MVCC snapshot");

	old = MemoryContextSwitchTo(pipeline->context);
	if (peers->segment != NULL)
	{
		peers->share = anago_share_attach(peers->segment, peers->pool,
										  peers->participant, peers->patient);
		peers->in_parts = peers->segment->in_parts;
		peers->in_order = peers->segment->in_order;
		budget = &peers->segment->budget;
		anago_peers_meet(pipeline, &meet);
	}
	pipeline->engine = AllocSetContextCreate(pipeline->whole, "anago scheduler",
											 ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(pipeline->engine);
	order_of(pipeline, &order);
	pipeline->pages = anago_pages_begin(anago_mode != ANAGO_MODE_OOO,
										anago_max_inflight_reads, budget, pipeline->user,
										&pipeline->counters->run);
	if (peers->share != NULL)
		anago_elastic_participate(peers->segment->nparticipants -
								  (parallel_leader_participation ? 0 : 1));
	pipeline->sched = anago_sched_begin(pipeline->ndepths, pipeline->pages,
										&pipeline->memory, &meet, &order,
										&pipeline->counters->run);
	MemoryContextSwitchTo(old);
}

static void
end_engine(AnagoPipeline *pipeline)
{
	if (pipeline->sched == NULL)
		return;
	anago_pages_end(pipeline->pages);
	MemoryContextDelete(pipeline->engine);
	pipeline->sched = NULL;
	pipeline->pages = NULL;
	pipeline->engine = NULL;
}

/* The first row is asked for: from here on I/O happens. */
static void
start(AnagoPipeline *pipeline)
{
	if (pipeline->sched == NULL)
		begin_engine(pipeline);
	expect_rows(pipeline);
	/* a participant begins when it may */
	if (pipeline->peers.share == NULL)
		pipeline->ops[0]->kind->start(pipeline->ops[0]);
}

/*
 * The executor may have materialized the slot that it was given, after which
 * its values point into memory of the slot's own that goes now.
 */
static void
renew_slot(AnagoPipeline *pipeline)
{
	ExecClearTuple(pipeline->wide);
	ExecStoreVirtualTuple(pipeline->wide);
	pipeline->bound = NULL;
}

/* Let go of what operators hold between calls, pins above all. */
static void
release_ops(AnagoPipeline *pipeline)
{
	for (AnagoOp *op = pipeline->ops[0]; op != NULL; op = op->next)
		if (op->kind->release != NULL)
			op->kind->release(op);
}

/*
 * No row comes any more, or all begins anew: pins, tasks, reads and memory of
 * rows go.  An Append keeps thousands of nodes that have ended until the query
 * ends; what is left of each should be small.
 */
static void
let_go(AnagoPipeline *pipeline)
{
	release_ops(pipeline);
	anago_pipeline_keep_peak(pipeline);
	if (pipeline->sched != NULL)
	{
		anago_pages_reset(pipeline->pages);
		anago_sched_reset(pipeline->sched);
	}
	/* a participant's share is in there */
	if (pipeline->peers.share == NULL)
		MemoryContextReset(pipeline->context);
	pipeline->memory.used = 0;
	pipeline->bound = NULL;
}

static void
begin_work(AnagoPipeline *pipeline)
{
	anago_elastic_phase(ANAGO_PHASE_WAITING);
	anago_share_begin(pipeline->peers.share);
	anago_elastic_phase(ANAGO_PHASE_INSIDE);
	pipeline->peers.begun = true;
	if (!anago_share_stopped(pipeline->peers.share))
		pipeline->ops[0]->kind->start(pipeline->ops[0]);
}

/* As a participant of a parallel query. */
static bool
next_shared(AnagoPipeline *pipeline)
{
	AnagoShare *share = pipeline->peers.share;
	bool		row;

	anago_peers_cross(pipeline, true);
	if (!pipeline->peers.begun)
		begin_work(pipeline);
	do
		row = !anago_share_stopped(share) && anago_sched_run(pipeline->sched);
	while (!row && anago_peers_more(pipeline));
	anago_peers_cross(pipeline, false);
	if (!row)
		anago_elastic_phase(ANAGO_PHASE_NONE);
	return row;
}

void
anago_pipeline_expect(AnagoPipeline *pipeline, bool may_stop, int64 wanted)
{
	pipeline->may_stop = may_stop;
	pipeline->wanted = wanted;
}

bool
anago_pipeline_next(AnagoPipeline *pipeline)
{
	if (pipeline->exhausted)
		return false;
	if (TTS_EMPTY(pipeline->wide) || TTS_SHOULDFREE(pipeline->wide))
		renew_slot(pipeline);
	if (!pipeline->started)
	{
		pipeline->started = true;
		pipeline->exhausted = !ExecQual(pipeline->gate, pipeline->econtext);
		if (pipeline->exhausted)
			return false;
		start(pipeline);
	}
	if (pipeline->peers.share != NULL ? next_shared(pipeline) :
		anago_sched_run(pipeline->sched))
	{
		pipeline->counters->run.rows++;
		return true;
	}
	let_go(pipeline);
	pipeline->exhausted = true;
	return false;
}

/*
 * Reads that are issued together cost the kernel and the device less than one by one.
 * With many rows held it is long until those of the latest are wanted.
 */
static int
reads_to_gather(const AnagoHeld *held)
{
	return (int) (held->end - held->first) / HELD_FOR_A_READ;
}

bool
anago_pipeline_look(AnagoPipeline *pipeline, bool wait)
{
	Assert(pipeline->looks && !pipeline->abandoned);
	if (!pipeline->started)
	{
		pipeline->started = true;
		renew_slot(pipeline);
		if (pipeline->sched == NULL)
			begin_engine(pipeline);
		expect_rows(pipeline);
	}
	pipeline->ops[0]->kind->start(pipeline->ops[0]);
	return wait ? anago_sched_run(pipeline->sched) :
		anago_sched_run_ready(pipeline->sched, reads_to_gather(pipeline->held));
}

void
anago_pipeline_look_late(AnagoPipeline *pipeline)
{
	Assert(pipeline->looks && pipeline->started && pipeline->held->closed);
	pipeline->late = true;
	for (AnagoOp *op = pipeline->ops[0]; op != NULL; op = op->next)
		if (op->kind->more != NULL)
			(void) op->kind->more(op);
	while (anago_sched_run(pipeline->sched))
		CHECK_FOR_INTERRUPTS();
	pipeline->late = false;
	release_ops(pipeline);
}

void
anago_pipeline_abandon(AnagoPipeline *pipeline)
{
	anago_pipeline_count(pipeline, pipeline->counters);
	pipeline->abandoned = pipeline->exhausted = true;
	pipeline->sched = NULL;
	pipeline->pages = NULL;
	MemoryContextDelete(pipeline->whole);
	pipeline->whole = pipeline->engine = pipeline->context = NULL;
}

void
anago_pipeline_set_segment(AnagoPipeline *pipeline, AnagoSegment *segment,
						   AnagoPool *pool, int participant, bool patient,
						   AnagoCounters *published)
{
	pipeline->peers.segment = segment;
	pipeline->peers.pool = pool;
	pipeline->peers.participant = participant;
	pipeline->peers.patient = patient;
	pipeline->peers.published = published;
	if (published == NULL)
		return;
	memcpy(pipeline->counters, published, anago_counters_size(pipeline->nsteps));
	for (int i = 0; i < pipeline->nsteps; i++)
		anago_pipeline_op(pipeline, i)->counters = published->steps[i];
}

/*
 * Scheduler and page layer know the segment, so that they go, too; what they
 * have counted is kept.
 */
void
anago_pipeline_leave(AnagoPipeline *pipeline)
{
	if (pipeline->peers.share == NULL)
		return;
	release_ops(pipeline);
	anago_pipeline_publish(pipeline);
	anago_pipeline_count(pipeline, pipeline->counters);
	anago_pipeline_keep_peak(pipeline);
	end_engine(pipeline);
	anago_share_end(pipeline->peers.share);
	anago_elastic_phase(ANAGO_PHASE_NONE);
	pipeline->peers.share = NULL;
	pipeline->peers.in_parts = pipeline->peers.in_order = false;
	pipeline->peers.give_to = -1;
	pipeline->peers.begun = false;
	pipeline->exhausted = true;
}

void
anago_pipeline_shutdown(AnagoPipeline *pipeline)
{
	if (pipeline->peers.segment == NULL)
		return;
	anago_pipeline_leave(pipeline);
	pipeline->peers.segment = NULL;
	pipeline->exhausted = true;
}

void
anago_pipeline_rescan(AnagoPipeline *pipeline)
{
	/* as ExecScanReScan does: the scan is on no row */
	ExecClearTuple(pipeline->wide);
	if (!pipeline->started && !pipeline->exhausted)
		return;
	anago_pipeline_leave(pipeline);
	let_go(pipeline);
	ReScanExprContext(pipeline->econtext);
	for (AnagoOp *op = pipeline->ops[0]; op != NULL; op = op->next)
		if (op->kind->rescan != NULL)
			op->kind->rescan(op);
	pipeline->started = pipeline->exhausted = false;
}

void
anago_pipeline_end(AnagoPipeline *pipeline)
{
	if (!pipeline->abandoned)
	{
		anago_pipeline_leave(pipeline);
		release_ops(pipeline);
		end_engine(pipeline);
	}
	for (AnagoOp *op = pipeline->ops[0]; op != NULL; op = op->next)
		if (op->kind->end != NULL)
			op->kind->end(op);
}
