/*-------------------------------------------------------------------------
 *
 * head.c
 *	  Is the beginning of a range of an index cached, with its heap blocks?
 *
 * A query that wants the first rows in an index's order reads a small part of
 * the table, and often the same part again and again: the newest orders.  That
 * part may be in shared buffers where next to nothing else of the table is.
 *
 * The leaf where the range begins is looked at, and of those that follow, as far as their
 * parent's page goes, a few at equal distances.  Of each, some entries are picked, and the
 * heap blocks that they lead to are looked for.  A leaf that is not in shared buffers is not
 * read: its entries count as not cached.  So besides the descent to the first
 * leaf, which the query would read as well, nothing is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "storage/bufmgr.h"
#include "utils/relcache.h"

#include "compat.h"
#include "ops/btree/btpage.h"
#include "page/touch.h"
#include "survey/head.h"

/* Entries that are picked of a leaf, and leaves behind the first one. */
#define LOOKS_IN_LEAF	8
#define LEAVES			3

typedef struct Head
{
	Relation	index;
	Relation	heap;
	int			step;			/* from one tuple to the next: 1 or -1 */
	int			looks;
	int			resident;
} Head;

static void
look_at_tuple(Head *head, Page page, int offnum)
{
	IndexTuple	tuple = (IndexTuple) PageGetItem(page, PageGetItemId(page, offnum));
	ItemPointer tid = BTreeTupleIsPosting(tuple) ?
		BTreeTupleGetPosting(tuple) : &tuple->t_tid;

	head->looks++;
	head->resident += BufferIsValid(anago_touch_locate(head->heap,
													   ItemPointerGetBlockNumber(tid)));
}

/* From this tuple of a leaf on, as far as there are so many entries; how many there are. */
static double
look_at_tuples(Head *head, Page page, int from, double most)
{
	int			first = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	int			max = PageGetMaxOffsetNumber(page);
	double		entries = 0;
	int			tuples = 0;

	for (int off = from; off >= first && off <= max && entries < most; off += head->step)
	{
		entries += anago_leaf_entries(page, off, off + 1);
		tuples++;
	}
	for (int i = 0; i < Min(tuples, LOOKS_IN_LEAF); i++)
		look_at_tuple(head, page,
					  from + head->step * (i * tuples / Min(tuples, LOOKS_IN_LEAF)));
	return entries;
}

/* The leaf where the range begins: what it has of the entries. */
static double
look_at_first(Head *head, BTScanInsert position, BlockNumber blkno, double entries)
{
	Buffer		buf;
	Page		page = anago_lock_btree_page(head->index, blkno, true, &buf);
	double		found = 0;

	if (page != NULL)
	{
		int			from = anago_bt_search(head->index, position, page);

		found = look_at_tuples(head, page, head->step > 0 ? from : from - 1, entries);
	}
	UnlockReleaseBuffer(buf);
	return found;
}

/* One of the leaves behind it, of which not more than so many entries count. */
static void
look_at_next(Head *head, BlockNumber blkno, double most)
{
	Buffer		buf;
	Page		page;

	if (!BufferIsValid(anago_touch_locate(head->index, blkno)))
	{
		head->looks += LOOKS_IN_LEAF;
		return;
	}
	page = anago_lock_btree_page(head->index, blkno, true, &buf);
	if (page != NULL)
		look_at_tuples(head, page, head->step > 0 ?
					   P_FIRSTDATAKEY(BTPageGetOpaque(page)) :
					   PageGetMaxOffsetNumber(page), most);
	UnlockReleaseBuffer(buf);
}

/* The n-th child behind the one that the position is in; false: it is another page's. */
static bool
child_behind(const Head *head, Page page, const AnagoTreeLevel *level, int n,
			 BlockNumber *blkno)
{
	int			first = P_FIRSTDATAKEY(BTPageGetOpaque(page));
	int			off = first + (int) level->place + head->step * n;

	if (off < first || off > PageGetMaxOffsetNumber(page))
		return false;
	*blkno = BTreeTupleGetDownLink((IndexTuple)
								   PageGetItem(page, PageGetItemId(page, off)));
	return true;
}

/* Which leaves, of so many behind the first: which one behind it, and their blocks. */
static int
pick_leaves(const Head *head, const AnagoTreeLevel *level, double leaves, int *behind,
			BlockNumber *blknos)
{
	Buffer		buf;
	Page		page = anago_lock_btree_page(head->index, level->blkno, false, &buf);
	int			wanted = (int) Min(leaves, LEAVES);
	int			n = 0;

	/* as many as the page has at most */
	leaves = Min(leaves, MaxIndexTuplesPerPage);
	if (page != NULL)
		for (int i = 1; i <= wanted; i++)
		{
			behind[n] = (int) ceil(leaves * i / wanted);
			if (!child_behind(head, page, level, behind[n], &blknos[n]))
				break;
			n++;
		}
	UnlockReleaseBuffer(buf);
	return n;
}

static void
look_at_others(Head *head, const AnagoTreePlace *place, double entries, double per_leaf)
{
	int			behind[LEAVES];
	BlockNumber blknos[LEAVES];
	int			n;

	if (entries <= 0 || place->nlevels < 2)
		return;
	n = pick_leaves(head, &place->level[place->nlevels - 2],
					ceil(entries / Max(per_leaf, 1.0)), behind, blknos);
	for (int i = 0; i < n; i++)
		look_at_next(head, blknos[i], Max(entries - (behind[i] - 1) * per_leaf, 1.0));
}

bool
anago_head_resident(Relation indexrel, BTScanInsert position,
					const AnagoTreePlace *place, bool backward,
					double entries, double per_leaf, double *share)
{
	Head		head = {.index = indexrel,.step = backward ? -1 : 1};

	if (RelationUsesLocalBuffers(indexrel))
		return false;
	head.heap = RelationIdGetRelation(indexrel->rd_index->indrelid);
	if (head.heap == NULL)
		return false;
	entries -= look_at_first(&head, position,
							 place->level[place->nlevels - 1].blkno, entries);
	look_at_others(&head, place, entries, per_leaf);
	RelationClose(head.heap);
	if (head.looks == 0)
		return false;
	*share = (double) head.resident / head.looks;
	return true;
}
