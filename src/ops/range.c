/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Index range: the walk of one B-tree for one probe.
 *
 * Three kinds of task, each with a greater depth than the one before:
 *
 *		probe	one for each outer row; spawns a range for each combination
 *				of IN-list elements, and is itself the last of them
 *		range	descends from the root to the leaf where its range starts.  On
 *				the level above the leaves it sees how many leaves the range
 *				has: if only one, it goes on as the leaf's reader, else it
 *				spawns a leaf task for each child and moves right on that level
 *		leaf	reads one leaf and those that were split off from it
 *
 *	level 1				 [ A | D | F ] -----------> [ H | ...
 *						   |   |   |
 *	level 0		-> [ A..C ] -> [ D..E ] -> [ F..G ] -> [ H..
 *						leaf task	leaf task	leaf task	bounds: D, F, H
 *
 * So the leaves of a wide range are read all at once instead of one after the
 * other along their right links.
 *
 * Concurrent changes.  A page may change between the moment we learn of it and
 * the moment it has come:
 *
 * - It was split.  The new page stands right of it, and its high key is what
 *	 the page's was.  A leaf task therefore moves right until the high key
 *	 reaches the bound of its part, the separator that it was given from level
 *	 1; a page that it comes to and that reaches beyond that bound is another
 *	 task's.
 * - It was deleted.  Then no entry on it was visible to our snapshot, and its
 *	 right link still leads on; the rule above keeps the task from taking what
 *	 is its neighbour's.  It can't have been recycled for another use: that
 *	 waits until no snapshot as old as ours exists (nbtree README, "Placing
 *	 deleted pages in the FSM").  The same holds for the root that the scan
 *	 started with.
 * - Entries moved between pages only by such splits, always to the right.
 *
 * The separators of an index of before version 12 (no heapkeyspace) may be
 * equal to each other; its wide ranges are walked along right links.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "compat.h"
#include "ops/btree.h"
#include "ops/heap.h"
#include "ops/inner.h"
#include "ops/leaf.h"
#include "ops/probe.h"
#include "ops/range.h"
#include "ops/row.h"
#include "page/touch.h"

/*
 * How many matches the CPU's prefetching runs ahead of their use; the matches
 * of a leaf below which it does not repay its lookups; and the size in blocks
 * below which a table is taken to be in the CPU's caches anyway.
 */
#define AHEAD			8
#define AHEAD_MIN_HITS	64
#define AHEAD_MIN_PAGES	4096

/* So many moves to the right in one descent say that copies are too old. */
#define STALE_MOVES		4

typedef struct RangeTask
{
	AnagoTask	task;
	AnagoProbe *probe;
	int			combo;			/* which range of the probe */
	BlockNumber blkno;			/* page wanted next; Invalid: walk has ended */
	bool		from_start;		/* entries before the range may be met */
	bool		moved_right;	/* a leaf task is past its first page */
	IndexTuple	bound;			/* leaf task: upper bound of its part, or NULL */
	AnagoHits  *hits;			/* matches of the last leaf, or NULL */
	int			next_visible;	/* of hits, to be answered from the index */
	int			next_hit;		/* of hits, to be fetched from the heap */
	int			located;		/* of hits, whose blocks were looked ahead for */
	Buffer		ahead[AHEAD];	/* these, by hit modulo AHEAD; hints */
	Page		inner;			/* copy of a level 1 page, or NULL */
	uint16		moves;			/* to the right, as pages had been split */
	OffsetNumber child;			/* its child to be spawned next */
} RangeTask;

StaticAssertDecl(sizeof(RangeTask) <= ANAGO_TASK_SIZE, "task fits its slot");

static AnagoVerdict probe_run(AnagoTask *task);
static AnagoVerdict range_run(AnagoTask *task);

static const AnagoTaskOps probe_ops = {"index probe", probe_run};
static const AnagoTaskOps range_ops = {"index range", range_run};
static const AnagoTaskOps leaf_ops = {"index leaf", range_run};

static RangeTask *
spawn(AnagoProbe *probe, const AnagoTaskOps *ops, int depth)
{
	RangeTask  *self = (RangeTask *)
		anago_sched_spawn(probe->step->query->sched, ops, depth);

	probe->tasks++;
	self->probe = probe;
	return self;
}

void
anago_range_spawn(AnagoProbe *probe)
{
	spawn(probe, &probe_ops, ANAGO_DEPTH_PROBE(probe->step));
}

/* --- the root --- */

/*
 * Learn root and version of the index.  A root that is split later stays the
 * leftmost page of its level, from which moving right leads everywhere; where
 * that becomes long, the index is opened anew.
 */
static void
open_index(AnagoStep *step)
{
	Buffer		buf = anago_bt_getroot(step->indexrel, step->heap);
	bool		allequalimage;

	step->opened = true;
	step->root = InvalidBlockNumber;
	if (!BufferIsValid(buf))
		return;
	step->root = BufferGetBlockNumber(buf);
	UnlockReleaseBuffer(buf);
	_bt_metaversion(step->indexrel, &step->heapkeyspace, &allequalimage);
	anago_keys_set_version(&step->keys, step->heapkeyspace, allequalimage);
}

static void
range_start(RangeTask *self, int combo)
{
	AnagoStep  *step = self->probe->step;

	if (step->stale)
	{
		anago_inner_forget(step->inner);
		step->opened = step->stale = false;
	}
	if (!step->opened)
		open_index(step);
	if (step->root == InvalidBlockNumber)
		PredicateLockRelation(step->indexrel, step->query->snapshot);
	self->combo = combo;
	self->blkno = step->root;
	self->from_start = true;
	step->counters.descents++;
	pgstat_count_index_scan(step->indexrel);
}

/* --- inner pages --- */

/* Whether the range goes on right of the child at `child`. */
static bool
goes_on(AnagoStep *step, Page page, OffsetNumber child)
{
	if (child < PageGetMaxOffsetNumber(page))
		return anago_bt_reaches(step->indexrel, &step->keys.end, page,
								OffsetNumberNext(child));
	return !P_RIGHTMOST(BTPageGetOpaque(page)) &&
		anago_bt_reaches(step->indexrel, &step->keys.end, page, P_HIKEY);
}

/* Keep a page whose children are spawned one by one as there is room. */
static void
keep_inner(RangeTask *self, Page page, OffsetNumber child)
{
	self->inner = MemoryContextAlloc(self->probe->step->query->context, BLCKSZ);
	memcpy(self->inner, page, BLCKSZ);
	self->child = child;
}

static void
drop_inner(RangeTask *self)
{
	if (self->inner != NULL)
		pfree(self->inner);
	self->inner = NULL;
}

/* The range starts right of this page; true if it does. */
static bool
move_right(RangeTask *self, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	AnagoStep  *step = self->probe->step;

	if (!P_IGNORE(opaque))
	{
		if (!self->from_start ||
			!anago_bt_is_right(step->indexrel, &step->keys.start, page))
			return false;
		if (++self->moves > STALE_MOVES)
			step->stale = true;
	}
	self->blkno = opaque->btpo_next;
	return true;
}

/* `page` is locked, or a copy. */
static void
visit_inner(RangeTask *self, Page page)
{
	AnagoStep  *step = self->probe->step;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber child;
	IndexTuple	pivot;

	if (move_right(self, page))
		return;
	child = self->from_start ?
		anago_bt_search(step->indexrel, &step->keys.start, page) :
		P_FIRSTDATAKEY(opaque);

	if (opaque->btpo_level == 1 && step->heapkeyspace &&
		(!self->from_start || goes_on(step, page, child)))
	{
		keep_inner(self, page, child);
		return;
	}
	pivot = (IndexTuple) PageGetItem(page, PageGetItemId(page, child));
	self->blkno = BTreeTupleGetDownLink(pivot);
}

/* Give a leaf task the separator right of its child as its bound. */
static void
set_bound(RangeTask *leaf, Page page, OffsetNumber child)
{
	OffsetNumber off = child < PageGetMaxOffsetNumber(page) ?
		OffsetNumberNext(child) : P_HIKEY;
	IndexTuple	bound = (IndexTuple) PageGetItem(page, PageGetItemId(page, off));

	leaf->bound = MemoryContextAlloc(leaf->probe->step->query->context,
									 IndexTupleSize(bound));
	memcpy(leaf->bound, bound, IndexTupleSize(bound));
}

/*
 * Spawn the leaf task of the next child; afterwards inner is NULL at the end.
 *
 * The last one of a range has no neighbour, and so no bound: should its leaf
 * be deleted, the page right of it has its part of the key space, and a
 * serializable transaction must look for it there.
 */
static void
spawn_leaf(RangeTask *self)
{
	AnagoStep  *step = self->probe->step;
	Page		page = self->inner;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	IndexTuple	pivot = (IndexTuple)
		PageGetItem(page, PageGetItemId(page, self->child));
	RangeTask  *leaf = spawn(self->probe, &leaf_ops, ANAGO_DEPTH_LEAF(step));
	bool		more;

	leaf->combo = self->combo;
	leaf->blkno = BTreeTupleGetDownLink(pivot);
	leaf->from_start = self->from_start;
	self->from_start = false;

	anago_keys_bind(&step->keys, &self->probe->keys, self->combo);
	more = goes_on(step, page, self->child);
	if (more)
		set_bound(leaf, page, self->child);
	if (more && self->child < PageGetMaxOffsetNumber(page))
	{
		self->child = OffsetNumberNext(self->child);
		return;
	}
	self->blkno = more ? opaque->btpo_next : InvalidBlockNumber;
	drop_inner(self);
}

/* --- leaves --- */

static void
visit_leaf(RangeTask *self, Buffer buf)
{
	AnagoStep  *step = self->probe->step;
	Page		page = BufferGetPage(buf);
	BTPageOpaque opaque = BTPageGetOpaque(page);
	bool		ended;

	if (move_right(self, page))
	{
		self->moved_right = true;
		return;
	}
	if (self->bound != NULL && self->moved_right &&
		anago_bt_compare_bound(step->indexrel, self->bound, page) < 0)
	{
		self->blkno = InvalidBlockNumber;
		return;
	}
	PredicateLockPage(step->indexrel, self->blkno, step->query->snapshot);
	self->hits = anago_leaf_collect(self->probe, buf, self->from_start, &ended);
	self->next_visible = self->next_hit = self->located = 0;

	if (ended || P_RIGHTMOST(opaque) ||
		(self->bound != NULL &&
		 anago_bt_compare_bound(step->indexrel, self->bound, page) <= 0) ||
		!anago_bt_reaches(step->indexrel, &step->keys.end, page, P_HIKEY))
		self->blkno = InvalidBlockNumber;
	else
		self->blkno = opaque->btpo_next;
	self->from_start = false;
	self->moved_right = true;
}

/* Go on as far as copies of inner pages lead. */
static void
visit_copies(RangeTask *self)
{
	AnagoStep  *step = self->probe->step;
	Page		page;

	anago_keys_bind(&step->keys, &self->probe->keys, self->combo);
	while (self->inner == NULL &&
		   (page = anago_inner_find(step->inner, self->blkno)) != NULL)
		visit_inner(self, page);
}

static void
visit_page(RangeTask *self, Buffer buf)
{
	AnagoStep  *step = self->probe->step;
	Page		page = BufferGetPage(buf);

	anago_keys_bind(&step->keys, &self->probe->keys, self->combo);
	LockBuffer(buf, BT_READ);
	_bt_checkpage(step->indexrel, buf);
	anago_check_snapshot_age(step->query->snapshot, step->indexrel, page);
	if (!P_ISLEAF(BTPageGetOpaque(page)))
	{
		anago_inner_add(step->inner, self->blkno, page);
		visit_inner(self, page);
	}
	else
		visit_leaf(self, buf);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	if (self->hits != NULL)
		anago_leaf_prepare(step, self->hits);
	ReleaseBuffer(buf);
}

/* --- matches of a leaf --- */

/*
 * Index-only: put the next match that needs no heap fetch into the wide slot.
 */
static bool
next_visible(RangeTask *self)
{
	AnagoStep  *step = self->probe->step;
	AnagoHits  *hits = self->hits;

	if (hits->visible == NULL)
		return false;
	while (self->next_visible < hits->n && !self->probe->done)
	{
		int			i = self->next_visible++;

		if (!hits->visible[i])
			continue;
		step->counters.index_only++;
		anago_row_bind(step->query, self->probe->row);
		anago_index_fill(self->probe, hits->itups[i], &hits->tids[i]);
		if (anago_probe_match(self->probe))
			return true;
	}
	return false;
}

/* One match further ahead: its page, and the tuple of one that is nearer. */
static void
touch(RangeTask *self, int i)
{
	AnagoHits  *hits = self->hits;
	ItemPointer tid = &hits->tids[i];
	Buffer	   *buf = &self->ahead[i % AHEAD];

	if (i > 0 && ItemPointerGetBlockNumberNoCheck(tid) ==
		ItemPointerGetBlockNumberNoCheck(&hits->tids[i - 1]))
		*buf = self->ahead[(i - 1) % AHEAD];
	else
		*buf = anago_touch_locate(self->probe->step->heap,
								  ItemPointerGetBlockNumber(tid));
	if (BufferIsValid(*buf))
		anago_touch_page(*buf, ItemPointerGetOffsetNumber(tid));

	i -= AHEAD / 2;
	if (i >= 0 && BufferIsValid(self->ahead[i % AHEAD]))
		anago_touch_tuple(self->ahead[i % AHEAD],
						  ItemPointerGetOffsetNumber(&hits->tids[i]));
}

static void
touch_ahead(RangeTask *self)
{
	int			to = Min(self->next_hit + AHEAD, self->hits->n);

	if (self->hits->n < AHEAD_MIN_HITS ||
		self->probe->step->heap->rd_rel->relpages < AHEAD_MIN_PAGES)
		return;
	while (self->located < to)
		touch(self, self->located++);
}

/* The next run of matches that one heap block holds; false if none is left. */
static bool
next_run(RangeTask *self, int *from, int *to)
{
	AnagoHits  *hits = self->hits;

	if (hits->visible == NULL)
		touch_ahead(self);
	while (self->next_hit < hits->n)
	{
		*from = self->next_hit;
		*to = self->next_hit = anago_hits_run(hits, *from);
		if (hits->visible == NULL || !hits->visible[*from])
			return true;
	}
	return false;
}

static void
drop_hits(RangeTask *self)
{
	anago_hits_release(self->probe->step, self->hits);
	self->hits = NULL;
}

/* The task has no more to do than to fetch from that heap block. */
static bool
is_last_run(const RangeTask *self)
{
	return self->next_hit == self->hits->n &&
		self->blkno == InvalidBlockNumber;
}

static void
range_cleanup(RangeTask *self)
{
	if (self->hits != NULL)
		drop_hits(self);
	drop_inner(self);
	if (self->bound != NULL)
		pfree(self->bound);
}

/* --- the tasks --- */

static AnagoVerdict
range_run(AnagoTask *task)
{
	RangeTask  *self = (RangeTask *) task;
	AnagoProbe *probe = self->probe;
	AnagoStep  *step = probe->step;
	AnagoQuery *query = step->query;
	Buffer		buf;
	int			from,
				to;

	ANAGO_BEGIN(task);
	while (self->blkno != InvalidBlockNumber && !probe->done)
	{
		visit_copies(self);
		if (self->inner == NULL)
		{
			ANAGO_AWAIT_PAGE(task, buf, query->pages, step->indexrel, self->blkno);
			visit_page(self, buf);
		}
		while (self->inner != NULL && !probe->done)
		{
			ANAGO_AWAIT_ROOM(task, query->sched, ANAGO_DEPTH_LEAF(step));
			spawn_leaf(self);
			ANAGO_SUSPEND(task, ANAGO_YIELD);
		}
		if (self->hits == NULL)
			continue;

		while (next_visible(self))
		{
			if (step->last)
				ANAGO_SUSPEND(task, ANAGO_EMIT);
			else
			{
				anago_probe_forward(probe);
				ANAGO_AWAIT_ROOM(task, query->sched, ANAGO_DEPTH_PROBE(step + 1));
			}
		}
		while (!probe->done)
		{
			ANAGO_AWAIT_ROOM(task, query->sched, ANAGO_DEPTH_HEAP(step));
			if (!next_run(self, &from, &to))
				break;
			if (is_last_run(self))
			{
				if (self->bound != NULL)
					pfree(self->bound);
				anago_heap_become(task, probe, self->hits, from, to);
				return ANAGO_AGAIN;
			}
			anago_heap_spawn(probe, self->hits, from, to);
			ANAGO_SUSPEND(task, ANAGO_YIELD);
		}
		drop_hits(self);
	}
	range_cleanup(self);
	ANAGO_END_OF_PROBE(task, probe);
	ANAGO_END(task);
}

static AnagoVerdict
probe_run(AnagoTask *task)
{
	RangeTask  *self = (RangeTask *) task;
	AnagoProbe *probe = self->probe;
	AnagoStep  *step = probe->step;
	AnagoQuery *query = step->query;

	ANAGO_BEGIN(task);
	while (self->combo + 1 < probe->keys.ncombos && !probe->done)
	{
		ANAGO_AWAIT_ROOM(task, query->sched, ANAGO_DEPTH_RANGE(step));
		range_start(spawn(probe, &range_ops, ANAGO_DEPTH_RANGE(step)),
					self->combo);
		self->combo++;
		ANAGO_SUSPEND(task, ANAGO_YIELD);
	}
	if (self->combo < probe->keys.ncombos && !probe->done)
	{
		range_start(self, self->combo);
		anago_sched_become(query->sched, task, &range_ops,
						   ANAGO_DEPTH_RANGE(step));
		return ANAGO_AGAIN;
	}
	ANAGO_END_OF_PROBE(task, probe);
	ANAGO_END(task);
}
