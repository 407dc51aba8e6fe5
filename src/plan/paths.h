/*-------------------------------------------------------------------------
 *
 * paths.h
 *	  Paths of anago, and what the files of this folder share.
 *
 * An AnagoPath is a pipeline in the making: where its rows come from, and one
 * AnagoPathStep for each table that is probed for them.
 *
 *		AnagoScan	source NULL, one step
 *		AnagoJoin	source NULL or any core path, steps of the outer
 *					AnagoPath (if merged), and one step more
 *
 * A step's index path is core's own, made by core for a plain index scan; the
 * plan made of it by core later says which conditions the index checks and
 * which are left to be filtered, in core's order.  Where the inner side is an
 * Append (a partitioned table, inheritance, UNION ALL), the step has an index
 * path for each table of it, its members; where a table is looked up by OR over
 * several indexes, one for each arm of it (arms.c).
 *
 * A partial path (parallel_aware, parallel_workers > 0) is the same pipeline
 * run by several processes, each of which gives a part of the rows.  Costs and
 * rows in its CustomPath are then one process's; those in the AnagoPath stay
 * the whole pipeline's, as if one process ran it.
 *
 * Invariants
 *	- a step's index path requires relations that come before it in the pipeline
 *	  and, where the AnagoPath is parameterized, relations that this requires:
 *	  rows of these are parameters of core's nested loop that it is the inner side
 *	  of; a source is not parameterized, nor is a partial path;
 *	- 1 <= length of steps <= ANAGO_MAX_STEPS;
 *	- the source of a partial path is NULL or itself partial;
 *	- the pathkeys of an AnagoPath are those of its source, or of the first
 *	  step's index path; or it has none, and rows leave in no order, unless it is
 *	  rechecked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PATHS_H
#define ANAGO_PATHS_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "plan/dive.h"
#include "plan/plan.h"

/* Scheduler, queues and the first reads of a small window: in page reads. */
#define ANAGO_SETUP_PAGES		2.0

/* By which part of its cost a step is dearer where it keeps an order. */
#define ANAGO_ORDER_PART		0.02

/* anago.debug_force: what a path costs, as a fraction of its real cost. */
#define ANAGO_FORCED_COST_FACTOR	1e-6

typedef struct AnagoPathStep
{
	IndexPath  *ipath;			/* of the only table, or of the first member */
	Path	   *several;		/* core's path of several members: an Append of
								 * tables, or a bitmap scan of one by an OR; NULL:
								 * there is one index path */
	List	   *members;		/* IndexPaths, where several is not NULL; arms of
								 * one table follow each other */
	bool		has_arms;
	Cost		tests;			/* of a probe: which arm a row is of */
	AnagoStepFacts *facts;		/* shared by copies of the step */
	AnagoDive	dive;			/* what its index says of it */
	double		cold;			/* 0 to 1: share of its pages that may have to be
								 * waited for */
	double		naps;			/* of core's charge for its probes, the share that
								 * naps save (naps.c) */
	JoinType	jointype;
	bool		inner_unique;
	List	   *joinrestrictinfo;	/* RestrictInfos left to the join */
	Relids		joinrelids;		/* of the join that this step makes; NULL for
								 * the first step of the unit source */
	List	   *found_before;	/* index paths of a union's arms before this one */
} AnagoPathStep;

typedef struct AnagoPath
{
	CustomPath	cpath;			/* must be first */
	Path	   *source;			/* NULL: unit source */
	List	   *steps;			/* of AnagoPathStep */

	/*
	 * What it really costs, for the steps that follow, where the path itself
	 * shows something else: one process's share, or what anago.debug_force
	 * makes of it.
	 */
	double		rows;
	Cost		startup_cost;
	Cost		total_cost;
	Cost		shared_cost;	/* of total_cost, what processes would share */
	Cost		resident_cost;	/* of total_cost, the price of pages that nobody
								 * waits for */
	Cost		ramp;			/* what its last step adds to the costs if the
								 * query may stop early, and has not added yet */

	Cost		deferred;		/* of startup, what counts as run cost, as all rows
								 * will be taken */

	/*
	 * Rows as index dives see them, for the probes of the steps that follow.
	 * All others are core's, which paths of one relation share.
	 */
	double		own_rows;

	bool		rechecked;		/* EvalPlanQual may ask for rows again; they leave
								 * in the index's order, whoever wants one or not */
	bool		has_twin;		/* for one process; its partial twin, or that of
								 * its first steps, has been submitted */
} AnagoPath;

/* installed.c: a kept answer; may read catalogs */
extern bool anago_is_installed(void);

/* eligible.c */
extern bool anago_level_rechecked(PlannerInfo *root);
extern bool anago_exprs_eligible(List *exprs);
extern bool anago_rel_eligible(PlannerInfo *root, RelOptInfo *rel);
extern bool anago_is_probe(const IndexPath *ipath);
extern bool anago_index_path_eligible(PlannerInfo *root, IndexPath *ipath);
extern bool anago_operators_keep_order(void);
extern bool anago_can_keep_order(const IndexPath *ipath);
extern bool anago_order_eligible(const IndexPath *ipath);

/* Does a condition, of an index path, fix the value of that index column? */
extern bool anago_is_equality(const IndexOptInfo *index, int col, const Expr *clause);

/* Is there a condition on a column behind one without an equality? */
extern bool anago_has_gaps(const IndexPath *ipath);
extern bool anago_join_eligible(PlannerInfo *root, RelOptInfo *joinrel);
extern bool anago_quals_eligible(PlannerInfo *root, List *rinfos);

/* effects.c */
extern bool anago_has_effects(PlannerInfo *root, Node *node);
extern bool anago_source_eligible(PlannerInfo *root, Relids relids);

/* paths.c */
extern List *anago_collect_index_paths(List *pathlist);
extern AnagoPathStep *anago_make_step(IndexPath *ipath, JoinType jointype);
extern AnagoPath *anago_make_path(RelOptInfo *rel, Path *source, List *steps,
								  const CustomPathMethods *methods);
extern void anago_force_cost(AnagoPath *path);
extern void anago_submit_path(PlannerInfo *root, RelOptInfo *rel, AnagoPath *path);
extern void anago_drop_core_paths(RelOptInfo *rel);
extern void anago_add_scan_paths(PlannerInfo *root, RelOptInfo *rel);
extern List *anago_worth_remaking(PlannerInfo *root, const RelOptInfo *rel);
extern List *anago_remake_paths(PlannerInfo *root, RelOptInfo *rel, List *indexes);

/* arms.c: the OR of a bitmap scan, alone or with other conditions; or NULL */
extern BitmapOrPath *anago_find_or(const Path *path);

/* An index path for each arm of it, NIL if some arm can have none. */
extern List *anago_arms_of(PlannerInfo *root, BitmapOrPath *either);

/* The same of a bitmap scan that has parameters, which each arm is given. */
extern List *anago_arms_with(PlannerInfo *root, const Path *path, Relids required);

/* What an index scan finds, of all rows: conditions in terms of the table. */
extern List *anago_found_by(const IndexPath *ipath);

/* That none of these finds a row: conditions on it, */
extern List *anago_not_found_by(List *ipaths);

/* and what it costs to test what an arm finds for them. */
extern Cost anago_cost_of_tests(PlannerInfo *root, const IndexPath *arm, List *before);

/* Of a step's members, arms of the same table before one. */
extern List *anago_arms_before(List *members, int which);

/* A step of several members, for which core has that path. */
extern AnagoPathStep *anago_make_step_of_several(PlannerInfo *root, Path *core,
												 List *members);

/* Steps that look up one table by OR. */
extern List *anago_arm_steps(PlannerInfo *root, RelOptInfo *rel);

/* unionpaths.c */
extern void anago_add_union_paths(PlannerInfo *root, RelOptInfo *rel);
extern bool anago_is_union(const Path *path);

/* probes.c: has innerrel any path for rows of outerrel?  A cheap test. */
extern bool anago_is_probed_by(PlannerInfo *root, const RelOptInfo *innerrel,
							   const RelOptInfo *outerrel);

/* Is there a path of ours? */
extern bool anago_has_path(const List *pathlist);

/* As AnagoPathSteps, those that qualify, and that might gain something. */
extern List *anago_inner_candidates(PlannerInfo *root, const RelOptInfo *joinrel,
									RelOptInfo *outerrel, RelOptInfo *innerrel,
									JoinType jointype);

/* joinpaths.c */
extern void anago_add_join_paths(PlannerInfo *root, RelOptInfo *joinrel,
								 RelOptInfo *outerrel, RelOptInfo *innerrel,
								 JoinType jointype, JoinPathExtraData *extra);

/*
 * lookpaths.c: of these outer paths and steps, nested loops of core's that look
 * ahead
 */
extern void anago_add_look_paths(PlannerInfo *root, RelOptInfo *joinrel,
								 List *outers, List *inners, JoinType jointype,
								 JoinPathExtraData *extra);

/* So many cached probes take a pipeline at least as long as core's nested loop. */
#define ANAGO_FEW_PROBES	1000.0

/* nestpaths.c: core's nested loop of an outer side and a step, which learns what join it is. */
extern NestPath *anago_make_nestloop(PlannerInfo *root, RelOptInfo *joinrel, Path *outer,
									 AnagoPathStep *step, JoinType jointype,
									 JoinPathExtraData *extra);

/*
 * Is the join of these two better left to core's nested loop?  Where it is,
 * or may be, a path of that is submitted, unless rows are those of one process of several.
 */
extern bool anago_leave_to_nestloop(PlannerInfo *root, RelOptInfo *joinrel,
									Path *outer, const AnagoPathStep *step,
									JoinType jointype, JoinPathExtraData *extra,
									bool partial);

/* parallel.c */
extern bool anago_partial_possible(const RelOptInfo *rel);
extern void anago_submit_partial_twin(PlannerInfo *root, RelOptInfo *rel,
									  AnagoPath *path);
extern AnagoPath *anago_make_partial_path(const AnagoPath *apath);
extern bool anago_submit_partial_path(PlannerInfo *root, RelOptInfo *rel,
									  const AnagoPath *apath);

/* waits.c: would a pipeline have no advantage at all? */
extern bool anago_nothing_overlaps(void);

/*
 * gain.c.  Could this scan cost less than core's?  A cheap test, so that lookups of a
 * few rows are planned as fast as without anago.
 */
extern bool anago_scan_may_gain(const IndexPath *ipath);

/*
 * Of the last table or join: has core a path that gives the rows that LIMIT asks for, and
 * that none of ours would be better than?
 */
extern bool anago_first_rows_are_settled(PlannerInfo *root, const RelOptInfo *rel);

/*
 * Or one that gives them for less than the outer side of a join costs, which must give
 * all of its rows, to be sorted?
 */
extern bool anago_all_rows_are_dear(const PlannerInfo *root, const RelOptInfo *joinrel,
									const Path *outer);

/* Has a step anything to wait for?  An index path, whatever is made of it? */
extern bool anago_step_waits(PlannerInfo *root, const AnagoPathStep *step);
extern bool anago_path_waits(PlannerInfo *root, const IndexPath *ipath);

/*
 * Or far fewer entries to find than core believes, as its index says?  All that it does
 * costs core this much.
 */
extern bool anago_step_finds_fewer(PlannerInfo *root, const AnagoPathStep *step,
								   Cost cost);

/* One or the other, of a scan of one table, */
extern bool anago_scan_step_may_gain(PlannerInfo *root, const AnagoPathStep *step);

/* and of so many probes, where fewer entries must make them cost far less. */
extern bool anago_step_may_gain(PlannerInfo *root, const AnagoPathStep *step,
								double loops);

/* And those of core's paths by these indexes that a full scan has won against? */
extern bool anago_indexes_may_gain(PlannerInfo *root, const RelOptInfo *rel,
								   const List *indexes);

/*
 * naps.c: might so many probes gain something by naps?  Those of the rows of one side of a
 * join, so that the join would be the cheapest one, by core's paths for it?  And of what core
 * charges for those of rows of this outer path, the share that they save; 0: nothing.
 */
extern bool anago_step_may_nap(PlannerInfo *root, const AnagoPathStep *step, double loops);
extern bool anago_naps_may_save(PlannerInfo *root, const RelOptInfo *joinrel,
								const RelOptInfo *outerrel, const AnagoPathStep *step,
								JoinType jointype);
extern double anago_naps_save(PlannerInfo *root, const RelOptInfo *joinrel,
							  const AnagoPathStep *step, const Path *outer, bool partial);

/* The same of the visits of a scan, of which a join is not made. */
extern bool anago_scan_may_nap(PlannerInfo *root, const IndexPath *ipath);
extern double anago_scan_naps_save(PlannerInfo *root, const IndexPath *ipath);

/* cost.c */
extern void anago_take_off(AnagoPath *path, double share);
extern void anago_cost_scan(PlannerInfo *root, AnagoPath *path);
extern void anago_cost_join(PlannerInfo *root, AnagoPath *path,
							const NestPath *nest, SpecialJoinInfo *sjinfo);
extern Cost anago_cost_looks(PlannerInfo *root, AnagoPathStep *step,
							 const NestPath *nest, SpecialJoinInfo *sjinfo);
extern Cost anago_cost_nestloop(PlannerInfo *root, AnagoPathStep *step,
								const NestPath *nest, SpecialJoinInfo *sjinfo);
extern void anago_keep_order(PlannerInfo *root, AnagoPath *path, List *pathkeys,
							 const Path *outer);
extern double anago_own_rows(const Path *outer);
extern bool anago_is_beaten(const Path *path, const List *pathlist);
extern double anago_parallel_divisor(int workers);
extern Cost anago_work_of(const AnagoPath *path);
extern int	anago_workers_for(Cost work);
extern bool anago_is_worth_workers(const AnagoPath *path);
extern int	anago_parallel_workers(const AnagoPath *path);
extern void anago_add_cpu_cost(AnagoPath *apath, Cost cost);
extern void anago_copy_cost(AnagoPath *dst, const AnagoPath *src);
extern void anago_cost_partial(AnagoPath *path);

/* ramp.c: may what is above stop before the last row? */
extern bool anago_may_stop(const PlannerInfo *root, List *pathkeys);
extern Cost anago_ramp_of_step(const PlannerInfo *root, int nsteps,
							   const RelOptInfo *rel, Cost saved);
extern void anago_add_ramp(const PlannerInfo *root, AnagoPath *path,
						   List *pathkeys);

/* Of a scan that keeps its order, if a known number of rows is wanted. */
extern void anago_price_first_rows(PlannerInfo *root, AnagoPath *path);

/*
 * bound.c: might an AnagoJoin of that step be worth building?  `outer` shows what it
 * costs in all processes together; `naps` is what anago_naps_save() said.
 */
extern bool anago_join_may_win(PlannerInfo *root, RelOptInfo *joinrel,
							   const Path *outer, const AnagoPathStep *step,
							   JoinType jointype, const JoinPathExtraData *extra,
							   List *pathkeys, Relids required, bool partial,
							   double naps);

/* create.c */
extern const CustomPathMethods anago_scan_path_methods;
extern const CustomPathMethods anago_join_path_methods;
extern void anago_create_init(const CustomScanMethods *scan,
							  const CustomScanMethods *join);

/* members.c */
extern bool anago_is_append(PlannerInfo *root, const RelOptInfo *rel);
extern bool anago_append_eligible(PlannerInfo *root, RelOptInfo *rel);
extern List *anago_append_members(PlannerInfo *root, AppendPath *append);
extern AttrNumber anago_member_attno(PlannerInfo *root, Index top, Index member,
									 AttrNumber attno);
extern Node *anago_as_of_parent(PlannerInfo *root, RelOptInfo *parent,
								Index member, Node *node);

/* Core's path of what a step probes, */
static inline Path *
anago_step_inner(const AnagoPathStep *step)
{
	return step->several ? step->several : &step->ipath->path;
}

/* and the index paths that the step makes of it. */
static inline List *
anago_step_ipaths(const AnagoPathStep *step)
{
	return step->several ? step->members : list_make1(step->ipath);
}

/*
 * What it takes until a probe has its first match.  A bitmap scan reads all of its
 * indexes before, which arms need not.
 */
static inline Cost
anago_probe_startup(const AnagoPathStep *step)
{
	return step->has_arms ?
		Min(step->several->startup_cost, step->ipath->path.startup_cost) :
		anago_step_inner(step)->startup_cost;
}

/*
 * why.c: notes for anago_explain_why().  While nobody asks, each of these costs the
 * test of a flag.
 */
extern bool anago_why_asked;

/* Around each planning; `kept`: it has ended well. */
extern void anago_why_begin(void);
extern void anago_why_end(bool kept);

extern pg_attribute_cold void anago_note_built(PlannerInfo *root, const AnagoPath *apath);
extern pg_attribute_cold void anago_note_used(const AnagoPath *apath);
extern pg_attribute_cold void anago_note_not(PlannerInfo *root, RelOptInfo *rel,
											 Oid index, const char *reason);
extern pg_attribute_cold void anago_note_declined(Cost ours, Cost theirs);

/* A path of ours was made, and is about to be submitted. */
static inline void
anago_why_built(PlannerInfo *root, const AnagoPath *apath)
{
	if (anago_why_asked)
		anago_note_built(root, apath);
}

/* It has become a plan. */
static inline void
anago_why_used(const AnagoPath *apath)
{
	if (anago_why_asked)
		anago_note_used(apath);
}

/* But the plan as a whole was not taken (rival.h). */
static inline void
anago_why_declined(Cost ours, Cost theirs)
{
	if (anago_why_asked)
		anago_note_declined(ours, theirs);
}

#define ANAGO_WHY_CACHED \
	"the table and the index are cached: there is nothing to wait for"
#define ANAGO_WHY_NESTLOOP \
	"few probes, and all is cached: PostgreSQL's nested loop, at the price that the index says"
#define ANAGO_WHY_FIRST_ROWS \
	"PostgreSQL has the rows that LIMIT asks for before a pipeline has begun, or has them cached"
#define ANAGO_WHY_LIMITED \
	"a table or condition of it does not qualify: see the limitations"
#define ANAGO_WHY_INELIGIBLE \
	"no B-tree, or a condition that must not be evaluated ahead of demand"

/* There is none for a relation, or none by this index; InvalidOid: by any. */
static inline void
anago_why_not(PlannerInfo *root, RelOptInfo *rel, Oid index,
			  const char *reason)
{
	if (anago_why_asked)
		anago_note_not(root, rel, index, reason);
}

/* Is it one of ours? */
static inline bool
anago_is_path(const Path *path)
{
	const CustomPathMethods *methods;

	if (!IsA(path, CustomPath))
		return false;
	methods = ((const CustomPath *) path)->methods;
	return methods == &anago_scan_path_methods ||
		methods == &anago_join_path_methods;
}

#endif							/* ANAGO_PATHS_H */
