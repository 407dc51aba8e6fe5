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
 * Where the table is partitioned, all of that is said of its own columns, and each row is
 * looked for in the partition that it will be in (routes.c).
 *
 * Which statement makes what of its rows is in modify.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
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

Node *
anago_kept_value(const AnagoChange *change, AttrNumber attno)
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
	if (value == NULL && attno > 0 && change->knows_old &&
		!bms_is_member(attno, change->unknown))
		value = anago_kept_value(change, attno);
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
	desc->scanrelid = change->target;
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

/* --- partitions --- */

static bool
sets_key(const AnagoChange *change, const AnagoRoute *route)
{
	ListCell   *lc;

	foreach(lc, route->attnos)
		if (lfirst_int(lc) == 0 || bms_is_member(lfirst_int(lc), change->set))
			return true;
	return false;
}

/* Where rows go that are inserted, or changed; false: it is not known. */
static bool
find_route(AnagoChange *change, AnagoRoute *route)
{
	bool		known = anago_find_route(route, change->rel, routing_value, change);

	if (change->operation == CMD_INSERT)
		return known;
	change->moves = known && sets_key(change, route);
	if (!change->moves)
		route->attnos = route->values = NIL;
	route->attnos = lcons_int(TableOidAttributeNumber, route->attnos);
	route->values = lcons(copyObject(change->tableoid), route->values);
	return true;
}

/* --- the old row --- */

void
anago_find_old_row(AnagoChange *change, int others)
{
	AnagoLooks *looks = change->looks;
	AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));
	int			natts = RelationGetNumberOfAttributes(change->rel);

	desc->scanrelid = looks->old_relid;
	desc->look = ANAGO_LOOK_OLD_ROW;
	desc->jointype = JOIN_ANTI;
	desc->exprs[ANAGO_EXPRS_KEYS] = list_make1(copyObject(change->ctid));
	if (change->tableoid != NULL)
		desc->exprs[ANAGO_EXPRS_KEYS] = lappend(desc->exprs[ANAGO_EXPRS_KEYS],
												copyObject(change->tableoid));
	desc->exprs[ANAGO_EXPRS_WHEN] = copyObject(change->when);
	desc->routed = change->moves;
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

void
anago_find_entries(AnagoChange *change)
{
	int			others = list_length(change->looks->looks);
	AnagoRoute	route = {0};

	change->knows_old = change->operation == CMD_UPDATE && change->ctid != NULL &&
		(change->tableoid != NULL || change->rel->rd_rel->relkind == RELKIND_RELATION);
	if (change->knows_old)
		change->looks->old_relid = change->target;
	if (change->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
	{
		if (change->operation == CMD_UPDATE && !change->knows_old)
			return;
		if (!find_route(change, &route))
			return;
		change->route = &route;
	}
	add_indexes(change, true);
	add_indexes(change, false);
	change->route = NULL;
	if (change->knows_old && change->node->operation != CMD_MERGE &&
		list_length(change->looks->looks) > others)
		anago_find_old_row(change, others);
}
