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

#include "ops/row.h"

/* The range of wide slot entries that a step fills. */
static inline void
columns_of(const AnagoQuery *query, int step, int *first, int *n)
{
	const AnagoOp *op = anago_query_op(query, step);

	*first = op->first_col;
	*n = op->ncols;
}

static inline bool *
row_nulls(AnagoRow *row, int n)
{
	return (bool *) (row->values + n);
}

static bool
is_expanded(const AnagoQuery *query, int i, Datum value)
{
	return query->typlens[i] == -1 &&
		VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value));
}

/*
 * Bytes of a copy.  An expanded object (of a child plan) belongs to whoever
 * made it, and is flattened, as tts_virtual_materialize() does.
 */
static Size
value_size(const AnagoQuery *query, int i, Datum value)
{
	if (is_expanded(query, i, value))
		return EOH_get_flat_size(DatumGetEOHP(value));
	return datumGetSize(value, false, query->typlens[i]);
}

static Size
payload_size(const AnagoQuery *query, int first, int n)
{
	TupleTableSlot *wide = query->wide;
	Size		size = 0;

	for (int i = first; i < first + n; i++)
		if (!query->typbyvals[i] && !wide->tts_isnull[i])
			size += MAXALIGN(value_size(query, i, wide->tts_values[i]));
	return size;
}

/* Move the values passed by reference to `to`, in slot and row. */
static void
copy_payload(AnagoQuery *query, AnagoRow *row, int first, int n, char *to)
{
	TupleTableSlot *wide = query->wide;

	for (int i = 0; i < n; i++)
	{
		Datum		value = wide->tts_values[first + i];
		Size		size;

		if (query->typbyvals[first + i] || wide->tts_isnull[first + i])
			continue;
		size = value_size(query, first + i, value);
		if (is_expanded(query, first + i, value))
			EOH_flatten_into(DatumGetEOHP(value), to, size);
		else
			memcpy(to, DatumGetPointer(value), size);
		row->values[i] = wide->tts_values[first + i] = PointerGetDatum(to);
		to += MAXALIGN(size);
	}
}

AnagoRow *
anago_row_make(AnagoQuery *query, int step, AnagoRow *parent)
{
	int			first,
				n;
	Size		fixed,
				payload;
	AnagoRow   *row;

	columns_of(query, step, &first, &n);
	if (parent != NULL)
		parent->refs++;
	if (n == 0)
	{
		query->bound = parent;
		return parent;
	}
	fixed = MAXALIGN(offsetof(AnagoRow, values) + n * (sizeof(Datum) + sizeof(bool)));
	payload = payload_size(query, first, n);
	row = anago_query_alloc(query, fixed + payload);
	row->size = fixed + payload;
	row->refs = 1;
	row->step = step;
	row->parent = parent;
	memcpy(row->values, query->wide->tts_values + first, n * sizeof(Datum));
	memcpy(row_nulls(row, n), query->wide->tts_isnull + first, n * sizeof(bool));
	if (payload > 0)
		copy_payload(query, row, first, n, (char *) row + fixed);
	query->bound = row;
	return row;
}

void
anago_row_release(AnagoQuery *query, AnagoRow *row)
{
	while (row != NULL && --row->refs == 0)
	{
		AnagoRow   *parent = row->parent;

		/* its address may be used again */
		if (query->bound == row)
			query->bound = NULL;
		anago_query_free(query, row, row->size);
		row = parent;
	}
}

void
anago_row_bind_other(AnagoQuery *query, AnagoRow *row)
{
	AnagoRow   *bound = query->bound;

	query->bound = row;
	/* a child's columns leave those of its parent in place */
	if (bound != NULL && bound->parent == row)
		return;
	for (; row != NULL; row = row->parent)
	{
		int			first,
					n;

		columns_of(query, row->step, &first, &n);
		memcpy(query->wide->tts_values + first, row->values, n * sizeof(Datum));
		memcpy(query->wide->tts_isnull + first, row_nulls(row, n), n * sizeof(bool));
	}
}

/* --- between processes --- */

/* Columns that the source and the steps before `step` fill: the first ones. */
static int
columns_before(const AnagoQuery *query, int step)
{
	int			n = 0;

	for (int i = ANAGO_STEP_SOURCE; i < step; i++)
		n += anago_query_op(query, i)->ncols;
	return n;
}

int
anago_row_pack(AnagoQuery *query, AnagoRow *row, int step, char *bytes, int max)
{
	TupleTableSlot *wide = query->wide;
	int			n = columns_before(query, step);
	Size		size = 0;
	char	   *to = bytes;

	anago_row_bind(query, row);
	for (int i = 0; i < n; i++)
		size += datumEstimateSpace(wide->tts_values[i], wide->tts_isnull[i],
								   query->typbyvals[i], query->typlens[i]);
	if (size > max)
		return -1;
	for (int i = 0; i < n; i++)
		datumSerialize(wide->tts_values[i], wide->tts_isnull[i],
					   query->typbyvals[i], query->typlens[i], &to);
	Assert(to - bytes == size);
	return size;
}

AnagoRow *
anago_row_unpack(AnagoQuery *query, int step, char *bytes)
{
	TupleTableSlot *wide = query->wide;
	int			n = columns_before(query, step);
	AnagoRow   *row = NULL;
	MemoryContext old;

	ResetExprContext(query->econtext);
	old = MemoryContextSwitchTo(query->econtext->ecxt_per_tuple_memory);
	query->bound = NULL;
	for (int i = 0; i < n; i++)
		wide->tts_values[i] = datumRestore(&bytes, &wide->tts_isnull[i]);
	MemoryContextSwitchTo(old);

	for (int i = ANAGO_STEP_SOURCE; i < step; i++)
	{
		AnagoRow   *parent = row;

		row = anago_row_make(query, i, parent);
		anago_row_release(query, parent);
	}
	return row;
}
