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
#include "ops/btree/span.h"
#include "pipeline/row.h"
#include "shared/items.h"

AnagoSpan *
anago_span_create(AnagoPipeline *pipeline, int combo, int combo_end)
{
	AnagoSpan  *span = anago_pipeline_alloc(pipeline, sizeof(AnagoSpan));

	span->combo = combo;
	span->combo_end = combo_end;
	span->item.slot = -1;
	span->item.generation = 0;
	span->child = InvalidOffsetNumber;
	span->own = false;
	span->low = span->upto = NULL;
	span->goes_left = false;
	span->begun = InvalidOffsetNumber;
	span->batch.seq = 0;
	span->batch.piece = 0;
	span->batch.last = -1;
	span->batch.more = false;
	return span;
}

void
anago_span_free(AnagoPipeline *pipeline, AnagoSpan *span)
{
	anago_bound_free(pipeline, span->low);
	anago_bound_free(pipeline, span->upto);
	anago_pipeline_free(pipeline, span, sizeof(AnagoSpan));
}

void
anago_batch_fill(AnagoStep *step, AnagoBatch *batch, Page page,
				 OffsetNumber child, bool from_start)
{
	AnagoSpanPage *at = anago_batch_page(batch);
	BTScanInsert end = &step->keys.end;

	batch->piece = child;
	/* where the order lies, the end may be left of the start */
	batch->last = Max(anago_bt_search(step->indexrel, end, page), child);
	batch->more = batch->last == PageGetMaxOffsetNumber(page) &&
		anago_bt_goes_on(step->indexrel, end, page, batch->last);
	at->next = batch->more ? BTPageGetOpaque(page)->btpo_next : InvalidBlockNumber;
	at->ends = !batch->more;
	at->from_start = from_start;
	at->mirror = 0;
	memcpy(at->page, page, BLCKSZ);
}

void
anago_span_page(AnagoStep *step, AnagoSpan *span, Page page,
				OffsetNumber child, bool from_start)
{
	AnagoBatch *batch = &span->batch;

	anago_batch_fill(step, batch, page, child, from_start);
	batch->seq++;

	if (anago_span_is_shared(span))
		anago_span_install(step->op.pipeline, span);
}

/* --- shared ones --- */

/* The separators that go with a page of the source's item: two of these. */
typedef struct Separator
{
	bool		there;
	char		tuple[ANAGO_SOURCE_BYTES / 2 - MAXIMUM_ALIGNOF] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} Separator;

typedef struct Separators
{
	Separator	low;
	Separator	upto;
} Separators;

StaticAssertDecl(sizeof(Separators) <= ANAGO_SOURCE_BYTES, "two separators fit");

static void
put_separator(Separator *to, IndexTuple from)
{
	to->there = from != NULL;
	if (from == NULL)
		return;
	Assert(IndexTupleSize(from) <= sizeof(to->tuple));
	memcpy(to->tuple, from, IndexTupleSize(from));
}

static void
get_separator(AnagoPipeline *pipeline, IndexTuple *to, const Separator *from)
{
	anago_bound_free(pipeline, *to);
	*to = from->there ? anago_bound_dup(pipeline, (IndexTuple) from->tuple) : NULL;
}

/* Another's page may end elsewhere: that one is to be copied, then. */
void
anago_span_install(AnagoPipeline *pipeline, AnagoSpan *span)
{
	AnagoShare *share = pipeline->peers.share;
	AnagoBatch *batch = &span->batch;
	Separators	separators;
	bool		installed;

	if (span->item.slot != ANAGO_SOURCE_SLOT)
		installed = anago_item_install(share, span->item, batch, NULL, 0);
	else
	{
		put_separator(&separators.low, span->low);
		put_separator(&separators.upto, span->upto);
		installed = anago_item_install(share, span->item, batch,
									   (char *) &separators, sizeof(separators));
	}
	if (!installed)
		batch->seq = 0;
}

/* As anago_item_take(). */
static AnagoTaken
take_shared(AnagoPipeline *pipeline, AnagoSpan *span, int *piece)
{
	AnagoShare *share = pipeline->peers.share;
	uint32		seq = span->batch.seq;
	Separators	separators;
	AnagoTaken	taken;

	if (span->item.slot != ANAGO_SOURCE_SLOT)
		return anago_item_take(share, span->item, &span->batch, NULL, piece);
	taken = anago_item_take(share, span->item, &span->batch, (char *) &separators, piece);
	if (span->batch.seq != seq)
	{
		get_separator(pipeline, &span->low, &separators.low);
		get_separator(pipeline, &span->upto, &separators.upto);
	}
	return taken;
}

AnagoSpan *
anago_span_of_source(AnagoPipeline *pipeline)
{
	AnagoSpan  *span = anago_span_create(pipeline, 0, 1);

	span->item = anago_item_of_source();
	return span;
}

/*
 * Where one match ends a probe, or none makes a row, all matches must be known
 * in one place.  A range is named by its step, which must have one table.
 */
static bool
may_be_split(const AnagoProbe *probe)
{
	const AnagoStepDesc *desc = probe->step->desc;

	return desc->jointype == JOIN_INNER && !desc->inner_unique &&
		probe->fan == NULL && !probe->step->backward &&
		anago_distribution(probe->step)->shares;
}

/* What the bytes of an item are. */
typedef struct SpanHead
{
	int32		combo;			/* a run of combinations, */
	int32		combo_end;		/* to before this one */
	char		row[FLEXIBLE_ARRAY_MEMBER];
} SpanHead;

static void
publish(AnagoProbe *probe, AnagoSpan *span)
{
	AnagoOp    *op = &probe->step->op;
	union
	{
		SpanHead	head;
		char		bytes[ANAGO_ITEM_BYTES];
	}			what;
	int			row_bytes;

	what.head.combo = span->combo;
	what.head.combo_end = span->combo_end;
	row_bytes = anago_row_pack(op->pipeline, probe->row, op->index, what.head.row,
							   ANAGO_ITEM_BYTES - offsetof(SpanHead, row));
	if (row_bytes >= 0)
		anago_item_publish(op->pipeline->peers.share, op->index, what.bytes,
						   offsetof(SpanHead, row) + row_bytes,
						   &span->batch, &span->item);
}

AnagoSpan *
anago_span_enter(AnagoOp *op, AnagoItem item, char *bytes, AnagoRow **row)
{
	SpanHead   *head = (SpanHead *) bytes;
	AnagoSpan  *span = anago_span_create(op->pipeline, head->combo, head->combo_end);

	span->item = item;
	*row = anago_row_unpack(op->pipeline, op->index, head->row);
	return span;
}

AnagoTaken
anago_span_next(AnagoProbe *probe, AnagoSpan *span)
{
	AnagoShare *share = probe->step->op.pipeline->peers.share;
	AnagoBatch *batch = &span->batch;
	int			piece = 0;
	AnagoTaken	taken;

	if (!anago_span_is_shared(span) && !span->own && share != NULL &&
		batch->piece < batch->last && may_be_split(probe) && anago_item_welcome(share))
		publish(probe, span);

	if (anago_span_is_shared(span))
		taken = take_shared(probe->step->op.pipeline, span, &piece);
	else if (anago_pieces_left(batch) > 0)
	{
		piece = batch->piece++;
		taken = ANAGO_TAKEN_PIECE;
	}
	else
		taken = batch->more ? ANAGO_TAKEN_LAST : ANAGO_TAKEN_END;
	if (taken == ANAGO_TAKEN_PIECE)
		span->child = anago_span_at(span)->mirror > 0 ?
			anago_span_at(span)->mirror - piece : piece;
	return taken;
}

IndexTuple
anago_bound_copy(AnagoPipeline *pipeline, Page page, OffsetNumber child)
{
	OffsetNumber off = child < PageGetMaxOffsetNumber(page) ?
		OffsetNumberNext(child) : P_HIKEY;

	return anago_bound_dup(pipeline,
						   (IndexTuple) PageGetItem(page, PageGetItemId(page, off)));
}

IndexTuple
anago_bound_dup(AnagoPipeline *pipeline, IndexTuple bound)
{
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
