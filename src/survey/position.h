/*-------------------------------------------------------------------------
 *
 * position.h
 *	  Where in a B-tree a position is, and how much is between two.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_POSITION_H
#define ANAGO_POSITION_H

#include "postgres.h"

#include "access/nbtree.h"
#include "utils/rel.h"

/* Levels of a tree; one of pages of two tuples has as many with 2^32 pages. */
#define ANAGO_TREE_LEVELS	32

/* Pages that a descent may move right on one level before it is given up. */
#define ANAGO_TREE_MOVES	8

/* Leaves between two places that are looked at. */
#define ANAGO_TREE_SAMPLED	3

/* They contradict the average from this factor on, either way. */
#define ANAGO_TREE_DOUBT	1.4

/* A page on the way down. */
typedef struct AnagoTreeLevel
{
	BlockNumber blkno;
	double		place;			/* children, or entries, that are before */
	double		size;			/* children, or entries, in the page */
} AnagoTreeLevel;

typedef struct AnagoTreePlace
{
	int			nlevels;		/* at least 1: the last is a leaf */
	AnagoTreeLevel level[ANAGO_TREE_LEVELS];
} AnagoTreePlace;

/* An insertion scan key for this index, with no columns yet. */
extern BTScanInsert anago_position_new(Relation indexrel);

/*
 * Descend to a position.  False for an empty index, or one that changes
 * faster than we descend.
 */
extern bool anago_position_find(Relation indexrel, BTScanInsert position,
								AnagoTreePlace *place);

/* Entries between two places; false where they cannot be compared. */
extern bool anago_position_between(Relation indexrel,
								   const AnagoTreePlace *start,
								   const AnagoTreePlace *end,
								   double per_leaf, double *entries);

/* Live entries of a leaf from one offset on and before another. */
extern double anago_leaf_entries(Page page, OffsetNumber from, OffsetNumber end);

/*
 * Read a block of an index, and lock it for reading: *buf, in any case.  NULL: it is no
 * such page, or is a leaf where none is meant, or none where one is.
 */
extern Page anago_lock_btree_page(Relation indexrel, BlockNumber blkno, bool leaf,
								  Buffer *buf);

#endif							/* ANAGO_POSITION_H */
