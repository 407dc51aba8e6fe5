/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  The plan nodes in a parallel query: DSM callbacks.
 *
 * Core calls these for a node that is parallel_aware, below a Gather.  Other
 * nodes run alone, in whatever process they are.
 *
 *		leader		estimate, initialize; for a rescan: reinitialize
 *		worker		initialize_worker
 *		all			shutdown, before the segment goes; the leader once more when
 *					it does, and all workers have finished
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/statvfs.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "storage/dsm.h"
#include "storage/dsm_impl.h"

#include "guc.h"
#include "node/node.h"
#include "plantree.h"
#include "resource/budgets.h"
#include "shared/placement.h"
#include "shared/share.h"

typedef struct SearchCxt
{
	const Plan *plan;			/* looked for */
	bool		collected;		/* between here and the Gather above there is
								 * a node that takes all rows before it gives
								 * one */
} SearchCxt;

static void search_plan(const Plan *plan, SearchCxt cxt, bool *result);

static void
search_list(const List *plans, SearchCxt cxt, bool *result)
{
	ListCell   *lc;

	foreach(lc, plans)
		search_plan(lfirst(lc), cxt, result);
}

static void
search_plan(const Plan *plan, SearchCxt cxt, bool *result)
{
	if (plan == NULL)
		return;
	if (plan == cxt.plan)
	{
		*result = cxt.collected;
		return;
	}
	switch (nodeTag(plan))
	{
		case T_Gather:
		case T_GatherMerge:
			cxt.collected = false;
			break;
		case T_Agg:
		case T_Sort:
		case T_Hash:
			cxt.collected = true;
			break;
		case T_SubqueryScan:
			search_plan(((const SubqueryScan *) plan)->subplan, cxt, result);
			break;
		default:
			break;
	}
	search_plan(plan->lefttree, cxt, result);
	search_plan(plan->righttree, cxt, result);
	search_list(anago_plans_below(plan), cxt, result);
}

/*
 * Does every process collect this node's rows, as for an aggregate, before it
 * sends any to the leader?  Then the leader may wait for work as a worker may;
 * else rows that workers have sent would wait for it.
 */
static bool
rows_are_collected(const CustomScanState *node)
{
	const PlannedStmt *stmt = node->ss.ps.state->es_plannedstmt;
	SearchCxt	cxt = {.plan = node->ss.ps.plan};
	bool		result = false;

	search_plan(stmt->planTree, cxt, &result);
	search_list(stmt->subplans, cxt, &result);
	return result;
}

/* Processes that static mode counts on; one that does not come is replaced. */
static int
parts_for(const ParallelContext *pcxt)
{
	return Max(pcxt->nworkers + (parallel_leader_participation ? 1 : 0), 1);
}

/*
 * A Gather that has been shut down and is run again has a segment of its own
 * each time; counters of a worker of the same number are added up.
 */
static void
make_room(AnagoScanState *state, int nworkers)
{
	MemoryContext context = state->css.ss.ps.state->es_query_cxt;
	AnagoCounters **more;

	if (nworkers <= state->nworkers)
		return;
	more = MemoryContextAlloc(context, sizeof(AnagoCounters *) * nworkers);
	for (int i = 0; i < nworkers; i++)
		more[i] = i < state->nworkers ? state->workers[i] :
			MemoryContextAllocZero(context,
								   anago_counters_size(state->desc->nsteps));
	state->workers = more;
	state->nworkers = nworkers;
}

static AnagoSegmentSpec
spec_for(CustomScanState *node, const ParallelContext *pcxt)
{
	AnagoScanState *state = (AnagoScanState *) node;
	AnagoWanted wanted = anago_node_wanted(state);
	bool		in_order = state->desc->order != ANAGO_ORDER_NONE;
	AnagoSegmentSpec spec;

	spec.node = node->ss.ps.plan->plan_node_id;
	spec.nparticipants = pcxt->nworkers + 1;
	spec.counters_size = anago_counters_size(state->desc->nsteps);
	spec.in_order = in_order;
	spec.source_item = in_order && !state->desc->child_source;
	spec.in_parts = anago_mode == ANAGO_MODE_STATIC && !in_order;
	spec.source_size = spec.in_parts ?
		anago_pipeline_op(state->pipeline, 0)->kind->source_size : 0;
	spec.nparts = parts_for(pcxt);
	spec.max_inflight = anago_max_inflight_reads;
	/* a merge gives no row until all processes have given one: all begin at once */
	spec.may_stop = wanted.may_stop && !in_order;
	spec.wanted = wanted.rows;
	spec.together = wanted.any_order;
	spec.of_server = anago_budgets_of_server();
	return spec;
}

/* --- the pool: one for all nodes below a Gather --- */

/* Where it is in the query's table of contents; core's keys end in others. */
#define POOL_KEY	UINT64CONST(0xA4A6000000000001)

/*
 * With less than that left where shared memory is allocated, the pool is empty:
 * a query must not fail for what only makes it faster.
 */
#define ROOM_TO_SPARE	((uint64) 8 * 1024 * 1024)

/*
 * The estimate of this one has it; NULL: no estimate is being made.  Nothing
 * else runs between a query's estimate and the making of its pool but an error,
 * after which the context is gone.
 */
static const ParallelContext *pool_estimated = NULL;
static bool pool_empty;			/* in that estimate */

static void
forget_estimate(void)
{
	pool_estimated = NULL;
}

/* A guess: others allocate there, too. */
static bool
is_room_short(void)
{
	struct statvfs fs;

	if (dynamic_shared_memory_type != DSM_IMPL_POSIX ||
		statvfs("/dev/shm", &fs) != 0 ||
		fs.f_blocks == 0)		/* no limit */
		return false;
	return (uint64) fs.f_bavail * fs.f_frsize < ROOM_TO_SPARE;
}

static void
at_xact_end(XactEvent event, void *arg)
{
	forget_estimate();
}

static void
at_subxact_end(SubXactEvent event, SubTransactionId me,
			   SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_estimate();
}

void
anago_parallel_init(void)
{
	RegisterXactCallback(at_xact_end, NULL);
	RegisterSubXactCallback(at_subxact_end, NULL);
}

/* The first node to come asks for it, */
static void
estimate_pool(ParallelContext *pcxt)
{
	if (pool_estimated == pcxt)
		return;
	pool_estimated = pcxt;
	pool_empty = is_room_short();
	shm_toc_estimate_chunk(&pcxt->estimator,
						   anago_pool_size(pcxt->nworkers + 1, pool_empty));
	shm_toc_estimate_keys(&pcxt->estimator, 1);
}

/* and the first to come makes it. */
static AnagoPool *
get_pool(ParallelContext *pcxt)
{
	AnagoPool  *pool = shm_toc_lookup(pcxt->toc, POOL_KEY, true);

	if (pool != NULL)
		return pool;
	Assert(pool_estimated == pcxt);
	forget_estimate();
	pool = shm_toc_allocate(pcxt->toc,
							anago_pool_size(pcxt->nworkers + 1, pool_empty));
	anago_pool_init(pool, pcxt->nworkers + 1, pool_empty);
	shm_toc_insert(pcxt->toc, POOL_KEY, pool);
	return pool;
}

/* --- what the workers have counted --- */

/* The segment counts anew after this. */
static void
keep_peak(AnagoScanState *state)
{
	state->inflight_peak =
		Max(state->inflight_peak,
			(int64) pg_atomic_read_u32(&state->segment->budget.peak));
}

/* A worker may be about to publish the next ones, if it has not finished. */
static void
take_counters(AnagoScanState *state, int worker)
{
	LWLock	   *lock = &state->segment->participants[worker + 1].lock;

	LWLockAcquire(lock, LW_SHARED);
	anago_counters_add(state->workers[worker],
					   anago_segment_counters(state->segment, worker));
	LWLockRelease(lock);
}

/* What the workers have counted goes with the segment. */
static void
take_all_counters(AnagoScanState *state)
{
	for (int i = 0; i < state->segment->nparticipants - 1; i++)
		take_counters(state, i);
	keep_peak(state);
	state->segment = NULL;
	state->pool = NULL;
	state->awaits_detach = false;
}

/*
 * The shared memory of the query is about to go.  Unless that is for an error,
 * all workers have finished, and have published the last that they counted.
 */
static void
at_detach(dsm_segment *dsm, Datum arg)
{
	AnagoScanState *state = (AnagoScanState *) DatumGetPointer(arg);

	if (state->awaits_detach && IsTransactionState())
		take_all_counters(state);
}

/* --- callbacks --- */

Size
anago_parallel_estimate(CustomScanState *node, ParallelContext *pcxt)
{
	AnagoSegmentSpec spec = spec_for(node, pcxt);

	estimate_pool(pcxt);
	return anago_segment_size(&spec);
}

void
anago_parallel_initialize(CustomScanState *node, ParallelContext *pcxt,
						  void *coordinate)
{
	AnagoScanState *state = (AnagoScanState *) node;
	AnagoSegmentSpec spec = spec_for(node, pcxt);

	anago_segment_init(coordinate, &spec);
	state->segment = coordinate;
	state->pool = get_pool(pcxt);
	make_room(state, pcxt->nworkers);
	if (pcxt->seg != NULL)
	{
		state->awaits_detach = true;
		on_dsm_detach(pcxt->seg, at_detach, PointerGetDatum(state));
	}
	anago_pipeline_set_segment(state->pipeline, state->segment, state->pool, 0,
							   rows_are_collected(node), NULL);
}

void
anago_parallel_reinitialize(CustomScanState *node, ParallelContext *pcxt,
							void *coordinate)
{
	AnagoScanState *state = (AnagoScanState *) node;
	AnagoSegmentSpec spec = spec_for(node, pcxt);

	keep_peak(state);
	/* the rescan itself may come before this or after it */
	anago_pipeline_leave(state->pipeline);
	anago_share_reset(state->segment, state->pool, &spec);
}

void
anago_parallel_initialize_worker(CustomScanState *node, shm_toc *toc,
								 void *coordinate)
{
	AnagoScanState *state = (AnagoScanState *) node;
	AnagoSegment *segment = coordinate;

	if (segment->layout != ANAGO_LAYOUT)
		ANAGO_OTHER_LAYOUT_ERROR();
	/* before the first row, and so before tasks and rings are allocated */
	anago_placement_apply(ParallelWorkerNumber + 1, segment->nparticipants);
	if (segment->of_server)
		anago_budgets_prepare_worker();
	anago_pipeline_set_segment(state->pipeline, segment,
							   shm_toc_lookup(toc, POOL_KEY, false),
							   ParallelWorkerNumber + 1, true,
							   anago_segment_counters(segment,
													  ParallelWorkerNumber));
}

/*
 * No more rows are wanted.  In the leader, core calls this before it waits for
 * the workers, so that these are told.  They may be in the middle of something,
 * or hang on a tuple queue that nobody reads any more: what they have counted is
 * taken when they have finished.
 */
void
anago_parallel_shutdown(CustomScanState *node)
{
	AnagoScanState *state = (AnagoScanState *) node;

	anago_pipeline_shutdown(state->pipeline);
	if (state->segment == NULL)
		return;
	anago_share_stop(state->segment);
	if (!state->awaits_detach)
		take_all_counters(state);
}

/* The node ends; if the workers have not, what they have counted by now counts. */
void
anago_parallel_end(AnagoScanState *state)
{
	if (state->segment != NULL)
		take_all_counters(state);
}

void
anago_parallel_sum(const AnagoScanState *state, AnagoCounters *sum)
{
	anago_pipeline_count(state->pipeline, sum);
	for (int i = 0; i < state->nworkers; i++)
		anago_counters_add(sum, state->workers[i]);
}
