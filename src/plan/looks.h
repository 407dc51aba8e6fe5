/*-------------------------------------------------------------------------
 *
 * looks.h
 *	  AnagoAhead in a finished plan: where, and with what looks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_LOOKS_H
#define ANAGO_LOOKS_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/plannodes.h"
#include "utils/rel.h"

#include "pipeline/desc.h"
#include "plan/answer.h"

/*
 * Fewer rows are not worth a node.  The first row passes before looks begin, then a
 * few are held, which for the last ones is in vain; and making looks ready takes as
 * long as some reads.
 */
#define ANAGO_FEWEST_AHEAD		8

/*
 * Where a filter may drop some of them, so many times the rows that are wanted
 * may be of use.
 */
#define ANAGO_LOOK_FILTERED		4

/* An index and table of fewer blocks are soon cached. */
#define ANAGO_SMALL_PAGES		64

/* A parameter that a row sets for what is below, and an expression for it. */
typedef struct AnagoRowParam
{
	int			paramid;
	Expr	   *value;			/* over the row: Vars of OUTER_VAR */
} AnagoRowParam;

/* What rows of a plan lead to. */
typedef struct AnagoLooks
{
	const PlannedStmt *stmt;
	const Bitmapset *of_rows;	/* parameters that some row sets, in whatever node */
	List	   *params;			/* AnagoRowParams: those that these rows set */
	Bitmapset  *unset;			/* those set further in: not known ahead */
	List	   *looks;			/* AnagoStepDescs, */
	List	   *columns;		/* Vars of OUTER_VAR: what they want of a row, */
	List	   *toastids;		/* of each: AnagoColumnDesc.toastid */
	bool		received;		/* AnagoPipelineDesc.received */
	AnagoFirstsDesc firsts;		/* of looks that are found now, */
	bool		counts;			/* of which what they find counts; */
	int			nappends;		/* Appends of which that has been said, */
	int			nworth;			/* and looks up to the last that is worth it */
	List	   *useless;		/* TOAST tables at which a look would be of no use */
	Index		old_relid;		/* Vars of that are columns of a row that is about to
								 * be replaced, which a look finds; or 0 */
	List	   *old_columns;	/* those that others want, by attribute */
	Bitmapset  *relids;			/* the tables that they read, */
	Bitmapset  *outside;		/* and parameters from outside */
} AnagoLooks;

/* ahead.c */
extern void anago_ahead_init(const CustomScanMethods *methods);

/* ahead.c: is the extension there, and can reads overlap? */
extern bool anago_looks_may_be_of_use(void);

/*
 * Put AnagoAhead into a plan that core has finished.  `may_cut`: scans may become
 * two nodes; a cursor looks for its scan in the plan.
 */
extern void anago_place_looks(PlannedStmt *stmt, bool may_cut);

/*
 * limited.c: add to a list those nodes below a LIMIT of which it wants too few rows for
 * looks.
 */
extern List *anago_add_limited(List *limited, const Limit *limit);

/* Rows that a Limit lets by, with those that it skips; 0: not known, or many. */
extern int	anago_rows_of_limit(const Limit *limit);

/*
 * subplans.c: might anago_cut_scan() find something to do, if there are correlated
 * subqueries in the plan, or values that are stored outside?  A cheap test.
 */
extern bool anago_can_cut(Plan *scan, bool correlated, bool outside);

/*
 * How many rows come to the correlated subqueries in a scan's filter, at most, by what
 * all of it costs?  0: there are none.
 */
extern double anago_most_filtered(Plan *scan);

/*
 * Of such a scan: does it evaluate subqueries, or functions of values that are stored
 * outside of their rows, whose looks are in `looks` now?
 * Then it does no longer: what was its target list, and what is left of its filter,
 * is to be evaluated above it, over Vars of OUTER_VAR.
 */
extern bool anago_cut_scan(AnagoLooks *looks, Plan *scan, List **targetlist,
						   List **qual);

/*
 * The same for a plan that must not be run ahead of demand as it is, for what its
 * target list calls: that is to be evaluated above it.  False: it cannot be.
 */
extern bool anago_cut_restless(Plan *plan, List **targetlist);

/* lookkeys.c: rows set that parameter to that value, over Vars of OUTER_VAR. */
extern void anago_add_row_param(AnagoLooks *looks, int paramid, Expr *value);

/*
 * looks.c: add what `plan`, which is run for each row, reads by keys of that row.
 * `most`: rows of it that are of use, or 0: all.
 */
extern void anago_find_looks(AnagoLooks *looks, const Plan *plan, int most);

extern void anago_find_in_all(AnagoLooks *looks, const List *plans, int most);

/*
 * lookfirsts.c: the same of plans of an Append, or a MergeAppend, of which so many rows
 * together are of use; or of plans that give others, whose rows do not make up for these.
 */
extern void anago_find_in_append(AnagoLooks *looks, const List *plans, int most);
extern void anago_find_in_merge(AnagoLooks *looks, const MergeAppend *plan, int most);
extern void anago_find_uncounted(AnagoLooks *looks, const List *plans, int most);

/*
 * lookpruned.c: the same of plans that are pruned while the query runs; `merged`: of
 * a MergeAppend.
 */
extern void anago_find_in_pruned(AnagoLooks *looks, const PartitionPruneInfo *info,
								 const List *plans, int most, bool merged);

/* Might it find any at that node, whatever is below it?  A cheap test. */
extern bool anago_may_be_looked_at(const PlannedStmt *stmt, const Plan *plan);

/* Is it AnagoScan or AnagoJoin? */
extern bool anago_is_pipeline(const CustomScan *cscan);

/*
 * cached.c: would its pages be waited for?  Are they not, as far as is known without
 * another look?  And is it known, before anything is made of it, that such a look is of
 * no use?
 */
extern bool anago_is_cold(Relation rel, BlockNumber pages);
extern AnagoAnswer anago_known_cached(Oid relid);
extern bool anago_look_is_vain(const PlannedStmt *stmt, Index scanrelid, Oid indexid);

/* lookkeys.c: would pages of a table be waited for that an index leads to? */
extern bool anago_is_worth_probing(Relation heap, Relation index);

/*
 * Add a look of that index by these keys, if it is one.  `shown` is
 * what EXPLAIN shows of them, in which INDEX_VAR means `tlist`; `filtered`: matches
 * may be dropped by a filter.  False: it is none.
 */
extern bool anago_add_look(AnagoLooks *looks, AnagoStepDesc *desc, List *shown,
						   const List *tlist, int most, bool filtered);

/* Make values over the row in the same way; false: that can't be done. */
extern bool anago_make_over_row(AnagoLooks *looks, List **values);

/* The same of a look of a level above 0, whose keys are complete; false: it is none. */
extern bool anago_add_look_behind(AnagoLooks *looks, AnagoStepDesc *desc);

/*
 * The look at the row that is about to be replaced, before all others.  Its `shown`
 * are none.  False: it cannot be.
 */
extern bool anago_add_old_row(AnagoLooks *looks, AnagoStepDesc *desc);

/*
 * A look at chunks of values of that column: the number is the key that is missing in
 * `desc`.  False: there is no room for it, or it would be of no use.
 */
extern bool anago_add_toast(AnagoLooks *looks, AnagoStepDesc *desc, const Var *column);

/*
 * toast.c: looks at values that are stored outside of rows of a plan, of those columns
 * that `tlist` has as they are (Vars of OUTER_VAR); they will all be fetched.
 */
extern void anago_find_toast(AnagoLooks *looks, const Plan *rows, const List *tlist);

/* The same of those that functions in `tlist` fetch; might there be any?  A cheap test. */
extern void anago_find_fetched(AnagoLooks *looks, const Plan *rows, const List *tlist);
extern bool anago_may_fetch(const Plan *scan);

/* Has a table of the statement values that are stored outside, worth a look? */
extern bool anago_stores_outside(const PlannedStmt *stmt);

/*
 * routes.c: is a routed look worth it, as `judge` says of a partition and its index?
 * Some are asked for.
 */
typedef bool (*AnagoJudgeTable) (Relation heap, Relation index,
								 const AnagoStepDesc *desc);
extern bool anago_route_is_worth_it(Relation heap, const AnagoStepDesc *desc,
									AnagoJudgeTable judge);

/* The column of it that says that the new row gets entries in indexes. */
extern Node *anago_new_entries_var(const AnagoLooks *looks);

/*
 * May this node, apart from what is below it, be evaluated for nothing?  And are
 * values of a type compared by built-in functions alone?
 */
extern bool anago_is_plain(Node *node);
extern bool anago_is_plain_type(Oid type);

/* calm.c: is it to be seen when and how often an expression is evaluated? */
extern bool anago_is_restless(Node *expr);

/* Is it not to be seen that this plan is run ahead of demand? */
extern bool anago_plan_is_calm(const PlannedStmt *stmt, const Plan *plan);

#endif							/* ANAGO_LOOKS_H */
