/*-------------------------------------------------------------------------
 *
 * modify.c
 *	  What a ModifyTable makes of rows: changes, of which looks are found.
 *
 *		INSERT		each row becomes one of the table
 *		UPDATE		columns that are set, and where the old row is
 *		DELETE		where the row is, and columns of it that were asked for
 *		MERGE		all of these (merges.c)
 *
 * Rows of a partitioned table are told as its own columns, whichever partition they are
 * in; where the plan can't say which one that is, as of a single one that nothing leaves,
 * the partition is taken for a table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "plan/changes.h"
#include "tryopen.h"

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

bool
anago_is_all_plain(Node *node)
{
	return !has_other_than_plain(node, NULL);
}

AttrNumber
anago_own_attno(const AnagoChange *change, Index of, AttrNumber attno)
{
	Oid			relid = rt_fetch(of, change->looks->stmt->rtable)->relid;
	char	   *name;

	if (of == change->target)
		return attno;
	name = get_attname(relid, attno, true);
	return name == NULL ? InvalidAttrNumber :
		get_attnum(RelationGetRelid(change->rel), name);
}

/*
 * Those that become the table's attributes: of those not junk.  `updated`: which they
 * are, or NIL: all.
 */
static void
find_new_values(AnagoChange *change, const List *tlist, const List *updated)
{
	int			natts = RelationGetNumberOfAttributes(change->rel);
	Bitmapset  *set = NULL;
	int			n = 0;
	ListCell   *lc;

	change->new_values = palloc0(sizeof(Node *) * (natts + 1));
	foreach(lc, tlist)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);
		int			attno = n + 1;

		if (tle->resjunk)
			continue;
		if (updated != NIL)
			attno = anago_own_attno(change, linitial_int(change->node->resultRelations),
							  list_nth_int(updated, n));
		n++;
		if (attno <= 0)
			continue;
		set = bms_add_member(set, attno);
		if (anago_is_all_plain((Node *) tle->expr))
			change->new_values[attno] = (Node *) tle->expr;
	}
	change->set = set;
}

/* One of before, under the name that it was asked for by. */
static void
find_old_value(AnagoChange *change, const char *name, Node *value)
{
	Index		of = change->node->rootRelation > 0 ? change->node->rootRelation :
		change->target;
	int			attno;

	if (sscanf(name, ANAGO_OLD_VALUE "%d", &attno) != 1)
		return;
	attno = anago_own_attno(change, of, attno);
	if (attno > 0 && attno <= RelationGetNumberOfAttributes(change->rel))
		change->old_values[attno] = value;
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

		if (!tle->resjunk || tle->resname == NULL || !IsA(tle->expr, Var))
			continue;
		if (strcmp(tle->resname, "ctid") == 0)
			change->ctid = (Node *) tle->expr;
		else
			find_old_value(change, tle->resname, (Node *) tle->expr);
	}
}

/* In which partition it is. */
static Node *
find_tableoid(const ModifyTable *node, const PlannedStmt *stmt, const List *tlist)
{
	Oid			only = rt_fetch(linitial_int(node->resultRelations), stmt->rtable)->relid;
	ListCell   *lc;

	foreach(lc, tlist)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk && tle->resname != NULL && strcmp(tle->resname, "tableoid") == 0)
			return (Node *) tle->expr;
	}
	if (list_length(node->resultRelations) > 1)
		return NULL;
	return (Node *) makeConst(OIDOID, -1, InvalidOid, sizeof(Oid), ObjectIdGetDatum(only),
							  false, true);
}

/* --- statements --- */

bool
anago_may_lead_on(const ModifyTable *node, const List *tlist)
{
	ListCell   *lc;

	if (node->operation != CMD_DELETE)
		return true;
	foreach(lc, tlist)
	{
		const TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk && tle->resname != NULL &&
			strncmp(tle->resname, ANAGO_OLD_VALUE, strlen(ANAGO_OLD_VALUE)) == 0)
			return true;
	}
	return false;
}

/* Rows become those of `tlist`, or go. */
static void
find_of(AnagoChange *change, CmdType operation, const List *tlist, const List *updated)
{
	change->operation = operation;
	find_new_values(change, operation == CMD_DELETE ? NIL : tlist, updated);
	if (operation != CMD_DELETE)
		anago_find_entries(change);
	anago_find_references(change);
}

/* Does an UPDATE set a column of the partition key of what is above the only partition? */
static bool
may_leave(const ModifyTable *node, const PlannedStmt *stmt)
{
	Relation	rel = table_open(rt_fetch(linitial_int(node->resultRelations), stmt->rtable)->relid,
								 NoLock);
	Bitmapset  *keys = anago_partition_columns(rel);
	bool		result = false;
	ListCell   *lc;

	foreach(lc, linitial(node->updateColnosLists))
		result |= bms_is_member(lfirst_int(lc) - FirstLowInvalidHeapAttributeNumber, keys);
	table_close(rel, NoLock);
	return result;
}

/*
 * The table whose rows are changed: the partitioned one, or the only one of which they
 * are, also afterwards.  0: none.
 */
static Index
find_target(const ModifyTable *node, const PlannedStmt *stmt)
{
	bool		one = list_length(node->resultRelations) == 1;
	Index		root = node->rootRelation;

	if (root > 0 && rt_fetch(root, stmt->rtable)->relkind == RELKIND_PARTITIONED_TABLE &&
		(!one || node->operation != CMD_UPDATE || may_leave(node, stmt)))
		return root;
	return one ? linitial_int(node->resultRelations) : 0;
}

void
anago_find_changes(AnagoLooks *looks, const ModifyTable *node, const List *tlist)
{
	AnagoChange change = {.looks = looks,.node = node};

	change.target = find_target(node, looks->stmt);
	if (change.target == 0)
		return;
	change.rel = table_open(rt_fetch(change.target, looks->stmt->rtable)->relid, NoLock);
	find_old_values(&change, tlist);
	if (change.target == node->rootRelation)
		change.tableoid = find_tableoid(node, looks->stmt, tlist);
	if (node->operation == CMD_MERGE)
		anago_find_merge(&change);
	else
		find_of(&change, node->operation, tlist,
				node->operation == CMD_UPDATE ? linitial(node->updateColnosLists) : NIL);
	table_close(change.rel, NoLock);
}
