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
 * them, and that have a nested loop of core's above a node of ours.  What hash and merge
 * joins take does not grow that much with rows that nobody expected, and a pipeline of ours
 * that replaces core's nested loops has the same rows, and turns into a hash join where
 * these are too many.  Where all tables are cached we hardly have a path.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "utils/float.h"
#include "utils/syscache.h"

#include "compat_plan.h"
#include "extension.h"
#include "guc.h"
#include "plan/looks.h"
#include "plan/paths.h"
#include "plan/rival.h"
#include "plantree.h"

/* --- the query --- */

/*
 * Units of cost; the default of jit_above_cost, from which on more work on a
 * plan pays by other reasons.
 */
#define LEAST_COST		100000.0

#define LEAST_TABLES	3

/* What a query joins, and may once subqueries are pulled up. */
typedef struct Joined
{
	int			tables;
	bool		cold;			/* one of them, as far as is known */
	double		unknown_pages;	/* of those that nobody has looked for in the cache */
} Joined;

/*
 * Pages of a table by itself; infinite: of others too.  (pg_class, as nothing has been
 * opened yet.)
 */
static double
pages_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		pages = get_float8_infinity();

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		if (form->relkind == RELKIND_VIEW)
			pages = 0;
		else if (!form->relhassubclass && form->reltuples >= 0 &&
				 (form->relkind == RELKIND_RELATION || form->relkind == RELKIND_MATVIEW))
			pages = form->relpages;
		ReleaseSysCache(tuple);
	}
	return pages;
}

static void
see_table(Oid relid, Joined *joined)
{
	joined->tables++;
	if (joined->cold)
		return;
	switch (anago_known_cached(relid))
	{
		case ANAGO_YES:
			break;
		case ANAGO_NO:
			joined->cold = true;
			break;
		case ANAGO_NOT_ASKED:
			joined->unknown_pages += pages_of(relid);
			break;
	}
}

/*
 * A table that nobody has looked for is one that no path of ours reads, so that it is read
 * in order.  A few pages don't make a difference that counts, cached or not.
 */
static bool
is_cold(const Joined *joined)
{
	return joined->cold ||
		joined->unknown_pages * seq_page_cost > LEAST_COST * anago_least_gain;
}

/* (those of expressions are not looked into; each may be a join) */
static void
see_tables(const Query *parse, Joined *joined)
{
	ListCell   *lc;

	joined->tables += parse->hasSubLinks ? 2 : 0;
	foreach(lc, parse->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY)
			see_tables(rte->subquery, joined);
		else if (rte->rtekind == RTE_RELATION)
			see_table(rte->relid, joined);
	}
	foreach(lc, parse->cteList)
		see_tables((const Query *) lfirst_node(CommonTableExpr, lc)->ctequery, joined);
}

Query *
anago_rival_query(Query *parse)
{
	Joined		joined = {0};

	if (!anago_enable || anago_debug_force || anago_least_gain <= 0)
		return NULL;
	see_tables(parse, &joined);
	if (joined.tables < LEAST_TABLES || !is_cold(&joined) || !anago_is_installed() ||
		anago_nothing_overlaps())
		return NULL;
	return copyObject(parse);
}

/* --- the plan --- */

typedef bool (*IsNode) (const Plan *plan);

static bool is_any(const Plan *plan, IsNode is);

static bool
is_any_of(const List *plans, IsNode is)
{
	ListCell   *lc;

	foreach(lc, plans)
		if (is_any(lfirst(lc), is))
			return true;
	return false;
}

static bool
is_any(const Plan *plan, IsNode is)
{
	if (plan == NULL)
		return false;
	return is(plan) || is_any(outerPlan(plan), is) || is_any(innerPlan(plan), is) ||
		is_any_of(anago_plans_below(plan), is) ||
		(IsA(plan, SubqueryScan) && is_any(((const SubqueryScan *) plan)->subplan, is));
}

static bool
is_ours(const Plan *plan)
{
	return IsA(plan, CustomScan) && anago_is_pipeline((const CustomScan *) plan);
}

/* A nested loop of core's that is cheaper by a node of ours. */
static bool
is_loop_above_ours(const Plan *plan)
{
	return IsA(plan, NestLoop) && is_any(outerPlan(plan), is_ours);
}

bool
anago_rival_may_win(const PlannedStmt *stmt)
{
	return stmt->planTree->total_cost >= LEAST_COST &&
		(is_any(stmt->planTree, is_loop_above_ours) ||
		 is_any_of(stmt->subplans, is_loop_above_ours));
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
