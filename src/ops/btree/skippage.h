/*-------------------------------------------------------------------------
 *
 * skippage.h
 *	  Skip scans: which pages may have matches, as separators say (skip.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SKIPPAGE_H
#define ANAGO_SKIPPAGE_H

#include "postgres.h"

#include "ops/btree/btree.h"
#include "ops/btree/run.h"
#include "ops/btree/span.h"

/* Does the index have so many levels that pages of level 1 can be left out? */
extern bool anago_skips_inner(const AnagoStep *step);

/* Begin with the first page of level 1, or with what is right of next->upper. */
extern void anago_skip_begin(AnagoProbe *probe, AnagoNextRun *next);

/*
 * One page further down to it.  `page`, of level 2 or above, is locked, or a
 * copy.
 */
extern void anago_skip_descend(AnagoProbe *probe, AnagoNextRun *next, Page page);

/*
 * May the child of a page of level 1 that has been taken have matches?
 * `lower`, or NULL: nothing before it is of interest.  The children to be taken
 * next begin with the first one behind it that may.
 */
extern bool anago_skip_child(AnagoProbe *probe, AnagoSpan *span, IndexTuple lower);

/*
 * Backward: of the children first .. last of an inner page, the last one that may
 * have matches, or InvalidOffsetNumber.  `lower`: what the page begins with.
 */
extern OffsetNumber anago_skip_last_child(AnagoProbe *probe, Page page,
										  OffsetNumber first, OffsetNumber last,
										  IndexTuple lower);

/* The walk ends at `upper`, or NULL, where another one begins. */
extern void anago_skip_cut(AnagoStep *step, AnagoSpan *span, Page page,
						   IndexTuple upper);

#endif							/* ANAGO_SKIPPAGE_H */
