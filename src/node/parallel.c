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
 *		all			shutdown, before the segment goes
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "guc.h"
#include "node/node.h"
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
		case T_Append:
			search_list(((const Append *) plan)->appendplans, cxt, result);
			break;
		case T_SubqueryScan:
			search_plan(((const SubqueryScan *) plan)->subplan, cxt, result);
			break;
		case T_CustomScan:
			search_list(((const CustomScan *) plan)->custom_plans, cxt, result);
			break;
		default:
			break;
	}
	search_plan(plan->lefttree, cxt, result);
	search_plan(plan->righttree, cxt, result);
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
	AnagoCounters *more;

	if (nworkers <= state->nworkers)
		return;
	more = MemoryContextAllocZero(context, sizeof(AnagoCounters) * nworkers);
	if (state->nworkers > 0)
		memcpy(more, state->workers, sizeof(AnagoCounters) * state->nworkers);
	state->workers = more;
	state->nworkers = nworkers;
}

Size
anago_parallel_estimate(CustomScanState *node, ParallelContext *pcxt)
{
	return anago_segment_size(pcxt->nworkers + 1, sizeof(AnagoCounters));
}

void
anago_parallel_initialize(CustomScanState *node, ParallelContext *pcxt,
						  void *coordinate)
{
	AnagoScanState *state = (AnagoScanState *) node;

	anago_segment_init(coordinate, pcxt->nworkers + 1, sizeof(AnagoCounters),
					   anago_max_inflight_reads, parts_for(pcxt));
	state->segment = coordinate;
	make_room(state, pcxt->nworkers);
	anago_query_set_segment(state->query, coordinate, 0,
							rows_are_collected(node), NULL);
}

/* The segment counts anew after this. */
static void
keep_peak(AnagoScanState *state)
{
	state->inflight_peak =
		Max(state->inflight_peak,
			(int64) pg_atomic_read_u32(&state->segment->budget.peak));
}

void
anago_parallel_reinitialize(CustomScanState *node, ParallelContext *pcxt,
							void *coordinate)
{
	AnagoScanState *state = (AnagoScanState *) node;

	keep_peak(state);
	/* the rescan itself may come before this or after it */
	anago_query_part(state->query);
	anago_segment_reset(coordinate, anago_max_inflight_reads, parts_for(pcxt));
}

void
anago_parallel_initialize_worker(CustomScanState *node, shm_toc *toc,
								 void *coordinate)
{
	AnagoScanState *state = (AnagoScanState *) node;
	AnagoSegment *segment = coordinate;

	/* before the first row, and so before tasks and rings are allocated */
	anago_placement_apply(ParallelWorkerNumber + 1, segment->nparticipants);
	anago_query_set_segment(state->query, coordinate, ParallelWorkerNumber + 1,
							true, anago_segment_counters(coordinate,
												   ParallelWorkerNumber));
}

/*
 * No more rows are wanted.  In the leader, core calls this before it waits for
 * the workers, so that these are told; what they have counted by now is taken,
 * for it goes with the segment.
 */
void
anago_parallel_shutdown(CustomScanState *node)
{
	AnagoScanState *state = (AnagoScanState *) node;

	anago_query_shutdown(state->query);
	if (state->segment == NULL)
		return;
	anago_share_stop(state->segment);
	for (int i = 0; i < state->segment->nparticipants - 1; i++)
		anago_counters_add(&state->workers[i],
						   anago_segment_counters(state->segment, i));
	keep_peak(state);
	state->segment = NULL;
}

void
anago_parallel_sum(const AnagoScanState *state, AnagoCounters *sum)
{
	anago_query_count(state->query, sum);
	for (int i = 0; i < state->nworkers; i++)
		anago_counters_add(sum, &state->workers[i]);
}
