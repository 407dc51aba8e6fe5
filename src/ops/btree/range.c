/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Index range: the walk of one B-tree for one probe.
 *
 * Three kinds of task, each with a greater depth than the one before:
 *
 *		probe	one for each outer row; spawns a range for each run of
 *				combinations of IN-list elements (combos.c), and is itself the
 *				last of them
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
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "compat.h"
#include "ops/btree/btpage.h"
#include "ops/btree/combos.h"
#include "ops/btree/descend.h"
#include "ops/btree/distribute.h"
#include "ops/btree/fill.h"
#include "ops/btree/heap.h"
#include "ops/btree/inner.h"
#include "ops/btree/leaf.h"
#include "ops/btree/matches.h"
#include "ops/btree/probe.h"
#include "ops/btree/range.h"
#include "ops/btree/root.h"
#include "pipeline/row.h"
#include "ops/btree/span.h"

/* So many moves to the right in one descent say that copies are too old. */
#define STALE_MOVES		4

typedef struct RangeTask
{
	AnagoTask	task;
	AnagoProbe *probe;
	int			combo;			/* run of combinations of the probe, */
	int			combo_end;		/* to before this one */
	AnagoNextRun next;			/* index probe: the run to be started */
	BlockNumber blkno;			/* page wanted next; Invalid: none */
	bool		from_start;		/* entries before the range may be met */
	bool		moved_right;	/* a leaf task is past its first page */
	IndexTuple	bound;			/* leaf task: upper bound of its part, or NULL */
	AnagoMatches *matches;			/* matches of the last leaf, or NULL */
	int			next_visible;	/* of matches, to be answered from the index */
	int			next_match;		/* of matches, to be fetched from the heap */
	AnagoAhead	ahead;			/* of matches, for the CPU */
	AnagoSpan  *span;			/* range of many leaves, or NULL */
	uint16		moves;			/* to the right, as pages had been split */
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
		anago_sched_spawn(probe->step->op.pipeline->sched, ops, depth);

	probe->tasks++;
	self->probe = probe;
	return self;
}

void
anago_range_spawn(AnagoProbe *probe)
{
	RangeTask  *self = spawn(probe, &probe_ops, ANAGO_DEPTH_PROBE(probe->step));

	if (!anago_probe_is_shared_source(probe))
		self->combo_end = probe->keys.ncombos;
}

/* --- how a range begins --- */

void
anago_range_prepare(AnagoProbe *probe)
{
	anago_root_ensure(probe->step);
	anago_keys_bind(&probe->step->keys, &probe->keys, 0, 1);
}

void
anago_range_spawn_span(AnagoProbe *probe, AnagoSpan *span)
{
	RangeTask  *self;

	anago_root_ensure(probe->step);
	self = spawn(probe, &range_ops, ANAGO_DEPTH_RANGE(probe->step));
	self->combo = span->combo;
	self->combo_end = span->combo_end;
	self->blkno = InvalidBlockNumber;
	self->span = span;
}

static void
range_start(RangeTask *self, int combo, int combo_end)
{
	AnagoStep  *step = self->probe->step;

	anago_root_ensure(step);
	self->combo = combo;
	self->combo_end = combo_end;
	self->blkno = step->root;
	self->from_start = true;
	step->op.counters.descents++;
	pgstat_count_index_scan(step->indexrel);
}

/* --- inner pages --- */

/* Keep a page of level 1, whose children are spawned as there is room. */
static void
keep_inner(RangeTask *self, Page page, OffsetNumber child)
{
	AnagoStep  *step = self->probe->step;

	if (self->span == NULL)
		self->span = anago_span_create(step->op.pipeline, self->combo,
									   self->combo_end);
	anago_span_page(step, self->span, page, child, self->from_start);
	anago_sched_expect(step->op.pipeline->sched, self->task.depth, sizeof(AnagoSpan));
	self->from_start = false;
	self->blkno = InvalidBlockNumber;
}

static void
drop_span(RangeTask *self)
{
	if (self->span != NULL)
		anago_span_free(self->probe->step->op.pipeline, self->span);
	self->span = NULL;
}

/* The next child of a wide range; else what comes instead is under way. */
static bool
next_child(RangeTask *self)
{
	switch (anago_span_next(self->probe, self->span))
	{
		case ANAGO_TAKEN_PIECE:
			return true;
		case ANAGO_TAKEN_LAST:
			self->blkno = anago_span_at(self->span)->next;
			return false;
		case ANAGO_TAKEN_END:
			drop_span(self);
			return false;
	}
	pg_unreachable();
}

static inline void
bind_run(RangeTask *self)
{
	anago_keys_bind(&self->probe->step->keys, &self->probe->keys,
					self->combo, self->combo_end);
}

/* The range starts right of this page; true if it does. */
static bool
move_right(RangeTask *self, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);
	AnagoStep  *step = self->probe->step;

	if (!anago_starts_right(step, page, self->from_start))
		return false;
	if (!P_IGNORE(opaque) && ++self->moves > STALE_MOVES)
		step->stale = true;
	self->blkno = opaque->btpo_next;
	return true;
}

/* `page` is locked, or a copy. */
static void
see_inner(RangeTask *self, Page page)
{
	AnagoStep  *step = self->probe->step;
	BTPageOpaque opaque = BTPageGetOpaque(page);
	OffsetNumber child;

	if (move_right(self, page))
		return;
	child = anago_first_child(step, page, self->from_start);
	if (opaque->btpo_level == 1 && step->heapkeyspace &&
		(!self->from_start ||
		 anago_bt_goes_on(step->indexrel, &step->keys.end, page, child)))
	{
		keep_inner(self, page, child);
		return;
	}
	self->blkno = anago_child_block(page, child);
}

/*
 * Spawn the leaf task of the child that has been taken; none if it has no part
 * in any combination.
 *
 * The bound of its part is where the next child begins that has: should the
 * leaf be deleted, the page right of it has its part of the key space, and a
 * serializable transaction must look for it there.  For the same reason the
 * last one of a range, which has no neighbour, has no bound.
 */
static void
spawn_leaf(RangeTask *self)
{
	AnagoSpan  *span = self->span;
	AnagoSpanPage *at = anago_span_at(span);
	Page		page = (Page) at->page;
	IndexTuple	pivot = (IndexTuple)
		PageGetItem(page, PageGetItemId(page, span->child));
	int			combo = self->combo;
	int			combo_end = self->combo_end;
	OffsetNumber next = OffsetNumberNext(span->child);
	RangeTask  *leaf;

	if (combo_end - combo > 1)
	{
		bind_run(self);
		if (!anago_combo_child(self->probe, page, span->child,
							   &combo, &combo_end, &next))
			return;
		next = Min(next, OffsetNumberNext(span->batch.last));
		span->batch.piece = Max(span->batch.piece, next);
	}
	leaf = spawn(self->probe, &leaf_ops, ANAGO_DEPTH_LEAF(self->probe->step));
	leaf->combo = combo;
	leaf->combo_end = combo_end;
	leaf->blkno = BTreeTupleGetDownLink(pivot);
	leaf->from_start = at->from_start;
	if (next <= span->batch.last || !at->ends)
		leaf->bound = anago_bound_copy(self->probe->step->op.pipeline, page,
									   OffsetNumberPrev(next));
}

/* --- leaves --- */

static void
see_leaf(RangeTask *self, Buffer buf)
{
	AnagoStep  *step = self->probe->step;
	Page		page = BufferGetPage(buf);
	BTPageOpaque opaque = BTPageGetOpaque(page);
	bool		goes_on;

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
	PredicateLockPage(step->indexrel, self->blkno, step->op.pipeline->snapshot);
	self->matches = anago_leaf_collect(self->probe, buf, self->from_start,
									   self->combo, self->combo_end, &goes_on);
	self->next_visible = self->next_match = self->ahead.located = 0;
	if (self->matches != NULL)
		anago_sched_expect(step->op.pipeline->sched, self->task.depth,
						   self->matches->size);

	if (!goes_on ||
		(self->bound != NULL &&
		 anago_bt_compare_bound(step->indexrel, self->bound, page) <= 0))
		self->blkno = InvalidBlockNumber;
	else
		self->blkno = opaque->btpo_next;
	self->from_start = false;
	self->moved_right = true;
}

/* Go on as far as copies of inner pages lead. */
static void
see_copies(RangeTask *self)
{
	AnagoStep  *step = self->probe->step;
	Page		page;

	bind_run(self);
	while (self->blkno != InvalidBlockNumber &&
		   (page = anago_inner_find(step->inner, self->blkno)) != NULL)
		see_inner(self, page);
}

static void
see_page(RangeTask *self, Buffer buf)
{
	AnagoStep  *step = self->probe->step;
	Page		page = BufferGetPage(buf);

	bind_run(self);
	LockBuffer(buf, BT_READ);
	_bt_checkpage(step->indexrel, buf);
	anago_check_snapshot_age(step->op.pipeline->snapshot, step->indexrel, page);
	if (!P_ISLEAF(BTPageGetOpaque(page)))
	{
		anago_inner_add(step->inner, self->blkno, page);
		see_inner(self, page);
	}
	else
		see_leaf(self, buf);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	if (self->matches != NULL)
		anago_leaf_prepare(step, self->matches);
	ReleaseBuffer(buf);
}

/* --- matches of a leaf --- */

/* Index-only: is there a match left that needs no heap fetch?  Stand on it. */
static bool
find_visible(RangeTask *self)
{
	AnagoMatches *matches = self->matches;

	if (matches->visible == NULL || self->probe->done)
		return false;
	while (self->next_visible < matches->n && !matches->visible[self->next_visible])
		self->next_visible++;
	return self->next_visible < matches->n;
}

/* Put that match into the wide slot; true if it is to go on. */
static bool
take_visible(RangeTask *self)
{
	AnagoProbe *probe = self->probe;
	AnagoMatches *matches = self->matches;
	int			i = self->next_visible++;

	if (probe->done)
		return false;
	probe->step->op.counters.index_only++;
	anago_row_bind(probe->step->op.pipeline, probe->row);
	anago_fill_from_index(probe, matches->itups[i], &matches->tids[i]);
	return anago_probe_match(probe);
}

/* Is there a match left to be fetched from the heap?  It is next_match then. */
static bool
find_run(RangeTask *self)
{
	AnagoMatches *matches = self->matches;

	if (matches->visible == NULL)
		anago_matches_touch(self->probe->step, matches, self->next_match, &self->ahead);
	else
		while (self->next_match < matches->n && matches->visible[self->next_match])
			self->next_match++;
	return self->next_match < matches->n;
}

/* Look up the run of matches at next_match in place, if that needs no wait. */
static bool
visit_run(RangeTask *self)
{
	int			from = self->next_match;

	self->next_match = anago_heap_visit(self->probe, self->matches, from,
										anago_matches_run(self->matches, from));
	return self->next_match > from;
}

static void
drop_matches(RangeTask *self)
{
	anago_matches_release(self->probe->step, self->matches);
	self->matches = NULL;
}

/*
 * Have a heap task look up the run of matches at next_match.  True: nothing is
 * left to do but that, and the task has become the heap task.
 */
static bool
hand_on_run(RangeTask *self)
{
	int			from = self->next_match;

	self->next_match = anago_matches_run(self->matches, from);
	if (self->next_match == self->matches->n && self->blkno == InvalidBlockNumber)
	{
		anago_bound_free(self->probe->step->op.pipeline, self->bound);
		anago_heap_become(&self->task, self->probe, self->matches, from,
						  self->next_match);
		return true;
	}
	anago_heap_spawn(self->probe, self->matches, from, self->next_match);
	return false;
}

static void
range_cleanup(RangeTask *self)
{
	if (self->matches != NULL)
		drop_matches(self);
	drop_span(self);
	anago_bound_free(self->probe->step->op.pipeline, self->bound);
}

/* --- the tasks --- */

static AnagoVerdict
range_run(AnagoTask *task)
{
	RangeTask  *self = (RangeTask *) task;
	AnagoProbe *probe = self->probe;
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	Buffer		buf;

	ANAGO_BEGIN(task);
	while ((self->blkno != InvalidBlockNumber || self->span != NULL) &&
		   !probe->done)
	{
		see_copies(self);
		if (self->blkno != InvalidBlockNumber)
		{
			ANAGO_AWAIT_PAGE(task, buf, pipeline->pages, step->indexrel, self->blkno);
			see_page(self, buf);
		}
		while (self->blkno == InvalidBlockNumber && self->span != NULL &&
			   !probe->done)
		{
			if (anago_span_is_shared(self->span))
				ANAGO_AWAIT_USE(task, pipeline->sched);
			ANAGO_AWAIT_ROOM(task, pipeline->sched, ANAGO_DEPTH_LEAF(step));
			if (!next_child(self))
				break;
			spawn_leaf(self);
			ANAGO_SUSPEND(task, ANAGO_YIELD);
		}
		if (self->matches == NULL)
			continue;

		while (find_visible(self))
		{
			ANAGO_AWAIT_NEXT(task, &step->op);
			if (take_visible(self))
				ANAGO_PASS_ON(task, &step->op, probe->row);
		}
		while (!probe->done && find_run(self))
		{
			CHECK_FOR_INTERRUPTS();
			if (visit_run(self))
			{
				while (anago_heap_next(probe, self->matches, &self->next_match))
					ANAGO_PASS_ON(task, &step->op, probe->row);
				if (!anago_op_has_tasks(step->op.next))
					continue;
			}
			else
			{
				ANAGO_AWAIT_ROOM(task, pipeline->sched, ANAGO_DEPTH_HEAP(step));
				if (hand_on_run(self))
					return ANAGO_AGAIN;
			}
			ANAGO_SUSPEND(task, ANAGO_YIELD);
		}
		drop_matches(self);
	}
	range_cleanup(self);
	if (anago_probe_is_unmatched(probe))
	{
		ANAGO_AWAIT_NEXT(task, &step->op);
		if (anago_probe_unmatched(probe))
			ANAGO_PASS_ON(task, &step->op, probe->row);
	}
	anago_probe_release(probe);
	ANAGO_END(task);
}

/*
 * Is there another combination to be started?  Those of the source are shared
 * by the processes of a parallel query, each of which claims some.
 */
static bool
more_combos(RangeTask *self)
{
	AnagoProbe *probe = self->probe;

	if (probe->done)
		return false;
	if (self->combo < self->combo_end)
		return true;
	return anago_probe_is_shared_source(probe) &&
		anago_distribution(probe->step)->claim(probe, &self->combo,
											   &self->combo_end);
}

static AnagoVerdict
probe_run(AnagoTask *task)
{
	RangeTask  *self = (RangeTask *) task;
	AnagoProbe *probe = self->probe;
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	Buffer		buf;

	ANAGO_BEGIN(task);
	while (more_combos(self))
	{
		anago_runs_begin(probe, &self->next, self->combo);
		while (anago_runs_find(probe, &self->next, self->combo, self->combo_end))
		{
			ANAGO_AWAIT_PAGE(task, buf, pipeline->pages, step->indexrel,
							 self->next.blkno);
			anago_runs_see(probe, &self->next, buf, self->combo, self->combo_end);
		}
		ANAGO_AWAIT_ROOM(task, pipeline->sched, ANAGO_DEPTH_RANGE(step));
		/* no other is to come: the task itself becomes that run's */
		if (self->next.end == probe->keys.ncombos)
		{
			range_start(self, self->combo, self->next.end);
			anago_sched_become(pipeline->sched, task, &range_ops,
							   ANAGO_DEPTH_RANGE(step));
			return ANAGO_AGAIN;
		}
		range_start(spawn(probe, &range_ops, ANAGO_DEPTH_RANGE(step)),
					self->combo, self->next.end);
		self->combo = self->next.end;
		ANAGO_SUSPEND(task, ANAGO_YIELD);
	}
	if (anago_probe_is_unmatched(probe))
	{
		ANAGO_AWAIT_NEXT(task, &step->op);
		if (anago_probe_unmatched(probe))
			ANAGO_PASS_ON(task, &step->op, probe->row);
	}
	anago_probe_release(probe);
	ANAGO_END(task);
}
