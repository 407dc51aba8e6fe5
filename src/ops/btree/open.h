/*-------------------------------------------------------------------------
 *
 * open.h
 *	  Open and close what a step has of one table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_OPEN_H
#define ANAGO_OPEN_H

#include "postgres.h"

#include "ops/btree/btree.h"

/*
 * Table, index, keys and conditions of a step or a member of one, whose op is
 * filled in; of a late or routed look, conditions alone.  Of the memory for copies of inner pages it may have one of `parts`
 * parts.  What it evaluates lives as long as CurrentMemoryContext.
 */
extern void anago_step_open(AnagoStep *step, const AnagoStepDesc *desc, int parts);

/* What becomes of the order of rows in a step; its op is filled in. */
extern void anago_step_begin_order(AnagoStep *step);

/* The index alone, which is locked as its table is. */
extern Relation anago_step_open_index(EState *estate, const AnagoStepDesc *desc);

/* Where it looks into pages; several members look into one at a time. */
extern void anago_step_share_areas(AnagoStep *step, const AnagoStep *with);

/* Let go of pins. */
extern void anago_step_release(AnagoStep *step);

extern void anago_step_close(AnagoStep *step);

#endif							/* ANAGO_OPEN_H */
