/*-------------------------------------------------------------------------
 *
 * steps.c
 *	  A step's keys and conditions, out of core's index scan.
 *
 * In core's plan an index condition has the index column on its left, as Var
 * of INDEX_VAR, and the value it is compared with on its right.  These two
 * become an AnagoKeyDesc and an entry of ANAGO_EXPRS_KEYS.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "plan/create.h"

/* A condition on its way into the best order of evaluation. */
typedef struct RankedQual
{
	RestrictInfo *rinfo;
	Index		security_level;
	Cost		cost;
} RankedQual;

/* Leakproof conditions that cost more than this many operators wait their turn. */
#define CHEAP_OPERATORS		10

static int
compare_quals(const RankedQual *a, const RankedQual *b)
{
	if (a->security_level != b->security_level)
		return a->security_level < b->security_level ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	return 0;
}

/*
 * Join conditions in the order in which core evaluates them: nothing that
 * might leak a value before the conditions that hide it, then cheap ones
 * first.  By the same rules as createplan.c, order_qual_clauses().
 */
static List *
order_quals(PlannerInfo *root, List *rinfos)
{
	int			n = list_length(rinfos);
	RankedQual *quals = palloc(sizeof(RankedQual) * Max(n, 1));
	List	   *result = NIL;

	for (int i = 0; i < n; i++)
	{
		RankedQual	qual;
		QualCost	cost;
		int			at;

		qual.rinfo = list_nth_node(RestrictInfo, rinfos, i);
		cost_qual_eval_node(&cost, (Node *) qual.rinfo, root);
		qual.cost = cost.per_tuple;
		qual.security_level = qual.rinfo->security_level;
		if (qual.rinfo->leakproof && qual.cost < CHEAP_OPERATORS * cpu_operator_cost)
			qual.security_level = 0;

		/* Equal ones stay in their order. */
		for (at = i; at > 0 && compare_quals(&qual, &quals[at - 1]) < 0; at--)
			quals[at] = quals[at - 1];
		quals[at] = qual;
	}
	for (int i = 0; i < n; i++)
		result = lappend(result, quals[i].rinfo);
	pfree(quals);
	return result;
}

/* The index scan that core made, and the one-time conditions above it. */
static Plan *
strip_gate(Plan *plan, List **gate)
{
	*gate = NIL;
	while (IsA(plan, Result) && plan->lefttree)
	{
		*gate = list_concat_copy(*gate, (List *) ((Result *) plan)->resconstantqual);
		plan = plan->lefttree;
	}
	return plan;
}

static void
set_column(AnagoKeyDesc *key, const Node *column)
{
	if (!IsA(column, Var) || ((const Var *) column)->varno != INDEX_VAR)
		elog(ERROR, "index condition without an index column");
	key->attno = ((const Var *) column)->varattno;
}

static void
set_operator(AnagoKeyDesc *key, AnagoKeyKind kind, Oid opno, Oid collation)
{
	key->kind = kind;
	key->opno = opno;
	key->opfuncid = get_opcode(opno);
	key->collation = collation;
}

/* The key and value expression that come next. */
static AnagoKeyDesc *
add_key(AnagoStepDesc *desc, Expr *value)
{
	desc->exprs[ANAGO_EXPRS_KEYS] = lappend(desc->exprs[ANAGO_EXPRS_KEYS], value);
	return &desc->keys[desc->nkeys++];
}

static void
describe_null_test(AnagoStepDesc *desc, const NullTest *test)
{
	AnagoKeyDesc *key = add_key(desc, (Expr *)
								makeNullConst(BOOLOID, -1, InvalidOid));

	key->kind = test->nulltesttype == IS_NULL ?
		ANAGO_KEY_IS_NULL : ANAGO_KEY_IS_NOT_NULL;
	set_column(key, (Node *) test->arg);
}

/* The members of a row comparison, one key for each. */
static void
describe_row(AnagoStepDesc *desc, const RowCompareExpr *row)
{
	for (int i = 0; i < list_length(row->opnos); i++)
	{
		AnagoKeyDesc *key = add_key(desc, list_nth(row->rargs, i));

		set_operator(key, i == 0 ? ANAGO_KEY_ROW : ANAGO_KEY_ROW_MORE,
					 list_nth_oid(row->opnos, i),
					 list_nth_oid(row->inputcollids, i));
		set_column(key, list_nth(row->largs, i));
	}
}

/* Split one index condition into keys and their value expressions. */
static void
describe_condition(AnagoStepDesc *desc, const Node *clause)
{
	AnagoKeyDesc *key;

	if (IsA(clause, OpExpr))
	{
		const OpExpr *op = (const OpExpr *) clause;

		key = add_key(desc, lsecond(op->args));
		set_operator(key, ANAGO_KEY_OP, op->opno, op->inputcollid);
		set_column(key, linitial(op->args));
	}
	else if (IsA(clause, ScalarArrayOpExpr))
	{
		const ScalarArrayOpExpr *op = (const ScalarArrayOpExpr *) clause;

		Assert(op->useOr);
		key = add_key(desc, lsecond(op->args));
		set_operator(key, ANAGO_KEY_ARRAY, op->opno, op->inputcollid);
		set_column(key, linitial(op->args));
	}
	else if (IsA(clause, NullTest))
		describe_null_test(desc, (const NullTest *) clause);
	else if (IsA(clause, RowCompareExpr))
		describe_row(desc, (const RowCompareExpr *) clause);
	else
		elog(ERROR, "unexpected index condition: %d", (int) nodeTag(clause));
}

void
anago_describe_keys(AnagoStepDesc *desc, List *indexqual)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, indexqual)
	{
		const Node *clause = lfirst(lc);

		n += IsA(clause, RowCompareExpr) ?
			list_length(((const RowCompareExpr *) clause)->opnos) : 1;
	}
	desc->keys = palloc0(sizeof(AnagoKeyDesc) * Max(n, 1));
	foreach(lc, indexqual)
		describe_condition(desc, lfirst(lc));
	Assert(desc->nkeys == n);
}

/*
 * One-time conditions.  Where a step lets no row by without a match, one that
 * is on its table stops the whole pipeline, as does one on the joined rows.
 */
static void
describe_gate(AnagoStepDesc *desc, const AnagoPathStep *step, List *of_table,
			  List **of_pipeline)
{
	if (step->jointype == JOIN_LEFT || step->jointype == JOIN_ANTI)
		desc->exprs[ANAGO_EXPRS_GATE] = of_table;
	else
		*of_pipeline = list_concat_unique(*of_pipeline, of_table);
	*of_pipeline = list_concat_unique(*of_pipeline,
									  extract_actual_clauses(step->joinrestrictinfo,
															 true));
}

static void
describe_join(PlannerInfo *root, AnagoStepDesc *desc, const AnagoPathStep *step)
{
	List	   *rinfos = order_quals(root, step->joinrestrictinfo);

	if (IS_OUTER_JOIN(step->jointype))
		extract_actual_join_clauses(rinfos, step->joinrelids,
									&desc->exprs[ANAGO_EXPRS_JOIN],
									&desc->exprs[ANAGO_EXPRS_OTHER]);
	else
		desc->exprs[ANAGO_EXPRS_JOIN] = extract_actual_clauses(rinfos, false);
}

/* What core made of an index path, without gates. */
static void
describe_table(AnagoStepDesc *desc, const IndexPath *ipath, Plan *plan)
{
	desc->scanrelid = ipath->path.parent->relid;
	desc->indexid = ipath->indexinfo->indexoid;
	desc->exprs[ANAGO_EXPRS_FILTER] = plan->qual;
	if (IsA(plan, IndexOnlyScan))
	{
		IndexOnlyScan *scan = (IndexOnlyScan *) plan;

		desc->index_only = true;
		anago_describe_keys(desc, scan->indexqual);
		desc->exprs[ANAGO_EXPRS_SHOW_COND] = scan->recheckqual;
	}
	else
	{
		IndexScan  *scan = castNode(IndexScan, plan);

		anago_describe_keys(desc, scan->indexqual);
		desc->exprs[ANAGO_EXPRS_SHOW_COND] = scan->indexqualorig;
	}
}

/* A row that an arm before this one finds is none of its own. */
static void
describe_arm(AnagoStepDesc *desc, List *before)
{
	desc->exprs[ANAGO_EXPRS_FILTER] =
		list_concat_copy(desc->exprs[ANAGO_EXPRS_FILTER], anago_not_found_by(before));
}

/*
 * One of several.  Whatever the join type, a one-time condition on its table
 * says nothing of the others.
 */
static void
describe_member(PlannerInfo *root, AnagoStepDesc *desc, RelOptInfo *parent,
				List *members, int which, Plan *plan)
{
	plan = strip_gate(plan, &desc->exprs[ANAGO_EXPRS_GATE]);
	describe_table(desc, list_nth(members, which), plan);
	describe_arm(desc, anago_arms_before(members, which));
	if (desc->scanrelid == parent->relid)
		return;
	for (int i = 0; i < ANAGO_EXPRS_COUNT; i++)
		desc->exprs[i] = (List *)
			anago_as_of_parent(root, parent, desc->scanrelid, (Node *) desc->exprs[i]);
}

static void
describe_members(PlannerInfo *root, AnagoStepDesc *desc,
				 const AnagoPathStep *step, List *plans)
{
	RelOptInfo *parent = step->several->parent;

	desc->scanrelid = parent->relid;
	desc->nmembers = list_length(step->members);
	desc->members = palloc0(sizeof(AnagoStepDesc) * desc->nmembers);
	for (int i = 0; i < desc->nmembers; i++)
		describe_member(root, &desc->members[i], parent, step->members, i,
						list_nth(plans, i));
	anago_describe_pruning(root, &desc->prune, step->several, step->members);
}

void
anago_describe_step(PlannerInfo *root, AnagoStepDesc *desc,
					const AnagoPathStep *step, List *plans, List **gate)
{
	List	   *of_table = NIL;

	desc->jointype = step->jointype;
	desc->inner_unique = step->inner_unique;
	if (step->several)
		describe_members(root, desc, step, plans);
	else
	{
		describe_table(desc, step->ipath, strip_gate(linitial(plans), &of_table));
		describe_arm(desc, step->found_before);
		anago_describe_turn(root, desc, step);
	}
	describe_gate(desc, step, of_table, gate);
	describe_join(root, desc, step);
}
