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
#include "shared/share.h"

/* Processes that static mode counts on; one that does not come is replaced. */
static int
parts_for(const ParallelContext *pcxt)
{
	return Max(pcxt->nworkers + (parallel_leader_participation ? 1 : 0), 1);
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
	state->nworkers = pcxt->nworkers;
	state->workers = MemoryContextAllocZero(node->ss.ps.state->es_query_cxt,
											sizeof(AnagoCounters) *
											Max(pcxt->nworkers, 1));
	anago_query_set_segment(state->query, coordinate, 0, NULL);
}

void
anago_parallel_reinitialize(CustomScanState *node, ParallelContext *pcxt,
							void *coordinate)
{
	AnagoScanState *state = (AnagoScanState *) node;

	/* the rescan itself may come before this or after it */
	anago_query_part(state->query);
	anago_segment_reset(coordinate, anago_max_inflight_reads, parts_for(pcxt));
	anago_query_set_segment(state->query, coordinate, 0, NULL);
}

void
anago_parallel_initialize_worker(CustomScanState *node, shm_toc *toc,
								 void *coordinate)
{
	AnagoScanState *state = (AnagoScanState *) node;

	anago_query_set_segment(state->query, coordinate, ParallelWorkerNumber + 1,
							anago_segment_counters(coordinate,
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
	for (int i = 0; i < state->nworkers; i++)
		state->workers[i] = *(AnagoCounters *)
			anago_segment_counters(state->segment, i);
	state->inflight_peak =
		Max(state->inflight_peak,
			(int64) pg_atomic_read_u32(&state->segment->budget.peak));
	state->segment = NULL;
}

void
anago_parallel_sum(const AnagoScanState *state, AnagoCounters *sum)
{
	anago_query_count(state->query, sum);
	for (int i = 0; i < state->nworkers; i++)
		anago_counters_add(sum, &state->workers[i]);
}
