/*-------------------------------------------------------------------------
 *
 * fetch.h
 *	  The rows of one leaf's matches: from the index, or from the heap.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_FETCH_H
#define ANAGO_FETCH_H

#include "postgres.h"

#include "ops/btree/walk.h"

/*
 * Hand on the rows of walk->matches: a coroutine of the walk's task, for
 * ANAGO_CALL.  At its end there are no matches any more.  The task may have become
 * a heap task by then, for the last of them, and is a walk no longer.
 */
extern PGDLLEXPORT AnagoVerdict anago_fetch(AnagoWalk *walk);

#endif							/* ANAGO_FETCH_H */
