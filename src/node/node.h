/*-------------------------------------------------------------------------
 *
 * node.h
 *	  The plan nodes AnagoScan and AnagoJoin: CustomScan callbacks.
 *
 * Both run the same code; they differ in what EXPLAIN calls them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_NODE_H
#define ANAGO_NODE_H

#include "postgres.h"

#include "access/parallel.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "node/consumer.h"
#include "pipeline/pipeline.h"

typedef struct AnagoScanState
{
	CustomScanState css;		/* must be first */
	AnagoPipelineDesc *desc;
	AnagoPipeline *pipeline;	/* NULL: before BeginCustomScan, or core's scan
								 * stands in for it */
	AnagoConsumer consumer;		/* of its rows, */
	bool		consumer_known;	/* once it is this */

	/* in the leader of a parallel query, below a Gather */
	AnagoSegment *segment;		/* NULL: none, or no longer */
	AnagoPool  *pool;			/* with it */
	bool		awaits_detach;	/* at_detach() will be called for it */
	int			nworkers;
	AnagoCounters **workers;	/* what they have done */
	int64		inflight_peak;	/* reads of all processes at one time */
} AnagoScanState;

extern PGDLLIMPORT const CustomScanMethods anago_scan_methods;
extern PGDLLIMPORT const CustomScanMethods anago_join_methods;

/* Make both known to readfuncs.c, which looks them up by name. */
extern void anago_node_init(void);

/* exec.c: what is wanted of a scan that begins now */
extern AnagoWanted anago_node_wanted(AnagoScanState *state);

/* parallel.c: the callbacks for DSM, and the counters of all processes */
extern void anago_parallel_init(void);
extern Size anago_parallel_estimate(CustomScanState *node, ParallelContext *pcxt);
extern void anago_parallel_initialize(CustomScanState *node,
									  ParallelContext *pcxt, void *coordinate);
extern void anago_parallel_reinitialize(CustomScanState *node,
										ParallelContext *pcxt, void *coordinate);
extern void anago_parallel_initialize_worker(CustomScanState *node, shm_toc *toc,
											 void *coordinate);
extern void anago_parallel_shutdown(CustomScanState *node);
extern void anago_parallel_end(AnagoScanState *state);
extern void anago_parallel_sum(const AnagoScanState *state, AnagoCounters *sum);

/* explain.c: what a process did, as EXPLAIN shows it; ExplainCustomScan */
extern void anago_explain_run(struct ExplainState *es, const AnagoCounters *counters);
extern void anago_explain(CustomScanState *node, List *ancestors,
						  struct ExplainState *es);

#endif							/* ANAGO_NODE_H */
