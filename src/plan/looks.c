/*-------------------------------------------------------------------------
 *
 * looks.c
 *	  What a plan reads that is run for each row: looks.
 *
 * The plan is finished: it is walked for index scans, of core's or ours, with a
 * key that is a parameter which the row sets.  Such a scan is a look; its keys are
 * made over the row:
 *
 *		NestLoop			sets $0 = c_custkey
 *		  -> (rows)
 *		  -> Limit 3
 *			   -> Sort
 *					-> Bitmap Heap Scan on orders
 *						 -> Bitmap Index Scan on orders_custkey		o_custkey = $0
 *
 *		look: orders_custkey, o_custkey = column 1 of the row; all matches
 *
 * Which keys will do is in lookkeys.c.
 *
 * A Limit, or a semijoin, bounds the matches that are of use where nothing in
 * between wants all; what drops rows takes some more.  Of several tables: lookfirsts.c,
 * and where core prunes these for each row, lookpruned.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "compat_plan.h"
#include "plan/create.h"
#include "plan/looks.h"

/* --- index scans --- */

/* Of core's: a scan of that table, with conditions as the index has them. */
static void
add_index_scan(AnagoLooks *looks, const Scan *scan, Oid indexid, bool index_only,
			   List *indexqual, List *shown, ScanDirection direction, int most)
{
	AnagoStepDesc *desc;
	const List *tlist = NIL;

	if (looks->firsts.append == 0 && looks->firsts.merged == 0 &&
		anago_look_is_vain(looks->stmt, scan->scanrelid, indexid))
		return;
	/* what of an index-only scan is shown is over the index */
	if (index_only)
		tlist = ((const IndexOnlyScan *) scan)->indextlist;
	desc = palloc0(sizeof(AnagoStepDesc));
	desc->scanrelid = scan->scanrelid;
	desc->indexid = indexid;
	desc->index_only = index_only;
	desc->from_end = ScanDirectionIsBackward(direction);
	anago_describe_keys(desc, indexqual);
	anago_add_look(looks, desc, shown, tlist, most, scan->plan.qual != NIL);
}

/* One of core's kinds of them. */
static void
find_in_index_scan(AnagoLooks *looks, const Plan *plan, int most)
{
	if (IsA(plan, IndexScan))
	{
		const IndexScan *scan = (const IndexScan *) plan;

		if (scan->indexorderby == NIL)
			add_index_scan(looks, &scan->scan, scan->indexid, false,
						   scan->indexqual, scan->indexqualorig,
						   scan->indexorderdir, most);
	}
	else if (IsA(plan, IndexOnlyScan))
	{
		const IndexOnlyScan *scan = (const IndexOnlyScan *) plan;

		if (scan->indexorderby == NIL)
			add_index_scan(looks, &scan->scan, scan->indexid, true,
						   scan->indexqual, scan->recheckqual,
						   scan->indexorderdir, most);
	}
	else
	{
		const BitmapIndexScan *scan = castNode(BitmapIndexScan, (Plan *) plan);

		add_index_scan(looks, &scan->scan, scan->indexid, false,
					   scan->indexqual, scan->indexqualorig,
					   ForwardScanDirection, 0);
	}
}

bool
anago_is_pipeline(const CustomScan *cscan)
{
	return strcmp(cscan->methods->CustomName, "AnagoScan") == 0 ||
		strcmp(cscan->methods->CustomName, "AnagoJoin") == 0;
}

/*
 * Of ours: what its first step probes is known of a row, if that is the unit row's;
 * else what its child plan reads may be.
 */
static void
add_pipeline(AnagoLooks *looks, const CustomScan *cscan, int most)
{
	AnagoPipelineDesc *pipeline;
	AnagoStepDesc *first;
	AnagoStepDesc *desc;

	if (!anago_is_pipeline(cscan))
		return;
	pipeline = anago_desc_read(cscan);
	if (pipeline->child_source)
	{
		anago_find_looks(looks, linitial(cscan->custom_plans), 0);
		return;
	}
	first = &pipeline->steps[0];
	if (first->nmembers > 0)
		return;
	desc = palloc0(sizeof(AnagoStepDesc));
	desc->scanrelid = first->scanrelid;
	desc->indexid = first->indexid;
	desc->index_only = first->index_only;
	desc->from_end = pipeline->order == ANAGO_ORDER_BACKWARD;
	desc->nkeys = first->nkeys;
	desc->keys = first->keys;
	desc->exprs[ANAGO_EXPRS_KEYS] = first->exprs[ANAGO_EXPRS_KEYS];
	anago_add_look(looks, desc, first->exprs[ANAGO_EXPRS_SHOW_COND], cscan->custom_scan_tlist,
			 pipeline->nsteps == 1 ? most : 0, first->exprs[ANAGO_EXPRS_FILTER] != NIL);
}

bool
anago_may_be_looked_at(const PlannedStmt *stmt, const Plan *plan)
{
	Oid			indexid;

	switch (nodeTag(plan))
	{
		case T_IndexScan:
			indexid = ((const IndexScan *) plan)->indexid;
			break;
		case T_IndexOnlyScan:
			indexid = ((const IndexOnlyScan *) plan)->indexid;
			break;
		case T_BitmapIndexScan:
			indexid = ((const BitmapIndexScan *) plan)->indexid;
			break;
		case T_CustomScan:
			return plan->extParam != NULL ||
				!anago_is_pipeline((const CustomScan *) plan);
		default:
			return false;
	}
	/* what has no parameters is not run for a row */
	return plan->extParam != NULL &&
		!anago_look_is_vain(stmt, ((const Scan *) plan)->scanrelid, indexid);
}

/* --- the walk --- */

void
anago_find_in_all(AnagoLooks *looks, const List *plans, int most)
{
	ListCell   *lc;

	foreach(lc, plans)
		anago_find_looks(looks, lfirst(lc), most);
}

/*
 * Of so many joined rows that are of use, the rows of the outer side that they take, by the
 * estimates; 0: of all.
 */
static int
outer_rows_of(const NestLoop *loop, int most)
{
	double		joined = Max(loop->join.plan.plan_rows, 1.0);
	double		rows = ceil(most * Max(outerPlan(loop)->plan_rows / joined, 1.0));

	return rows < INT_MAX ? (int) rows : 0;
}

/* What its inner side reads for its own rows is not known yet. */
static void
find_in_nestloop(AnagoLooks *looks, const NestLoop *loop, int most)
{
	Bitmapset  *unset = bms_copy(looks->unset);
	ListCell   *lc;

	anago_find_looks(looks, outerPlan(loop), outer_rows_of(loop, most));
	foreach(lc, loop->nestParams)
		looks->unset = bms_add_member(looks->unset,
									  lfirst_node(NestLoopParam, lc)->paramno);
	anago_find_looks(looks, innerPlan(loop), 0);
	looks->unset = unset;
}

/* An AnagoAhead hands on what comes from below, but for what its filter drops. */
static void
find_below(AnagoLooks *looks, const CustomScan *cscan, int most)
{
	const Plan *plan = &cscan->scan.plan;
	bool		passes = strcmp(cscan->methods->CustomName, "AnagoAhead") == 0;

	anago_find_looks(looks, outerPlan(plan), !passes ? 0 :
					 plan->qual == NIL ? most : most * ANAGO_LOOK_FILTERED);
}

static void
find_in_append(AnagoLooks *looks, const Append *append, int most)
{
	const PartitionPruneInfo *pruned = anago_append_pruneinfo(looks->stmt, append);

	if (pruned == NULL)
		anago_find_in_append(looks, append->appendplans, most);
	else
		anago_find_in_pruned(looks, pruned, append->appendplans, most, false);
}

static void
find_in_merge_append(AnagoLooks *looks, const MergeAppend *append, int most)
{
	const PartitionPruneInfo *pruned = anago_merge_append_pruneinfo(looks->stmt, append);

	if (pruned == NULL)
		anago_find_in_merge(looks, append, most);
	else
		anago_find_in_pruned(looks, pruned, append->mergeplans, most, true);
}

void
anago_find_looks(AnagoLooks *looks, const Plan *plan, int most)
{
	if (plan == NULL)
		return;
	switch (nodeTag(plan))
	{
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapIndexScan:
			find_in_index_scan(looks, plan, most);
			break;
		case T_CustomScan:
			add_pipeline(looks, (const CustomScan *) plan, most);
			find_below(looks, (const CustomScan *) plan, most);
			break;
		case T_Limit:
			anago_find_uncounted(looks, list_make1(outerPlan(plan)),
						   anago_rows_of_limit((const Limit *) plan));
			break;
		case T_SubqueryScan:
			anago_find_looks(looks, ((const SubqueryScan *) plan)->subplan,
							 plan->qual == NIL ? most : most * ANAGO_LOOK_FILTERED);
			break;
		case T_Result:
			if (((const Result *) plan)->resconstantqual == NULL)
				anago_find_looks(looks, outerPlan(plan), plan->qual == NIL ? most : 0);
			break;
		case T_Append:
			find_in_append(looks, (const Append *) plan, most);
			break;
		case T_MergeAppend:
			find_in_merge_append(looks, (const MergeAppend *) plan, most);
			break;
		case T_BitmapOr:
			anago_find_in_all(looks, ((const BitmapOr *) plan)->bitmapplans, 0);
			break;
		case T_NestLoop:
			find_in_nestloop(looks, (const NestLoop *) plan, most);
			break;
		case T_HashJoin:
		case T_MergeJoin:
			anago_find_looks(looks, outerPlan(plan), 0);
			anago_find_looks(looks, innerPlan(plan), 0);
			break;
		case T_BitmapHeapScan:
		case T_Sort:
		case T_IncrementalSort:
		case T_Agg:
		case T_Group:
		case T_Unique:
		case T_WindowAgg:
		case T_Material:
		case T_Memoize:
		case T_Hash:
		case T_ProjectSet:
		case T_LockRows:
			anago_find_looks(looks, outerPlan(plan), 0);
			break;
		default:
			break;
	}
}
