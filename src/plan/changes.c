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
 * looked for in the partition that it will be in (routes.c).  So it is of an index that only
 * a partition has; of those with the same keys, of several partitions, there is one look.
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
#include "tryopen.h"

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

/* --- columns of the table that an index is of --- */

/* How the change's table numbers a column of it, or of a partition: 0: it has none. */
static AttrNumber
attno_in_top(const AnagoChange *change, Relation of, AttrNumber attno)
{
	if (of == change->rel || attno <= 0)
		return attno;
	return get_attnum(RelationGetRelid(change->rel),
					  NameStr(TupleDescAttr(RelationGetDescr(of), attno - 1)->attname));
}

typedef struct TopCxt
{
	const AnagoChange *change;
	Relation	of;
} TopCxt;

/* Mutator of an expression over columns of that table: over those of the change's. */
static Node *
over_top(Node *node, TopCxt *cxt)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		var->varattno = attno_in_top(cxt->change, cxt->of, var->varattno);
		return (Node *) var;
	}
	return expression_tree_mutator(node, over_top, cxt);
}

static List *
all_over_top(const AnagoChange *change, Relation of, List *exprs)
{
	TopCxt		cxt = {.change = change,.of = of};

	return of == change->rel ? exprs : (List *) over_top((Node *) exprs, &cxt);
}

/* --- entries --- */

/* The values of the entry that a new row will have, and when it will have one. */
static bool
describe_entry(AnagoStepDesc *desc, AnagoKeyKind kind, Relation of, Relation index,
			   RowCxt *cxt)
{
	List	   *exprs = all_over_top(cxt->change, of, RelationGetIndexExpressions(index));
	List	   *predicate = all_over_top(cxt->change, of, RelationGetIndexPredicate(index));
	ListCell   *next = list_head(exprs);

	desc->nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	desc->keys = palloc0(sizeof(AnagoKeyDesc) * desc->nkeys);
	for (int i = 0; i < desc->nkeys; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];
		Node	   *value;

		if (attno != InvalidAttrNumber)
			value = new_value(attno_in_top(cxt->change, of, attno), cxt);
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
						 over_new_row((Node *) predicate, cxt));
	return cxt->fine;
}

/* As conditions, for EXPLAIN. */
static List *
show_conditions(const AnagoChange *change, const AnagoStepDesc *desc, Relation of,
				Relation index)
{
	List	   *exprs = all_over_top(change, of, RelationGetIndexExpressions(index));
	ListCell   *next = list_head(exprs);
	List	   *result = NIL;

	for (int i = 0; i < desc->nkeys; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];
		Node	   *value = list_nth(desc->exprs[ANAGO_EXPRS_KEYS], i);
		Node	   *column;

		if (attno != InvalidAttrNumber)
			column = (Node *) makeVar(desc->scanrelid, attno_in_top(change, of, attno),
									  exprType(value), exprTypmod(value),
									  exprCollation(value), 0);
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

/* The look of an index of that table; NULL: there is none. */
static AnagoStepDesc *
describe_index(const AnagoChange *change, Relation of, Relation index)
{
	AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));
	RowCxt		cxt = {.change = change,.fine = true};
	bool		arbiter = is_arbiter(change->node, index);

	if (index->rd_rel->relam != BTREE_AM_OID || !index->rd_index->indisready ||
		!may_fold(index))
		return NULL;
	desc->scanrelid = change->target;
	desc->indexid = RelationGetRelid(index);
	desc->look = arbiter ? ANAGO_LOOK_MATCHES :
		index->rd_index->indisunique ? ANAGO_LOOK_ENTRY : ANAGO_LOOK_ENTRY_BEHIND;
	if (!describe_entry(desc, arbiter ? ANAGO_KEY_OP : ANAGO_KEY_ENTRY, of, index, &cxt))
		return NULL;
	if (change->route != NULL)
	{
		desc->routed = true;
		desc->attnos = list_copy(change->route->attnos);
		desc->exprs[ANAGO_EXPRS_ROUTE] = list_copy(change->route->values);
	}
	if (change->knows_old)
		desc->exprs[ANAGO_EXPRS_WHEN] = lcons(anago_new_entries_var(change->looks),
											  desc->exprs[ANAGO_EXPRS_WHEN]);
	desc->exprs[ANAGO_EXPRS_SHOW_COND] = arbiter ?
		show_conditions(change, desc, of, index) : desc->exprs[ANAGO_EXPRS_KEYS];
	return desc;
}

static void
add_look(const AnagoChange *change, AnagoStepDesc *desc)
{
	if (desc != NULL)
		anago_add_look(change->looks, desc, desc->exprs[ANAGO_EXPRS_SHOW_COND], NIL,
					   desc->look == ANAGO_LOOK_MATCHES ? 1 : 0, false);
}

/* Those that core looks into first; or the others. */
static void
add_indexes(const AnagoChange *change, bool arbiters)
{
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(change->rel))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		if (is_arbiter(change->node, index) == arbiters)
			add_look(change, describe_index(change, change->rel, index));
		index_close(index, AccessShareLock);
	}
}

/* --- indexes that only a partition has --- */

typedef struct OwnIndexes
{
	const AnagoChange *change;
	List	   *found;			/* OwnIndex */
} OwnIndexes;

/* One, or several with the same keys. */
typedef struct OwnIndex
{
	AnagoStepDesc *desc;
	List	   *tables;			/* OIDs */
	Oid			opfamily[INDEX_MAX_KEYS];
	BlockNumber pages;			/* of the largest, which stands for all */
} OwnIndex;

static bool
is_alike(const OwnIndex *own, const AnagoStepDesc *desc, Relation index)
{
	if (own->desc->look != desc->look || own->desc->nkeys != desc->nkeys ||
		list_member_oid(own->tables, index->rd_index->indrelid) ||
		!equal(own->desc->exprs[ANAGO_EXPRS_KEYS], desc->exprs[ANAGO_EXPRS_KEYS]) ||
		!equal(own->desc->exprs[ANAGO_EXPRS_WHEN], desc->exprs[ANAGO_EXPRS_WHEN]))
		return false;
	for (int i = 0; i < desc->nkeys; i++)
		if (own->opfamily[i] != index->rd_opfamily[i] ||
			own->desc->keys[i].opno != desc->keys[i].opno ||
			own->desc->keys[i].collation != desc->keys[i].collation)
			return false;
	return true;
}

/* NULL: there are too many. */
static OwnIndex *
find_own_index(OwnIndexes *all, AnagoStepDesc *desc, Relation index)
{
	OwnIndex   *own;
	ListCell   *lc;

	foreach(lc, all->found)
		if (is_alike(lfirst(lc), desc, index))
			return lfirst(lc);
	if (list_length(all->found) == ANAGO_MAX_STEPS)
		return NULL;
	own = palloc0(sizeof(OwnIndex));
	own->desc = desc;
	memcpy(own->opfamily, index->rd_opfamily, sizeof(Oid) * desc->nkeys);
	all->found = lappend(all->found, own);
	return own;
}

/* AnagoVisitIndex. */
static void
see_own_index(Relation partition, Relation index, void *context)
{
	OwnIndexes *all = context;
	AnagoStepDesc *desc = describe_index(all->change, partition, index);
	OwnIndex   *own = desc == NULL ? NULL : find_own_index(all, desc, index);
	BlockNumber pages;

	if (own == NULL)
		return;
	pages = index->rd_rel->relkind == RELKIND_INDEX ? RelationGetNumberOfBlocks(index) : 0;
	own->tables = lappend_oid(own->tables, RelationGetRelid(partition));
	if (own->desc == desc)
	{
		own->pages = pages;
		return;
	}
	own->desc->alike = lappend_oid(own->desc->alike, desc->indexid);
	if (pages > own->pages)
	{
		llast_oid(own->desc->alike) = own->desc->indexid;
		own->desc->indexid = desc->indexid;
		own->pages = pages;
	}
}

static void
add_own_indexes(const AnagoChange *change, const OwnIndexes *all, bool arbiters)
{
	ListCell   *lc;

	foreach(lc, all->found)
	{
		const OwnIndex *own = lfirst(lc);
		Relation	index;

		if ((own->desc->look == ANAGO_LOOK_MATCHES) != arbiters)
			continue;
		index = anago_try_open(own->desc->indexid);
		if (index != NULL)
			add_look(change, own->desc);
		anago_try_close(index);
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
	OwnIndexes	own = {.change = change};

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
		anago_visit_own_indexes(change->rel, see_own_index, &own);
	}
	add_indexes(change, true);
	add_own_indexes(change, &own, true);
	add_indexes(change, false);
	add_own_indexes(change, &own, false);
	change->route = NULL;
	if (change->knows_old && change->node->operation != CMD_MERGE &&
		list_length(change->looks->looks) > others)
		anago_find_old_row(change, others);
}
