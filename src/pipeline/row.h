/*-------------------------------------------------------------------------
 *
 * row.h
 *	  Rows in flight: chains of immutable fragments, and the wide slot.
 *
 *		fragment of step 1 --parent--> fragment of step 0 --parent--> source's
 *		[c_name]					   [o_orderkey, o_date]			  []
 *
 * Rows that come from the same outer row share its fragment.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ROW_H
#define ANAGO_ROW_H

#include "postgres.h"

#include "pipeline/state.h"

/*
 * The columns that one step (or the source) adds to a row.  Immutable once
 * made.  values[] is followed by isnull[], then by the bytes of values passed
 * by reference.
 */
struct AnagoRow
{
	struct AnagoRow *parent;	/* fragment of an earlier step, or NULL */
	int32		refs;			/* children and probes */
	int16		step;			/* who made it: ANAGO_STEP_SOURCE or a step */
	Size		size;			/* bytes of this chunk */
	Datum		values[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * A fragment of the columns that the wide slot now holds for `step`
 * (ANAGO_STEP_SOURCE: the source).  Values passed by reference are copied,
 * and the wide slot then refers to the copies.  `parent` must be bound.  The
 * result has one reference, the caller's; where the step has no columns it is
 * the parent itself (NULL for the unit row).
 */
extern PGDLLEXPORT AnagoRow *anago_row_make(AnagoPipeline *pipeline, int step, AnagoRow *parent);

/*
 * The columns of a row that is to be probed for in `step`, as bytes; the row
 * is bound by that.  Returns how many, or -1 if they are more than `max`.
 */
extern PGDLLEXPORT int	anago_row_pack(AnagoPipeline *pipeline, AnagoRow *row, int step,
						   char *bytes, int max);

/* That row again, perhaps in another process, bound, with one reference. */
extern PGDLLEXPORT AnagoRow *anago_row_unpack(AnagoPipeline *pipeline, int step, char *bytes);

/* Give up one reference. */
extern PGDLLEXPORT void anago_row_release(AnagoPipeline *pipeline, AnagoRow *row);

/*
 * Make the wide slot hold that row's columns; later steps' are undefined.
 * pipeline->bound remembers it, so that binding the same row again is free, and
 * so is binding the parent of a row.
 */
extern PGDLLEXPORT void anago_row_bind_other(AnagoPipeline *pipeline, AnagoRow *row);

static inline void
anago_row_bind(AnagoPipeline *pipeline, AnagoRow *row)
{
	if (row != pipeline->bound)
		anago_row_bind_other(pipeline, row);
}

#endif							/* ANAGO_ROW_H */
