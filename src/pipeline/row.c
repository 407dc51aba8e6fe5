/*-------------------------------------------------------------------------
 *
 * row.c
 *	  Rows in flight: chains of immutable fragments, and the wide slot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"

#include "pipeline/row.h"

/* The range of wide slot entries that a step fills. */
static inline void
columns_of(const AnagoPipeline *pipeline, int step, int *first, int *n)
{
	const AnagoOp *op = anago_pipeline_op(pipeline, step);

	*first = op->first_col;
	*n = op->ncols;
}

static inline bool *
row_nulls(AnagoRow *row, int n)
{
	return (bool *) (row->values + n);
}

static bool
is_expanded(const AnagoPipeline *pipeline, int i, Datum value)
{
	return pipeline->typlens[i] == -1 &&
		VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value));
}

/*
 * Bytes of a copy.  An expanded object (of a child plan) belongs to whoever
 * made it, and is flattened, as tts_virtual_materialize() does.
 */
static Size
value_size(const AnagoPipeline *pipeline, int i, Datum value)
{
	if (is_expanded(pipeline, i, value))
		return EOH_get_flat_size(DatumGetEOHP(value));
	return datumGetSize(value, false, pipeline->typlens[i]);
}

static Size
payload_size(const AnagoPipeline *pipeline, int first, int n)
{
	TupleTableSlot *wide = pipeline->wide;
	Size		size = 0;

	for (int i = first; i < first + n; i++)
		if (!pipeline->typbyvals[i] && !wide->tts_isnull[i])
			size += MAXALIGN(value_size(pipeline, i, wide->tts_values[i]));
	return size;
}

/* Move the values passed by reference to `to`, in slot and row. */
static void
copy_payload(AnagoPipeline *pipeline, AnagoRow *row, int first, int n, char *to)
{
	TupleTableSlot *wide = pipeline->wide;

	for (int i = 0; i < n; i++)
	{
		Datum		value = wide->tts_values[first + i];
		Size		size;

		if (pipeline->typbyvals[first + i] || wide->tts_isnull[first + i])
			continue;
		size = value_size(pipeline, first + i, value);
		if (is_expanded(pipeline, first + i, value))
			EOH_flatten_into(DatumGetEOHP(value), to, size);
		else
			memcpy(to, DatumGetPointer(value), size);
		row->values[i] = wide->tts_values[first + i] = PointerGetDatum(to);
		to += MAXALIGN(size);
	}
}

AnagoRow *
anago_row_make(AnagoPipeline *pipeline, int step, AnagoRow *parent)
{
	int			first,
				n;
	Size		fixed,
				payload;
	AnagoRow   *row;

	columns_of(pipeline, step, &first, &n);
	if (parent != NULL)
		parent->refs++;
	if (n == 0)
	{
		pipeline->bound = parent;
		return parent;
	}
	fixed = MAXALIGN(offsetof(AnagoRow, values) + n * (sizeof(Datum) + sizeof(bool)));
	payload = payload_size(pipeline, first, n);
	row = anago_pipeline_alloc(pipeline, fixed + payload);
	row->size = fixed + payload;
	row->refs = 1;
	row->step = step;
	row->parent = parent;
	memcpy(row->values, pipeline->wide->tts_values + first, n * sizeof(Datum));
	memcpy(row_nulls(row, n), pipeline->wide->tts_isnull + first, n * sizeof(bool));
	if (payload > 0)
		copy_payload(pipeline, row, first, n, (char *) row + fixed);
	pipeline->bound = row;
	return row;
}

void
anago_row_release(AnagoPipeline *pipeline, AnagoRow *row)
{
	while (row != NULL && --row->refs == 0)
	{
		AnagoRow   *parent = row->parent;

		/* its address may be used again */
		if (pipeline->bound == row)
			pipeline->bound = NULL;
		anago_pipeline_free(pipeline, row, row->size);
		row = parent;
	}
}

void
anago_row_bind_other(AnagoPipeline *pipeline, AnagoRow *row)
{
	AnagoRow   *bound = pipeline->bound;

	pipeline->bound = row;
	/* a child's columns leave those of its parent in place */
	if (bound != NULL && bound->parent == row)
		return;
	for (; row != NULL; row = row->parent)
	{
		int			first,
					n;

		columns_of(pipeline, row->step, &first, &n);
		memcpy(pipeline->wide->tts_values + first, row->values, n * sizeof(Datum));
		memcpy(pipeline->wide->tts_isnull + first, row_nulls(row, n), n * sizeof(bool));
	}
}

/* --- between processes --- */

/* Columns that the source and the steps before `step` fill: the first ones. */
static int
columns_before(const AnagoPipeline *pipeline, int step)
{
	int			n = 0;

	for (int i = ANAGO_STEP_SOURCE; i < step; i++)
		n += anago_pipeline_op(pipeline, i)->ncols;
	return n;
}

int
anago_row_pack(AnagoPipeline *pipeline, AnagoRow *row, int step, char *bytes, int max)
{
	TupleTableSlot *wide = pipeline->wide;
	int			n = columns_before(pipeline, step);
	Size		size = 0;
	char	   *to = bytes;

	anago_row_bind(pipeline, row);
	for (int i = 0; i < n; i++)
		size += datumEstimateSpace(wide->tts_values[i], wide->tts_isnull[i],
								   pipeline->typbyvals[i], pipeline->typlens[i]);
	if (size > max)
		return -1;
	for (int i = 0; i < n; i++)
		datumSerialize(wide->tts_values[i], wide->tts_isnull[i],
					   pipeline->typbyvals[i], pipeline->typlens[i], &to);
	Assert(to - bytes == size);
	return size;
}

AnagoRow *
anago_row_unpack(AnagoPipeline *pipeline, int step, char *bytes)
{
	TupleTableSlot *wide = pipeline->wide;
	int			n = columns_before(pipeline, step);
	AnagoRow   *row = NULL;
	MemoryContext old;

	ResetExprContext(pipeline->econtext);
	old = MemoryContextSwitchTo(pipeline->econtext->ecxt_per_tuple_memory);
	pipeline->bound = NULL;
	for (int i = 0; i < n; i++)
		wide->tts_values[i] = datumRestore(&bytes, &wide->tts_isnull[i]);
	MemoryContextSwitchTo(old);

	for (int i = ANAGO_STEP_SOURCE; i < step; i++)
	{
		AnagoRow   *parent = row;

		row = anago_row_make(pipeline, i, parent);
		anago_row_release(pipeline, parent);
	}
	return row;
}
