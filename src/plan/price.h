/*-------------------------------------------------------------------------
 *
 * price.h
 *	  What the work of one step costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PRICE_H
#define ANAGO_PRICE_H

#include "postgres.h"

#include "plan/paths.h"

/* What one and the same work costs. */
typedef struct AnagoPrice
{
	Cost		core;			/* by core's formulas */
	Cost		ours;
	Cost		shared;			/* of ours, what processes would share */
	Cost		resident;		/* of ours, core's charge for pages that nobody waits
								 * for, less the CPU time that they take */
} AnagoPrice;

/* So many probes cost core `probes`, of which `io` for pages. */
typedef struct AnagoProbesCost
{
	double		loops;
	double		risk;			/* so many times as many there may be (risk.c) */
	bool		beaten;			/* core has something cheaper than its nestloop */
	bool		divided;		/* core has a partial path of these rows, too */
	double		whole;			/* fewer, if they stop at the first match: whole
								 * ones that cost as much */
	Cost		probes;
	Cost		io;
	Cost		repeated;		/* of probes, what correlated subqueries do not take
								 * that come again (repeats.c) */
	double		naps;			/* of probes, the share that naps save (naps.c); 0:
								 * what is waited for is on the device */
	double		in_order;		/* 0 to 1: of those pages, the share that follow each
								 * other on disk */
} AnagoProbesCost;

/*
 * inorder.c: of a column with the table's order, -1 to 1, as ANALYZE has found it; false: that
 * is not known.
 */
extern bool anago_correlation(PlannerInfo *root, Index relid, AttrNumber attno,
							  double *correlation);

/* The column of another table that the index's first one must be equal to; NULL: none. */
extern const Var *anago_compared_with(const IndexPath *ipath);

/* Is it one stretch of the index that is scanned, and not one for each element? */
extern bool anago_is_one_range(const IndexPath *ipath);

/* That share, for a step behind that outer side. */
extern double anago_pages_in_order(PlannerInfo *root, const AnagoPathStep *step,
								   const Path *outer);

/* Core's charge for the pages of one probe of a step, in all its tables. */
extern Cost anago_step_io(PlannerInfo *root, const AnagoPathStep *step);

/* Of those pages, the share that may have to be waited for. */
extern double anago_step_cold(PlannerInfo *root, const AnagoPathStep *step);

/* The first step, without startup. */
extern AnagoPrice anago_price_scan(PlannerInfo *root, AnagoPathStep *step);

/* Entries that this scan, which has been priced, is expected to find. */
extern double anago_entries_of(const AnagoPathStep *step);

/* Of the same, such a fraction, 0 to 1, of whose pages this share is not cached. */
extern AnagoPrice anago_price_fraction(PlannerInfo *root, const AnagoPathStep *step,
								   double fraction, double cold);

/*
 * Of core's price of a scan that is not ours, what AnagoPrice has as resident.
 */
extern Cost anago_resident_cost(PlannerInfo *root, const AnagoPathStep *step);

/*
 * A step that is probed.  `core` is by core's numbers of rows; own_loops probes
 * are expected.  `setup` is what the pipeline takes for a step of its own; less
 * than 0: saves.
 */
extern AnagoPrice anago_price_step(PlannerInfo *root, AnagoPathStep *step,
								   const AnagoProbesCost *core, double own_loops,
								   Cost setup, SpecialJoinInfo *sjinfo);

/* Will all of so many pages soon be cached, if they are not, where as many probes come to them? */
extern bool anago_soon_cached(double pages, double probes);

/* repeats.c: have rows that a probe of that step finds correlated subqueries in common? */
extern bool anago_step_repeats(PlannerInfo *root, const AnagoPathStep *step);

/* What core charges too much for these, if so many probes find so many entries each, */
extern Cost anago_repeated(PlannerInfo *root, const AnagoPathStep *step, double probes,
						   double entries);

/* and what they take. */
extern Cost anago_evaluated(PlannerInfo *root, const AnagoPathStep *step, double probes,
							double entries);

/*
 * Is a join that costs `ours`, which has so many probes for so many entries and in which
 * anago_repeated() is not counted, cheaper than all of core's for it if no such subquery is counted,
 * in ours and in theirs?
 */
extern bool anago_wins_without_subplans(PlannerInfo *root, const AnagoPathStep *step,
										const NestPath *nest, SpecialJoinInfo *sjinfo,
										Cost ours, double probes, double entries);

/* ---- shared by price.c, scanprice.c, repeats.c and gain.c ---- */

/* Of core's index path: tuples, CPU share of its run cost for so many. */
extern double anago_tuples_fetched(const IndexPath *ipath);
extern Cost anago_cpu_of(PlannerInfo *root, const AnagoPathStep *step, double tuples,
						 double rows);

/*
 * By core's formulas, the charge for the pages of one of so many probes, if it finds so
 * many entries, which lead to so many blocks.
 */
extern Cost anago_probe_io(PlannerInfo *root, const IndexPath *ipath, double loops,
						   double entries, double blocks);

/* Core's charge for the pages of one scan of that index path. */
extern Cost anago_index_path_io(PlannerInfo *root, const IndexPath *ipath);

/* Of the rows, those for which the table must be visited. */
extern double anago_part_visited(const IndexPath *ipath);

/*
 * Core's charge for pages that are in memory already, less the CPU time that they
 * take: nothing that a further process would help with.
 */
extern Cost anago_resident_of(const RelOptInfo *rel, Cost io);

/* One price out of two: by core's estimates, and by what the index says. */
extern AnagoPrice anago_settle(const AnagoPrice *believed, const AnagoPrice *dived);

/* Core's plan for the same work. */
typedef struct AnagoCoreRival
{
	Cost		cost;
	bool		beaten;			/* there is a cheaper path of core's */
	bool		divided;		/* core has a partial path for it */
} AnagoCoreRival;

/*
 * Add to our price what that plan suffers as well but is not priced for: unless it
 * is beaten, ours must not lose to it.
 */
extern void anago_charge(AnagoPrice *price, Cost extra, const AnagoCoreRival *core);

#endif							/* ANAGO_PRICE_H */
