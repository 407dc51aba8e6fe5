/*-------------------------------------------------------------------------
 *
 * foreignkeys.c
 *	  What changed rows lead to by foreign keys: looks.
 *
 *		new row			the row that it refers to, by the index that the foreign
 *						key is for
 *		row that goes	rows that refer to it, by an index of theirs
 *
 * Core comes to these when the statement's rows have all been changed, in triggers
 * that run queries of their own.  So these looks are late (ops/btree/late.h).  The
 * tables are not the statement's: here they are locked while they are looked at,
 * or left out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_am.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_type.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"

#include "plan/changes.h"
#include "tryopen.h"

/* Columns of the other table, and of the row what each is compared with. */
typedef struct Reference
{
	int			n;
	AttrNumber	others[INDEX_MAX_KEYS];
	Oid			operators[INDEX_MAX_KEYS];	/* other column = value */
	Node	   *values[INDEX_MAX_KEYS];
} Reference;

/* --- the key --- */

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
 * Read a constraint.  `to_parent`: from new values to the table that is referred
 * to; else from old ones to the table that refers.  False: a value is not known.
 */
static bool
read_reference(const AnagoChange *change, Oid constraint, bool to_parent,
			   Reference *reference)
{
	AttrNumber	child[INDEX_MAX_KEYS];
	AttrNumber	parent[INDEX_MAX_KEYS];
	Oid			equal[INDEX_MAX_KEYS];	/* parent = child */
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));

	if (!HeapTupleIsValid(tuple))
		return false;
	DeconstructFkConstraintRow(tuple, &reference->n, child, parent, equal,
							   NULL, NULL, NULL, NULL);
	ReleaseSysCache(tuple);
	for (int i = 0; i < reference->n; i++)
	{
		reference->others[i] = to_parent ? parent[i] : child[i];
		reference->operators[i] = to_parent ? equal[i] : get_commutator(equal[i]);
		reference->values[i] = as_operand(to_parent ? change->new_values[child[i]] :
										  change->old_values[parent[i]],
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

static void
add_reference(const AnagoChange *change, const Reference *reference, Relation heap,
			  Relation index, int most)
{
	AnagoStepDesc *desc = palloc0(sizeof(AnagoStepDesc));

	desc->heapid = RelationGetRelid(heap);
	desc->indexid = RelationGetRelid(index);
	desc->nkeys = columns_said(reference, index);
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
			return;
		desc->exprs[ANAGO_EXPRS_KEYS] = lappend(desc->exprs[ANAGO_EXPRS_KEYS],
												copyObject(reference->values[which]));
	}
	if (desc->nkeys > 0)
		anago_add_look(change->looks, desc, desc->exprs[ANAGO_EXPRS_KEYS], NIL, most,
					   false);
}

/* --- the other table --- */

static void
add_parent(const AnagoChange *change, const Trigger *trigger)
{
	Relation	heap;
	Relation	index;
	Reference	reference;

	if (!OidIsValid(trigger->tgconstrindid) ||
		!read_reference(change, trigger->tgconstraint, true, &reference))
		return;
	heap = anago_try_open(trigger->tgconstrrelid);
	index = heap == NULL ? NULL : anago_try_open(trigger->tgconstrindid);
	if (index != NULL)
		add_reference(change, &reference, heap, index, 1);
	anago_try_close(index);
	anago_try_close(heap);
}

/* --- triggers --- */

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

void
anago_find_references(const AnagoChange *change)
{
	const TriggerDesc *triggers = change->rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (!fires(trigger, change->node->operation))
			continue;
		if (RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_FK)
			add_parent(change, trigger);
	}
}
