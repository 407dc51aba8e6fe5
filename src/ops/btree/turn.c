/*-------------------------------------------------------------------------
 *
 * turn.c
 *	  A step that turns into a hash join while it runs.
 *
 * Where many more rows come than were expected, probes may take many times as
 * long as a hash join.  So a step counts what its probes have taken, in
 * pages that were waited for:
 *
 *		spent = pages + probes * per_probe + entries * per_entry
 *
 * and when that is what a scan of the table and a hash of its rows would have taken (the
 * plan says how much, AnagoTurnDesc), it makes this hash table, and each row from then on
 * finds its matches there.  How many rows are still to come nobody knows, and
 * need not: whatever their number, the work is at most that of the better way, once
 * more as much, and a lookup for each row.  It is the argument of renting skis or
 * buying them (Karlin et al., "Competitive snoopy caching", 1988).
 *
 *		spent				|------------ probes -----------|
 *		a hash join			|------------ scan -------------|- rows -
 *		this step			|------------ probes -----------|------------ scan -------------|- rows -
 *
 * Where not all rows may be wanted (LIMIT), probes may take twice as much before.
 *
 * A lookup may come to many rows that it does not want, where other conditions than
 * the equalities tell rows apart: a range in each of few groups, say.  By the same
 * argument, when that has taken as much as the turn and all that probes would have taken for
 * these rows, the step turns back into what it was.
 *
 * Invariants
 *	- each outer row is a probe or looks in the table, never both: what it is
 *	  is decided when it comes, and probes that are under way then end as such;
 *	- a process turns once, and back once: for itself, with a table of its own, which it
 *	  keeps for rescans.  A table that does not fit is dropped, and never tried again.
 *
 * The scan is not interrupted by other tasks.  Their reads stay on their way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "guc.h"
#include "ops/btree/jointable.h"
#include "ops/btree/probe.h"
#include "ops/btree/turn.h"

/* What the plan counts in: parts of a page. */
#define PARTS	ANAGO_TURN_PARTS

/* By how much more is spent where not all rows may be wanted. */
#define LIMIT_FACTOR	2

typedef struct LookupTask
{
	AnagoTask	task;
	AnagoProbe *probe;
	AnagoJoinEntry *entry;		/* to be tested next, or NULL */
} LookupTask;

StaticAssertDecl(sizeof(LookupTask) <= ANAGO_TASK_SIZE, "task fits its slot");

/* ---- when ---- */

/* Is there room for the table that is expected? */
static bool
may_fit(const AnagoStep *step)
{
	return step->desc->turn.kilobytes * Max(step->grown, 1.0) <=
		get_hash_memory_limit() / 1024;
}

void
anago_turn_begin(AnagoStep *step)
{
	const AnagoPipeline *pipeline = step->op.pipeline;

	step->may_turn = step->desc->turn.pages > 0 && !step->is_member && !step->look &&
		pipeline->order == ANAGO_ORDER_NONE &&
		(anago_debug_turn_after > 0 || (anago_hash_fallback && may_fit(step)));
}

static bool
may_stop(const AnagoPipeline *pipeline)
{
	return pipeline->peers.share != NULL ? pipeline->peers.segment->quota.may_stop :
		pipeline->may_stop;
}

/*
 * A plan may be old, and the table have grown since: then a scan and a hash of it take
 * as many times as much.
 */
static double
has_grown(const AnagoStep *step)
{
	double		blocks = RelationGetNumberOfBlocks(step->heap);

	return Max(blocks / step->desc->turn.blocks, 1.0);
}

/* All probes so far. */
static double
probes_took(const AnagoStep *step)
{
	const AnagoTurnDesc *turn = &step->desc->turn;

	return (double) step->pages_waited * PARTS +
		(double) step->rows_come * turn->per_probe +
		(double) (step->op.counters.tids - step->tids_before) * turn->per_entry;
}

static bool
is_due(AnagoStep *step)
{
	double		spent = probes_took(step);
	double		enough = (double) step->desc->turn.pages * PARTS;

	if (anago_debug_turn_after > 0)
		return step->rows_come > anago_debug_turn_after;
	if (may_stop(step->op.pipeline))
		enough *= LIMIT_FACTOR;
	if (spent < enough)
		return false;

	if (step->grown == 0)
	{
		step->grown = has_grown(step);
		step->may_turn = may_fit(step);
	}
	return step->may_turn && spent >= enough * step->grown;
}

static void
count_turn(AnagoStep *step)
{
	AnagoStepCounts *counters = &step->op.counters;

	counters->turns++;
	counters->turned_after += step->rows_come - 1;
	counters->hash_rows += anago_jointable_rows(step->table);
	counters->hash_kb += (anago_jointable_size(step->table) + 1023) / 1024;
}

/* True: the step has turned. */
static bool
turn(AnagoStep *step, const AnagoProbe *probe)
{
	AnagoJoinTable *table;

	step->may_turn = false;
	table = anago_jointable_prepare(step);
	if (table == NULL)
		return false;
	if (!anago_jointable_build(table, &probe->keys, get_hash_memory_limit()))
	{
		anago_jointable_free(table);
		step->op.counters.turns_failed++;
		return false;
	}
	step->table = table;
	step->probe_took = probes_took(step) / step->rows_come;
	count_turn(step);
	return true;
}

/* See the top.  Those who test lookups want no others. */
static bool
are_lookups_dear(const AnagoStep *step)
{
	const AnagoTurnDesc *turn = &step->desc->turn;

	return (double) step->in_vain * turn->per_candidate >
		(double) turn->pages * PARTS * step->grown + step->lookups * step->probe_took &&
		anago_debug_turn_after == 0;
}

/* Lookups that are under way end as such, so the table stays. */
static void
turn_back(AnagoStep *step)
{
	step->turned_back = true;
	step->op.counters.turns_back++;
	step->op.counters.turned_back_after += step->lookups;
}

/* ---- lookups ---- */

static AnagoVerdict
lookup_run(AnagoTask *task)
{
	LookupTask *self = (LookupTask *) task;
	AnagoProbe *probe = self->probe;
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;
	const AnagoJoinEntry *entry;

	ANAGO_BEGIN(task);
	while (self->entry != NULL && !probe->done)
	{
		ANAGO_AWAIT_NEXT(task, &step->op);
		CHECK_FOR_INTERRUPTS();
		entry = self->entry;
		self->entry = anago_jointable_next(entry);
		anago_row_bind(pipeline, probe->row);
		if (!anago_jointable_match(step->table, entry, probe))
			step->in_vain++;
		else if (anago_probe_match(probe))
			ANAGO_PASS_ON(task, &step->op, probe->row);
	}
	ANAGO_END_OF_PROBE(task, step, probe);
}

static const AnagoTaskOps lookup_ops = {"hash lookup", lookup_run};

static void
spawn_lookup(AnagoProbe *probe)
{
	AnagoStep  *step = probe->step;
	LookupTask *self = (LookupTask *) anago_sched_spawn(step->op.pipeline->sched, &lookup_ops,
														ANAGO_DEPTH_PROBE(step));

	probe->tasks++;
	self->probe = probe;
	self->entry = anago_jointable_find(step->table, probe);
}

bool
anago_turn_take(AnagoStep *step, AnagoProbe *probe)
{
	if (step->may_turn)
	{
		if (step->rows_come++ == 0)
			step->tids_before = step->op.counters.tids;
		/* the table is built with values that something can match */
		if (probe->keys.ncombos > 0 && is_due(step))
			turn(step, probe);
	}
	if (step->table != NULL && !step->turned_back && are_lookups_dear(step))
		turn_back(step);
	if (step->table == NULL || step->turned_back)
		return false;
	step->lookups++;
	spawn_lookup(probe);
	return true;
}
