/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  What the rest of anago needs of the planner's side.
 *
 * Besides this there is only the description of a finished pipeline, in
 * pipeline/desc.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PLAN_H
#define ANAGO_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"

/*
 * Of max_inflight reads, how many would overlap in a query that began now?
 * 0 or 1: none.
 */
typedef int (*AnagoExpectOverlap) (int max_inflight);

/*
 * Install the planner hooks, behind those that are there already.  The three
 * tables make the executor's nodes out of the plans that this side builds.
 */
extern void anago_plan_init(const CustomScanMethods *scan,
							const CustomScanMethods *join,
							const CustomScanMethods *ahead,
							AnagoExpectOverlap expect_overlap);

#endif							/* ANAGO_PLAN_H */
