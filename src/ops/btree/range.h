/*-------------------------------------------------------------------------
 *
 * range.h
 *	  Index range: the walk of one B-tree for one probe.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RANGE_H
#define ANAGO_RANGE_H

#include "postgres.h"

#include "ops/btree/btree.h"
#include "ops/btree/span.h"

/* Spawn the task that finds a probe's index entries; keys are evaluated. */
extern PGDLLEXPORT void anago_range_spawn(AnagoProbe *probe);

/* Spawn the task that walks a span, of a range that somebody else opened. */
extern PGDLLEXPORT void anago_range_spawn_span(AnagoProbe *probe, AnagoSpan *span);

/* Know the index, and bind the keys, of one combination. */
extern PGDLLEXPORT void anago_range_prepare(AnagoProbe *probe);

/* The probe of the source's unit row, whose ranges all processes share. */
static inline bool
anago_probe_is_shared_source(const AnagoProbe *probe)
{
	const AnagoPipeline *pipeline = probe->step->op.pipeline;

	return pipeline->peers.share != NULL && pipeline->child == NULL &&
		probe->step->op.index == 0;
}

#endif							/* ANAGO_RANGE_H */
