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
	Relation	rel;			/* the table */
	CmdType		operation;		/* INSERT, UPDATE or DELETE */
	List	   *when;			/* or NIL: all rows */
	Node	   *ctid;			/* where the row is that is changed; or NULL */
	Node	  **new_values;		/* what is to be in the row, */
	Node	  **old_values;		/* and what has been */
	bool		knows_old;		/* a look finds what stays (AnagoLooks.old_relid) */
} AnagoChange;

/*
 * changes.c: find the looks of rows that `node` is to get.  `tlist` is what it gets
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
extern void anago_ask_for_keys(Query *query);
extern void anago_find_references(const AnagoChange *change);

#endif							/* ANAGO_CHANGES_H */
