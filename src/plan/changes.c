/*-------------------------------------------------------------------------
 *
 * changes.c
 *	  What rows lead to that a statement inserts, updates or deletes: looks.
 *
 * ModifyTable gets the new row of its plan, defaults and all.  So it is known
 * which leaf of each index the row's entry will go to, as far as that is said by
 * columns and by functions that may be called ahead:
 *
 *		index (partkey, lower(name)) where name <> ''
 *		look: the leaf for ($1, lower($2)), of rows with $2 <> ''
 *
 * A BEFORE trigger may make another row of it.  Then a page has been read that is
 * not wanted, and core reads the right one itself.
 *
 * Where ON CONFLICT has an index looked into for rows that are there already, the
 * look is at these, too.
 *
 * An UPDATE gives no more than the columns that are set.  Others are in the row that
 * is about to be replaced: the first look finds that, and whether there will be new
 * entries at all (ops/old_row.c).
 *
 * MERGE is both an INSERT, of rows that come without a row of the table, and an UPDATE.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "plan/changes.h"

/* --- the new row --- */

typedef struct RowCxt
{
	const AnagoChange *change;
	bool		fine;			/* all of it is known */
} RowCxt;

static Node *over_new_row(Node *node, RowCxt *cxt);

static bool
is_of_user(Oid function, void *context)
{
	return function >= FirstNormalObjectId;
}

/* Walker. */
static bool
calls_users_function(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return check_functions_in_node(node, is_of_user, NULL) ||
		expression_tree_walker(node, calls_users_function, context);
}

bool
anago_calls_users_function(Node *node)
{
	return calls_users_function(node, NULL);
}

/* What a stored generated column is computed as. */
static Node *
generated(AttrNumber attno, RowCxt *cxt)
{
	Relation	rel = cxt->change->rel;
	Node	   *expr;

	if (TupleDescAttr(RelationGetDescr(rel), attno - 1)->attgenerated !=
		ATTRIBUTE_GENERATED_STORED)
		return NULL;
	expr = build_column_default(rel, attno);
	if (calls_users_function(expr, NULL))
		return NULL;
	return over_new_row((Node *) expression_planner((Expr *) expr), cxt);
}

/* What an UPDATE leaves as it is. */
static Node *
kept_value(AttrNumber attno, const AnagoChange *change)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(change->rel), attno - 1);

	if (att->attgenerated != '\0')
		return NULL;
	return (Node *) makeVar(change->looks->old_relid, attno, att->atttypid,
							att->atttypmod, att->attcollation, 0);
}

static Node *
new_value(AttrNumber attno, RowCxt *cxt)
{
	const AnagoChange *change = cxt->change;
	Node	   *value = NULL;

	if (attno <= 0)
		value = NULL;
	else if (TupleDescAttr(RelationGetDescr(change->rel), attno - 1)->attgenerated != '\0')
		value = generated(attno, cxt);
	else
		value = copyObject(change->new_values[attno]);
	if (value == NULL && attno > 0 && change->knows_old)
		value = kept_value(attno, change);
	if (value == NULL)
		cxt->fine = false;
	return value;
}

/* Mutator of an expression over the table's columns. */
static Node *
over_new_row(Node *node, RowCxt *cxt)
{
	if (node == NULL || !cxt->fine)
		return node;
	if (IsA(node, Var))
		return new_value(((Var *) node)->varattno, cxt);
	return expression_tree_mutator(node, over_new_row, cxt);
}

/* As AnagoValue, of an AnagoChange. */
static Node *
routing_value(const void *of, AttrNumber attno, Node *expr)
{
	RowCxt		cxt = {.change = of,.fine = true};
	Node	   *value = expr == NULL ? new_value(attno, &cxt) : over_new_row(expr, &cxt);

	return cxt.fine ? value : NULL;
}

/* --- indexes --- */

/* Does ON CONFLICT have core look for such a row there? */
static bool
is_arbiter(const ModifyTable *node, Relation index)
{
	return node->operation == CMD_INSERT && node->onConflictAction != ONCONFLICT_NONE &&
		index->rd_index->indisunique && index->rd_index->indimmediate &&
		(node->arbiterIndexes == NIL ||
		 list_member_oid(node->arbiterIndexes, RelationGetRelid(index)));
}

/* Does that attribute of pg_index hold expressions that call such a function? */
static bool
index_calls_users_function(Relation index, AttrNumber attno)
{
	bool		isnull;
	Datum		exprs = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, attno, &isnull);

	return !isnull &&
		calls_users_function(stringToNode(TextDatumGetCString(exprs)), NULL);
}

/* May its expressions and predicate be asked for?  Core folds them, once. */
static bool
may_fold(Relation index)
{
	return (index->rd_indexprs != NIL ||
			!index_calls_users_function(index, Anum_pg_index_indexprs)) &&
		(index->rd_indpred != NIL ||
		 !index_calls_users_function(index, Anum_pg_index_indpred));
}

static void
describe_key(AnagoKeyDesc *key, AnagoKeyKind kind, Relation index, int col)
{
	key->kind = kind;
	key->attno = col + 1;
	key->opno = get_opfamily_member(index->rd_opfamily[col], index->rd_opcintype[col],
									index->rd_opcintype[col], BTEqualStrategyNumber);
	key->opfuncid = get_opcode(key->opno);
	key->collation = index->rd_indcollation[col];
}

/* The values of the entry that a new row will have, and when it will have one. */
static bool
describe_entry(AnagoStepDesc *desc, AnagoKeyKind kind, Relation index, RowCxt *cxt)
{
	List	   *exprs = RelationGetIndexExpressions(index);
	ListCell   *next = list_head(exprs);

	desc->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	desc->keys = palloc0(sizeof(AnagoKeyDesc) * desc->nkeys);
	for (int i = 0; i < desc->nkeys; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];
		Node	   *value;

		if (attno != InvalidAttrNumber)
			value = new_value(attno, cxt);
		else
		{
			value = over_new_row(lfirst(next), cxt);
			next = lnext(exprs, next);
		}
		describe_key(&desc->keys[i], kind, index, i);
		if (!OidIsValid(desc->keys[i].opno))
			cxt->fine = false;
		desc->exprs[ANAGO_EXPRS_KEYS] = lappend(desc->exprs[ANAGO_EXPRS_KEYS], value);
	}
	desc->exprs[ANAGO_EXPRS_WHEN] =
		list_concat_copy(cxt->change->when, (List *)
						 over_new_row((Node *) RelationGetIndexPredicate(index), cxt));
	return cxt->fine;
}

/* As conditions, for EXPLAIN. */
static List *
show_conditions(const AnagoStepDesc *desc, Relation index)
{
	List	   *exprs = RelationGetIndexExpressions(index);
	ListCell   *next = list_head(exprs);
	List	   *result = NIL;

	for (int i = 0; i < desc->nkeys; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];
		Node	   *value = list_nth(desc->exprs[ANAGO_EXPRS_KEYS], i);
		Node	   *column;

		if (attno != InvalidAttrNumber)
			column = (Node *) makeVar(desc->scanrelid, attno, exprType(value),
									  exprTypmod(value), exprCollation(value), 0);
		else
		{
			column = copyObject((Node *) lfirst(next));
			ChangeVarNodes(column, 1, desc->scanrelid, 0);
			next = lnext(exprs, next);
		}
		result = lappend(result, make_opclause(desc->keys[i].opno, BOOLOID, false,
											   (Expr *) column, (Expr *) copyObject(value),
											   InvalidOid, desc->keys[i].collation));
	}
	return result;
}

static void
add_index(const AnagoChange *change, Relation index, bool arbiter)
{
	AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));
	RowCxt		cxt = {.change = change,.fine = true};

	if (index->rd_rel->relam != BTREE_AM_OID || !index->rd_index->indisready ||
		!may_fold(index))
		return;
	desc->scanrelid = linitial_int(change->node->resultRelations);
	desc->indexid = RelationGetRelid(index);
	desc->look = arbiter ? ANAGO_LOOK_MATCHES :
		index->rd_index->indisunique ? ANAGO_LOOK_ENTRY : ANAGO_LOOK_ENTRY_BEHIND;
	if (!describe_entry(desc, arbiter ? ANAGO_KEY_OP : ANAGO_KEY_ENTRY, index, &cxt))
		return;
	if (change->route != NULL)
	{
		desc->routed = true;
		desc->attnos = list_copy(change->route->attnos);
		desc->exprs[ANAGO_EXPRS_ROUTE] = list_copy(change->route->values);
	}
	if (change->knows_old)
		desc->exprs[ANAGO_EXPRS_WHEN] = lcons(anago_new_entries_var(change->looks),
											  desc->exprs[ANAGO_EXPRS_WHEN]);
	if (arbiter)
		anago_add_look(change->looks, desc, show_conditions(desc, index), NIL, 1, false);
	else
		anago_add_look(change->looks, desc, desc->exprs[ANAGO_EXPRS_KEYS], NIL, 0, false);
}

/* Those that core looks into first; or the others. */
static void
add_indexes(const AnagoChange *change, bool arbiters)
{
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(change->rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);
		bool		arbiter = is_arbiter(change->node, index);

		if (arbiter == arbiters)
			add_index(change, index, arbiter);
		index_close(index, AccessShareLock);
	}
}

/* The same of rows that go to partitions. */
static void
add_routed_indexes(AnagoChange *change)
{
	AnagoRoute	route = {0};

	if (!anago_find_route(&route, change->rel, routing_value, change))
		return;
	change->route = &route;
	add_indexes(change, true);
	add_indexes(change, false);
	change->route = NULL;
}

/* --- the old row --- */

/* Looks at indexes have been found that want it: behind the first `others`. */
static void
add_old_row(AnagoChange *change, int others)
{
	AnagoLooks *looks = change->looks;
	AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));
	int			natts = RelationGetNumberOfAttributes(change->rel);

	desc->scanrelid = looks->old_relid;
	desc->look = ANAGO_LOOK_OLD_ROW;
	desc->jointype = JOIN_ANTI;
	desc->exprs[ANAGO_EXPRS_KEYS] = list_make1(copyObject(change->ctid));
	for (int attno = 1; attno <= natts; attno++)
	{
		if (change->new_values[attno] == NULL)
			continue;
		desc->attnos = lappend_int(desc->attnos, attno);
		desc->exprs[ANAGO_EXPRS_COMPUTED] = lappend(desc->exprs[ANAGO_EXPRS_COMPUTED],
													copyObject(change->new_values[attno]));
	}
	if (!anago_add_old_row(looks, desc))
		looks->looks = list_truncate(looks->looks, others);
}

static void
add_all_indexes(AnagoChange *change)
{
	int			others = list_length(change->looks->looks);

	change->knows_old = change->operation == CMD_UPDATE && change->ctid != NULL;
	if (change->knows_old)
		change->looks->old_relid = linitial_int(change->node->resultRelations);
	add_indexes(change, true);
	add_indexes(change, false);
	if (change->knows_old && list_length(change->looks->looks) > others)
		add_old_row(change, others);
}

/* --- columns --- */

/* Walker: something that may not be evaluated for nothing? */
static bool
has_other_than_plain(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return !anago_is_plain(node) ||
		expression_tree_walker(node, has_other_than_plain, context);
}

/* Mutator: an action of MERGE has the plan's columns as those of an inner side. */
static Node *
over_plan(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == INNER_VAR)
	{
		Var		   *var = copyObject((Var *) node);

		var->varno = OUTER_VAR;
		return (Node *) var;
	}
	return expression_tree_mutator(node, over_plan, context);
}

/*
 * Those that become the table's attributes: of those not junk.  `updated`: which they
 * are, or NIL: all.
 */
static void
find_new_values(AnagoChange *change, const List *tlist, const List *updated)
{
	int			natts = RelationGetNumberOfAttributes(change->rel);
	int			n = 0;
	ListCell   *lc;

	change->new_values = palloc0(sizeof(Node *) * (natts + 1));
	foreach(lc, tlist)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		int			attno;

		if (tle->resjunk)
			continue;
		attno = updated != NIL ? list_nth_int(updated, n) : n + 1;
		n++;
		if (!has_other_than_plain((Node *) tle->expr, NULL))
			change->new_values[attno] = over_plan((Node *) tle->expr, NULL);
	}
}

/* Those of before, which the plan was asked for, and where the row is. */
static void
find_old_values(AnagoChange *change, const List *tlist)
{
	int			natts = RelationGetNumberOfAttributes(change->rel);
	ListCell   *lc;

	change->old_values = palloc0(sizeof(Node *) * (natts + 1));
	foreach(lc, tlist)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		int			attno;

		if (!tle->resjunk || tle->resname == NULL || !IsA(tle->expr, Var))
			continue;
		if (strcmp(tle->resname, "ctid") == 0)
			change->ctid = (Node *) tle->expr;
		else if (sscanf(tle->resname, ANAGO_OLD_VALUE "%d", &attno) == 1 &&
				 attno > 0 && attno <= natts)
			change->old_values[attno] = (Node *) tle->expr;
	}
}

/* --- statements --- */

/* Rows become those of `tlist`, or go. */
static void
find_of(AnagoChange *change, CmdType operation, const List *tlist, const List *updated)
{
	change->operation = operation;
	find_new_values(change, operation == CMD_DELETE ? NIL : tlist, updated);
	if (operation != CMD_DELETE && change->rel->rd_rel->relkind == RELKIND_RELATION)
		add_all_indexes(change);
	if (operation == CMD_INSERT && change->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		add_routed_indexes(change);
	anago_find_references(change);
}

static const MergeAction *
first_action(const ModifyTable *node, CmdType operation)
{
	ListCell   *lc;

	foreach(lc, linitial(node->mergeActionLists))
		if (lfirst_node(MergeAction, lc)->commandType == operation)
			return lfirst(lc);
	return NULL;
}

/*
 * Rows are inserted that have found none in the table, and others updated.  Which of
 * several actions is taken is not asked: the first one of a kind, if any.
 */
static void
find_of_merge(AnagoChange *change, CmdType operation)
{
	const MergeAction *action = first_action(change->node, operation);
	NullTest   *none = makeNode(NullTest);

	/* a table with children gets new rows itself, whichever of these is merged into */
	if (action == NULL || change->ctid == NULL ||
		(operation == CMD_INSERT && change->node->rootRelation > 0))
		return;
	none->arg = copyObject((Expr *) change->ctid);
	none->nulltesttype = operation == CMD_INSERT ? IS_NULL : IS_NOT_NULL;
	none->location = -1;
	change->when = list_make1(none);
	find_of(change, operation, action->targetList, action->updateColnos);
}

void
anago_find_changes(AnagoLooks *looks, const ModifyTable *node, const List *tlist)
{
	const RangeTblEntry *rte = rt_fetch(linitial_int(node->resultRelations),
										looks->stmt->rtable);
	AnagoChange change = {.looks = looks,.node = node};

	if (list_length(node->resultRelations) > 1)
		return;
	change.rel = table_open(rte->relid, NoLock);
	find_old_values(&change, tlist);
	if (node->operation == CMD_MERGE)
	{
		find_of_merge(&change, CMD_INSERT);
		find_of_merge(&change, CMD_UPDATE);
	}
	else
		find_of(&change, node->operation, tlist,
				node->operation == CMD_UPDATE ? linitial(node->updateColnosLists) : NIL);
	table_close(change.rel, NoLock);
}
