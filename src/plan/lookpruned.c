/*-------------------------------------------------------------------------
 *
 * lookpruned.c
 *	  Looks at partitions of which core leaves some out for each row.
 *
 *		NestLoop						sets $0 = c.id
 *		  -> (rows)
 *		  -> Append						by hash of cust; pruned by $0
 *			   -> Index Scan on t_0			cust = $0
 *			   -> Index Scan on t_1			cust = $0
 *
 *		look: members t_0, t_1; which of them, by hash of the row's column 1
 *
 * However many partitions there are, they are one look: a step of several tables,
 * of which those are looked at for a row that core's pruning steps leave
 * (pipeline/prune.c).
 *
 * Where a LIMIT wants the first rows of them together, core goes from one of those tables
 * to the next (lookfirsts.c).  Then there are some such looks: at the first of a row's tables, at the
 * second, and so on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "plan/create.h"
#include "plan/looks.h"

/* So many tables of a row are looked into one after the other. */
#define MOST_IN_TURN	4

/* --- what is called for it --- */

/* Are all values compared, or hashed, by built-in functions? */
static bool
steps_are_plain(const List *steps)
{
	ListCell   *lc;
	ListCell   *func;

	foreach(lc, steps)
	{
		if (IsA(lfirst(lc), PartitionPruneStepOp))
			foreach(func, ((PartitionPruneStepOp *) lfirst(lc))->cmpfns)
				if (lfirst_oid(func) >= FirstNormalObjectId)
					return false;
	}
	return true;
}

/* And whatever they are made of? */
static bool
key_is_plain(const AnagoLooks *looks, Index relid)
{
	Relation	rel = RelationIdGetRelation(rt_fetch(relid, looks->stmt->rtable)->relid);
	PartitionKey key;
	bool		result = true;

	if (!RelationIsValid(rel))
		return false;
	key = RelationGetPartitionKey(rel);
	for (int i = 0; i < key->partnatts; i++)
		result &= key->partsupfunc[i].fn_oid < FirstNormalObjectId &&
			anago_is_plain_type(key->parttypid[i]);
	RelationClose(rel);
	return result;
}

/* The values that partitions are found by, over the row; false: that can't be done. */
static bool
make_values(AnagoLooks *looks, AnagoPruneDesc *prune)
{
	for (int i = 0; i < prune->nlevels; i++)
	{
		AnagoPruneLevel *level = &prune->levels[i];
		ListCell   *lc;

		if (!steps_are_plain(level->steps) || !key_is_plain(looks, level->relid))
			return false;
		foreach(lc, level->values)
			if (!anago_make_over_row(looks, (List **) &lfirst(lc)))
				return false;
	}
	return true;
}

/* --- members --- */

typedef struct Members
{
	List	   *descs;
	List	   *positions;		/* of each plan: its first one among these, or -1 */
	bool		worth;			/* one of them is worth a look */
} Members;

/*
 * Looks of one plan.  What has none, a scan of a small table say, is not looked into.
 * Other tables than the first one are not told apart from it by pruning.
 */
static void
add_members(AnagoLooks *looks, const Plan *plan, int most, Members *members)
{
	int			before = list_length(members->descs);
	const AnagoStepDesc *first = NULL;
	ListCell   *lc;

	looks->looks = NIL;
	looks->nworth = 0;
	if (!IsA(plan, Append) && !IsA(plan, MergeAppend))
		anago_find_looks(looks, plan, most);
	foreach(lc, looks->looks)
	{
		const AnagoStepDesc *desc = lfirst(lc);

		if (first == NULL)
			first = desc;
		if (desc->scanrelid == first->scanrelid && desc->nmembers == 0)
			members->descs = lappend(members->descs, lfirst(lc));
	}
	members->worth |= looks->nworth > 0;
	members->positions = lappend_int(members->positions,
									 list_length(members->descs) > before ? before : -1);
}

static Members
find_members(AnagoLooks *looks, const List *plans, int most, bool merged)
{
	Members		members = {0};
	List	   *others = looks->looks;
	int			nworth = looks->nworth;
	bool		counts = looks->counts;
	ListCell   *lc;

	looks->counts = counts && !merged;
	foreach(lc, plans)
		add_members(looks, lfirst(lc), most, &members);
	looks->counts = counts;
	looks->looks = others;
	looks->nworth = nworth;
	return members;
}

/* NULL: there is no such look. */
static AnagoStepDesc *
describe(AnagoLooks *looks, const PartitionPruneInfo *info, const Members *members)
{
	AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));

	anago_describe_plan_pruning(&desc->prune, info, members->positions);
	if (!make_values(looks, &desc->prune))
		return NULL;
	desc->scanrelid = desc->prune.levels[0].relid;
	desc->jointype = JOIN_ANTI;
	desc->firsts = looks->firsts;
	desc->members = palloc(sizeof(AnagoStepDesc) * list_length(members->descs));
	for (; desc->nmembers < list_length(members->descs); desc->nmembers++)
		desc->members[desc->nmembers] =
			*(AnagoStepDesc *) list_nth(members->descs, desc->nmembers);
	looks->relids = bms_add_member(looks->relids, desc->scanrelid);
	return desc;
}

/* --- looks --- */

/* Are all columns of the table's partition key compared for equality by that step? */
static bool
fixes_key(const AnagoLooks *looks, Index relid, const PartitionPruneStepOp *step)
{
	Relation	rel = RelationIdGetRelation(rt_fetch(relid, looks->stmt->rtable)->relid);
	PartitionKey key;
	StrategyNumber equality;
	bool		result;

	if (!RelationIsValid(rel))
		return false;
	key = RelationGetPartitionKey(rel);
	equality = key->strategy == PARTITION_STRATEGY_HASH ? HTEqualStrategyNumber :
		BTEqualStrategyNumber;
	result = step->opstrategy == equality &&
		list_length(step->exprs) + bms_num_members(step->nullkeys) == key->partnatts;
	RelationClose(rel);
	return result;
}

/* Has each row one table at most? */
static bool
leaves_one(const AnagoLooks *looks, const PartitionPruneInfo *info)
{
	const PartitionedRelPruneInfo *of_root;
	const List *steps;

	if (list_length(info->prune_infos) != 1 || info->other_subplans != NULL ||
		list_length(linitial(info->prune_infos)) != 1)
		return false;
	of_root = linitial_node(PartitionedRelPruneInfo, (List *) linitial(info->prune_infos));
	steps = of_root->exec_pruning_steps;
	return list_length(steps) == 1 && IsA(linitial(steps), PartitionPruneStepOp) &&
		fixes_key(looks, of_root->rtindex, linitial(steps));
}

/* At all tables of a row, or one look at each of the first `n`. */
static void
add_looks(AnagoLooks *looks, const AnagoStepDesc *desc, int n)
{
	for (int i = 1; i <= n && list_length(looks->looks) < ANAGO_MAX_STEPS; i++)
	{
		AnagoStepDesc *look = palloc(sizeof(AnagoStepDesc));

		*look = *desc;
		look->prune.nth = n > 1 ? i : 0;
		looks->looks = lappend(looks->looks, look);
	}
}

/* `further`: what is found counts for tables of an Append further out. */
static void
find_looks(AnagoLooks *looks, const PartitionPruneInfo *info, const List *plans,
		   int most, bool merged, bool further)
{
	AnagoLooks	before = *looks;
	Members		members;
	const AnagoStepDesc *desc = NULL;
	int			n = 1;

	looks->columns = list_copy(looks->columns);
	looks->toastids = list_copy(looks->toastids);
	looks->relids = bms_copy(looks->relids);
	looks->outside = bms_copy(looks->outside);
	members = find_members(looks, plans, most, merged);
	if (members.worth || (further && members.descs != NIL))
		desc = describe(looks, info, &members);
	if (desc == NULL)
	{
		*looks = before;
		return;
	}
	if (!merged && desc->firsts.append > 0 && !leaves_one(looks, info))
		n = Min(list_length(plans), MOST_IN_TURN);
	add_looks(looks, desc, n);
	if (members.worth)
		looks->nworth = list_length(looks->looks);
}

/* Partitions of partitions, of which it is not known how many rows they give. */
static bool
has_further(const List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
		if (IsA(lfirst(lc), Append) || IsA(lfirst(lc), MergeAppend))
			return true;
	return false;
}

void
anago_find_in_pruned(AnagoLooks *looks, const PartitionPruneInfo *info,
					 const List *plans, int most, bool merged)
{
	bool		further = looks->firsts.append > 0;
	bool		in_turn = most > 0 && !merged && !further;

	if (looks->firsts.merged > 0 || ((in_turn || further) && has_further(plans)))
		return;
	if (in_turn)
	{
		looks->firsts.append = ++looks->nappends;
		looks->firsts.most = most;
		looks->counts = true;
	}
	find_looks(looks, info, plans, most, merged, further);
	if (in_turn)
		looks->firsts = (AnagoFirstsDesc) {0};
}
