/*-------------------------------------------------------------------------
 *
 * old_tables.h
 *	  The tables of rows that an UPDATE is about to replace (old_row.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_OLD_TABLES_H
#define ANAGO_OLD_TABLES_H

#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/rel.h"

#include "ops/new_pages.h"
#include "pipeline/op.h"
#include "pipeline/state.h"

/* A column that is set. */
typedef struct AnagoSetColumn
{
	AttrNumber	attno;
	bool		indexed;		/* a new value is in the way of HOT, */
	bool		moves;			/* or perhaps in that of staying in the partition */
} AnagoSetColumn;

/* A table that has such rows: the statement's, or a partition. */
typedef struct AnagoOldTable
{
	Oid			relid;			/* must be first */
	Relation	heap;			/* closed by the executor; NULL: it can't be looked at */
	TupleTableSlot *slot;		/* the old row, and then the new one's values */
	AttrNumber *attnos;			/* the step's columns, as they are numbered there */
	AnagoSetColumn *set;		/* as AnagoStepDesc.attnos */
	BlockNumber blkno;			/* of the row that was seen last, */
	Size		promised;		/* and what new rows are going to take of its page */
	AnagoNewPages *new_pages;	/* where others go */
} AnagoOldTable;

typedef struct AnagoOldTables
{
	const AnagoOp *op;
	const AnagoStepDesc *desc;
	Oid			relid;			/* the statement's table */
	AnagoOldTable only;			/* that, if it is not partitioned */
	HTAB	   *partitions;		/* or NULL */
} AnagoOldTables;

/* `tables` is zeroed.  Where it is partitioned nothing is opened yet. */
extern void anago_old_tables_begin(AnagoOldTables *tables, const AnagoOp *op,
								   const AnagoStepDesc *desc, bool partitioned);
extern void anago_old_tables_end(AnagoOldTables *tables);

/* A partition that ModifyTable has open; NULL: it has not, or it can't be looked at. */
extern AnagoOldTable *anago_old_tables_find(AnagoOldTables *tables, Oid relid);

#endif							/* ANAGO_OLD_TABLES_H */
