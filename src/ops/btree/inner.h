/*-------------------------------------------------------------------------
 *
 * inner.h
 *	  Copies of inner B-tree pages, so that descents skip hot pages.
 *
 * Every descent of a query passes the root and a few pages below it.  Looking
 * each up in shared buffers, pinning and locking it costs more than searching
 * it.  So a step keeps copies of the inner pages that it meets again.
 *
 * A copy may be out of date, but no more than a page number read from a
 * parent before the child is: a split since then is found by moving right, a
 * page deleted since then is not recycled while our snapshot exists.  The
 * copies therefore live as long as the query's snapshot, and no longer.  Where
 * an index grows under a query, moving right becomes long; copies and root are
 * then taken anew (range.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_INNER_H
#define ANAGO_INNER_H

#include "postgres.h"

#include "storage/block.h"
#include "storage/bufpage.h"

#include "sched/memory.h"

/*
 * Bound on the pages of one step that are known: 2 MB of copies of 8 kB.  All
 * steps' copies together take no more than half of the query's memory; each
 * step may have its part of that, and one page.
 */
#define ANAGO_INNER_PAGES	256

/*
 * A page is copied when it is met for this time.  A copy costs as much as some
 * lookups, so that pages which few descents pass are better not copied.
 */
#define ANAGO_INNER_MEETINGS	4

typedef struct AnagoInner AnagoInner;

/*
 * One of `nsteps`.  Memory comes from `context` as copies are made, and is
 * counted in `memory`.
 */
extern AnagoInner *anago_inner_create(MemoryContext context,
									  AnagoMemory *memory, int nsteps);

/* The copy of a block, or NULL. */
extern Page anago_inner_find(const AnagoInner *inner, BlockNumber blkno);

/* Forget all copies: they have become too old to be of use. */
extern void anago_inner_forget(AnagoInner *inner);

/*
 * A page that is locked was met, as there is no copy of it.
 */
extern void anago_inner_add(AnagoInner *inner, BlockNumber blkno, Page page);

#endif							/* ANAGO_INNER_H */
