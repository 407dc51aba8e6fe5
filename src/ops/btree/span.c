/*-------------------------------------------------------------------------
 *
 * span.c
 *	  Spans: what is yet to be handed to leaf tasks of a wide range.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"

#include "ops/btree/btpage.h"
#include "ops/btree/distribute.h"
#include "pipeline/row.h"
#include "ops/btree/span.h"
#include "shared/share.h"

AnagoSpan *
anago_span_create(AnagoPipeline *pipeline, int combo, int combo_end)
{
	AnagoSpan  *span = anago_pipeline_alloc(pipeline, sizeof(AnagoSpan));

	span->combo = combo;
	span->combo_end = combo_end;
	span->slot = -1;
	span->generation = 0;
	span->child = InvalidOffsetNumber;
	span->at.seq = 0;
	return span;
}

void
anago_span_free(AnagoPipeline *pipeline, AnagoSpan *span)
{
	anago_pipeline_free(pipeline, span, sizeof(AnagoSpan));
}

void
anago_range_page_fill(AnagoStep *step, AnagoRangePage *at, Page page,
					  OffsetNumber child, bool from_start)
{
	BTScanInsert end = &step->keys.end;

	at->child = child;
	/* where the order lies, the end may be left of the start */
	at->last = Max(anago_bt_search(step->indexrel, end, page), child);
	at->next = InvalidBlockNumber;
	if (at->last == PageGetMaxOffsetNumber(page) &&
		anago_bt_goes_on(step->indexrel, end, page, at->last))
		at->next = BTPageGetOpaque(page)->btpo_next;
	at->ends = at->next == InvalidBlockNumber;
	at->from_start = from_start;
	memcpy(at->page, page, BLCKSZ);
}

void
anago_span_page(AnagoStep *step, AnagoSpan *span, Page page,
				OffsetNumber child, bool from_start)
{
	AnagoRangePage *at = &span->at;

	anago_range_page_fill(step, at, page, child, from_start);
	at->seq++;

	/* Another's page may end elsewhere: that one is to be copied, then. */
	if (anago_span_is_shared(span) &&
		!anago_range_install(step->op.pipeline->peers.share, span->slot,
							 span->generation, at))
		at->seq = 0;
}

/*
 * Where one match ends a probe, or none makes a row, all matches must be known
 * in one place.
 */
static bool
may_be_split(const AnagoProbe *probe)
{
	const AnagoStepDesc *desc = probe->step->desc;

	return desc->jointype == JOIN_INNER && !desc->inner_unique &&
		anago_distribution(probe->step)->shares;
}

static void
publish(AnagoProbe *probe, AnagoSpan *span)
{
	AnagoPipeline *pipeline = probe->step->op.pipeline;
	AnagoRangeName name;
	char		row[ANAGO_SHARED_ROW_BYTES];

	name.step = probe->step->op.index;
	name.combo = span->combo;
	name.combo_end = span->combo_end;
	name.row_bytes = anago_row_pack(pipeline, probe->row, name.step, row,
									ANAGO_SHARED_ROW_BYTES);
	if (name.row_bytes >= 0)
		span->slot = anago_range_publish(pipeline->peers.share, &name, row, &span->at,
										 &span->generation);
}

AnagoTaken
anago_span_next(AnagoProbe *probe, AnagoSpan *span)
{
	AnagoShare *share = probe->step->op.pipeline->peers.share;
	AnagoRangePage *at = &span->at;

	if (!anago_span_is_shared(span) && share != NULL && at->child < at->last &&
		may_be_split(probe) && anago_range_welcome(share))
		publish(probe, span);

	if (anago_span_is_shared(span))
		return anago_range_take(share, span->slot, span->generation, at,
								&span->child);
	if (at->child <= at->last)
	{
		span->child = at->child++;
		return ANAGO_TAKEN_CHILD;
	}
	return at->next != InvalidBlockNumber ? ANAGO_TAKEN_LOAD : ANAGO_TAKEN_END;
}

IndexTuple
anago_bound_copy(AnagoPipeline *pipeline, Page page, OffsetNumber child)
{
	OffsetNumber off = child < PageGetMaxOffsetNumber(page) ?
		OffsetNumberNext(child) : P_HIKEY;
	IndexTuple	bound = (IndexTuple) PageGetItem(page, PageGetItemId(page, off));
	IndexTuple	copy = anago_pipeline_alloc(pipeline, IndexTupleSize(bound));

	memcpy(copy, bound, IndexTupleSize(bound));
	return copy;
}

void
anago_bound_free(AnagoPipeline *pipeline, IndexTuple bound)
{
	if (bound != NULL)
		anago_pipeline_free(pipeline, bound, IndexTupleSize(bound));
}
