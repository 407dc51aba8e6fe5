/*-------------------------------------------------------------------------
 *
 * walk.h
 *	  The walk of an index by one task: page after page, down and to the right.
 *
 * It begins at the root, or at a leaf that some other task has learnt of, and
 * ends where the range does, or at a bound.  How the leaves of a wide range are
 * come to is a kind (kinds.h); what happens to their matches is in
 * fetch.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_WALK_H
#define ANAGO_WALK_H

#include "postgres.h"

#include "ops/btree/btree.h"
#include "ops/btree/combos.h"
#include "ops/btree/matches.h"
#include "ops/btree/span.h"

typedef struct AnagoWalk
{
	AnagoTask	task;
	AnagoProbe *probe;
	int			combo;			/* run of combinations of the probe, */
	int			combo_end;		/* to before this one */
	BlockNumber blkno;			/* page wanted next; Invalid: none */
	bool		from_start:1;	/* entries before the range may be met */
	bool		moved_right:1;	/* a task with a bound is past its first page */
	uint8		moves;			/* to the right, as pages had been split */
	uint16		resume;			/* of anago_fetch() */
	IndexTuple	bound;			/* upper bound of the task's stretch, or NULL */
	IndexTuple	lower;			/* skip scan's range: lower bound, or NULL */
	AnagoMatches *matches;		/* matches of the last leaf, or NULL; backward, of
								 * those left of it, too */
	int			next_visible;	/* of matches, to be answered from the index */
	int			next_match;		/* of matches, to be fetched from the heap */
	union
	{
		AnagoNextRun next;		/* index probe: the run to be started */
		AnagoAhead	ahead;		/* others: of many matches, for the CPU; */
		Buffer		near;		/* of a leaf, or one of few (near.h) */
	}			u;
	AnagoSpan  *span;			/* range of many leaves, or NULL */
} AnagoWalk;

StaticAssertDecl(sizeof(AnagoWalk) <= ANAGO_TASK_SIZE, "task fits its slot");

/* The task of kinds that take leaves from their parents. */
extern AnagoVerdict anago_parent_run(AnagoTask *task);

/* Reads one leaf, and those that were split off from it. */
extern PGDLLEXPORT const AnagoTaskOps anago_leaf_task;

/* A task of the probe's. */
extern PGDLLEXPORT AnagoWalk *anago_walk_spawn(AnagoProbe *probe, const AnagoTaskOps *ops, int depth);

/*
 * Stand where the run that was found begins, the first combination of which is
 * `combo`.
 */
extern PGDLLEXPORT void anago_walk_start(AnagoWalk *walk, int combo, AnagoNextRun *run);

/* Bind the step's keys to the walk's run. */
static inline void
anago_walk_bind(AnagoWalk *walk)
{
	anago_keys_bind(&walk->probe->step->keys, &walk->probe->keys,
					walk->combo, walk->combo_end);
}

/*
 * Go on as far as copies of inner pages lead.  Then blkno is to be read, if it
 * is valid, and given to anago_walk_page(), pinned; the pin is given up.  After
 * that `matches` is what a leaf had, or NULL, and blkno what comes next.
 */
extern PGDLLEXPORT void anago_walk_copies(AnagoWalk *walk);
extern PGDLLEXPORT void anago_walk_page(AnagoWalk *walk, Buffer buf);

/*
 * Are there matches to be fetched?  Backward, those of the page that is farthest
 * to the right come first, so that all have to be there.
 */
static inline bool
anago_walk_has_matches(const AnagoWalk *walk)
{
	return walk->matches != NULL &&
		(!walk->probe->step->backward || walk->blkno == InvalidBlockNumber);
}

/* Let go of the matches that are on top, and stand at the first of the next. */
extern void anago_walk_drop_matches(AnagoWalk *walk);

/* Those matches that have no place yet: each may come to have one. */
extern void anago_walk_expect(AnagoWalk *walk);

/* Let go of its bounds; or of all that it holds, but for the probe. */
extern PGDLLEXPORT void anago_walk_free_bounds(AnagoWalk *walk);
extern PGDLLEXPORT void anago_walk_end(AnagoWalk *walk);

#endif							/* ANAGO_WALK_H */
