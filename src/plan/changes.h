/*-------------------------------------------------------------------------
 *
 * changes.h
 *	  What rows lead to that a statement inserts, updates or deletes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_CHANGES_H
#define ANAGO_CHANGES_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "plan/looks.h"

/*
 * Rows that are changed in one way, of the rows that the plan below ModifyTable gives
 * those of which `when` is true.  Values are over these rows' columns, Vars of
 * OUTER_VAR, and in MERGE over the row as it is, too; by attribute of the table, from 1.
 * NULL: not known.
 */
typedef struct AnagoChange
{
	AnagoLooks *looks;
	const ModifyTable *node;
	Relation	rel;			/* the table, partitioned or not, */
	Index		target;			/* and its range table index; 0: above level 0 */
	CmdType		operation;		/* INSERT, UPDATE or DELETE */
	List	   *when;			/* or NIL: all rows */
	Node	   *ctid;			/* where the row is that is changed; or NULL, */
	Node	   *tableoid;		/* and in which partition; NULL: there are none */
	Node	  **new_values;		/* what is to be in the row, */
	Node	  **old_values;		/* and what has been */
	bool		knows_old;		/* a look finds what stays (AnagoLooks.old_relid) */
	const Bitmapset *unknown;	/* columns that get a value of which nothing is known */
	int			level;			/* AnagoStepDesc.level of what refers to such rows; above
								 * 0 old values are those of rows that are found */
	const Bitmapset *set;		/* columns that an UPDATE sets */
	const struct AnagoRoute *route; /* where rows go; NULL: the table has no partitions */
	bool		moves;			/* and rows may go to others than they are in */
} AnagoChange;

/* What says which partition a new row goes to (AnagoStepDesc.routed). */
typedef struct AnagoRoute
{
	List	   *attnos;
	List	   *values;
} AnagoRoute;

/*
 * The value of a column of the new row, or of an expression over its table's columns,
 * over columns of the plan; NULL: it is not known.
 */
typedef Node *(*AnagoValue) (const void *of, AttrNumber attno, Node *expr);

/* routes.c: find that of rows of a partitioned table; false: it is not known. */
extern bool anago_find_route(AnagoRoute *route, Relation top, AnagoValue value,
							 const void *of);

/*
 * routes.c: indexes of partitions below it that belong to none of a table further up; of
 * partitions that are not locked by others.  They are open during the call.
 */
typedef void (*AnagoVisitIndex) (Relation partition, Relation index, void *context);
extern void anago_visit_own_indexes(Relation top, AnagoVisitIndex visit, void *context);

/*
 * changes.c: does it call functions of users or extensions?  Folding constants would
 * call them, which core does not before there is a row.
 */
extern bool anago_calls_users_function(Node *node);

/*
 * changes.c: add looks for the entries that new rows get in indexes; for an UPDATE then
 * also, behind the first `others`, the one at the old row.  Without that, where several
 * changes share it: it is added by itself.
 */
extern void anago_find_entries(AnagoChange *change);
extern void anago_find_old_row(AnagoChange *change, int others);

/* A column of the row as it is, which the look at the old row gives; NULL: not known. */
extern Node *anago_kept_value(const AnagoChange *change, AttrNumber attno);

/* merges.c: all looks of a MERGE. */
extern void anago_find_merge(AnagoChange *change);

/* modify.c: may all of it be evaluated for nothing? */
extern bool anago_is_all_plain(Node *node);

/*
 * How the change's table numbers a column of that range table entry, a partition of it
 * or the table above; 0: it has none.
 */
extern AttrNumber anago_own_attno(const AnagoChange *change, Index of, AttrNumber attno);

/*
 * modify.c: might it find any?  A cheap test.  Rows that go lead to others by columns that
 * the plan was asked for, and to nothing else.
 */
extern bool anago_may_lead_on(const ModifyTable *node, const List *tlist);

/*
 * modify.c: find the looks of rows that `node` is to get.  `tlist` is what it gets
 * of a row: Vars of OUTER_VAR are columns of the plan below.
 */
extern void anago_find_changes(AnagoLooks *looks, const ModifyTable *node,
							   const List *tlist);

/* Name of a column that was asked for, before the number of its attribute. */
#define ANAGO_OLD_VALUE		"anago_old_"

/*
 * foreignkeys.c: before a query is planned, ask for the columns of its table that
 * others refer to, if rows are to lose them.  Then, in the finished plan: looks by
 * foreign keys, to and from the table.
 */
extern bool anago_may_ask_for_keys(const Query *query);
extern void anago_ask_for_keys(Query *query);
extern void anago_find_references(const AnagoChange *change);

#endif							/* ANAGO_CHANGES_H */
