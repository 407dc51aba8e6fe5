/*-------------------------------------------------------------------------
 *
 * append.c
 *	  A step of several tables: each row is probed for in those that it can have
 *	  matches in; or of one that is looked up by OR, by each arm of that.
 *
 * In the pipeline it is one operator, with one step's depths: the task of a row's
 * first probe makes the next one when it has begun what there is to do for its own
 * (range.c), so that tables are probed all at once where pages are waited for, and
 * one after the other, up to the first match if no more are wanted, where they are
 * not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "ops/btree/firsts.h"
#include "ops/btree/members.h"
#include "ops/btree/range.h"
#include "ops/btree/show.h"
#include "ops/ops.h"
#include "pipeline/peers.h"
#include "pipeline/row.h"

typedef struct AppendStep
{
	AnagoOp		op;				/* must be first */
	const AnagoStepDesc *desc;
	AnagoMembers *members;		/* NULL in EXPLAIN */
} AppendStep;

static void
append_begin(AnagoOp *op, const AnagoPipelineDesc *desc, int eflags)
{
	AppendStep *step = (AppendStep *) op;

	/* the source of such a step has rows: it is never the unit source's first */
	Assert(op->index > 0 || op->pipeline->child != NULL);
	step->desc = &desc->steps[op->index];
	if (!(eflags & EXEC_FLAG_EXPLAIN_ONLY))
		step->members = anago_members_create(op, step->desc, desc->nsteps);
}

static void
append_rescan(AnagoOp *op)
{
	anago_members_rescan(((AppendStep *) op)->members);
}

static void
append_release(AnagoOp *op)
{
	if (((AppendStep *) op)->members != NULL)
		anago_members_release(((AppendStep *) op)->members);
}

static void
append_end(AnagoOp *op)
{
	if (((AppendStep *) op)->members != NULL)
		anago_members_close(((AppendStep *) op)->members);
}

static int
append_room(const AnagoOp *op)
{
	int			room = anago_sched_room(op->pipeline->sched, op->depth);

	/* a row may go on at once */
	return ((const AppendStep *) op)->desc->firsts.append > 0 ?
		Min(room, anago_op_room(op->next)) : room;
}

static void
append_adopt(AnagoOp *op, AnagoRow *row)
{
	AnagoProbe *probe;

	op->counters.probes++;
	probe = anago_members_first(((AppendStep *) op)->members, row,
								&op->counters.pruned);
	if (probe != NULL)
		anago_range_spawn(probe);
}

static AnagoAccepted
append_accept(AnagoOp *op, AnagoRow *outer)
{
	AnagoPipeline *pipeline = op->pipeline;
	AnagoRow   *row;

	if (!anago_firsts_are_wanted(pipeline, &((AppendStep *) op)->desc->firsts))
		return op->next->kind->accept(op->next, outer);
	row = anago_row_make(pipeline, op->index - 1, outer);
	if (!anago_peers_given(pipeline, op->index, row))
		append_adopt(op, row);
	return ANAGO_TAKEN;
}

static bool
append_more(AnagoOp *op)
{
	return false;
}

static void
append_count(const AnagoOp *op, AnagoStepCounts *sum)
{
	if (((const AppendStep *) op)->members != NULL)
		anago_members_count(((const AppendStep *) op)->members, sum);
}

static void
append_show(const AnagoOp *op, const AnagoExplain *ex,
			const AnagoStepCounts *counters)
{
	anago_append_show(op, ex, ((const AppendStep *) op)->desc, counters);
}

const AnagoOpKind anago_append_kind = {
	.name = "probe of several tables",
	.ndepths = ANAGO_STEP_DEPTHS,
	.size = sizeof(AppendStep),
	.begin = append_begin,
	.rescan = append_rescan,
	.release = append_release,
	.unpin = append_release,
	.end = append_end,
	.room = append_room,
	.accept = append_accept,
	.count = append_count,
	.explain = append_show,
	.adopt = append_adopt,
	.more = append_more,
};
