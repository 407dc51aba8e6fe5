/*-------------------------------------------------------------------------
 *
 * lookfirsts.c
 *	  Looks at several tables of which a LIMIT wants the first rows together.
 *
 *		Limit 3						Limit 3
 *		  -> Append					  -> MergeAppend, by day
 *			   -> ev_2024_03			   -> ev_a
 *			   -> ev_2024_02			   -> ev_b
 *			   -> ev_2024_01			   -> ev_c
 *
 * Of an Append core runs one plan after the other until there are enough, and so do
 * looks (ops/btree/firsts.h).  A MergeAppend takes the first row of each,
 * and then further ones of that whose row comes first.  Where an index has the column that
 * says so, a look behind those of all tables finds which these are (ops/btree/merged.c).
 * Else it is not known, and each table's look reads its share.
 *
 * What a table has counts also where there is nothing to read: of partitions by time
 * the last one, which is cached, may have all that is wanted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/nodeFuncs.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "plan/looks.h"

/* Rows of a LIMIT above which entries are not kept for a merge. */
#define MOST_MERGED		64

/* --- Append --- */

void
anago_find_in_append(AnagoLooks *looks, const List *plans, int most)
{
	if (most == 0 || looks->firsts.append > 0)
	{
		anago_find_in_all(looks, plans, most);
		return;
	}
	looks->firsts.append = ++looks->nappends;
	looks->firsts.most = most;
	looks->counts = true;
	looks->nworth = list_length(looks->looks);
	anago_find_in_all(looks, plans, most);
	looks->looks = list_truncate(looks->looks, looks->nworth);
	looks->firsts = (AnagoFirstsDesc) {0};
}

void
anago_find_uncounted(AnagoLooks *looks, const List *plans, int most)
{
	bool		counts = looks->counts;

	looks->counts = false;
	anago_find_in_all(looks, plans, most);
	looks->counts = counts;
}

/* --- the column by which rows are merged --- */

/* Which column of the index is it?  0: none, or its values are passed by reference. */
static int
find_column(Oid indexid, bool index_only, AttrNumber attno, Oid type)
{
	Relation	index = RelationIdGetRelation(indexid);
	int			found = 0;

	if (!RelationIsValid(index))
		return 0;
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), i);
		AttrNumber	own = index_only ? i + 1 : index->rd_index->indkey.values[i];

		if (own == attno && att->attbyval && att->atttypid == type)
			found = i + 1;
	}
	RelationClose(index);
	return found;
}

/* Of a scan of ours. */
static int
find_in_pipeline(const CustomScan *cscan, const Var *var)
{
	AnagoPipelineDesc *pipeline;
	const AnagoColumnDesc *column;

	if (!anago_is_pipeline(cscan) || var->varno != INDEX_VAR)
		return 0;
	pipeline = anago_desc_read(cscan);
	column = &pipeline->columns[var->varattno - 1];
	if (pipeline->child_source || pipeline->nsteps != 1 ||
		pipeline->steps[0].nmembers > 0 || column->step != 0 || column->attno <= 0 ||
		pipeline->steps[0].exprs[ANAGO_EXPRS_FILTER] != NIL)
		return 0;
	return find_column(pipeline->steps[0].indexid, pipeline->steps[0].index_only,
					   column->attno, var->vartype);
}

/* The index column of a plan that gives all that the index finds; 0: it is no such. */
static int
merged_column(const Plan *plan, AttrNumber resno)
{
	const Var  *var = (const Var *) list_nth_node(TargetEntry, plan->targetlist,
												  resno - 1)->expr;

	if (plan->qual != NIL || !IsA(var, Var) || var->varattno <= 0)
		return 0;
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			return find_column(((const IndexScan *) plan)->indexid, false, var->varattno,
							   var->vartype);
		case T_IndexOnlyScan:
			return find_column(((const IndexOnlyScan *) plan)->indexid, true,
							   var->varattno, var->vartype);
		case T_CustomScan:
			return find_in_pipeline((const CustomScan *) plan, var);
		default:
			return 0;
	}
}

/* --- MergeAppend --- */

/* The look behind those of the tables. */
static AnagoStepDesc *
describe_merged(const AnagoLooks *looks, const MergeAppend *plan, const AnagoStepDesc *first)
{
	AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));

	desc->scanrelid = first->scanrelid;
	desc->look = ANAGO_LOOK_MERGED;
	desc->jointype = JOIN_ANTI;
	desc->firsts = looks->firsts;
	desc->nkeys = 1;
	desc->keys = palloc0(sizeof(AnagoKeyDesc));
	desc->keys[0].opno = plan->sortOperators[0];
	desc->keys[0].collation = plan->collations[0];
	desc->from_end = plan->nullsFirst[0];
	return desc;
}

/* Looks at all tables for a first row, and one behind them; false: that can't be. */
static bool
find_merged(AnagoLooks *looks, const MergeAppend *plan, int most)
{
	AnagoFirstsDesc firsts = looks->firsts;
	int			n = list_length(plan->mergeplans);
	int			before = list_length(looks->looks);
	int			nworth = looks->nworth;
	bool		worth;
	ListCell   *lc;

	if (most > MOST_MERGED || before + n >= ANAGO_MAX_STEPS ||
		plan->sortOperators[0] >= FirstNormalObjectId)
		return false;
	looks->nworth = before;
	looks->firsts.most = most;
	foreach(lc, plan->mergeplans)
	{
		looks->firsts.merged = merged_column(lfirst(lc), plan->sortColIdx[0]);
		if (looks->firsts.merged == 0)
			break;
		anago_find_uncounted(looks, list_make1(lfirst(lc)), 1);
	}
	looks->firsts.merged = 0;
	worth = looks->nworth > before;
	looks->nworth = nworth;
	if (list_length(looks->looks) != before + n || !worth)
		looks->looks = list_truncate(looks->looks, before);
	else
	{
		looks->looks = lappend(looks->looks, describe_merged(looks, plan,
															 list_nth(looks->looks, before)));
		looks->nworth = before + n + 1;
	}
	looks->firsts = firsts;
	return list_length(looks->looks) > before;
}

void
anago_find_in_merge(AnagoLooks *looks, const MergeAppend *plan, int most)
{
	int			n = list_length(plan->mergeplans);

	if (most > 1 && find_merged(looks, plan, most))
		return;
	anago_find_uncounted(looks, plan->mergeplans,
						 most == 0 ? 0 : 1 + (most - 1 + n - 1) / n);
}
