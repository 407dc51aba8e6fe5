/*-------------------------------------------------------------------------
 *
 * foreignkeys.c
 *	  What changed rows lead to by foreign keys: looks.
 *
 *		new row			the row that it refers to, by the index that the foreign
 *						key is for
 *		row that goes	rows that refer to it, by an index of theirs; and where these
 *						go, or get other values, too: rows that refer to these
 *
 * Core comes to these when the statement's rows have all been changed, in triggers
 * that run queries of their own.  A plan of DELETE gives no more than where rows are;
 * it is asked for the columns that others refer to before it is made.  So these looks are late (ops/btree/late.h).  The
 * tables are not the statement's: here they are locked while they are looked at,
 * or left out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"

#include "guc.h"
#include "plan/changes.h"
#include "tryopen.h"

/*
 * Cascades that are followed: to rows that refer to those which the statement changes, to what
 * refers to these, and so on.  A cycle, or a table that refers to itself, is followed
 * as far as that.
 */
#define MOST_LEVELS		3

/* Looks at what is further behind than the first, so that there is room for others. */
#define MOST_BEHIND		6

typedef struct ForeignKey
{
	int			n;
	AttrNumber	child[INDEX_MAX_KEYS];
	AttrNumber	parent[INDEX_MAX_KEYS];
	Oid			equal[INDEX_MAX_KEYS];	/* parent = child */
	char		on_delete;		/* as pg_constraint has it */
	char		on_update;
} ForeignKey;

/* Columns of the other table, and of the row what each is compared with. */
typedef struct Reference
{
	int			n;
	AttrNumber	others[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];	/* other column = value */
	Node	   *values[INDEX_MAX_KEYS];
} Reference;

/* --- the key --- */

static bool
read_key(Oid constraint, ForeignKey *key)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));

	if (!HeapTupleIsValid(tuple))
		return false;
	DeconstructFkConstraintRow(tuple, &key->n, key->child, key->parent, key->equal,
							   NULL, NULL, NULL, NULL);
	key->on_delete = ((Form_pg_constraint) GETSTRUCT(tuple))->confdeltype;
	key->on_update = ((Form_pg_constraint) GETSTRUCT(tuple))->confupdtype;
	ReleaseSysCache(tuple);
	return true;
}

/* As the operator takes it; NULL: not without a conversion. */
static Node *
as_operand(Node *value, Oid operator)
{
	Oid			left;
	Oid			right;

	if (value == NULL || !OidIsValid(operator))
		return NULL;
	op_input_types(operator, &left, &right);
	if (right == exprType(value) || IsPolymorphicType(right))
		return value;
	if (!IsBinaryCoercible(exprType(value), right))
		return NULL;
	return (Node *) makeRelabelType((Expr *) value, right, -1, get_typcollation(right),
									COERCE_IMPLICIT_CAST);
}

/*
 * What a key leads to.  `to_parent`: from new values to the table that is referred
 * to; else from old ones to the table that refers.  False: a value is not known.
 */
static bool
read_reference(const AnagoChange *change, const ForeignKey *key, bool to_parent,
			   Reference *reference)
{
	reference->n = key->n;
	for (int i = 0; i < key->n; i++)
	{
		reference->others[i] = to_parent ? key->parent[i] : key->child[i];
		reference->operators[i] = to_parent ? key->equal[i] : get_commutator(key->equal[i]);
		reference->values[i] = as_operand(to_parent ? change->new_values[key->child[i]] :
										  change->old_values[key->parent[i]],
										  reference->operators[i]);
		if (reference->values[i] == NULL)
			return false;
	}
	return true;
}

/* --- the look --- */

/* Which of them an index column is, or -1. */
static int
find_column(const Reference *reference, AttrNumber attno)
{
	for (int i = 0; i < reference->n; i++)
		if (reference->others[i] == attno)
			return i;
	return -1;
}

/* How many of an index's first columns it says. */
static int
columns_said(const Reference *reference, Relation index)
{
	int			n = 0;

	if (index->rd_rel->relkind != RELKIND_INDEX || index->rd_rel->relam != BTREE_AM_OID)
		return 0;
	while (n < IndexRelationGetNumberOfKeyAttributes(index) &&
		   find_column(reference, index->rd_index->indkey.values[n]) >= 0)
		n++;
	return n;
}

/* A value of a row that is found: the column, and the value for a key of the look. */
static Node *
of_found(AnagoStepDesc *desc, Node *value)
{
	Var		   *var = copyObject((Var *) value);

	if (IsA(value, RelabelType))
		var = copyObject(castNode(Var, ((RelabelType *) value)->arg));
	desc->attnos = lappend_int(desc->attnos, var->varattno);
	var->varattno = list_length(desc->attnos);
	return (Node *) makeRelabelType((Expr *) var, exprType(value), -1,
									exprCollation(value), COERCE_IMPLICIT_CAST);
}

static bool
add_reference(const AnagoChange *change, const Reference *reference, Relation heap,
			  Relation index, int most)
{
	AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));

	desc->heapid = RelationGetRelid(heap);
	desc->indexid = RelationGetRelid(index);
	desc->nkeys = columns_said(reference, index);
	desc->level = change->level;
	desc->exprs[ANAGO_EXPRS_WHEN] = copyObject(change->when);
	desc->keys = palloc0(sizeof(AnagoKeyDesc) * (desc->nkeys + 1));
	for (int i = 0; i < desc->nkeys; i++)
	{
		int			which = find_column(reference, index->rd_index->indkey.values[i]);
		AnagoKeyDesc *key = &desc->keys[i];

		key->kind = ANAGO_KEY_OP;
		key->attno = i + 1;
		key->opno = reference->operators[which];
		key->opfuncid = get_opcode(key->opno);
		key->collation = index->rd_indcollation[i];
		if (!op_in_opfamily(key->opno, index->rd_opfamily[i]))
			return false;
		desc->exprs[ANAGO_EXPRS_KEYS] =
			lappend(desc->exprs[ANAGO_EXPRS_KEYS],
					change->level > 0 ? of_found(desc, reference->values[which]) :
					copyObject(reference->values[which]));
	}
	if (desc->nkeys == 0)
		return false;
	if (change->level > 0)
		return anago_add_look_behind(change->looks, desc);
	return anago_add_look(change->looks, desc, desc->exprs[ANAGO_EXPRS_KEYS], NIL, most,
						  false);
}

/* --- the other table --- */

static void
add_parent(const AnagoChange *change, const Trigger *trigger)
{
	Relation	heap;
	Relation	index;
	ForeignKey	key;
	Reference	reference;

	if (!OidIsValid(trigger->tgconstrindid) || !read_key(trigger->tgconstraint, &key) ||
		!read_reference(change, &key, true, &reference))
		return;
	heap = anago_try_open(trigger->tgconstrrelid);
	index = heap == NULL ? NULL : anago_try_open(trigger->tgconstrindid);
	if (index != NULL)
		(void) add_reference(change, &reference, heap, index, 1);
	anago_try_close(index);
	anago_try_close(heap);
}

/* As core's planner would have it, where both say as much: the smaller one. */
static bool
is_better(Relation index, int n, Relation best, int most)
{
	return n > most ||
		(n == most && n > 0 &&
		 RelationGetNumberOfBlocks(index) < RelationGetNumberOfBlocks(best));
}

/* The index that says most by these columns, open; NULL: there is none. */
static Relation
open_best_index(Relation heap, const Reference *reference)
{
	Relation	best = NULL;
	int			most = 0;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(heap))
	{
		Relation	index = anago_try_open(lfirst_oid(lc));
		int			n = index == NULL || !index->rd_index->indisvalid ||
			RelationGetIndexPredicate(index) != NIL ? 0 : columns_said(reference, index);

		if (is_better(index, n, best, most))
		{
			anago_try_close(best);
			best = index;
			most = n;
		}
		else
			anago_try_close(index);
	}
	return best;
}

/* --- triggers --- */

/*
 * A copy, or NULL: the table's own may go whenever another one is opened, or a catalog
 * read, as it is then heard that it has changed.
 */
static TriggerDesc *
triggers_of(Relation rel)
{
	return CopyTriggerDesc(rel->trigdesc);
}

static bool
fires(const Trigger *trigger, CmdType operation)
{
	char		unless = SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA ?
		TRIGGER_FIRES_ON_ORIGIN : TRIGGER_FIRES_ON_REPLICA;

	if (trigger->tgenabled == TRIGGER_DISABLED || trigger->tgenabled == unless)
		return false;
	switch (operation)
	{
		case CMD_INSERT:
			return TRIGGER_FOR_INSERT(trigger->tgtype);
		case CMD_UPDATE:
			return TRIGGER_FOR_UPDATE(trigger->tgtype);
		case CMD_DELETE:
			return TRIGGER_FOR_DELETE(trigger->tgtype);
		default:
			return false;
	}
}

/* --- rows that refer to those that change, and what refers to these --- */

/* Does an UPDATE set a column of that key? */
static bool
sets_key(const AnagoChange *change, const ForeignKey *key)
{
	for (int i = 0; i < key->n; i++)
		if (bms_is_member(key->parent[i], change->set))
			return true;
	return false;
}

/* Looks that are at what refers to rows which others find. */
static int
looks_behind(const AnagoLooks *looks)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, looks->looks)
		n += ((const AnagoStepDesc *) lfirst(lc))->level > 0;
	return n;
}

static void find_children(const AnagoChange *change, const TriggerDesc *triggers);

/* Rows of that table, found by a look, are deleted or set by an action of this key. */
static void
look_behind(const AnagoChange *change, Relation heap, const ForeignKey *key)
{
	char		action = change->operation == CMD_DELETE ? key->on_delete : key->on_update;
	TupleDesc	desc = RelationGetDescr(heap);
	AnagoChange next = {
		.looks = change->looks,
		.rel = heap,
		.operation = action == FKCONSTR_ACTION_CASCADE ? change->operation : CMD_UPDATE,
		.level = change->level + 1,
	};
	Bitmapset  *set = NULL;

	if (action == FKCONSTR_ACTION_NOACTION || action == FKCONSTR_ACTION_RESTRICT ||
		next.level == MOST_LEVELS || looks_behind(change->looks) >= MOST_BEHIND)
		return;
	for (int i = 0; i < key->n; i++)
		set = bms_add_member(set, key->child[i]);
	next.set = set;
	next.old_values = palloc0(sizeof(Node *) * (desc->natts + 1));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->attgenerated == '\0')
			next.old_values[i + 1] = (Node *)
				makeVar(OUTER_VAR, i + 1, att->atttypid, att->atttypmod, att->attcollation, 0);
	}
	find_children(&next, triggers_of(heap));
}

static void
add_children(const AnagoChange *change, const Trigger *trigger)
{
	Relation	heap;
	Relation	index;
	ForeignKey	key;
	Reference	reference;

	if (!read_key(trigger->tgconstraint, &key) ||
		!read_reference(change, &key, false, &reference))
		return;
	if (change->operation == CMD_UPDATE && !sets_key(change, &key))
		return;
	heap = anago_try_open(trigger->tgconstrrelid);
	index = heap == NULL ? NULL : open_best_index(heap, &reference);
	if (index != NULL && add_reference(change, &reference, heap, index, 0))
		look_behind(change, heap, &key);
	anago_try_close(index);
	anago_try_close(heap);
}

static void
find_children(const AnagoChange *change, const TriggerDesc *triggers)
{
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (fires(trigger, change->operation) &&
			RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_PK)
			add_children(change, trigger);
	}
}

/* --- a statement's rows --- */

void
anago_find_references(const AnagoChange *change)
{
	const TriggerDesc *triggers = triggers_of(change->rel);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (fires(trigger, change->operation) &&
			RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_FK)
			add_parent(change, trigger);
	}
	find_children(change, triggers);
}

/* --- columns that others refer to --- */

static bool
is_set(const Query *query, AttrNumber attno)
{
	ListCell   *lc;

	foreach(lc, query->targetList)
		if (!lfirst_node(TargetEntry, lc)->resjunk &&
			lfirst_node(TargetEntry, lc)->resno == attno)
			return true;
	return false;
}

/* Have the plan give one, as it was. */
static void
ask_for(Query *query, Relation rel, AttrNumber attno)
{
	const FormData_pg_attribute *att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
	char	   *name = psprintf(ANAGO_OLD_VALUE "%d", attno);
	Var		   *var = makeVar(query->resultRelation, attno, att->atttypid, att->atttypmod,
							  att->attcollation, 0);
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk && tle->resname != NULL && strcmp(tle->resname, name) == 0)
			return;
	}
	query->targetList = lappend(query->targetList,
								makeTargetEntry((Expr *) var,
												list_length(query->targetList) + 1,
												name, true));
}

/* Rows of the other table matter if it is large, as far as that is known at once. */
static bool
is_large(Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION &&
		(anago_debug_force || rel->rd_rel->relpages > ANAGO_SMALL_PAGES);
}

/*
 * Would a look at rows that refer by that key be of use?  Most often all that it would read is
 * cached, and then nothing is asked for, and nothing further looked up.
 */
static bool
is_of_use(Oid relid, const ForeignKey *key)
{
	Relation	heap = anago_try_open(relid);
	Relation	index = NULL;
	Reference	reference = {.n = key->n};
	bool		result;

	memcpy(reference.others, key->child, sizeof(AttrNumber) * key->n);
	if (heap != NULL && is_large(heap))
		index = open_best_index(heap, &reference);
	result = index != NULL && anago_is_worth_probing(heap, index);
	anago_try_close(index);
	anago_try_close(heap);
	return result;
}

/* The columns of a key that rows lose. */
static void
ask_for_key(Query *query, Relation rel, Oid constraint, Oid relid)
{
	ForeignKey	key;
	bool		lost = query->commandType == CMD_DELETE;

	if (!read_key(constraint, &key))
		return;
	for (int i = 0; i < key.n; i++)
		lost |= query->commandType == CMD_UPDATE && is_set(query, key.parent[i]);
	if (!lost || !is_of_use(relid, &key))
		return;
	for (int i = 0; i < key.n; i++)
		ask_for(query, rel, key.parent[i]);
}

/* Of the keys by which others refer to it, what their triggers say, in turn. */
static List *
keys_to(Relation rel, CmdType operation)
{
	const TriggerDesc *triggers = rel->trigdesc;
	List	   *result = NIL;

	for (int i = 0; i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_PK &&
			fires(trigger, operation))
		{
			result = lappend_oid(result, trigger->tgconstraint);
			result = lappend_oid(result, trigger->tgconstrrelid);
		}
	}
	return result;
}

bool
anago_may_ask_for_keys(const Query *query)
{
	return query->commandType == CMD_DELETE || query->commandType == CMD_UPDATE;
}

void
anago_ask_for_keys(Query *query)
{
	const RangeTblEntry *rte;
	List	   *keys = NIL;
	Relation	rel;

	rte = rt_fetch(query->resultRelation, query->rtable);
	if (rte->rtekind != RTE_RELATION)
		return;
	rel = table_open(rte->relid, NoLock);
	if (rel->trigdesc != NULL &&
		(rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ||
		 (rel->rd_rel->relkind == RELKIND_RELATION && !rel->rd_rel->relhassubclass)))
		keys = keys_to(rel, query->commandType);
	for (int i = 0; i < list_length(keys); i += 2)
		ask_for_key(query, rel, list_nth_oid(keys, i), list_nth_oid(keys, i + 1));
	table_close(rel, NoLock);
}
