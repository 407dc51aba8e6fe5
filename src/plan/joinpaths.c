/*-------------------------------------------------------------------------
 *
 * joinpaths.c
 *	  AnagoJoin paths.
 *
 * Wherever core could put an index scan on the inner side of a nestloop, that
 * index scan can be a step.  The nestloop itself is built too, by core's own
 * functions, and thrown away: it says which conditions are left to the join,
 * how many rows come out, and what stock would pay.
 *
 * If the outer side is an AnagoPath its steps come first in one longer
 * pipeline, so that reads overlap across all levels of the join:
 *
 *		AnagoJoin (a, b)			a -> b
 *		AnagoJoin (a, b), c			a -> b -> c
 *		HashJoin (a, b), c			child plan -> c
 *
 * Where rows are locked or changed the nestloop stays core's (lookpaths.c), and where
 * few rows are probed for and all is cached (nestpaths.c).
 *
 * A pipeline may have a partial twin, see parallel.c; else, where core would try
 * a partial nestloop, one is made of a partial outer path in the same way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "compat_plan.h"
#include "guc.h"
#include "pipeline/desc.h"
#include "plan/memo.h"
#include "plan/paths.h"

static List *
append_ours(List *paths, List *pathlist)
{
	ListCell   *lc;

	if (!anago_any_path)
		return paths;
	foreach(lc, pathlist)
	{
		if (anago_is_path(lfirst(lc)))
			paths = list_append_unique_ptr(paths, lfirst(lc));
	}
	return paths;
}

/*
 * With anago.debug_force: is this a Gather of a path of ours, which core has
 * made since the others were dropped?  As a source it would have its forced
 * cost forced once more, and seem to cost less than one pipeline.
 */
static bool
is_forced_gather(const Path *path)
{
	return anago_debug_force &&
		(IsA(path, GatherPath) || IsA(path, GatherMergePath)) &&
		anago_has_path(path->parent->pathlist);
}

/* Are these keys, in whatever order, the first of an order? */
static bool
is_order_of_all(const List *keys, const List *pathkeys)
{
	int			n = list_length(keys);

	if (n == 0 || list_length(pathkeys) < n)
		return false;
	for (int i = 0; i < n; i++)
		if (!list_member_ptr(keys, list_nth(pathkeys, i)))
			return false;
	return true;
}

/*
 * Might an order be of use above all joins, for ORDER BY, GROUP BY or DISTINCT?  One
 * that only a merge join wants is not kept by joins: to try it took a tenth of
 * what planning a join of six tables takes.  (Scans do keep it.)
 */
static bool
is_wanted_order(const PlannerInfo *root, const List *pathkeys)
{
	if (pathkeys == NIL || root->query_pathkeys == NIL ||
		!anago_operators_keep_order())
		return false;
	return linitial(root->query_pathkeys) == linitial(pathkeys) ||
		is_order_of_all(root->group_pathkeys, pathkeys) ||
		is_order_of_all(root->distinct_pathkeys, pathkeys);
}

/* Core's paths that have such an order, for which a child plan is a source as well. */
static List *
append_ordered(const PlannerInfo *root, List *paths, List *pathlist)
{
	ListCell   *lc;

	foreach(lc, pathlist)
	{
		Path	   *path = lfirst(lc);

		if (is_wanted_order(root, path->pathkeys) && path->param_info == NULL &&
			!anago_is_path(path) && !is_forced_gather(path))
			paths = list_append_unique_ptr(paths, path);
	}
	return paths;
}

/*
 * Is an outer path of that list with an order tried for that alone?  One of ours is
 * not if there is none without, which would cost nearly the same.
 */
static bool
is_for_order(const Path *outer, const Path *cheapest, const List *pathlist)
{
	ListCell   *lc;

	if (!anago_is_path(outer))
		return outer != cheapest;
	foreach(lc, pathlist)
	{
		const Path *path = lfirst(lc);

		if (anago_is_path(path) && path->pathkeys == NIL)
			return true;
	}
	return false;
}

/*
 * Core's cheapest outer path, those with an order, and all of ours; where a semijoin is done as an
 * inner join with its righthand side made unique, only that.
 */
static List *
outer_candidates(PlannerInfo *root, RelOptInfo *outerrel, JoinType jointype,
				 SpecialJoinInfo *sjinfo)
{
	Path	   *cheapest = outerrel->cheapest_total_path;
	List	   *result = NIL;

	if (jointype == JOIN_UNIQUE_OUTER)
	{
		if (anago_has_effects(root, (Node *) sjinfo->semi_rhs_exprs))
			return NIL;
		cheapest = anago_unique_outer_path(root, outerrel, sjinfo);
	}
	if (anago_source_eligible(root, outerrel->relids))
	{
		if (cheapest && cheapest->param_info == NULL && !is_forced_gather(cheapest))
			result = list_make1(cheapest);
		if (jointype != JOIN_UNIQUE_OUTER)
			result = append_ordered(root, result, outerrel->pathlist);
	}
	return jointype == JOIN_UNIQUE_OUTER ? result :
		append_ours(result, outerrel->pathlist);
}

/*
 * The same for partial paths.  Partial paths are never parameterized, and each
 * process would make only its own part of the rows unique.
 */
static List *
partial_outer_candidates(PlannerInfo *root, RelOptInfo *joinrel,
						 RelOptInfo *outerrel, JoinType jointype)
{
	List	   *result = NIL;

	if (!anago_partial_possible(joinrel) || jointype == JOIN_UNIQUE_OUTER ||
		outerrel->partial_pathlist == NIL)
		return NIL;
	if (anago_source_eligible(root, outerrel->relids))
		result = append_ordered(root, list_make1(linitial(outerrel->partial_pathlist)),
								outerrel->partial_pathlist);
	return append_ours(result, outerrel->partial_pathlist);
}

/* Can this outer path's pipeline be made longer? */
static bool
can_merge(Path *outer)
{
	const AnagoPath *apath = (const AnagoPath *) outer;

	return anago_is_path(outer) &&
		list_length(apath->steps) < ANAGO_MAX_STEPS;
}

/*
 * Have an outer path show, for a while, what it really costs and gives in all
 * processes together.  `shown` keeps what it shows otherwise.  What a partial
 * path of core costs does not tell how it would be divided among others than
 * its own processes; it stays.
 */
static void
show_whole(Path *path, Path *shown)
{
	*shown = *path;
	if (anago_is_path(path))
	{
		const AnagoPath *apath = (const AnagoPath *) path;

		path->rows = apath->rows;
		path->startup_cost = apath->startup_cost;
		path->total_cost = apath->total_cost;
	}
	else if (path->parallel_workers > 0)
		path->rows *= anago_parallel_divisor(path->parallel_workers);
	path->parallel_workers = 0;
}

/*
 * The relations further out that a join of these two needs rows of; false: core
 * would not make it.  A star join: the fact table's index wants keys of several
 * dimensions, of which the outer side is one.
 */
static bool
find_required_outer(PlannerInfo *root, const Path *outer, const Path *inner,
					JoinType jointype, const JoinPathExtraData *extra,
					Relids *required)
{
	Relids		outerrelids = outer->parent->relids;
	Relids		wanted = PATH_REQ_OUTER(inner);

	*required = NULL;
	if (outer->param_info == NULL && bms_is_subset(wanted, outerrelids))
		return true;
	if (bms_overlap(PATH_REQ_OUTER(outer), inner->parent->relids))
		return false;
	*required = calc_nestloop_required_outer(outerrelids, PATH_REQ_OUTER(outer),
											 inner->parent->relids, wanted);
	if (*required == NULL)
		return true;
	return jointype == JOIN_INNER && root->placeholder_list == NIL &&
		outer->parent->top_parent_relids == NULL &&
		inner->parent->top_parent_relids == NULL &&
		(bms_overlap(*required, extra->param_source_rels) ||
		 bms_nonempty_difference(wanted, outerrelids));
}

/* What a join's path is made of, for one outer and one inner side. */
typedef struct JoinTry
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	JoinType	jointype;
	JoinPathExtraData *extra;
	bool		partial;
	Path	   *outer;
	const AnagoPathStep *inner;
	Relids		required;		/* whose columns will be parameters */
	double		naps;			/* of its probes, the share that naps save */
} JoinTry;

/* Is there a gain in this step behind that outer side? */
static bool
may_gain(const JoinTry *join)
{
	return can_merge(join->outer) ||
		anago_step_may_gain(join->root, join->inner, join->outer->rows) ||
		join->naps > 0;
}

/* May these two sides be joined here at all? */
static bool
can_join(JoinTry *join)
{
	join->naps = anago_naps_save(join->root, join->joinrel, join->inner, join->outer,
								 join->partial);
	return may_gain(join) &&
		find_required_outer(join->root, join->outer, anago_step_inner(join->inner),
							   join->jointype, join->extra, &join->required) &&
		(join->required == NULL || !join->partial) &&
		(join->outer->param_info == NULL || can_merge(join->outer));
}

/*
 * The order of the outer side, if the join keeps it and it is of use above; core
 * counts on no order of what has parameters.
 */
static List *
order_of(const JoinTry *join)
{
	return join->required != NULL ? NIL :
		build_join_pathkeys(join->root, join->joinrel, join->jointype,
							join->outer->pathkeys);
}

/* Core's nestloop; NULL: a lower bound of what ours will cost is too much. */
static NestPath *
make_nestloop(const JoinTry *join, List *pathkeys)
{
	Path	   *inner = anago_step_inner(join->inner);
	JoinCostWorkspace workspace;

	if (!anago_join_may_win(join->root, join->joinrel, join->outer, join->inner,
							join->jointype, join->extra, pathkeys,
							join->required, join->partial, join->naps))
	{
		anago_why_not(join->root, join->joinrel, join->inner->ipath->indexinfo->indexoid,
					  "a join by this index: even a lower bound of its cost is above a path that is there");
		return NULL;
	}
	anago_initial_cost_nestloop(join->root, &workspace, join->jointype, join->outer,
								inner, join->extra);
	return create_nestloop_path(join->root, join->joinrel, join->jointype, &workspace,
								join->extra, join->outer, inner,
								join->extra->restrictlist, NIL, join->required);
}

static AnagoPathStep *
last_step(const JoinTry *join, const NestPath *nest)
{
	AnagoPathStep *step = palloc0(sizeof(AnagoPathStep));

	*step = *join->inner;
	step->naps = join->naps;
	step->jointype = join->jointype;
	step->inner_unique = nest->jpath.inner_unique;
	step->joinrestrictinfo = nest->jpath.joinrestrictinfo;
	step->joinrelids = join->joinrel->relids;
	return step;
}

/* The pipeline: that of the outer side made longer, or one that it is the source of. */
static AnagoPath *
make_join(const JoinTry *join, const NestPath *nest)
{
	const AnagoPath *longer = can_merge(join->outer) ? (AnagoPath *) join->outer : NULL;
	AnagoPath  *apath =
		anago_make_path(join->joinrel, longer ? longer->source : join->outer,
						lappend(longer ? list_copy(longer->steps) : NIL,
								last_step(join, nest)),
						&anago_join_path_methods);

	apath->has_twin = longer && longer->has_twin && !join->partial;
	apath->cpath.path.param_info = nest->jpath.path.param_info;
	anago_cost_join(join->root, apath, nest, join->extra->sjinfo);
	return apath;
}

/* The path, while the outer side shows what it really costs; or NULL. */
static AnagoPath *
build_join(const JoinTry *join, List *pathkeys)
{
	NestPath   *nest = make_nestloop(join, pathkeys);
	AnagoPath  *apath = NULL;

	if (nest == NULL)
		return NULL;
	/* with rows from further out, some conditions of joins above are this one's */
	if (join->required == NULL ||
		anago_quals_eligible(join->root, nest->jpath.joinrestrictinfo))
		apath = make_join(join, nest);
	if (apath != NULL && pathkeys != NIL)
		anago_keep_order(join->root, apath, pathkeys, join->outer);
	pfree(nest);
	return apath;
}

static void
submit_join(const JoinTry *join, AnagoPath *apath)
{
	if (join->partial)
	{
		anago_submit_partial_path(join->root, join->joinrel, apath);
		return;
	}
	if (join->required == NULL)
		anago_submit_partial_twin(join->root, join->joinrel, apath);
	anago_submit_path(join->root, join->joinrel, apath);
}

/* With `pathkeys`, that order is kept. */
static void
try_join(const JoinTry *join, List *pathkeys)
{
	Path		shown;
	AnagoPath  *apath;

	show_whole(join->outer, &shown);
	apath = build_join(join, pathkeys);
	*join->outer = shown;
	if (apath != NULL)
		submit_join(join, apath);
}

/*
 * Of an outer side that has an order, paths with and without it.  For its order
 * alone: there is another one without, or it would not be taken otherwise.  Where all
 * is cached and core's plan is to be another one for its rows, none is for an order.
 */
static void
try_orders(JoinTry *join, bool ordered, bool order_alone)
{
	List	   *pathkeys = NIL;

	if (!can_join(join))
		return;
	if (join->required == NULL &&
		anago_leave_to_nestloop(join->root, join->joinrel, join->outer, join->inner,
								join->jointype, join->extra, join->partial))
		return;
	if (ordered && (can_merge(join->outer) || anago_step_waits(join->root, join->inner)))
		pathkeys = order_of(join);
	if (pathkeys != NIL)
		try_join(join, pathkeys);
	if (!order_alone && !anago_all_rows_are_dear(join->root, join->joinrel, join->outer))
		try_join(join, NIL);
}

/* Each outer side of a list with each inner side. */
static void
try_all(JoinTry *join, List *outers, List *inners, const Path *cheapest,
		const List *pathlist)
{
	ListCell   *lco;
	ListCell   *lci;

	foreach(lco, outers)
	{
		const Path *outer = join->outer = lfirst(lco);
		bool		ordered = is_wanted_order(join->root, outer->pathkeys);
		bool		order_alone = outer->pathkeys != NIL &&
			is_for_order(outer, cheapest, pathlist);

		if (order_alone && !ordered)
			continue;
		foreach(lci, inners)
		{
			join->inner = lfirst(lci);
			try_orders(join, ordered, order_alone);
		}
	}
}

void
anago_add_join_paths(PlannerInfo *root, RelOptInfo *joinrel,
					 RelOptInfo *outerrel, RelOptInfo *innerrel,
					 JoinType jointype, JoinPathExtraData *extra)
{
	JoinTry		join = {
		.root = root,
		.joinrel = joinrel,
		.jointype = jointype == JOIN_UNIQUE_OUTER ? JOIN_INNER : jointype,
		.extra = extra,
	};
	List	   *inners;
	List	   *outers;
	List	   *partial_outers;

	if (jointype != JOIN_INNER && jointype != JOIN_LEFT &&
		jointype != JOIN_SEMI && jointype != JOIN_ANTI &&
		jointype != JOIN_UNIQUE_OUTER)
	{
		anago_why_not(root, joinrel, InvalidOid, "a right or full join, the other way round");
		return;
	}
	if (!anago_is_probed_by(root, innerrel, outerrel))
		return;
	if (anago_first_rows_are_settled(root, joinrel))
	{
		anago_why_not(root, joinrel, InvalidOid, ANAGO_WHY_FIRST_ROWS);
		return;
	}
	if (anago_nothing_overlaps())
		return;
	inners = anago_inner_candidates(root, joinrel, outerrel, innerrel, jointype);
	if (inners == NIL)
		return;
	if (!anago_join_eligible(root, joinrel) ||
		!anago_quals_eligible(root, extra->restrictlist))
	{
		anago_why_not(root, joinrel, InvalidOid, ANAGO_WHY_LIMITED);
		return;
	}
	outers = outer_candidates(root, outerrel, jointype, extra->sjinfo);
	if (anago_level_rechecked(root))
	{
		anago_add_look_paths(root, joinrel, outers, inners, join.jointype, extra);
		return;
	}
	partial_outers = partial_outer_candidates(root, joinrel, outerrel, jointype);
	try_all(&join, outers, inners,
			jointype == JOIN_UNIQUE_OUTER && outers != NIL ? linitial(outers) :
			outerrel->cheapest_total_path, outerrel->pathlist);
	join.partial = true;
	if (partial_outers != NIL)
		try_all(&join, partial_outers, inners, linitial(outerrel->partial_pathlist),
				outerrel->partial_pathlist);
	if (anago_debug_force)
		anago_drop_core_paths(joinrel);
}
