/*-------------------------------------------------------------------------
 *
 * merges.c
 *	  What rows of a MERGE lead to: looks of all its actions.
 *
 * A row that has found one of the table is taken by the first action whose condition is
 * true, and so is one that has found none:
 *
 *		when matched and s.v > t.v then update set v = s.v
 *		when matched and s.gone then delete
 *		when not matched then insert values (s.id, s.v)
 *
 *		UPDATE, of rows with		t.ctid is not null and case when s.v > t.v then true else false end
 *		DELETE						t.ctid is not null and case when s.v > t.v then false when s.gone then true
 *									else false end
 *		INSERT						t.ctid is null
 *
 * All updates are one, and all insertions are one, whose values depend on the action.  Columns
 * of the row as it is are found by the look at the old row.  Conditions that call what
 * must not be called for nothing are taken for true: the likely action is looked for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat_plan.h"
#include "plan/changes.h"

/* More of them than that are not looked for. */
#define MOST_ACTIONS	16

/* An action, and when it is taken if none before it is. */
typedef struct Arm
{
	const MergeAction *action;
	Expr	   *when;			/* NULL: always */
} Arm;

typedef struct Arms
{
	int			n;
	Arm			arms[MOST_ACTIONS];
} Arms;

/* --- conditions and values --- */

/*
 * Mutator: an action has the plan's columns as those of an inner side, and the row as it
 * is as of the first table.
 */
static Node *
over_rows(Node *node, AnagoChange *change)
{
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, over_rows, change);
	var = copyObject((Var *) node);
	if (var->varno == INNER_VAR)
		var->varno = OUTER_VAR;
	else if (var->varno == linitial_int(change->node->resultRelations))
	{
		if (var->varattno > 0)
			var->varattno = anago_own_attno(change, var->varno, var->varattno);
		var->varno = change->target;
	}
	return (Node *) var;
}

static bool
is_of_system(Node *node, const AnagoChange *change)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && ((Var *) node)->varno == change->target &&
		((Var *) node)->varattno <= 0)
		return true;
	return expression_tree_walker(node, is_of_system, (void *) change);
}

/* NULL: it must not be evaluated for nothing, or can't. */
static Node *
as_plain(Node *node, AnagoChange *change)
{
	Node	   *result;

	if (node == NULL || !anago_is_all_plain(node))
		return NULL;
	result = over_rows(node, change);
	return is_of_system(result, change) ? NULL : result;
}

/* NULL: both are true. */
static Expr *
both(Expr *a, Expr *b)
{
	return a == NULL ? b : b == NULL ? a : make_andclause(list_make2(a, b));
}

static Expr *
condition_of(AnagoChange *change, const MergeAction *action)
{
	List	   *join = (List *) as_plain((Node *) anago_merge_condition(change->node), change);
	List	   *qual = (List *) as_plain(action->qual, change);
	Expr	   *result = qual == NIL ? NULL : make_ands_explicit(qual);
	BooleanTest *not;

	if (join == NIL || anago_merge_kind(action) == ANAGO_MERGE_NOT_BY_TARGET)
		return result;
	if (anago_merge_kind(action) == ANAGO_MERGE_MATCHED)
		return both(make_ands_explicit(join), result);
	not = makeNode(BooleanTest);
	not->arg = make_ands_explicit(join);
	not->booltesttype = IS_NOT_TRUE;
	not->location = -1;
	return both((Expr *) not, result);
}

/* Actions for rows that have found one of the table (or that nothing has found), or none. */
static void
find_arms(AnagoChange *change, bool found, Arms *arms)
{
	ListCell   *lc;

	arms->n = 0;
	foreach(lc, linitial(change->node->mergeActionLists))
	{
		const MergeAction *action = lfirst_node(MergeAction, lc);

		if ((anago_merge_kind(action) == ANAGO_MERGE_NOT_BY_TARGET) == found ||
			arms->n == MOST_ACTIONS)
			continue;
		arms->arms[arms->n].action = action;
		arms->arms[arms->n++].when = condition_of(change, action);
	}
}

/* That of the first arm whose condition is true, or else `other`. */
static Node *
choose(const Arms *arms, Node **results, Node *other)
{
	CaseExpr   *result = makeNode(CaseExpr);
	bool		same = true;

	result->casetype = exprType(other);
	result->casecollid = exprCollation(other);
	result->location = -1;
	result->defresult = (Expr *) other;
	for (int i = 0; i < arms->n; i++)
	{
		CaseWhen   *when = makeNode(CaseWhen);

		when->expr = copyObject(arms->arms[i].when);
		when->result = (Expr *) results[i];
		when->location = -1;
		if (when->expr == NULL)
		{
			result->defresult = when->result;
			break;
		}
		result->args = lappend(result->args, when);
	}
	for (int i = 0; i < list_length(result->args); i++)
		same &= equal(list_nth_node(CaseWhen, result->args, i)->result, result->defresult);
	return same ? (Node *) result->defresult : (Node *) result;
}

/* Rows that an action of that kind takes. */
static List *
rows_of(const AnagoChange *change, const Arms *arms, CmdType operation)
{
	Node	   *results[MOST_ACTIONS];
	NullTest   *found = makeNode(NullTest);

	found->arg = copyObject((Expr *) change->ctid);
	found->nulltesttype = operation == CMD_INSERT ? IS_NULL : IS_NOT_NULL;
	found->location = -1;
	for (int i = 0; i < arms->n; i++)
		results[i] = makeBoolConst(arms->arms[i].action->commandType == operation, false);
	return list_make2(found, choose(arms, results, makeBoolConst(false, false)));
}

/* --- values --- */

/* Which entry of its target list an action sets a column to, or NULL. */
static Node *
set_by(AnagoChange *change, const MergeAction *action, AttrNumber attno)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, action->targetList)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		int			at = n + 1;

		if (tle->resjunk)
			continue;
		if (action->commandType == CMD_UPDATE)
			at = anago_own_attno(change, linitial_int(change->node->resultRelations),
								 list_nth_int(action->updateColnos, n));
		n++;
		if (at == attno)
			return (Node *) tle->expr;
	}
	return NULL;
}

/* The value of a column, by the actions of that kind; NULL: none sets it, or it is not known. */
static void
find_value(AnagoChange *change, const Arms *arms, AttrNumber attno)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(change->rel), attno - 1);
	Node	   *other = change->operation == CMD_UPDATE ? anago_kept_value(change, attno) : NULL;
	Node	   *results[MOST_ACTIONS];
	bool		is_set = false;
	bool		known = true;

	if (other == NULL)
		other = (Node *) makeNullConst(att->atttypid, att->atttypmod, att->attcollation);
	for (int i = 0; i < arms->n; i++)
	{
		const MergeAction *action = arms->arms[i].action;
		Node	   *value = action->commandType == change->operation ?
			set_by(change, action, attno) : NULL;

		results[i] = value == NULL ? other : as_plain(value, change);
		is_set |= value != NULL;
		known &= results[i] != NULL;
	}
	if (!is_set)
		return;
	change->set = bms_add_member(bms_copy(change->set), attno);
	if (known)
		change->new_values[attno] = choose(arms, results, other);
	else
		change->unknown = bms_add_member(bms_copy(change->unknown), attno);
}

/* --- actions --- */

/* All of one kind; false: there is none. */
static bool
begin_of(AnagoChange *change, const Arms *arms, CmdType operation)
{
	int			natts = RelationGetNumberOfAttributes(change->rel);
	bool		any = false;

	for (int i = 0; i < arms->n; i++)
		any |= arms->arms[i].action->commandType == operation;
	if (!any)
		return false;
	change->operation = operation;
	change->set = change->unknown = NULL;
	change->moves = change->knows_old = false;
	change->when = rows_of(change, arms, operation);
	change->new_values = palloc0(sizeof(Node *) * (natts + 1));
	change->old_values = palloc0(sizeof(Node *) * (natts + 1));
	for (int attno = 1; attno <= natts; attno++)
	{
		if (TupleDescAttr(RelationGetDescr(change->rel), attno - 1)->attisdropped)
			continue;
		if (operation != CMD_DELETE)
			find_value(change, arms, attno);
		if (operation != CMD_INSERT)
			change->old_values[attno] = anago_kept_value(change, attno);
	}
	return true;
}

static void
find_of_found(AnagoChange *change)
{
	AnagoChange old_row = *change;
	int			others = list_length(change->looks->looks);
	Arms		arms;

	find_arms(change, true, &arms);
	old_row.new_values = palloc0(sizeof(Node *) *
								 (RelationGetNumberOfAttributes(change->rel) + 1));
	old_row.when = list_make1(makeBoolConst(false, false));
	if (begin_of(change, &arms, CMD_UPDATE))
	{
		anago_find_entries(change);
		anago_find_references(change);
		old_row = *change;
	}
	if (begin_of(change, &arms, CMD_DELETE))
		anago_find_references(change);
	if (change->looks->old_columns != NIL)
		anago_find_old_row(&old_row, others);
}

void
anago_find_merge(AnagoChange *change)
{
	bool		partitioned = change->target == change->node->rootRelation;
	Arms		arms;

	if (change->ctid == NULL)
		return;
	find_arms(change, false, &arms);
	/* a table with children gets new rows itself, whichever of these is merged into */
	if ((change->node->rootRelation == 0 || partitioned) &&
		begin_of(change, &arms, CMD_INSERT))
	{
		anago_find_entries(change);
		anago_find_references(change);
	}
	if (partitioned && change->tableoid == NULL)
		return;
	change->looks->old_relid = change->target;
	find_of_found(change);
}
