/*-------------------------------------------------------------------------
 *
 * turn.c
 *	  What a hash join would take in place of a step's probes.
 *
 * It is the bound on what these may take before the step turns into one
 * (ops/btree/turn.c): a scan of the table in order, its conditions, and a hash of
 * the rows that are left, by core's formulas.  A probe costs what it does in the
 * step's price, but pages are counted when they are waited for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "plan/create.h"
#include "plan/memo.h"
#include "plan/price.h"
#include "plan/risk.h"
#include "plan/waits.h"

/* Of so many the price of one is taken: few of them wait for each other. */
#define MANY_PAGES		1000.0

/* What a row of the hash table takes beside its columns. */
#define ROW_OVERHEAD	48.0

static double
hashed_bytes(const RelOptInfo *rel, double rows)
{
	return rows * (ROW_OVERHEAD + rel->reltarget->width);
}

static bool
has_param_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if ((IsA(node, Param) && ((Param *) node)->paramkind != PARAM_EXTERN) ||
		IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	return expression_tree_walker(node, has_param_walker, context);
}

/*
 * Is the filter a condition on the table's row alone?  Where rows may be hidden
 * from the user, conditions that could tell of them must wait for an index condition
 * that comes before them.
 */
static bool
is_early(PlannerInfo *root, const RelOptInfo *rel, List *filter)
{
	return root->qual_security_level == 0 &&
		bms_is_subset(pull_varnos(root, (Node *) filter), rel->relids) &&
		!has_param_walker((Node *) filter, NULL);
}

static Cost
hash_join(const RelOptInfo *rel, double kept)
{
	double		seq_page;

	anago_page_costs(rel, NULL, &seq_page);
	return rel->pages * seq_page +
		rel->tuples * (cpu_tuple_cost + rel->baserestrictcost.per_tuple) +
		kept * anago_hashed_row_cost();
}

/* A row of the hash table that a lookup comes to: found, and its conditions evaluated. */
static Cost
candidate(const AnagoStepDesc *desc)
{
	return cpu_operator_cost * (1 + desc->nkeys);
}

/* A page of the table that is waited for together with others, and its CPU time. */
static Cost
waited_page(const RelOptInfo *rel)
{
	double		random_page;
	Cost		waits;
	Cost		cpu;

	anago_page_costs(rel, &random_page, NULL);
	waits = anago_overlapped(rel, random_page * MANY_PAGES, &cpu);
	return (waits + cpu) / MANY_PAGES;
}

static int
whole(double number, double least)
{
	return (int) rint(Max(Min(number, (double) PG_INT32_MAX), least));
}

void
anago_describe_turn(PlannerInfo *root, AnagoStepDesc *desc, const AnagoPathStep *step)
{
	const IndexPath *ipath = step->ipath;
	const RelOptInfo *rel = ipath->path.parent;
	AnagoTurnDesc *turn = &desc->turn;
	Cost		page = waited_page(rel);
	double		kept;

	if (page <= 0)
		return;
	turn->blocks = whole(rel->pages, 1);
	turn->early_filter = is_early(root, rel, desc->exprs[ANAGO_EXPRS_FILTER]);
	kept = turn->early_filter ? rel->rows : rel->tuples;
	turn->pages = whole(hash_join(rel, kept) / page, 1);
	turn->per_probe = whole(ipath->path.startup_cost / page * ANAGO_TURN_PARTS, 0);
	turn->per_entry = whole(anago_cpu_of(root, step, 1, 1) / page * ANAGO_TURN_PARTS, 0);
	turn->per_candidate = whole(candidate(desc) / page * ANAGO_TURN_PARTS, 0);
	turn->kilobytes = whole(hashed_bytes(rel, kept) / 1024, 0);
}
