/*-------------------------------------------------------------------------
 *
 * right_links.c
 *	  The leaves of a range, one after the other along their right links.
 *
 * As core's own scan does it: of use where the level above the leaves says
 * little, as in an index of two levels, or of before version 12.  It is also how
 * a leaf task goes on (parent.c): from its leaf to those that were split off from
 * it, up to the bound of its stretch.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/btree/fetch.h"
#include "ops/btree/probe.h"
#include "ops/btree/walk.h"

static AnagoVerdict
right_links_run(AnagoTask *task)
{
	AnagoWalk  *walk = (AnagoWalk *) task;
	AnagoProbe *probe = walk->probe;
	AnagoStep  *step = probe->step;
	AnagoVerdict verdict;
	Buffer		buf;

	ANAGO_BEGIN(task);
	while (walk->blkno != InvalidBlockNumber && !probe->done)
	{
		anago_walk_copies(walk);
		if (walk->blkno == InvalidBlockNumber)
			break;
		ANAGO_AWAIT_STEP_PAGE(task, buf, step, step->indexrel,
							  walk->blkno);
		anago_walk_page(walk, buf);
		if (anago_walk_has_matches(walk))
			ANAGO_CALL(task, verdict, anago_fetch(walk));
	}
	anago_walk_end(walk);
	ANAGO_END_OF_PROBE(task, step, probe);
}

const AnagoTaskOps anago_leaf_task = {"index leaf", right_links_run};

const AnagoRangeKind anago_range_right_links = {
	.name = "right_links",
	.by_combination = true,
	.task = {"index range", right_links_run},
};
