/*-------------------------------------------------------------------------
 *
 * step.c
 *	  A step: each row that it accepts is probed for in a B-tree index.
 *
 *	  step.c	begin, accept, end
 *	  append.c	the same of a step of several tables, or arms
 *	  members.c	these tables, and which of them a row is probed for in
 *	  fan.h		one row in all of them
 *	  routed.c	a step of looks, at the partitions that new rows go to
 *	  open.c	what a step has of one table
 *	  late.c	the same of one that the statement does not name,
 *	  waiting.c	and rows that wait until looks at it are taken up
 *	  behind.c	looks at what refers to rows that a late look finds
 *	  firsts.h	looks at tables of which a LIMIT wants the first rows together,
 *	  merged.c	and at those of their rows that come first
 *	  dynamic.c	which part of the unit row's work is whose: what each takes,
 *	  static.c	or anago.mode = static: what was cut for it
 *	  in_order.c	or, where rows leave in order, what comes next
 *	  descend.h	the way down an index
 *	  range.c	the walk of an index for one probe
 *	  walk.c	its tasks: page after page
 *	  parent.c	leaves from the level above, or
 *	  right_links.c	along their right links;
 *	  backward.c	ranges from their end
 *	  fetch.c	the rows of a leaf's matches
 *	  heap.c	its matches in the table
 *	  probe.c	one row in one step: join types
 *	  turn.c	a step that turns into a hash join while it runs,
 *	  jointable.c	and its table
 *	  span.c	leaves of a wide range that are yet to be taken
 *	  leaf.c	one leaf page
 *	  matches.c	what was found on it, on its way to the heap
 *	  near.c	pages in shared buffers, on their way to the CPU,
 *	  recent.c	and where they were found
 *	  combos.c	combinations of IN-list elements on a page
 *	  seek.c	that of a tuple, list by list
 *	  skip.c	skip scans: where behind a key the next match may be
 *	  skippage.c	and on which pages
 *	  compare.c	a column's value among ordered elements
 *	  fill.c	a match's columns in the wide slot
 *	  root.c	where walks of the index begin
 *	  inner.c	copies of inner pages
 *	  btpage.c	questions to a B-tree page
 *	  keys.c	index conditions: how they bound the walk
 *	  values.c	what they compare with
 *	  tighten.c	the tightest of several on one column
 *	  order.c	what follows from the order of an index
 *	  show.c	EXPLAIN
 *	  btree.h	what these share
 *	  kinds.h	parts of which there are several implementations
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "storage/bufmgr.h"

#include "ops/btree/behind.h"
#include "ops/btree/distribute.h"
#include "ops/btree/firsts.h"
#include "ops/btree/open.h"
#include "ops/btree/probe.h"
#include "ops/btree/range.h"
#include "ops/btree/show.h"
#include "ops/btree/span.h"
#include "ops/btree/turn.h"
#include "ops/btree/waiting.h"
#include "ops/ops.h"
#include "pipeline/peers.h"
#include "pipeline/row.h"

static void
step_begin(AnagoOp *op, const AnagoPipelineDesc *desc, int eflags)
{
	AnagoStep  *step = (AnagoStep *) op;
	const AnagoStepDesc *sd = &desc->steps[op->index];

	step->desc = sd;
	step->vmbuffer = InvalidBuffer;

	/* like ExecInitIndexScan: EXPLAIN alone must not need the index */
	if (sd->level > 0)
		anago_behind_begin(step, desc, anago_range_spawn);
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		anago_step_open(step, sd, desc->nsteps);
}

static void
step_rescan(AnagoOp *op)
{
	AnagoStep  *step = (AnagoStep *) op;

	step->gate_known = false;
}

static void
step_release(AnagoOp *op)
{
	AnagoStep  *step = (AnagoStep *) op;

	anago_step_release(step);
	step->parts = NULL;
	if (!anago_desc_is_late(step->desc))
		return;
	anago_late_close(step);
	anago_waiting_forget(step);
	anago_behind_forget(step);
	step->gate_known = false;
}

static void
step_unpin(AnagoOp *op)
{
	anago_step_release((AnagoStep *) op);
}

static void
step_end(AnagoOp *op)
{
	anago_step_close((AnagoStep *) op);
}

static int
step_room(const AnagoOp *op)
{
	if (((const AnagoStep *) op)->before != NULL)
		return anago_op_room(op->next);
	if (((const AnagoStep *) op)->desc->firsts.append > 0)
		return Min(anago_op_room(op->next),
				   anago_sched_room(op->pipeline->sched, op->depth));
	if (anago_waits((const AnagoStep *) op))
		return INT_MAX;
	return anago_sched_room(op->pipeline->sched, op->depth);
}

/* Is the only row that comes here that of the unit source? */
static inline bool
is_first_of_unit(const AnagoOp *op)
{
	return op->index == 0 && op->pipeline->child == NULL;
}

static void
step_adopt(AnagoOp *op, AnagoRow *row)
{
	AnagoStep  *step = (AnagoStep *) op;
	AnagoProbe *probe;

	op->counters.probes++;
	probe = anago_probe_make(step, row);
	if (!anago_turn_take(step, probe))
		anago_range_spawn(probe);
}

static void
step_enter(AnagoOp *op, AnagoItem item, char *bytes)
{
	AnagoRow   *row;
	AnagoSpan  *span = anago_span_enter(op, item, bytes, &row);

	anago_range_spawn_span(anago_probe_make((AnagoStep *) op, row), span);
}

static bool
step_more(AnagoOp *op)
{
	AnagoStep  *step = (AnagoStep *) op;

	if (step->look)
		return anago_waiting_go_on(step);
	return anago_distribution(step)->more(step);
}

/*
 * A fragment is made of what the operator before has filled, and probed for
 * here, or by a process that has too little to do.  Rows of the source stay:
 * these are divided otherwise.  For rows that another step finds this one does
 * nothing when the row itself comes, nor where core does not come to its table.
 */
static AnagoAccepted
step_accept(AnagoOp *op, AnagoRow *outer)
{
	AnagoPipeline *pipeline = op->pipeline;
	AnagoRow   *row;

	if (((AnagoStep *) op)->before != NULL ||
		!anago_firsts_are_wanted(pipeline, &((AnagoStep *) op)->desc->firsts))
		return op->next->kind->accept(op->next, outer);
	row = anago_row_make(pipeline, op->index - 1, outer);
	if (((AnagoStep *) op)->ordered)
		anago_sched_order(pipeline->sched)->feeds = ANAGO_DEPTH_LEAF((AnagoStep *) op);
	if (anago_waits((AnagoStep *) op))
		anago_waiting_add((AnagoStep *) op, row);
	else if (is_first_of_unit(op))
		anago_distribution((AnagoStep *) op)->start((AnagoStep *) op);
	else if (!anago_peers_given(pipeline, op->index, row))
		step_adopt(op, row);
	return ANAGO_TAKEN;
}

const AnagoOpKind anago_step_kind = {
	.name = "probe",
	.ndepths = ANAGO_STEP_DEPTHS,
	.size = sizeof(AnagoStep),
	.begin = step_begin,
	.rescan = step_rescan,
	.release = step_release,
	.unpin = step_unpin,
	.end = step_end,
	.room = step_room,
	.accept = step_accept,
	.explain = anago_step_show,
	.adopt = step_adopt,
	.enter = step_enter,
	.more = step_more,
	.source_size = sizeof(AnagoCut),
};
