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
#include "ops/btree.h"
#include "ops/combos.h"
#include "ops/leaf.h"
#include "page/touch.h"

#define ST_SORT sort_tids
#define ST_ELEMENT_TYPE ItemPointerData
#define ST_COMPARE(a, b) ItemPointerCompare((ItemPointer) (a), (ItemPointer) (b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

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

/* Bytes of an index tuple's key part, without a posting list. */
static Size
key_size(IndexTuple itup)
{
	return BTreeTupleIsPosting(itup) ? BTreeTupleGetPostingOffset(itup) :
		IndexTupleSize(itup);
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

		if (ItemIdIsDead(iid) && step->op.query->use_dead_hints)
			continue;
		itup = (IndexTuple) PageGetItem(page, iid);
		if (recheck &&
			!anago_keys_recheck(&step->keys, &probe->keys, step->indexrel, itup))
			continue;

		if (!BTreeTupleIsPosting(itup))
			found->tids[found->n++] = itup->t_tid;
		else
		{
			int			n = BTreeTupleGetNPosting(itup);

			memcpy(&found->tids[found->n], BTreeTupleGetPosting(itup),
				   n * sizeof(ItemPointerData));
			found->n += n;
		}
		Assert(found->n <= MaxTIDsPerBTreePage);
		for (int i = before; i < found->n; i++)
			found->offsets[i] = off;
		found->itup_bytes += MAXALIGN(key_size(itup));
	}
}

/* Copy the key parts of the matches' index tuples behind them. */
static void
copy_itups(const AnagoFound *found, AnagoHits *hits, Page page, char *to)
{
	for (int i = 0; i < hits->n; i++)
	{
		IndexTuple	itup;
		Size		size;

		if (i > 0 && found->offsets[i] == found->offsets[i - 1])
		{
			hits->itups[i] = hits->itups[i - 1];
			continue;
		}
		itup = (IndexTuple) PageGetItem(page, PageGetItemId(page, found->offsets[i]));
		size = key_size(itup);
		memcpy(to, itup, size);
		hits->itups[i] = (IndexTuple) to;
		hits->itups[i]->t_info &= ~INDEX_SIZE_MASK;
		hits->itups[i]->t_info |= size;
		to += MAXALIGN(size);
	}
}

static AnagoHits *
make_hits(AnagoStep *step, Buffer buf)
{
	const AnagoFound *found = step->found;
	Size		tids_end = MAXALIGN(offsetof(AnagoHits, tids) +
									sizeof(ItemPointerData) * found->n);
	Size		itups_end = tids_end + sizeof(IndexTuple) * found->n;
	Size		visible_end = MAXALIGN(itups_end + sizeof(bool) * found->n);
	Size		size = step->desc->index_only ?
		visible_end + found->itup_bytes : tids_end;
	AnagoHits  *hits = anago_query_alloc(step->op.query, size);

	hits->refs = 1;
	hits->size = size;
	hits->n = found->n;
	hits->leaf = BufferGetBlockNumber(buf);
	hits->lsn = BufferGetLSNAtomic(buf);
	hits->nkilled = 0;
	hits->killed = NULL;
	hits->itups = NULL;
	hits->visible = NULL;
	memcpy(hits->tids, found->tids, sizeof(ItemPointerData) * found->n);
	if (step->desc->index_only)
	{
		hits->itups = (IndexTuple *) ((char *) hits + tids_end);
		hits->visible = (bool *) hits + itups_end;
		copy_itups(found, hits, BufferGetPage(buf),
				   (char *) hits + visible_end);
	}
	return hits;
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
	OffsetNumber to = anago_bt_search(step->indexrel, &step->keys.end, page);

	find_matches(probe, page, from, to);
	*goes_on = to > PageGetMaxOffsetNumber(page) && !P_RIGHTMOST(opaque) &&
		anago_bt_reaches(step->indexrel, &step->keys.end, page, P_HIKEY);
}

/* Several: each tuple says which combination may be next, and that which tuple. */
static void
collect_run(AnagoProbe *probe, Page page, int from, int to, bool *goes_on)
{
	AnagoStep  *step = probe->step;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber off = P_FIRSTDATAKEY(opaque);
	OffsetNumber max = PageGetMaxOffsetNumber(page);

	while (off <= max &&
		   (from = anago_combo_reaching(probe, page, off, from, to)) < to)
	{
		OffsetNumber first = anago_bt_search_from(step->indexrel,
												  &step->keys.start, page, off);

		/* the end is known to be behind the tuple at `off` */
		off = anago_bt_search_from(step->indexrel, &step->keys.end, page,
								   first == off ? OffsetNumberNext(off) : first);
		find_matches(probe, page, first, off);
		if (off <= max)
			from++;
	}
	*goes_on = !P_RIGHTMOST(opaque) &&
		anago_combo_reaching(probe, page, P_HIKEY, from, to) < to;
}

AnagoHits *
anago_leaf_collect(AnagoProbe *probe, Buffer buf, bool from_start,
				   int from, int to, bool *goes_on)
{
	AnagoStep  *step = probe->step;
	Page		page = BufferGetPage(buf);
	AnagoFound *found = step->found;

	found->n = 0;
	found->itup_bytes = 0;
	if (to - from == 1)
		collect_range(probe, page, from_start, goes_on);
	else
		collect_run(probe, page, from, to, goes_on);
	if (found->n == 0)
		return NULL;
	step->op.counters.tids += found->n;
	pgstat_count_index_tuples(step->indexrel, found->n);
	return make_hits(step, buf);
}

static bool
in_heap_order(const AnagoHits *hits)
{
	for (int i = 1; i < hits->n; i++)
		if (ItemPointerCompare((ItemPointer) &hits->tids[i - 1],
							   (ItemPointer) &hits->tids[i]) > 0)
			return false;
	return true;
}

void
anago_leaf_prepare(AnagoStep *step, AnagoHits *hits)
{
	BlockNumber last = InvalidBlockNumber;
	bool		visible = false;

	if (!step->desc->index_only)
	{
		if (!in_heap_order(hits))
			sort_tids(hits->tids, hits->n);
		return;
	}
	for (int i = 0; i < hits->n; i++)
	{
		BlockNumber blkno = ItemPointerGetBlockNumber(&hits->tids[i]);

		if (blkno != last)
		{
			visible = VM_ALL_VISIBLE(step->heap, blkno, &step->vmbuffer);
			/* no heap fetch will take the lock that serializable needs */
			if (visible)
				PredicateLockPage(step->heap, blkno, step->op.query->snapshot);
			last = blkno;
		}
		hits->visible[i] = visible;
	}
}

int
anago_hits_run(const AnagoHits *hits, int from)
{
	BlockNumber blkno = ItemPointerGetBlockNumber(&hits->tids[from]);
	int			to = from + 1;

	while (to < hits->n &&
		   ItemPointerGetBlockNumber(&hits->tids[to]) == blkno)
		to++;
	return to;
}

/* --- nearer to the CPU --- */

/*
 * Matches of a leaf below which prefetching does not repay its lookups, and
 * the size in blocks below which a table is taken to be in the CPU's caches.
 */
#define AHEAD_MIN_HITS	64
#define AHEAD_MIN_PAGES	4096

/* One match further ahead: its page, and the tuple of one that is nearer. */
static void
touch(AnagoStep *step, AnagoHits *hits, AnagoAhead *ahead)
{
	int			i = ahead->located++;
	ItemPointer tid = &hits->tids[i];
	Buffer	   *buf = &ahead->buf[i % ANAGO_AHEAD];

	if (i > 0 && ItemPointerGetBlockNumberNoCheck(tid) ==
		ItemPointerGetBlockNumberNoCheck(&hits->tids[i - 1]))
		*buf = ahead->buf[(i - 1) % ANAGO_AHEAD];
	else
		*buf = anago_touch_locate(step->heap, ItemPointerGetBlockNumber(tid));
	if (BufferIsValid(*buf))
		anago_touch_page(*buf, ItemPointerGetOffsetNumber(tid));

	i -= ANAGO_AHEAD / 2;
	if (i >= 0 && BufferIsValid(ahead->buf[i % ANAGO_AHEAD]))
		anago_touch_tuple(ahead->buf[i % ANAGO_AHEAD],
						  ItemPointerGetOffsetNumber(&hits->tids[i]));
}

void
anago_hits_touch(AnagoStep *step, AnagoHits *hits, int next, AnagoAhead *ahead)
{
	int			to = Min(next + ANAGO_AHEAD, hits->n);

	if (hits->n < AHEAD_MIN_HITS ||
		step->heap->rd_rel->relpages < AHEAD_MIN_PAGES)
		return;
	while (ahead->located < to)
		touch(step, hits, ahead);
}

/* --- dead matches --- */

/*
 * Only where the page's LSN tells whether it changed since we let go of it,
 * as in _bt_killitems() (nbtutils.c).
 */
void
anago_hits_kill(AnagoStep *step, AnagoHits *hits, int hit)
{
	if (!step->op.query->use_dead_hints || !RelationNeedsWAL(step->indexrel))
		return;
	if (hits->killed == NULL)
	{
		hits->killed = anago_query_alloc(step->op.query, sizeof(bool) * hits->n);
		memset(hits->killed, false, sizeof(bool) * hits->n);
		hits->size += sizeof(bool) * hits->n;
	}
	hits->nkilled += !hits->killed[hit];
	hits->killed[hit] = true;
}

/* The dead ones among the matches, in order. */
static ItemPointer
killed_tids(const AnagoHits *hits)
{
	ItemPointer tids = palloc(sizeof(ItemPointerData) * hits->nkilled);
	int			n = 0;

	for (int i = 0; i < hits->n; i++)
		if (hits->killed[i])
			tids[n++] = hits->tids[i];
	Assert(n == hits->nkilled);
	sort_tids(tids, n);
	return tids;
}

static int
compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

/* All heap tuples of an index tuple are dead. */
static bool
is_all_killed(ItemPointer killed, int nkilled, IndexTuple itup)
{
	bool		posting = BTreeTupleIsPosting(itup);
	int			n = posting ? BTreeTupleGetNPosting(itup) : 1;

	for (int i = 0; i < n; i++)
	{
		ItemPointer tid = posting ? BTreeTupleGetPostingN(itup, i) : &itup->t_tid;

		if (bsearch(tid, killed, nkilled, sizeof(ItemPointerData),
					compare_tids) == NULL)
			return false;
	}
	return true;
}

/* Mark the entries of a locked leaf; true if there were any to be marked. */
static bool
mark_entries(Page page, ItemPointer killed, int nkilled)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	bool		marked = false;

	for (OffsetNumber off = P_FIRSTDATAKEY(opaque);
		 off <= PageGetMaxOffsetNumber(page); off = OffsetNumberNext(off))
	{
		ItemId		iid = PageGetItemId(page, off);

		if (ItemIdIsDead(iid) ||
			!is_all_killed(killed, nkilled, (IndexTuple) PageGetItem(page, iid)))
			continue;
		ItemIdMarkDead(iid);
		marked = true;
	}
	if (marked)
		opaque->btpo_flags |= BTP_HAS_GARBAGE;
	return marked;
}

/*
 * Mark index entries whose tuples are dead, so that later scans skip them and
 * insertions reuse their space.  A hint: it is not logged, and left out where
 * the page is no longer in shared buffers or has changed.
 */
static void
mark_killed(AnagoStep *step, AnagoHits *hits)
{
	ItemPointer killed;
	Buffer		buf;
	Page		page;

	if (!BufferIsValid(anago_touch_locate(step->indexrel, hits->leaf)))
		return;
	killed = killed_tids(hits);
	buf = ReadBuffer(step->indexrel, hits->leaf);
	page = BufferGetPage(buf);
	LockBuffer(buf, BT_READ);
	if (BufferGetLSNAtomic(buf) == hits->lsn &&
		P_ISLEAF(BTPageGetOpaque(page)) && anago_begin_hints(buf))
		anago_finish_hints(buf, mark_entries(page, killed, hits->nkilled));
	UnlockReleaseBuffer(buf);
	pfree(killed);
}

void
anago_hits_release(AnagoStep *step, AnagoHits *hits)
{
	Assert(hits->refs > 0);
	if (--hits->refs > 0)
		return;
	if (hits->nkilled > 0)
		mark_killed(step, hits);
	if (hits->killed != NULL)
		pfree(hits->killed);
	anago_query_free(step->op.query, hits, hits->size);
}
