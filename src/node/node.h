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

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

#include "ops/query.h"
#include "plan/pipeline.h"

typedef struct AnagoScanState
{
	CustomScanState css;		/* must be first */
	AnagoPipelineDesc *desc;
	AnagoQuery *query;			/* NULL before BeginCustomScan */
} AnagoScanState;

extern PGDLLIMPORT const CustomScanMethods anago_scan_methods;
extern PGDLLIMPORT const CustomScanMethods anago_join_methods;

/* Make both known to readfuncs.c, which looks them up by name. */
extern void anago_node_init(void);

/* explain.c: ExplainCustomScan */
extern void anago_explain(CustomScanState *node, List *ancestors,
						  struct ExplainState *es);

#endif							/* ANAGO_NODE_H */
