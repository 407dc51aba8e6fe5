/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  What the rest of anago needs of the planner's side.
 *
 * Besides this there is only the description of a finished pipeline, in
 * pipeline.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PLAN_H
#define ANAGO_PLAN_H

#include "postgres.h"

#include "nodes/extensible.h"

/*
 * Install the planner hooks, behind those that are there already.  The two
 * tables make the executor's nodes out of the plans that this side builds.
 */
extern void anago_plan_init(const CustomScanMethods *scan,
							const CustomScanMethods *join);

#endif							/* ANAGO_PLAN_H */
