/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Partial paths: one pipeline in several processes.
 *
 * A pipeline can be shared by the processes below a Gather wherever its source
 * can: the index range of the first step is handed out in pieces, and a child
 * plan that is itself partial gives each process other rows.
 *
 *		Gather
 *		  AnagoJoin		steps a, b, c		pieces of the range of a
 *
 *		Gather
 *		  AnagoJoin		steps b, c			rows of the child plan
 *			Seq Scan a, parallel
 *
 * A pipeline's first steps may be cheap and its last one costly.  So it never
 * matters whether its outer side had a partial path, or for how many workers:
 * every pipeline for one process that may run in workers, and can be cut at its
 * source, is looked at anew as it becomes longer.  cost.c says how many workers
 * it is worth, often none.
 *
 * The source of such a pipeline is often a core index scan of a few rows, too
 * cheap for an AnagoScan to be considered.  As this cannot be cut, it becomes
 * the first step:
 *
 *		AnagoJoin		steps b, c		 ->		AnagoJoin		steps a, b, c
 *		  Index Scan a
 *
 * A path with an order has a partial twin with that order, if each process can
 * take parts of the source one behind the other: core merges what they give.
 *
 *		Gather Merge
 *		  AnagoJoin		steps a, b, c		leaves of the range of a, in order
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "compat.h"
#include "pipeline/desc.h"
#include "plan/paths.h"
#include "plan/price.h"

/* May workers read this relation, or make this join? */
bool
anago_partial_possible(const RelOptInfo *rel)
{
	return rel->consider_parallel && max_parallel_workers_per_gather > 0;
}

/* The index path that a child plan is, if it could as well be a first step. */
static IndexPath *
index_source(PlannerInfo *root, const AnagoPath *apath)
{
	Path	   *source = apath->source;
	IndexPath  *ipath = (IndexPath *) source;

	if (!IsA(source, IndexPath) || ipath->indexclauses == NIL ||
		list_length(apath->steps) >= ANAGO_MAX_STEPS ||
		!anago_rel_eligible(root, source->parent) ||
		!anago_index_path_eligible(root, ipath))
		return NULL;
	return ipath;
}

/* Can processes share what comes in order from the unit source? */
static bool
order_can_be_shared(const AnagoPath *unit)
{
	const AnagoPathStep *first = linitial(unit->steps);

	return unit->cpath.path.pathkeys == NIL ||
		(anago_order_eligible(first->ipath) && !anago_has_gaps(first->ipath));
}

/* The same pipeline with the unit source, or NULL. */
static AnagoPath *
with_unit_source(PlannerInfo *root, RelOptInfo *rel, AnagoPath *apath)
{
	IndexPath  *ipath;
	AnagoPathStep *step;
	AnagoPath  *result;

	if (apath->source == NULL)
		return apath;
	ipath = index_source(root, apath);
	if (ipath == NULL)
		return NULL;

	step = anago_make_step(ipath, JOIN_INNER);
	result = anago_make_path(rel, NULL,
							 list_concat(list_make1(step), apath->steps),
							 apath->cpath.methods);
	anago_copy_cost(result, apath);
	result->resident_cost += anago_resident_cost(root, step);
	result->cpath.path.pathkeys = apath->cpath.path.pathkeys;
	return result;
}

/*
 * Of a pipeline for one process, whose costs are known, hand the partial one
 * to the competition, if there is one.
 */
void
anago_submit_partial_twin(PlannerInfo *root, RelOptInfo *rel, AnagoPath *apath)
{
	AnagoPath  *unit;

	if (apath->has_twin ||
		!anago_partial_possible(rel) || !anago_is_worth_workers(apath))
		return;
	unit = with_unit_source(root, rel, apath);
	if (unit != NULL && order_can_be_shared(unit))
		apath->has_twin = anago_submit_partial_path(root, rel, unit);
}

/*
 * The partial path of a pipeline with a source that can be shared, whose costs
 * are known; NULL: it is not worth any workers.  `apath` itself is left as it is.
 */
AnagoPath *
anago_make_partial_path(const AnagoPath *apath)
{
	int			workers = anago_parallel_workers(apath);
	AnagoPath  *partial;
	Path	   *path;

	Assert(apath->cpath.path.parallel_safe);
	Assert(apath->source == NULL || apath->source->parallel_workers > 0);
	if (workers == 0)
		return NULL;

	partial = palloc(sizeof(AnagoPath));
	*partial = *apath;
	path = &partial->cpath.path;
	path->parallel_aware = true;
	path->parallel_workers = workers;
	anago_cost_partial(partial);
	anago_force_cost(partial);
	return partial;
}

/* Hand it to the competition, if there is one. */
bool
anago_submit_partial_path(PlannerInfo *root, RelOptInfo *rel,
						  const AnagoPath *apath)
{
	AnagoPath  *partial = anago_make_partial_path(apath);

	if (partial == NULL)
		return false;
	anago_why_built(root, partial);
	add_partial_path(rel, &partial->cpath.path);
	return true;
}
