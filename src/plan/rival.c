/*-------------------------------------------------------------------------
 *
 * rival.c
 *	  The plan that there would be without anago, beside the one with it.
 *
 * A path of ours that is a little cheaper than core's may change the whole plan above
 * it.  Nested loops of core's that come to be cheaper by their outer side are priced by
 * estimates that nobody has looked at, as they would not have won:
 *
 *		nothing of ours					1,813,000 units, 66 s
 *		  Nested Loop (orders)
 *		    Hash Join (lineitem, part)
 *		with ours						1,781,000 units, 139 s
 *		  AnagoJoin (orders)
 *		    Nested Loop (lineitem by BitmapAnd: 1 row expected, 8 found)
 *		      AnagoJoin (partsupp)
 *		        Seq Scan on part
 *
 * (query 9 of TPC-H at scale 10, cold, with PostgreSQL's default settings).  Costs of
 * two plans that differ by some percent say nothing about which one is faster; what is
 * certain is that a user who has switched anago on forgives no plan that was fast
 * before.  So such a query is planned twice, and the plan without anago is taken
 * unless the other one is cheaper by anago.least_gain.
 *
 * By then core has thrown away what lost at lower joins, so that there is no way to
 * know what the query would cost without our paths but to plan it without them.  This
 * is done only for plans that take so long that a second planning is nothing beside
 * them, and for three tables and more: with two, all that is above ours is an
 * aggregate or a sort, which core's plan has, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/planmain.h"

#include "compat_plan.h"
#include "guc.h"
#include "plan/rival.h"

/*
 * Units of cost; the default of jit_above_cost, from which on more work on a
 * plan pays by other reasons.
 */
#define LEAST_COST		100000.0

#define LEAST_TABLES	3

bool		anago_any_chosen = false;

/*
 * What is joined, and what may be once subqueries are pulled up.  Those of expressions
 * are not looked into; each may be a join.
 */
static int
tables_of(const Query *parse)
{
	ListCell   *lc;
	int			n = parse->hasSubLinks ? 2 : 0;

	foreach(lc, parse->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		n += rte->rtekind == RTE_SUBQUERY ? tables_of(rte->subquery) :
			rte->rtekind == RTE_RELATION || rte->rtekind == RTE_CTE;
	}
	return n;
}

Query *
anago_rival_query(Query *parse)
{
	if (!anago_enable || anago_debug_force || anago_least_gain <= 0 ||
		tables_of(parse) < LEAST_TABLES)
		return NULL;
	return copyObject(parse);
}

bool
anago_rival_may_win(const PlannedStmt *stmt)
{
	return anago_any_chosen && stmt->planTree->total_cost >= LEAST_COST;
}

/* Of a cursor, what core has made the plan for: the first of its rows. */
static Cost
wanted_cost(const Plan *plan, int cursorOptions)
{
	double		part = cursorOptions & CURSOR_OPT_FAST_PLAN ? cursor_tuple_fraction : 1;

	return plan->startup_cost + part * (plan->total_cost - plan->startup_cost);
}

bool
anago_rival_wins(const PlannedStmt *stmt, const PlannedStmt *rival, int cursorOptions)
{
	Cost		ours = wanted_cost(stmt->planTree, cursorOptions);
	Cost		theirs = wanted_cost(rival->planTree, cursorOptions);

	/* what is switched off is taken only where there is nothing else */
	return !anago_uses_disabled(rival->planTree) &&
		ours > theirs * (1 - anago_least_gain);
}
