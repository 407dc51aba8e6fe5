/*-------------------------------------------------------------------------
 *
 * row.c
 *	  Rows in flight: chains of immutable fragments, and the wide slot.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"

#include "ops/row.h"

/* The range of wide slot entries that a step fills. */
static inline void
columns_of(const AnagoQuery *query, int step, int *first, int *n)
{
	if (step == ANAGO_STEP_SOURCE)
	{
		*first = 0;
		*n = query->source_ncols;
	}
	else
	{
		*first = query->steps[step].first_col;
		*n = query->steps[step].ncols;
	}
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
	row = MemoryContextAlloc(query->context, fixed + payload);
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
		pfree(row);
		row = parent;
	}
}

void
anago_row_bind(AnagoQuery *query, AnagoRow *row)
{
	if (row == query->bound)
		return;
	query->bound = row;
	for (; row != NULL; row = row->parent)
	{
		int			first,
					n;

		columns_of(query, row->step, &first, &n);
		memcpy(query->wide->tts_values + first, row->values, n * sizeof(Datum));
		memcpy(query->wide->tts_isnull + first, row_nulls(row, n), n * sizeof(bool));
	}
}
