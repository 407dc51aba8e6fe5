/*-------------------------------------------------------------------------
 *
 * span.h
 *	  Spans: the part of an index range that is yet to be handed to leaf tasks,
 *	  where it has many leaves.
 *
 * A span is a copy of a page of level 1 and the children of it that are in the
 * range.  It belongs to one range task; in a parallel query it may be
 * published as an item (shared/items.h), after which the range tasks of all
 * processes that enter it take children of it by turns:
 *
 *		item		the run of combinations, and the row that is probed for
 *		batch		a page of level 1; the next page right of it comes next
 *		piece		offset number of a child
 *
 * Where rows leave in order there is one item, of the source's only range; with a
 * page go the separators around what is to be walked of it (backward.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SPAN_H
#define ANAGO_SPAN_H

#include "postgres.h"

#include "ops/btree/btree.h"
#include "shared/items.h"

/* A page of level 1: what the bytes of a batch are. */
typedef struct AnagoSpanPage
{
	BlockNumber next;			/* where the range goes on, if batch.more */
	bool		ends;			/* the last child is the range's last */
	bool		from_start;		/* it may hold entries before the range */
	OffsetNumber mirror;		/* backward: piece and child sum up to this; or 0 */
	char		page[BLCKSZ] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoSpanPage;

StaticAssertDecl(sizeof(AnagoSpanPage) <= ANAGO_BATCH_BYTES,
				 "a page of level 1 fits a batch");

typedef struct AnagoSpan
{
	int			combo;			/* the run of combinations that is walked, */
	int			combo_end;		/* to before this one */
	AnagoItem	item;			/* as it was published; slot -1: private */
	OffsetNumber child;			/* taken last */
	bool		own;			/* others can't tell where it ends */

	/* backward.c; of a shared one, as it was installed with the page */
	IndexTuple	low;			/* separator at the left of the page, or NULL */
	IndexTuple	upto;			/* at the right of what is yet to come; NULL: the
								 * end of the range */
	bool		goes_left;		/* the range begins left of the page */
	OffsetNumber begun;			/* child for which a task was spawned last */

	AnagoBatch	batch;			/* .piece is of meaning where private */
} AnagoSpan;

static inline AnagoSpanPage *
anago_batch_page(AnagoBatch *batch)
{
	return (AnagoSpanPage *) batch->bytes;
}

static inline AnagoSpanPage *
anago_span_at(AnagoSpan *span)
{
	return anago_batch_page(&span->batch);
}

static inline bool
anago_span_is_shared(const AnagoSpan *span)
{
	return span->item.slot >= 0;
}

/* An empty one, in pipeline->context. */
extern PGDLLEXPORT AnagoSpan *anago_span_create(AnagoPipeline *pipeline, int combo, int combo_end);
extern PGDLLEXPORT void anago_span_free(AnagoPipeline *pipeline, AnagoSpan *span);

/* An empty one of the source's item, which all processes work at. */
extern AnagoSpan *anago_span_of_source(AnagoPipeline *pipeline);

/* Offer what it has as the next page of a shared one. */
extern void anago_span_install(AnagoPipeline *pipeline, AnagoSpan *span);

/*
 * One that another process has published: an empty one, and the row that is
 * probed for, which is bound, and whose reference is the caller's.
 */
extern PGDLLEXPORT AnagoSpan *anago_span_enter(AnagoOp *op, AnagoItem item, char *bytes,
								   AnagoRow **row);

/*
 * A page of level 1 is what comes next, from its child `child` on; the step's
 * keys are bound.
 */
extern PGDLLEXPORT void anago_span_page(AnagoStep *step, AnagoSpan *span, Page page,
							OffsetNumber child, bool from_start);

/* Describe that page and what of it is in the range; but for its number. */
extern PGDLLEXPORT void anago_batch_fill(AnagoStep *step, AnagoBatch *batch, Page page,
							 OffsetNumber child, bool from_start);

/*
 * Take the next child: span->child.  ANAGO_TAKEN_LAST: the page's `next` is to
 * be read, and given to anago_span_page().  Publishes the span where that is of
 * use and `probe` allows it.
 */
extern PGDLLEXPORT AnagoTaken anago_span_next(AnagoProbe *probe, AnagoSpan *span);

/*
 * A copy of the separator right of a child of a page of level 1, in
 * pipeline->context: the bound of what a leaf task reads.  NULL is none.
 */
extern PGDLLEXPORT IndexTuple anago_bound_copy(AnagoPipeline *pipeline, Page page, OffsetNumber child);
extern PGDLLEXPORT IndexTuple anago_bound_dup(AnagoPipeline *pipeline, IndexTuple bound);
extern PGDLLEXPORT void anago_bound_free(AnagoPipeline *pipeline, IndexTuple bound);

#endif							/* ANAGO_SPAN_H */
