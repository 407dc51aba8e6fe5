/*-------------------------------------------------------------------------
 *
 * leaf.c
 *	  Collect the matches of one leaf page.
 *
 * As in nbtree, all matches of a page are taken under one share lock, after
 * which lock and pin go.  That is safe with an MVCC snapshot: should VACUUM
 * remove an entry and its heap tuple meanwhile, and the line pointer be used
 * again, the new tuple is not visible to the snapshot (nbtree README, "VACUUM's
 * superexclusive lock and index scans").
 *
 * An index-only step must look at the visibility map while the leaf is still
 * pinned.  VACUUM needs a cleanup lock on the leaf before it may remove heap
 * tuples that the leaf refers to, so while we pin it, a heap block that is
 * marked all-visible still is what the index entry meant (nodeIndexonlyscan.c
 * keeps the pin for that reason).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/visibilitymap.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "compat.h"
#include "ops/btree/btpage.h"
#include "ops/btree/combos.h"
#include "ops/btree/leaf.h"
#include "ops/btree/matches.h"
#include "ops/btree/probe.h"
#include "ops/btree/seek.h"
#include "ops/btree/skip.h"

/*
 * Matches of the page that is being looked at.  Of the step, as a comparison
 * function may run a query of its own.
 */
struct AnagoFound
{
	int			n;
	Size		itup_bytes;
	ItemPointerData tids[MaxTIDsPerBTreePage];
	OffsetNumber offsets[MaxTIDsPerBTreePage];	/* of the tuple each is from */
};

AnagoFound *
anago_found_create(MemoryContext context)
{
	return MemoryContextAlloc(context, sizeof(AnagoFound));
}

OffsetNumber
anago_found_offset(const AnagoFound *found, int which)
{
	Assert(which < found->n);
	return found->offsets[which];
}

/* Bytes of an index tuple's key part, without a posting list. */
static Size
key_size(IndexTuple itup)
{
	return BTreeTupleIsPosting(itup) ? BTreeTupleGetPostingOffset(itup) :
		IndexTupleSize(itup);
}

/*
 * The entries of a posting list.  Backward core comes to a page's tuples from the last one,
 * but to the list of each from its beginning; so where matches are taken from
 * their end, lists are the other way round.
 */
static void
add_posting_list(const AnagoStep *step, AnagoFound *found, IndexTuple itup)
{
	int			n = BTreeTupleGetNPosting(itup);

	if (step->backward || step->desc->from_end)
		for (int i = n; i-- > 0;)
			found->tids[found->n++] = *BTreeTupleGetPostingN(itup, i);
	else
	{
		memcpy(&found->tids[found->n], BTreeTupleGetPosting(itup),
			   n * sizeof(ItemPointerData));
		found->n += n;
	}
}

static void
find_matches(AnagoProbe *probe, Page page, OffsetNumber from, OffsetNumber to)
{
	AnagoStep  *step = probe->step;
	AnagoFound *found = step->found;
	bool		recheck = step->keys.nrecheck > 0 || probe->keys.prefix >= 0;

	for (OffsetNumber off = from; off < to; off = OffsetNumberNext(off))
	{
		ItemId		iid = PageGetItemId(page, off);
		IndexTuple	itup;
		int			before = found->n;

		if (ItemIdIsDead(iid) && step->op.pipeline->use_dead_hints)
			continue;
		itup = (IndexTuple) PageGetItem(page, iid);
		if (recheck &&
			!anago_keys_recheck(&step->keys, &probe->keys, step->indexrel, itup))
			continue;

		if (!BTreeTupleIsPosting(itup))
			found->tids[found->n++] = itup->t_tid;
		else
			add_posting_list(step, found, itup);
		Assert(found->n <= MaxTIDsPerBTreePage);
		for (int i = before; i < found->n; i++)
			found->offsets[i] = off;
		found->itup_bytes += MAXALIGN(key_size(itup));
	}
}

/* Copy the key parts of the matches' index tuples behind them. */
static void
copy_itups(const AnagoFound *found, AnagoMatches *matches, Page page, char *to)
{
	for (int i = 0; i < matches->n; i++)
	{
		IndexTuple	itup;
		Size		size;

		if (i > 0 && found->offsets[i] == found->offsets[i - 1])
		{
			matches->itups[i] = matches->itups[i - 1];
			continue;
		}
		itup = (IndexTuple) PageGetItem(page, PageGetItemId(page, found->offsets[i]));
		size = key_size(itup);
		memcpy(to, itup, size);
		matches->itups[i] = (IndexTuple) to;
		matches->itups[i]->t_info &= ~INDEX_SIZE_MASK;
		matches->itups[i]->t_info |= size;
		to += MAXALIGN(size);
	}
}

static AnagoMatches *
make_matches(AnagoStep *step, Buffer buf)
{
	const AnagoFound *found = step->found;
	Size		tids_end = MAXALIGN(offsetof(AnagoMatches, tids) +
									sizeof(ItemPointerData) * found->n);
	Size		itups_end = tids_end + sizeof(IndexTuple) * found->n;
	Size		visible_end = MAXALIGN(itups_end + sizeof(bool) * found->n);
	Size		size = step->desc->index_only ?
		visible_end + found->itup_bytes : tids_end;
	AnagoMatches *matches = anago_pipeline_alloc(step->op.pipeline, size);

	matches->refs = 1;
	matches->size = size;
	matches->n = found->n;
	matches->leaf = BufferGetBlockNumber(buf);
	matches->lsn = BufferGetLSNAtomic(buf);
	matches->left = NULL;
	matches->nkilled = 0;
	matches->killed = NULL;
	matches->itups = NULL;
	matches->visible = NULL;
	memcpy(matches->tids, found->tids, sizeof(ItemPointerData) * found->n);
	if (step->desc->index_only)
	{
		matches->itups = (IndexTuple *) ((char *) matches + tids_end);
		matches->visible = (bool *) matches + itups_end;
		copy_itups(found, matches, BufferGetPage(buf),
				   (char *) matches + visible_end);
	}
	return matches;
}

/* One combination: everything between two positions. */
static void
collect_range(AnagoProbe *probe, Page page, bool from_start, bool *goes_on)
{
	AnagoStep  *step = probe->step;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber from = from_start ?
		anago_bt_search(step->indexrel, &step->keys.start, page) :
		P_FIRSTDATAKEY(opaque);
	/* where the range begins on this page, its end is often near */
	OffsetNumber to = from_start ?
		anago_bt_search_from(step->indexrel, &step->keys.end, page, from) :
		anago_bt_search(step->indexrel, &step->keys.end, page);

	find_matches(probe, page, from, to);
	*goes_on = to > PageGetMaxOffsetNumber(page) && !P_RIGHTMOST(opaque) &&
		anago_bt_reaches(step->indexrel, &step->keys.end, page, P_HIKEY);
}

/*
 * Matches among the tuples from `off` on that have the values of the bound
 * combination in all columns with equalities; the first tuple behind them.
 * Most have only one, so that a search is begun by the second.
 */
static OffsetNumber
collect_equal(AnagoProbe *probe, Page page, OffsetNumber off, bool second)
{
	AnagoStep  *step = probe->step;
	AnagoKeys  *keys = &step->keys;
	OffsetNumber to = OffsetNumberNext(off);

	if (anago_seek_is_open(keys, &probe->keys))
	{
		off = anago_bt_search_from(step->indexrel, &keys->start, page, off);
		to = anago_bt_search_from(step->indexrel, &keys->end, page, off);
	}
	else if (second)
		to = anago_bt_search_from(step->indexrel, &keys->end, page, to);
	find_matches(probe, page, off, to);
	return to;
}

/* Several: each tuple says which combination may be next, and that which tuple. */
static void
collect_run(AnagoProbe *probe, Page page, int from, int to, bool *goes_on)
{
	AnagoStep  *step = probe->step;
	AnagoKeys  *keys = &step->keys;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber off = P_FIRSTDATAKEY(opaque);
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	bool		is_open = anago_seek_is_open(keys, &probe->keys);
	bool		must_bind = is_open || keys->nrecheck > 0 || probe->keys.prefix >= 0;
	int			before = -1;
	AnagoSeek	seek;

	seek.valid = 0;
	while (off <= max)
	{
		IndexTuple	itup = (IndexTuple) PageGetItem(page, PageGetItemId(page, off));
		bool		equal;
		int			combo = anago_seek(keys, &probe->keys,
									   RelationGetDescr(step->indexrel), itup,
									   &seek, &equal);

		equal &= combo >= from;
		from = Max(from, combo);
		if (from >= to)
			break;
		if (must_bind || from == before)
			anago_keys_bind_combo(keys, &probe->keys, from);
		if (equal)
			off = collect_equal(probe, page, off, from == before);
		else if (from == before)
			off = anago_bt_search_from(step->indexrel, &keys->start, page,
									   OffsetNumberNext(off));
		else
			off = OffsetNumberNext(off);
		before = from;
		/* what is left of its tuples on this page is behind its end */
		if (equal && is_open && off <= max)
			from++;
	}
	*goes_on = !P_RIGHTMOST(opaque) &&
		anago_combo_reaching(probe, page, P_HIKEY, Min(from, to), to) < to;
}

/* Does a skip scan go on right of this page? */
static bool
skip_goes_on(AnagoProbe *probe, Page page)
{
	AnagoStep  *step = probe->step;
	IndexTuple	hikey;
	AnagoSkipPlace place;

	if (P_RIGHTMOST(BTPageGetOpaque(page)) ||
		!anago_bt_reaches(step->indexrel, &step->keys.end, page, P_HIKEY))
		return false;
	hikey = (IndexTuple) PageGetItem(page, PageGetItemId(page, P_HIKEY));
	return anago_skip_fits(&step->keys, &probe->keys, step->indexrel, hikey,
						   BTreeTupleGetNAtts(hikey, step->indexrel), &place) ||
		anago_skip_seek(&step->keys, &probe->keys, step->indexrel, &place);
}

/*
 * Tuples that one after the other is not worth a search: as many as this after a
 * search that led to the very next one.
 */
#define SKIP_ONE_BY_ONE		16

/* Skipping: each tuple says whether it is a match, or where the next may be. */
static void
collect_skipping(AnagoProbe *probe, Page page, bool from_start, bool *goes_on)
{
	AnagoStep  *step = probe->step;
	AnagoKeys  *keys = &step->keys;
	OffsetNumber off = from_start ?
		anago_bt_search(step->indexrel, &keys->start, page) :
		P_FIRSTDATAKEY(BTPageGetOpaque(page));
	int			one_by_one = 0;
	AnagoSkipPlace place;

	*goes_on = false;
	while (off <= PageGetMaxOffsetNumber(page))
	{
		IndexTuple	itup = (IndexTuple) PageGetItem(page, PageGetItemId(page, off));
		OffsetNumber next = OffsetNumberNext(off);

		if (anago_skip_fits(keys, &probe->keys, step->indexrel, itup, INDEX_MAX_KEYS,
							&place))
			find_matches(probe, page, off, next);
		else if (one_by_one > 0)
			one_by_one--;
		else if (!anago_skip_seek(keys, &probe->keys, step->indexrel, &place))
			return;
		else
		{
			OffsetNumber to = anago_bt_search_from(step->indexrel, &keys->seek,
												   page, next);

			one_by_one = to == next ? SKIP_ONE_BY_ONE : 0;
			next = to;
		}
		off = next;
	}
	*goes_on = skip_goes_on(probe, page);
}

/* What skipping makes of values is gone with the page. */
static void
collect_skipping_in(MemoryContext context, AnagoProbe *probe, Page page,
					bool from_start, bool *goes_on)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	MemoryContextReset(context);
	collect_skipping(probe, page, from_start, goes_on);
	MemoryContextSwitchTo(old);
}

AnagoMatches *
anago_leaf_collect(AnagoProbe *probe, Buffer buf, bool from_start,
				   int from, int to, bool *goes_on)
{
	AnagoStep  *step = probe->step;
	Page		page = BufferGetPage(buf);
	AnagoFound *found = step->found;

	found->n = 0;
	found->itup_bytes = 0;
	step->middle = Max(PageGetMaxOffsetNumber(page) / 2, FirstOffsetNumber);
	if (step->look)
		anago_probe_came_to_page(probe);
	if (anago_skips(&step->keys))
		collect_skipping_in(step->op.pipeline->econtext->ecxt_per_tuple_memory, probe,
							page, from_start, goes_on);
	else if (to - from == 1)
		collect_range(probe, page, from_start, goes_on);
	else
		collect_run(probe, page, from, to, goes_on);
	if (found->n == 0)
		return NULL;
	step->op.counters.tids += found->n;
	if (!step->look)
		pgstat_count_index_tuples(step->indexrel, found->n);
	return make_matches(step, buf);
}

void
anago_leaf_prepare(AnagoStep *step, AnagoMatches *matches)
{
	BlockNumber last = InvalidBlockNumber;
	bool		visible = false;

	if (step->backward)
		anago_matches_reverse(matches);
	if (!step->desc->index_only)
	{
		step->visits->arrange(matches);
		return;
	}
	for (int i = 0; i < matches->n; i++)
	{
		BlockNumber blkno = ItemPointerGetBlockNumber(&matches->tids[i]);

		if (blkno != last)
		{
			visible = VM_ALL_VISIBLE(step->heap, blkno, &step->vmbuffer);
			/* no heap fetch will take the lock that serializable needs */
			if (visible)
				PredicateLockPage(step->heap, blkno, step->op.pipeline->snapshot);
			last = blkno;
		}
		matches->visible[i] = visible;
	}
	anago_step_leave_map(step);
}
