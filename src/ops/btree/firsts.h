/*-------------------------------------------------------------------------
 *
 * firsts.h
 *	  Looks at tables of an Append of which a LIMIT wants the first rows together.
 *
 * Core goes through the tables in order, and on to the next one where those before
 * it have not given enough.  So do looks, for each row:
 *
 *		LIMIT 3		ev_2024_03	2 entries		1 is still wanted
 *					ev_2024_02	7 entries		the first is looked at; 0 are
 *					ev_2024_01					is not looked into
 *
 * Entries are taken for rows.  Where some are dead core goes further than looks have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_FIRSTS_H
#define ANAGO_FIRSTS_H

#include "postgres.h"

#include "ops/btree/btree.h"
#include "pipeline/held.h"

/* The row that is bound: as it stands with that Append. */
static inline AnagoHeldRow *
anago_firsts_row(const AnagoPipeline *pipeline, const AnagoFirstsDesc *firsts)
{
	Datum		label = pipeline->wide->tts_values[ANAGO_HELD_LABEL_COLUMN];
	AnagoHeldRow *row = anago_held_row(pipeline->held, DatumGetInt32(label));

	if (row->append != firsts->append)
	{
		row->append = firsts->append;
		row->wanted = firsts->most;
	}
	return row;
}

/* Does core come to this table, or these, for the row that is bound? */
static inline bool
anago_firsts_are_wanted(const AnagoPipeline *pipeline, const AnagoFirstsDesc *firsts)
{
	return firsts->append == 0 || anago_firsts_row(pipeline, firsts)->wanted > 0;
}

/* The row that is bound: so many rows of several of the Append's tables are known. */
static inline void
anago_firsts_given(const AnagoPipeline *pipeline, const AnagoFirstsDesc *firsts, int n)
{
	if (firsts->append > 0)
		anago_firsts_row(pipeline, firsts)->wanted -= n;
}

/*
 * Of the entries that are of use, those of one of several tables that the row has: the first, and
 * a share of the others, as a MergeAppend takes them.
 */
static inline int
anago_firsts_share(const AnagoProbe *probe)
{
	int			most = probe->step->desc->most;
	int			n = probe->fan == NULL ? 1 : Max(probe->fan->n, 1);

	return 1 + (most - 1 + n - 1) / n;
}

/*
 * A leaf has `n` entries for a look of which not all matches are of use: how many are,
 * at most.
 */
static inline int
anago_firsts_take(const AnagoProbe *probe, int n)
{
	const AnagoStepDesc *desc = probe->step->desc;
	AnagoHeldRow *row;
	int			most;

	if (desc->firsts.append == 0 || desc->firsts.per_row == 0)
		return anago_firsts_share(probe);
	anago_row_bind(probe->step->op.pipeline, probe->row);
	row = anago_firsts_row(probe->step->op.pipeline, &desc->firsts);
	most = Max(row->wanted, 1) * desc->firsts.per_row;
	row->wanted -= Min(n, most) / desc->firsts.per_row;
	return most;
}

#endif							/* ANAGO_FIRSTS_H */
