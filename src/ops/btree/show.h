/*-------------------------------------------------------------------------
 *
 * show.h
 *	  EXPLAIN of a step that probes a B-tree index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SHOW_H
#define ANAGO_SHOW_H

#include "postgres.h"

#include "ops/btree/btree.h"
#include "pipeline/explain.h"

/* AnagoOpKind.explain */
extern void anago_step_show(const AnagoOp *op, const AnagoExplain *ex,
							const AnagoStepCounts *counters);

/* The same of a step of several tables. */
extern void anago_append_show(const AnagoOp *op, const AnagoExplain *ex,
							  const AnagoStepDesc *sd,
							  const AnagoStepCounts *counters);

#endif							/* ANAGO_SHOW_H */
