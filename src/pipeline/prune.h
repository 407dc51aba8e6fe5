/*-------------------------------------------------------------------------
 *
 * prune.h
 *	  Which members of a step of several tables a row can have matches in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PRUNE_H
#define ANAGO_PRUNE_H

#include "postgres.h"

#include "nodes/bitmapset.h"

#include "pipeline/state.h"

typedef struct AnagoPruner AnagoPruner;

/*
 * A pruner of a step that has members; what it opens are partitioned
 * tables, which the executor closes.  Memory is the query's.
 */
extern AnagoPruner *anago_pruner_create(AnagoPipeline *pipeline,
										const AnagoStepDesc *desc);

/*
 * The members for the row that is bound, by index; valid until the next call.
 * Memory of the pipeline's expression context is used.
 */
extern const Bitmapset *anago_pruner_find(AnagoPruner *pruner);

/* The same for whatever row, as far as that is known before there is one. */
extern const Bitmapset *anago_pruner_find_for_any(AnagoPruner *pruner);

/* Parameters may have changed. */
extern void anago_pruner_rescan(AnagoPruner *pruner);

#endif							/* ANAGO_PRUNE_H */
