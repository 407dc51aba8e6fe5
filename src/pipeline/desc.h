/*-------------------------------------------------------------------------
 *
 * desc.h
 *	  What the planner tells the executor: the description of a pipeline.
 *
 * A pipeline is a source and then steps.  Every step probes one B-tree index
 * of one table for each row that reaches it, and passes on the row widened by
 * that table's columns:
 *
 *		source -> step 0 -> step 1 -> ... -> out
 *
 * The source is either the unit source (one row with no column: then step 0
 * is what stock calls an index scan, and the conditions of step 0 refer to
 * nothing but constants and parameters) or a child plan of any kind.
 *
 * A step whose inner side is several tables (partitions, say) has a member for
 * each; a row is probed for in all of them, or where the planner found how, in
 * those alone that it can have matches in (AnagoPruneDesc).  Members differ in
 * index, keys and filter, and in the attributes that fill the step's columns.  A
 * table that is looked up by OR over several indexes has several members, its arms:
 * these follow each other, and each drops the rows that one before it finds.
 *
 * A pipeline of looks has a child plan, and steps that no row is joined by: each
 * is told as an anti join that never finds a match, so that a row goes on when
 * all that the step reads for it has been read.  One with members is at those tables
 * that core does not prune for the row.  Column 0 of its wide row is the
 * row's number, the others those of the child plan that keys want.
 *
 * The wide row.  custom_scan_tlist has one entry for every column that any
 * expression above or inside the pipeline needs.  columns[i] says who fills
 * entry i: the child plan (step == ANAGO_STEP_SOURCE, attno = its resno) or a
 * step (attno = attribute number of the table, below 0 for a system column, 0
 * for the whole row; for an index-only step, of the index).  A step may also
 * compute columns (ANAGO_ATTNO_COMPUTED), in the order of its
 * ANAGO_EXPRS_COMPUTED; their null extension is the step's, too.  Entries are ordered by step, the source's first, and by attno
 * within one, so that what one step fills is contiguous.  Behind these come
 * entries that nobody fills (ANAGO_STEP_NONE): columns that only the
 * conditions shown by EXPLAIN mention.
 *
 * A column has one entry, also where its Vars differ by the outer joins that
 * may null them: before a left join's null extension all of them have the
 * table's value, after it all of them are null.
 *
 * Expressions live in CustomScan.custom_exprs, so that setrefs.c translates
 * them to Vars of the wide row (INDEX_VAR), and so that parameters in them
 * are seen by finalize_plan().  custom_exprs is a list with one List for each
 * step, itself a list of ANAGO_EXPRS_COUNT Lists, see AnagoStepExprs (and for
 * several tables such a list for each member, and the values that partitions are
 * found by), and then the List of the pipeline's one-time conditions.  Everything else is in custom_private, see desc.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_DESC_H
#define ANAGO_DESC_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pg_list.h"
#include "nodes/plannodes.h"

/* Bound on steps in one pipeline; a longer join chain starts a new one. */
#define ANAGO_MAX_STEPS		15

#define ANAGO_STEP_SOURCE	(-1)
#define ANAGO_STEP_NONE		(-2)	/* not filled, never evaluated */

/* Attribute number of a computed column: behind those that are stored. */
#define ANAGO_ATTNO_COMPUTED	PG_INT16_MAX

/* How an index key is compared. */
typedef enum AnagoKeyKind
{
	ANAGO_KEY_OP,				/* indexcol op value */
	ANAGO_KEY_ARRAY,			/* indexcol op ANY (array) */
	ANAGO_KEY_IS_NULL,			/* indexcol IS NULL */
	ANAGO_KEY_IS_NOT_NULL,		/* indexcol IS NOT NULL */
	ANAGO_KEY_ROW,				/* first member of (indexcol, ...) op (value, ...) */
	ANAGO_KEY_ROW_MORE,			/* one of its further members, which follow */
	ANAGO_KEY_ENTRY				/* the column of an entry to be inserted: of that
								 * value, which may be NULL */
} AnagoKeyKind;

/*
 * One index condition, or one member of a row comparison.  Its value expression is the entry of the same
 * position in the step's ANAGO_EXPRS_KEYS list (a NULL Const for the two
 * null tests, so that positions agree).
 */
typedef struct AnagoKeyDesc
{
	AnagoKeyKind kind;
	AttrNumber	attno;			/* index column, from 1 */
	Oid			opno;			/* operator, indexcol on the left */
	Oid			opfuncid;		/* its function */
	Oid			collation;		/* input collation */
} AnagoKeyDesc;

/* The lists of expressions that a step has, in the order of custom_exprs. */
typedef enum AnagoStepExprs
{
	ANAGO_EXPRS_KEYS,			/* right-hand sides, one for each AnagoKeyDesc */
	ANAGO_EXPRS_FILTER,			/* quals on this step's table (and parameters,
								 * and columns of earlier steps) that the index
								 * does not check; part of the join condition
								 * for outer joins */
	ANAGO_EXPRS_JOIN,			/* join quals that the index does not check */
	ANAGO_EXPRS_OTHER,			/* left and anti joins: quals on the joined
								 * row, after null extension */
	ANAGO_EXPRS_COMPUTED,		/* columns that the step computes of a match */
	ANAGO_EXPRS_GATE,			/* left and anti joins: one-time conditions on
								 * this step's table; without them nothing
								 * matches */
	ANAGO_EXPRS_SHOW_COND,		/* index conditions as written, for EXPLAIN; of
								 * an AnagoLookKind other than the first, or of
								 * a late look: the keys' values */
	ANAGO_EXPRS_WHEN,			/* looks: conditions on the row without which it
								 * leads nowhere */
	ANAGO_EXPRS_ROUTE,			/* a routed look: values of `attnos`, and of
								 * expressions in the partition key */
	ANAGO_EXPRS_COUNT
} AnagoStepExprs;

/*
 * One partitioned table, by whose bounds a row's members are found.  The
 * conditions are core's pruning steps; the values in them, which are expressions
 * over the wide row, stand apart.
 */
typedef struct AnagoPruneLevel
{
	Index		relid;			/* range table index, after setrefs */
	bool		is_root;		/* not a partition of another level */
	bool		per_row;		/* the values may differ from row to row */
	List	   *relids;			/* OIDs of partitions, 0: none of interest */
	List	   *members;		/* by partition: index of the (first) member, or -1 */
	List	   *levels;			/* or index of the level that it is, or -1 */
	List	   *steps;			/* PartitionPruneSteps, or NIL: all partitions */
	List	   *values;			/* for each PartitionPruneStepOp, its List exprs */
} AnagoPruneLevel;

typedef struct AnagoPruneDesc
{
	int			nlevels;		/* 0: every row is probed for in all members */
	AnagoPruneLevel *levels;
	List	   *others;			/* indexes of the (first) members of tables that
								 * are in no level */
	int			nth;			/* a look: of the tables that a row has, the step is
								 * at this one alone, from 1; 0: at all */
} AnagoPruneDesc;

/* What a look reads for a row. */
typedef enum AnagoLookKind
{
	ANAGO_LOOK_MATCHES,			/* leaves with entries of these keys, and their rows */
	ANAGO_LOOK_ENTRY,			/* the leaf that an entry with these keys will go to:
								 * before those that are equal, */
	ANAGO_LOOK_ENTRY_BEHIND,	/* or behind them */
	ANAGO_LOOK_OLD_ROW,			/* the row that an UPDATE is about to replace, whose
								 * columns are the step's */
	ANAGO_LOOK_MERGED			/* of entries that the looks before it have found
								 * (AnagoFirstsDesc.merged), rows that come first of all */
} AnagoLookKind;

/*
 * What a hash join would take in place of a step's probes (ops/btree/turn.c); what
 * they take is measured in pages that are waited for, or ANAGO_TURN_PARTS of one.
 */
typedef struct AnagoTurnDesc
{
	int			blocks;			/* of the table, when it was planned */
	int			pages;			/* a scan of the table, and a hash of its rows; 0:
								 * the step stays what it is */
	int			per_probe;		/* a descent of the index, in parts of a page, */
	int			per_entry;		/* and a row that it finds */
	int			per_candidate;	/* and a row that a lookup compares with */
	int			kilobytes;		/* the hash table, as it is expected */
	bool		early_filter;	/* the filter can be, and may be, evaluated on rows
								 * that no outer row asks for */
} AnagoTurnDesc;

#define ANAGO_TURN_PARTS	1000000

/*
 * Looks that follow each other at tables of which a LIMIT wants the first rows together.
 * Of an Append: core goes on to a table when the ones before it have not given
 * enough.  Of a MergeAppend: to the first row of each, and then to the next one of that
 * whose row comes first, which the look behind them finds (ANAGO_LOOK_MERGED).
 */
typedef struct AnagoFirstsDesc
{
	int			append;			/* which Append of the node's, from 1; 0: none */
	int			most;			/* rows that the tables are wanted to give together */
	int			per_row;		/* entries of this one that make up for one of these;
								 * 0: what is found here says nothing of that */
	int			merged;			/* index column that rows are merged by; 0: they are
								 * not */
} AnagoFirstsDesc;

typedef struct AnagoStepDesc
{
	Index		scanrelid;		/* range table index, after setrefs; of several
								 * tables, their parent's */
	Oid			indexid;
	bool		index_only;
	JoinType	jointype;		/* JOIN_INNER, _LEFT, _SEMI or _ANTI; INNER for
								 * step 0 of the unit source */
	bool		inner_unique;	/* at most one match: stop at the first */
	int			nkeys;
	AnagoKeyDesc *keys;
	List	   *exprs[ANAGO_EXPRS_COUNT];	/* after setrefs, INDEX_VAR */

	/*
	 * Several tables, or arms.  A member is described as a step of one table and
	 * index; what of that is the same for all is the step's, too, and the rest is
	 * missing there.
	 */
	int			nmembers;		/* 0: there is one table, by one index */
	struct AnagoStepDesc *members;
	AnagoPruneDesc prune;
	AnagoTurnDesc turn;
	List	   *attnos;			/* a member's: what fills the step's columns; of an
								 * old row: columns that are set; of a routed look:
								 * those that partition keys want, 0: an expression;
								 * of a look of another level: see there */

	/* A look (AnagoPipelineDesc.looks): */
	int			most;			/* matches of a leaf that are of use, or 0: all */
	bool		from_end;		/* the last ones of a range, not the first */
	AnagoFirstsDesc firsts;
	AnagoLookKind look;

	/*
	 * An old row: there is no index; the only key is the row's ctid, and
	 * ANAGO_EXPRS_COMPUTED are the values that columns are set to.  Its computed
	 * column is whether the new row will leave the page, or its entries in
	 * indexes differ, so that each index gets a new one.
	 */

	/*
	 * Rows that are merged: there is no table and no index; the only key is the operator that
	 * orders them, with the collation, and from_end: NULLs come first.
	 */

	/*
	 * A look at a table that the statement does not name: a TOAST table, or else it is
	 * late, at one that core comes to when all rows have been changed.  scanrelid is 0.
	 */
	Oid			heapid;			/* or InvalidOid */
	bool		toast;			/* the key is a value's number there */

	/*
	 * Table and index are partitioned: of each row the look is at the index of the
	 * partition that it goes to.  Keys and conditions are the same for all.
	 */
	bool		routed;
	List	   *alike;			/* OIDs of other indexes that only a partition has, with the same
								 * keys as indexid, which is one then */

	/*
	 * A late look at rows that refer to those which the look before it of the level
	 * below has found: 0 are looks for the row itself.  Keys are columns of these
	 * (`attnos`), Vars of OUTER_VAR in this order.
	 */
	int			level;
} AnagoStepDesc;

static inline bool
anago_desc_is_late(const AnagoStepDesc *step)
{
	return OidIsValid(step->heapid) && !step->toast;
}

typedef struct AnagoColumnDesc
{
	int			step;			/* ANAGO_STEP_SOURCE, index into steps, or
								 * ANAGO_STEP_NONE */
	AttrNumber	attno;
	Oid			toastid;		/* of the source: not the value, but its number in
								 * that TOAST table, NULL if it is not there; or
								 * InvalidOid */
} AnagoColumnDesc;

/*
 * Tasks of a kind that end before one more is begun at a time, for each step of a
 * pipeline of which not all rows may be wanted (sched/demand.h); by measurement, so
 * that twice the pages that stock reads are the most (sql/demand.sql).
 */
#define ANAGO_PATIENCE_FOR_A_STEP	3

/* Whose order rows leave in; backward: of the unit source's step alone. */
typedef enum AnagoDescOrder
{
	ANAGO_ORDER_NONE,
	ANAGO_ORDER_FORWARD,		/* that of step 0's index, or of the child plan */
	ANAGO_ORDER_BACKWARD		/* the reverse of step 0's index */
} AnagoDescOrder;

typedef struct AnagoPipelineDesc
{
	bool		child_source;	/* source is custom_plans[0], else unit */
	bool		looks;			/* steps only read what the child plan's rows lead
								 * to, and those rows leave as they are (held.h) */
	bool		received;		/* looks: of use only where whoever takes the rows
								 * fetches their values */
	bool		rechecked;		/* custom_plans[0] is core's scan of the same rows,
								 * which is run in its place for EvalPlanQual */
	AnagoDescOrder order;
	bool		may_stop;		/* not all rows may come to be wanted: LIMIT... */
	char	   *operators;		/* chosen in place of ours, or NULL (operators.h) */
	List	   *gate;			/* one-time conditions, without which there are
								 * no rows */
	int			nsteps;
	AnagoStepDesc *steps;
	int			ncolumns;		/* length of custom_scan_tlist */
	AnagoColumnDesc *columns;
	List	   *wide;			/* looks: target list of the wide row, in place of
								 * custom_scan_tlist */
} AnagoPipelineDesc;

/* Of the same table as `first`, whose first member that is: its last one. */
static inline int
anago_desc_last_arm(const AnagoStepDesc *step, int first)
{
	int			last = first;

	while (last + 1 < step->nmembers &&
		   step->members[last + 1].scanrelid == step->members[first].scanrelid)
		last++;
	return last;
}

static inline bool
anago_desc_is_first_arm(const AnagoStepDesc *step, int member)
{
	return member == 0 ||
		step->members[member - 1].scanrelid != step->members[member].scanrelid;
}

/* Tables of a step that has members. */
static inline int
anago_desc_ntables(const AnagoStepDesc *step)
{
	int			n = 0;

	for (int i = 0; i < step->nmembers; i++)
		n += anago_desc_is_first_arm(step, i);
	return n;
}

/*
 * Write the description into a plan node in the making, custom_exprs and
 * custom_private.  `relids` are those that custom_relids will have.
 */
extern void anago_desc_write(CustomScan *cscan, const AnagoPipelineDesc *desc,
							 const Bitmapset *relids);

/* Of a finished node of ours: AnagoPipelineDesc.rechecked. */
extern bool anago_desc_is_rechecked(const CustomScan *cscan);

/*
 * Where a finished node has the filter of its last step, if that is an inner join, or a scan, by
 * one index, and no condition is tested behind the filter; else NULL.
 */
extern List **anago_desc_filter(CustomScan *cscan);

/*
 * Read the description out of a finished plan node (after setrefs): used by
 * the executor and EXPLAIN.  Allocates in CurrentMemoryContext.  Raises an
 * error in a parallel worker whose leader has another version of this library.
 */
extern AnagoPipelineDesc *anago_desc_read(const CustomScan *cscan);

#endif							/* ANAGO_DESC_H */
