/*-------------------------------------------------------------------------
 *
 * risk.h
 *	  How many more rows there may be than estimated, and what that costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RISK_H
#define ANAGO_RISK_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* So many times as many rows as core believes these relations may give; 1: no more. */
extern double anago_rows_risk(PlannerInfo *root, Relids relids);

/* Would a hash join of the same two sides cost less than that nestloop? */
extern bool anago_hash_beats(const NestPath *nest);

/* So many times as many entries as core believes this index path may find. */
extern double anago_entries_risk(PlannerInfo *root, const IndexPath *ipath);

/* What core's bitmap scan of so many times as many entries costs; 0: there is none. */
extern Cost anago_bitmap_of(PlannerInfo *root, const IndexPath *ipath, double times);

/* What a hash join takes for one row more: to look it up, and to pass it on. */
extern Cost anago_hashed_row_cost(void);

/*
 * Of work that costs ours `expected`, and `feared` with so many more rows, where a
 * rival takes `rival` more for these: what the risk adds to our price.
 */
extern Cost anago_price_of_risk(Cost expected, Cost feared, Cost rival);

#endif							/* ANAGO_RISK_H */
