/*-------------------------------------------------------------------------
 *
 * plantree.h
 *	  What is below a node of a finished plan.
 *
 * Core has a walker for expressions and one for plan states, and none for plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PLANTREE_H
#define ANAGO_PLANTREE_H

#include "postgres.h"

#include "nodes/plannodes.h"

/*
 * Plans below a node besides its outer and its inner one and that of a SubqueryScan.
 * The list is the node's own: whoever replaces a member changes the plan.
 */
static inline List *
anago_plans_below(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Append:
			return ((const Append *) plan)->appendplans;
		case T_MergeAppend:
			return ((const MergeAppend *) plan)->mergeplans;
		case T_BitmapAnd:
			return ((const BitmapAnd *) plan)->bitmapplans;
		case T_BitmapOr:
			return ((const BitmapOr *) plan)->bitmapplans;
		case T_CustomScan:
			return ((const CustomScan *) plan)->custom_plans;
		default:
			return NIL;
	}
}

#endif							/* ANAGO_PLANTREE_H */
