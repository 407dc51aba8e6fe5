/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Index probe: one row that looks for its matches in one step.
 *
 * The rules for join types are those of nodeNestloop.c, with the order of
 * matches left open:
 *
 *		inner	every match goes on; at most one if the inner side is unique
 *		left	the same; if none, the outer row with NULLs goes on
 *		semi	the first match goes on, then the probe is done
 *		anti	at the first match the probe is done; if none, the outer row
 *				with NULLs goes on
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/datum.h"

#include "ops/btree/fan.h"
#include "ops/btree/fill.h"
#include "ops/btree/late.h"
#include "ops/btree/probe.h"
#include "pipeline/held.h"
#include "pipeline/row.h"

bool
anago_probe_may_match(AnagoStep *step)
{
	if (!step->gate_known)
	{
		step->gate_open = (anago_desc_is_late(step->desc) ? anago_late_open(step) :
						   step->indexrel != NULL) &&
			ExecQual(step->gate, step->op.pipeline->econtext);
		step->gate_known = true;
	}
	return step->gate_open;
}

/* Does the row lead anywhere in it? */
static bool
has_use(AnagoStep *step)
{
	bool		late = anago_desc_is_late(step->desc);

	if ((!late || step->before != NULL) && step->op.pipeline->held->afterwards != NULL)
		return false;
	return ExecQual(step->when, step->op.pipeline->econtext) &&
		(!late || anago_late_may_probe(step));
}

void
anago_probe_came_to_page(AnagoProbe *probe)
{
	AnagoStep  *step = probe->step;

	if (anago_desc_is_late(step->desc) ? !anago_late_add_page(step) :
		!anago_held_add_page(step->op.pipeline->held))
	{
		probe->done = true;
		/* nor is there another table to go on to */
		if (probe->fan != NULL)
			probe->fan->next = probe->fan->n;
	}
}

/* Bytes that the values of a probe's keys take beside values[] itself. */
static Size
keys_size(const AnagoKeys *keys, const AnagoKeyValues *values)
{
	Size		size = 0;

	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (DatumGetPointer(values->values[i]) == NULL || key->expr == NULL)
			continue;
		if (key->desc->kind == ANAGO_KEY_ARRAY)
			size += sizeof(AnagoArray) * keys->n +
				sizeof(Datum) * values->arrays[i].n +
				VARSIZE_ANY(DatumGetPointer(values->values[i]));
		else if (key->copy && !key->typbyval)
			size += datumGetSize(values->values[i], false, key->typlen);
	}
	return size;
}

AnagoProbe *
anago_probe_make(AnagoStep *step, AnagoRow *row)
{
	AnagoPipeline *pipeline = step->op.pipeline;
	AnagoProbe *probe;
	bool		open;
	Size		size;

	/* a late look's keys are known when it is open */
	ResetExprContext(pipeline->econtext);
	open = anago_probe_may_match(step);
	size = offsetof(AnagoProbe, keys.values) + sizeof(Datum) * step->keys.n;
	probe = anago_pipeline_alloc(pipeline, size);
	probe->size = size;
	probe->step = step;
	probe->row = row;
	probe->tasks = 0;
	probe->matched = false;
	probe->done = false;
	probe->fan = NULL;

	if (open && (!step->look || has_use(step)))
	{
		anago_keys_eval(&step->keys,
						step->of_found != NULL ? step->of_found : pipeline->econtext,
						pipeline->context, &probe->keys);
		if (step->keys.by_target)
			probe->keys.target = RelationGetTargetBlock(step->heap);
	}
	else
		anago_keys_eval_none(&step->keys, &probe->keys);
	if (step->keys.allocates)
	{
		size = keys_size(&step->keys, &probe->keys);
		anago_memory_charge(&pipeline->memory, size);
		probe->size += size;
	}
	return probe;
}

AnagoProbe *
anago_probe_hold(AnagoStep *step)
{
	AnagoProbe *probe = anago_probe_make(step, NULL);

	probe->tasks++;
	return probe;
}

static inline bool
passes(AnagoStep *step, ExprState *qual)
{
	if (qual == NULL || ExecQual(qual, step->op.pipeline->econtext))
		return true;
	step->op.counters.filtered++;
	return false;
}

bool
anago_probe_match(AnagoProbe *probe)
{
	AnagoStep  *step = probe->step;

	Assert(!probe->done);
	if (!passes(step, step->filter))
		return false;
	anago_fill_computed(step);
	if (!passes(step, step->join))
		return false;

	probe->matched = true;
	switch (step->desc->jointype)
	{
		case JOIN_ANTI:
		case JOIN_SEMI:
			probe->done = true;
			break;
		default:
			probe->done = step->desc->inner_unique;
			break;
	}
	if (probe->fan != NULL)
		anago_fan_match(probe);
	if (step->desc->jointype == JOIN_ANTI)
		return false;
	if (!passes(step, step->other))
		return false;
	step->op.counters.rows++;
	return true;
}

bool
anago_probe_is_unmatched(const AnagoProbe *probe)
{
	AnagoStep  *step = probe->step;

	Assert(probe->tasks > 0);
	return probe->tasks == 1 && !probe->matched &&
		(step->desc->jointype == JOIN_LEFT || step->desc->jointype == JOIN_ANTI) &&
		(probe->fan == NULL || anago_fan_is_unmatched(probe));
}

bool
anago_probe_unmatched(AnagoProbe *probe)
{
	AnagoStep  *step = probe->step;
	AnagoPipeline *pipeline = step->op.pipeline;

	Assert(anago_probe_is_unmatched(probe));
	anago_row_bind(pipeline, probe->row);
	for (int i = step->op.first_col; i < step->op.first_col + step->op.ncols; i++)
	{
		pipeline->wide->tts_values[i] = (Datum) 0;
		pipeline->wide->tts_isnull[i] = true;
	}
	ResetExprContext(pipeline->econtext);
	if (!passes(step, step->other))
		return false;
	step->op.counters.rows++;
	return true;
}

void
anago_probe_release(AnagoProbe *probe)
{
	AnagoPipeline *pipeline = probe->step->op.pipeline;

	Assert(probe->tasks > 0);
	if (--probe->tasks > 0)
		return;
	if (probe->fan != NULL)
		anago_fan_leave(pipeline, probe);
	anago_row_release(pipeline, probe->row);
	anago_keys_free(&probe->step->keys, &probe->keys);
	anago_pipeline_free(pipeline, probe, probe->size);
}
