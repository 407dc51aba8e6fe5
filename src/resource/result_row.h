/*-------------------------------------------------------------------------
 *
 * result_row.h
 *	  The row that an SQL function returns, as it grows column by column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RESULT_ROW_H
#define ANAGO_RESULT_ROW_H

#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"

/* At most so many columns. */
#define ANAGO_RESULT_COLUMNS	32

typedef struct AnagoResultRow
{
	Datum		values[ANAGO_RESULT_COLUMNS];
	bool		nulls[ANAGO_RESULT_COLUMNS];
	int			n;				/* columns so far */
} AnagoResultRow;

static inline void
anago_result_add(AnagoResultRow *row, Datum value, bool isnull)
{
	Assert(row->n < ANAGO_RESULT_COLUMNS);
	row->nulls[row->n] = isnull;
	row->values[row->n++] = isnull ? (Datum) 0 : value;
}

/* No text at all is NULL. */
static inline void
anago_result_add_text(AnagoResultRow *row, const char *text)
{
	anago_result_add(row, CStringGetTextDatum(text), text[0] == '\0');
}

static inline Datum
anago_result_make(AnagoResultRow *row, TupleDesc tupdesc)
{
	Assert(row->n == tupdesc->natts);
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, row->values, row->nulls));
}

#endif							/* ANAGO_RESULT_ROW_H */
