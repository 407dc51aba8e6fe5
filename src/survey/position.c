/*-------------------------------------------------------------------------
 *
 * position.c
 *	  Where in a B-tree a position is, and how much is between two.
 *
 * A descent notes on each page how many children are before the one that it
 * takes, and how many there are.  Two descents to the ends of a range part at
 * some page, or arrive at one leaf:
 *
 *		root				[ . . A . . B . ]			5 and 9 of 14 children
 *		level 1			[ . A . . ]		[ . . B . ]		A is 2/4 into its child
 *		leaf			[ e e A e ]		[ B e e e ]		exact within a leaf
 *
 * The children between them, with the fractions of the two that the ends are
 * in, times the leaves of such a child, times what a leaf holds: on average, or
 * where a few leaves of the range hold something else, what these do.  So
 * do other systems (InnoDB's btr_estimate_n_rows_in_range(); Antoshenkov,
 * "Random Sampling from Pseudo-Ranked B+ Trees", VLDB 1992).
 *
 * Pages may split in between.  Then a descent moves right, or the two part
 * elsewhere: an estimate that is off by a page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/nbtree.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "compat.h"
#include "ops/btree/btpage.h"
#include "survey/position.h"

BTScanInsert
anago_position_new(Relation indexrel)
{
	BTScanInsert position = _bt_mkscankey(indexrel, NULL);

	_bt_metaversion(indexrel, &position->heapkeyspace, &position->allequalimage);
	position->anynullkeys = false;
	position->keysz = 0;
	return position;
}

/* Is it a B-tree page that is in use? */
static bool
is_btree_page(Page page)
{
	return !PageIsNew(page) &&
		PageGetSpecialSize(page) == MAXALIGN(sizeof(BTPageOpaqueData)) &&
		!P_IGNORE(BTPageGetOpaque(page));
}

Page
anago_lock_btree_page(Relation indexrel, BlockNumber blkno, bool leaf, Buffer *buf)
{
	Page		page;

	*buf = ReadBuffer(indexrel, blkno);
	page = BufferGetPage(*buf);
	LockBuffer(*buf, BUFFER_LOCK_SHARE);
	return is_btree_page(page) && !!P_ISLEAF(BTPageGetOpaque(page)) == leaf ?
		page : NULL;
}

double
anago_leaf_entries(Page page, OffsetNumber from, OffsetNumber end)
{
	double		entries = 0;

	for (OffsetNumber i = from; i < end; i++)
	{
		ItemId		item = PageGetItemId(page, i);
		IndexTuple	tuple = (IndexTuple) PageGetItem(page, item);

		if (!ItemIdIsDead(item))
			entries += BTreeTupleIsPosting(tuple) ?
				BTreeTupleGetNPosting(tuple) : 1;
	}
	return entries;
}

/* Note where on this page the position is; the child's block if it has one. */
static BlockNumber
note_level(Relation indexrel, BTScanInsert position, Buffer buf,
		   AnagoTreePlace *place)
{
	Page		page = BufferGetPage(buf);
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber first = P_FIRSTDATAKEY(opaque);
	OffsetNumber end = PageGetMaxOffsetNumber(page) + 1;
	OffsetNumber offnum = anago_bt_search(indexrel, position, page);
	AnagoTreeLevel *level = &place->level[place->nlevels++];

	level->blkno = BufferGetBlockNumber(buf);
	if (P_ISLEAF(opaque))
	{
		level->place = anago_leaf_entries(page, first, offnum);
		level->size = level->place + anago_leaf_entries(page, offnum, end);
		return InvalidBlockNumber;
	}
	level->place = offnum - first;
	level->size = end - first;
	return BTreeTupleGetDownLink((IndexTuple)
								 PageGetItem(page, PageGetItemId(page, offnum)));
}

static Buffer
move_to(Relation indexrel, Buffer buf, BlockNumber blkno)
{
	UnlockReleaseBuffer(buf);
	CHECK_FOR_INTERRUPTS();
	buf = ReadBuffer(indexrel, blkno);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	return buf;
}

/* Go right while the position is there.  The buffer is locked in any case. */
static bool
move_right(Relation indexrel, BTScanInsert position, Buffer *buf)
{
	for (int moves = 0; moves < ANAGO_TREE_MOVES; moves++)
	{
		Page		page = BufferGetPage(*buf);

		if (PageIsNew(page) ||
			PageGetSpecialSize(page) != MAXALIGN(sizeof(BTPageOpaqueData)))
			return false;
		if (!anago_bt_is_right(indexrel, position, page))
			return is_btree_page(page);
		*buf = move_to(indexrel, *buf, BTPageGetOpaque(page)->btpo_next);
	}
	return false;
}

bool
anago_position_find(Relation indexrel, BTScanInsert position,
					AnagoTreePlace *place)
{
	Buffer		buf = anago_bt_getroot(indexrel, NULL);
	bool		found = false;

	place->nlevels = 0;
	if (!BufferIsValid(buf))
		return false;
	while (place->nlevels < ANAGO_TREE_LEVELS &&
		   move_right(indexrel, position, &buf))
	{
		BlockNumber child = note_level(indexrel, position, buf, place);

		found = !BlockNumberIsValid(child);
		if (found)
			break;
		buf = move_to(indexrel, buf, child);
	}
	UnlockReleaseBuffer(buf);
	return found;
}

/* How far into the page of this level a place is: 0 to 1. */
static double
fraction(const AnagoTreePlace *place, int level)
{
	double		within = 0;

	for (int i = place->nlevels - 1; i >= level; i--)
	{
		const AnagoTreeLevel *l = &place->level[i];

		within = l->size > 0 ? Min((l->place + within) / l->size, 1.0) : 0;
	}
	return within;
}

/*
 * Go down from an inner page, first by the child at `place`, then
 * by the one in the middle.  Entries of the leaf; 0: none was found.
 */
static double
leaf_below(Relation indexrel, BlockNumber blkno, double place)
{
	Buffer		buf = ReadBuffer(indexrel, blkno);
	double		entries = 0;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	for (int levels = 0; levels < ANAGO_TREE_LEVELS; levels++)
	{
		Page		page = BufferGetPage(buf);
		OffsetNumber max = PageGetMaxOffsetNumber(page);
		OffsetNumber first;
		OffsetNumber child;

		if (!is_btree_page(page))
			break;
		first = P_FIRSTDATAKEY(BTPageGetOpaque(page));
		if (P_ISLEAF(BTPageGetOpaque(page)))
		{
			entries = anago_leaf_entries(page, first, max + 1);
			break;
		}
		child = levels == 0 ? first + (int) place : first + (max - first) / 2;
		if (child > max)
			break;
		buf = move_to(indexrel, buf,
					  BTreeTupleGetDownLink((IndexTuple)
											PageGetItem(page, PageGetItemId(page, child))));
	}
	UnlockReleaseBuffer(buf);
	return entries;
}

/*
 * What leaves hold between two places that part below a page: the mean of some,
 * where that contradicts the mean of the whole index.
 */
static double
local_density(Relation indexrel, const AnagoTreeLevel *start,
			  const AnagoTreeLevel *end, double per_leaf)
{
	double		children = end->place - start->place;
	double		sum = 0;
	int			n = 0;

	for (int i = 1; i <= ANAGO_TREE_SAMPLED && children > 1; i++)
	{
		double		step = ceil(children * i / (ANAGO_TREE_SAMPLED + 1));
		double		entries = step < children ?
			leaf_below(indexrel, start->blkno, start->place + step) : 0;

		sum += entries;
		n += entries > 0;
	}
	if (n == 0 || (sum / n < per_leaf * ANAGO_TREE_DOUBT &&
				   sum / n > per_leaf / ANAGO_TREE_DOUBT))
		return per_leaf;
	return sum / n;
}

bool
anago_position_between(Relation indexrel, const AnagoTreePlace *start,
					   const AnagoTreePlace *end, double per_leaf,
					   double *entries)
{
	int			leaf = start->nlevels - 1;
	const AnagoTreeLevel *first = &start->level[leaf];
	const AnagoTreeLevel *last = &end->level[leaf];
	double		children;
	int			apart = 0;

	if (start->nlevels != end->nlevels)
		return false;
	while (apart <= leaf &&
		   start->level[apart].blkno == end->level[apart].blkno)
		apart++;
	if (apart == 0)
		return false;
	if (apart > leaf)
	{
		*entries = Max(last->place - first->place, 0);
		return true;
	}

	per_leaf = local_density(indexrel, &start->level[apart - 1],
							 &end->level[apart - 1], per_leaf);
	children = end->level[apart - 1].place - start->level[apart - 1].place;
	if (apart == leaf)
		*entries = first->size - first->place + last->place +
			Max(children - 1, 0) * per_leaf;
	else
	{
		*entries = (children + fraction(end, apart) - fraction(start, apart)) *
			per_leaf;
		for (int i = apart; i < leaf; i++)
			*entries *= (start->level[i].size + end->level[i].size) / 2;
	}
	*entries = Max(*entries, 0);
	return true;
}
