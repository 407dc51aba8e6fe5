/*-------------------------------------------------------------------------
 *
 * matches.c
 *	  The matches of one leaf page, on their way to the heap.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "ops/btree/matches.h"
#include "page/touch.h"

#define ST_SORT sort_tids
#define ST_ELEMENT_TYPE ItemPointerData
#define ST_COMPARE(a, b) ItemPointerCompare((ItemPointer) (a), (ItemPointer) (b))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* --- what is looked up together --- */

static bool
in_heap_order(const AnagoMatches *matches)
{
	for (int i = 1; i < matches->n; i++)
		if (ItemPointerCompare((ItemPointer) &matches->tids[i - 1],
							   (ItemPointer) &matches->tids[i]) > 0)
			return false;
	return true;
}

static void
sort_matches(AnagoMatches *matches)
{
	if (!in_heap_order(matches))
		sort_tids(matches->tids, matches->n);
}

static int
run_of_block(const AnagoMatches *matches, int from)
{
	BlockNumber blkno = ItemPointerGetBlockNumber(&matches->tids[from]);
	int			to = from + 1;

	while (to < matches->n &&
		   ItemPointerGetBlockNumber(&matches->tids[to]) == blkno)
		to++;
	return to;
}

const AnagoVisitKind anago_visit_by_block = {
	.name = "by_block",
	.arrange = sort_matches,
	.run = run_of_block,
};

static void
keep_order(AnagoMatches *matches)
{
}

static int
run_of_one(const AnagoMatches *matches, int from)
{
	return from + 1;
}

const AnagoVisitKind anago_visit_by_row = {
	.name = "by_row",
	.arrange = keep_order,
	.run = run_of_one,
};

const AnagoVisitKind anago_visit_in_order = {
	.name = "in_order",
	.arrange = keep_order,
	.run = run_of_block,
};

void
anago_matches_reverse(AnagoMatches *matches)
{
	for (int i = 0, j = matches->n - 1; i < j; i++, j--)
	{
		ItemPointerData tid = matches->tids[i];

		matches->tids[i] = matches->tids[j];
		matches->tids[j] = tid;
		if (matches->itups != NULL)
		{
			IndexTuple	itup = matches->itups[i];

			matches->itups[i] = matches->itups[j];
			matches->itups[j] = itup;
		}
	}
}

AnagoMatches *
anago_matches_keep_most(AnagoStep *step, AnagoMatches *matches, int most, bool *goes_on)
{
	int			surplus = matches->n - most;

	if (step->desc->from_end && *goes_on)
	{
		*goes_on = false;
		anago_matches_release(step, matches);
		return NULL;
	}
	if (surplus < 0)
		return matches;
	*goes_on = false;
	if (step->desc->from_end)
	{
		memmove(matches->tids, matches->tids + surplus, sizeof(ItemPointerData) * most);
		if (matches->itups != NULL)
			memmove(matches->itups, matches->itups + surplus, sizeof(IndexTuple) * most);
	}
	matches->n = most;
	return matches;
}

/* --- nearer to the CPU --- */

/* The size in blocks below which a table is taken to be in the CPU's caches. */
#ifdef ANAGO_TINY_BOUNDS
#define AHEAD_MIN_PAGES	0
#else
#define AHEAD_MIN_PAGES	4096
#endif

/* One match further ahead: its page, and the tuple of one that is nearer. */
static void
touch(AnagoStep *step, AnagoMatches *matches, AnagoAhead *ahead)
{
	int			i = ahead->located++;
	ItemPointer tid = &matches->tids[i];
	Buffer	   *buf = &ahead->buf[i % ANAGO_AHEAD];

	if (i > 0 && ItemPointerGetBlockNumberNoCheck(tid) ==
		ItemPointerGetBlockNumberNoCheck(&matches->tids[i - 1]))
		*buf = ahead->buf[(i - 1) % ANAGO_AHEAD];
	else
		*buf = anago_recent_find(&step->recent_blocks, step->heap,
								 ItemPointerGetBlockNumber(tid));
	if (BufferIsValid(*buf))
		anago_touch_page(*buf, ItemPointerGetOffsetNumber(tid));

	i -= ANAGO_AHEAD / 2;
	if (i >= 0 && BufferIsValid(ahead->buf[i % ANAGO_AHEAD]))
		anago_touch_tuple(ahead->buf[i % ANAGO_AHEAD],
						  ItemPointerGetOffsetNumber(&matches->tids[i]));
}

void
anago_matches_touch(AnagoStep *step, AnagoMatches *matches, int next, AnagoAhead *ahead)
{
	int			to = Min(next + ANAGO_AHEAD, matches->n);

	if (matches->n < ANAGO_AHEAD_MIN_MATCHES ||
		step->heap->rd_rel->relpages < AHEAD_MIN_PAGES ||
		RelationUsesLocalBuffers(step->heap))
		return;
	while (ahead->located < to)
		touch(step, matches, ahead);
}

/* --- dead matches --- */

/*
 * Only where the page's LSN tells whether it changed since we let go of it,
 * as in _bt_killitems() (nbtutils.c).
 */
void
anago_matches_kill(AnagoStep *step, AnagoMatches *matches, int which)
{
	if (!step->op.pipeline->use_dead_hints || !RelationNeedsWAL(step->indexrel))
		return;
	if (matches->killed == NULL)
	{
		matches->killed = anago_pipeline_alloc(step->op.pipeline, sizeof(bool) * matches->n);
		memset(matches->killed, false, sizeof(bool) * matches->n);
		matches->size += sizeof(bool) * matches->n;
	}
	matches->nkilled += !matches->killed[which];
	matches->killed[which] = true;
}

/* The dead ones among the matches, in order. */
static ItemPointer
killed_tids(const AnagoMatches *matches)
{
	ItemPointer tids = palloc(sizeof(ItemPointerData) * matches->nkilled);
	int			n = 0;

	for (int i = 0; i < matches->n; i++)
		if (matches->killed[i])
			tids[n++] = matches->tids[i];
	Assert(n == matches->nkilled);
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
mark_killed(AnagoStep *step, AnagoMatches *matches)
{
	ItemPointer killed;
	Buffer		buf;
	Page		page;

	if (!BufferIsValid(anago_touch_locate(step->indexrel, matches->leaf)))
		return;
	killed = killed_tids(matches);
	buf = ReadBuffer(step->indexrel, matches->leaf);
	page = BufferGetPage(buf);
	LockBuffer(buf, BT_READ);
	if (BufferGetLSNAtomic(buf) == matches->lsn &&
		P_ISLEAF(BTPageGetOpaque(page)) && anago_begin_hints(buf))
		anago_finish_hints(buf, mark_entries(page, killed, matches->nkilled));
	UnlockReleaseBuffer(buf);
	pfree(killed);
}

void
anago_matches_release(AnagoStep *step, AnagoMatches *matches)
{
	Assert(matches->refs > 0);
	if (--matches->refs > 0)
		return;
	if (matches->nkilled > 0)
		mark_killed(step, matches);
	if (matches->killed != NULL)
		pfree(matches->killed);
	anago_pipeline_free(step->op.pipeline, matches, matches->size);
}
