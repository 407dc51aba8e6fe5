/*-------------------------------------------------------------------------
 *
 * ahead.h
 *	  The plan node AnagoAhead: rows pass through, and what they lead to is read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_AHEAD_H
#define ANAGO_AHEAD_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "utils/resowner.h"

#include "node/backlog.h"
#include "node/consumer.h"
#include "node/pace.h"
#include "pipeline/pipeline.h"

typedef struct AnagoAheadState
{
	CustomScanState css;		/* must be first; the child is its outer plan */
	AnagoPipelineDesc *desc;
	AnagoPipeline *pipeline;	/* of looks; NULL: there are none to be made */
	AnagoHeld  *held;			/* with it, unless it is only explained */
	TupleTableSlot *slot;		/* the latest row that was held */
	ResourceOwner owner;		/* of what looks take, or NULL: nothing */
	bool		projects;		/* rows do not leave as they are */
	bool		child_ended;	/* as held->child_ended, whoever asked the child */
	bool		is_ahead;		/* rows are held; else they just pass */
	AnagoPace	pace;
	AnagoBacklog *backlog;		/* NULL: no looks are late */
	int64		stop_at;		/* rows that are wanted at most, or 0: not known */
	bool		bounded;		/* the child has been told how many */
} AnagoAheadState;

extern PGDLLIMPORT const CustomScanMethods anago_ahead_methods;

/* ahead_explain.c: ExplainCustomScan */
extern void anago_ahead_explain(CustomScanState *node, List *ancestors,
								struct ExplainState *es);

#endif							/* ANAGO_AHEAD_H */
