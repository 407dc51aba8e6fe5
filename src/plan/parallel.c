/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Partial paths: one pipeline in several processes.
 *
 * A pipeline can be shared by the processes below a Gather wherever its source
 * can: the index range of the first step is handed out in pieces, and a child
 * plan that is itself partial gives each process other rows.  So every
 * AnagoPath of one process has a partial twin, if the relation may be read in
 * workers and a child plan is partial.
 *
 *		Gather
 *		  AnagoJoin		steps a, b, c		pieces of the range of a
 *
 *		Gather
 *		  AnagoJoin		steps b, c			rows of the child plan
 *			Seq Scan a, parallel
 *
 * How many processes that should be is known only when the pipeline is
 * complete: the first step may be cheap, and the last one costly.  So a longer
 * pipeline forgets what number its outer side had; cost.c has the rule.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "compat.h"
#include "plan/paths.h"

/* May workers read this relation, or make this join? */
bool
anago_partial_possible(const RelOptInfo *rel)
{
	return rel->consider_parallel && max_parallel_workers_per_gather > 0;
}

/*
 * Of a pipeline whose costs are known, hand its partial twin to the
 * competition.  `apath` itself is left as it is.
 */
void
anago_submit_partial_path(RelOptInfo *rel, AnagoPath *apath)
{
	int			workers = anago_parallel_workers(apath);
	AnagoPath  *partial;
	Path	   *path;

	Assert(apath->cpath.path.parallel_safe);
	Assert(apath->source == NULL || apath->source->parallel_workers > 0);
	if (workers == 0)
		return;

	partial = palloc(sizeof(AnagoPath));
	*partial = *apath;
	path = &partial->cpath.path;
	path->parallel_aware = true;
	path->parallel_workers = workers;
	anago_cost_partial(partial);
	anago_force_cost(partial);
	add_partial_path(rel, path);
}
