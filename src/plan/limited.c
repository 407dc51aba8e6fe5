/*-------------------------------------------------------------------------
 *
 * limited.c
 *	  Of which nodes of a finished plan a LIMIT wants few rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"

#include "plan/looks.h"

int
anago_rows_of_limit(const Limit *limit)
{
	const Const *counts[] = {
		(const Const *) limit->limitCount, (const Const *) limit->limitOffset
	};
	int64		rows = 0;

	if (limit->limitCount == NULL || limit->limitOption == LIMIT_OPTION_WITH_TIES)
		return 0;
	for (int i = 0; i < lengthof(counts); i++)
	{
		if (counts[i] == NULL)
			continue;
		if (!IsA(counts[i], Const) || counts[i]->constisnull)
			return 0;
		rows += Min(Max(DatumGetInt64(counts[i]->constvalue), 0), PG_INT16_MAX);
	}
	return rows < PG_INT16_MAX ? (int) rows : 0;
}

/* Whose rows a node passes on as they come, or makes its own of; NULL: nobody's. */
static Plan *
passes_on(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_NestLoop:
		case T_HashJoin:
		case T_Result:
		case T_LockRows:
		case T_Unique:
		case T_IncrementalSort:
			return outerPlan(plan);
		case T_SubqueryScan:
			return ((const SubqueryScan *) plan)->subplan;
		default:
			return NULL;
	}
}

/*
 * An incremental sort takes a whole group of rows, and gives the first then: so many, as
 * its startup cost has it (cost_incremental_sort() in core), rows of that size having taken
 * no longer to sort than to come by.
 */
static double
rows_of_group(const Plan *sort)
{
	const Plan *rows = outerPlan(sort);
	Cost		run = rows->total_cost - rows->startup_cost;

	return run <= 0 ? 0 :
		rows->plan_rows * (sort->startup_cost - rows->startup_cost) / run;
}

/*
 * Below a LIMIT, a join's outer side will give such a part of its rows as the join
 * is wanted to give of its own.
 */
List *
anago_add_limited(List *limited, const Limit *limit)
{
	double		wanted = anago_rows_of_limit(limit);
	Plan	   *plan = outerPlan(limit);
	Plan	   *below;

	if (wanted <= 0)
		return limited;
	for (; plan != NULL; plan = below)
	{
		if (wanted < ANAGO_FEWEST_AHEAD)
			limited = lappend(limited, plan);
		below = passes_on(plan);
		if (below != NULL)
			wanted *= below->plan_rows / Max(plan->plan_rows, 1);
		if (IsA(plan, IncrementalSort))
			wanted += rows_of_group(plan);
	}
	return limited;
}
