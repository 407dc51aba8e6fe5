/*-------------------------------------------------------------------------
 *
 * kinds.h
 *	  Parts of a step of which there are several implementations.
 *
 * All processes of a query have the same ones.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_KINDS_H
#define ANAGO_KINDS_H

#include "postgres.h"

#include "storage/bufpage.h"
#include "storage/off.h"

#include "sched/task.h"

struct AnagoMatches;
struct AnagoWalk;

/*
 * How the leaves of a range are come to.
 *
 *		parent			they are taken from the level above, and all read at once
 *		right_links		one after the other, along their right links
 *		backward		as parent, but from the end of the range to its start
 */
typedef struct AnagoRangeKind
{
	const char *name;

	/* Each combination of IN-list elements is a walk of its own. */
	bool		by_combination;

	/*
	 * The task that walks a run of combinations (walk.h), begun at the root; of
	 * depth ANAGO_DEPTH_RANGE.  When it ends it calls anago_walk_end(), hands the
	 * probe's unmatched row on, and releases the probe.
	 */
	AnagoTaskOps task;

	/*
	 * The walk is at a page of level 1, locked or a copy, which has part of the
	 * range from its child `child` on, and whose neighbours may have, too: keep
	 * what is needed of it, and set blkno to what is to be read.  NULL: go down
	 * to that child.
	 */
	void		(*keep) (struct AnagoWalk *walk, Page page, OffsetNumber child);

	/*
	 * Where not the start of the range is looked for: a walk stands at the root,
	 * and has come to an inner page, locked or a copy.  Else NULL.
	 */
	void		(*start) (struct AnagoWalk *walk);
	void		(*see) (struct AnagoWalk *walk, Page page);
} AnagoRangeKind;

extern PGDLLEXPORT const AnagoRangeKind anago_range_parent;
extern PGDLLEXPORT const AnagoRangeKind anago_range_right_links;
extern PGDLLIMPORT const AnagoRangeKind anago_range_backward;

/*
 * Matches of a leaf are looked up in the heap by visits of its blocks.  How many
 * there are, and in what order:
 *
 *		by_block		all matches of a leaf that are in one block together, in
 *						heap order
 *		by_row			each match by itself, in the order of the index
 *		in_order		in that order, too; neighbours that are in one block
 *						together
 */
typedef struct AnagoVisitKind
{
	const char *name;

	/* Put the matches of one leaf into order; not of an index-only step. */
	void		(*arrange) (struct AnagoMatches *matches);

	/*
	 * End (exclusive) of what is looked up together from match `from` on, where
	 * there is one: neighbours in one heap block.
	 */
	int			(*run) (const struct AnagoMatches *matches, int from);
} AnagoVisitKind;

extern PGDLLEXPORT const AnagoVisitKind anago_visit_by_block;
extern PGDLLEXPORT const AnagoVisitKind anago_visit_by_row;
extern PGDLLIMPORT const AnagoVisitKind anago_visit_in_order;

#endif							/* ANAGO_KINDS_H */
