/*-------------------------------------------------------------------------
 *
 * backlog.h
 *	  Rows that have left without their late looks, which are made while triggers run.
 *
 * Late looks are made for as many rows as shared buffers can keep the pages of
 * (ops/btree/late.h).  Core comes to these pages when all rows have been changed: it
 * runs a query for each row, in their order.  So from those queries it is seen how far
 * it has come, and the rest of the rows are looked for in batches, while it is at the rows
 * before:
 *
 *		rows			0 ......... 1000 ......... 2000 ......... 3000
 *		looks			made ahead of their change | in the backlog
 *		core							^ here: those of 2000 to 3000 are made
 *
 * The rows' plan node lives until the query has ended, triggers and all.  Of a query that
 * has failed it may be found later, as long as its memory is there (a function in SQL
 * keeps it, before 18); the subtransaction that it was run in is over then.
 *
 * Which queries are those of triggers is told by the tables that they name.  Others may
 * name them, too, and rows may have no such query; then looks are made too early, or too
 * late, and no more than that.
 *
 * Invariants
 *	- rows in it follow each other, and none before the first of them is added;
 *	- its bytes are within the limit, or it is full and takes no more.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BACKLOG_H
#define ANAGO_BACKLOG_H

#include "postgres.h"

#include "executor/execdesc.h"
#include "executor/tuptable.h"
#include "lib/ilist.h"

typedef struct AnagoBacklog
{
	dlist_node	node;			/* in the list of all in this process */
	MemoryContext context;		/* of the query */
	List	   *tables;			/* OIDs: those that late looks are at, each once */
	int			nlooks;			/* late ones, each of which has a query for a row */
	void		(*go_on) (void *arg);	/* make the looks of the next rows */
	void	   *arg;

	Size		bytes;			/* that rows take */
	Size		limit;
	bool		full;
	int			n;
	int			slots;
	MinimalTuple *rows;
	int			next;			/* the first that has had no look */

	SubTransactionId subid;		/* in which the query runs */
	bool		ended;			/* the last row has left: triggers run */
	int			batch;			/* rows that looks are made for at a time */
	int64		looked;			/* rows of the plan node that have had theirs */
	int64		queries;		/* that core has run */
} AnagoBacklog;

/* In CurrentMemoryContext, which is to be the query's. */
extern AnagoBacklog *anago_backlog_create(List *tables, int nlooks, Size limit,
										  void (*go_on) (void *arg), void *arg);

/* A row leaves; `before`: so many have left. */
extern void anago_backlog_add(AnagoBacklog *backlog, TupleTableSlot *slot, int64 before);

/* The next row that is to be looked for, or NULL.  It stays the backlog's. */
extern MinimalTuple anago_backlog_next(AnagoBacklog *backlog);

/* No more looks are made for its rows. */
extern void anago_backlog_give_up(AnagoBacklog *backlog);

/* A query is about to run: is it one that some backlog waits for? */
extern void anago_backlogs_see(const QueryDesc *query);

#endif							/* ANAGO_BACKLOG_H */
