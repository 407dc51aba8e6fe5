/*-------------------------------------------------------------------------
 *
 * span.h
 *	  Spans: the part of an index range that is yet to be handed to leaf tasks,
 *	  where it has many leaves.
 *
 * A span is a copy of a page of level 1 and the children of it that are in the
 * range.  It belongs to one range task; in a parallel query it may be
 * published, after which the range tasks of all processes that enter it take
 * children of it by turns (shared/ranges.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SPAN_H
#define ANAGO_SPAN_H

#include "postgres.h"

#include "ops/btree/btree.h"
#include "shared/ranges.h"

typedef struct AnagoSpan
{
	int			combo;			/* the run of combinations that is walked, */
	int			combo_end;		/* to before this one */
	int			slot;			/* of the published range, or -1: private */
	uint32		generation;		/* of that slot */
	OffsetNumber child;			/* taken last */
	AnagoRangePage at;			/* .child is of meaning where private */
} AnagoSpan;

static inline bool
anago_span_is_shared(const AnagoSpan *span)
{
	return span->slot >= 0;
}

/* An empty one, in pipeline->context. */
extern AnagoSpan *anago_span_create(AnagoPipeline *pipeline, int combo, int combo_end);
extern void anago_span_free(AnagoPipeline *pipeline, AnagoSpan *span);

/*
 * A page of level 1 is what comes next, from its child `child` on; the step's
 * keys are bound.
 */
extern void anago_span_page(AnagoStep *step, AnagoSpan *span, Page page,
							OffsetNumber child, bool from_start);

/* Describe that page and what of it is in the range; but for its number. */
extern void anago_range_page_fill(AnagoStep *step, AnagoRangePage *at, Page page,
								  OffsetNumber child, bool from_start);

/*
 * Take the next child: span->child.  ANAGO_TAKEN_LOAD: span->at.next is to be
 * read, and given to anago_span_page().  Publishes the span where that is of
 * use and `probe` allows it.
 */
extern AnagoTaken anago_span_next(AnagoProbe *probe, AnagoSpan *span);

/*
 * A copy of the separator right of a child of a page of level 1, in
 * pipeline->context: the bound of what a leaf task reads.  NULL is none.
 */
extern IndexTuple anago_bound_copy(AnagoPipeline *pipeline, Page page, OffsetNumber child);
extern void anago_bound_free(AnagoPipeline *pipeline, IndexTuple bound);

#endif							/* ANAGO_SPAN_H */
