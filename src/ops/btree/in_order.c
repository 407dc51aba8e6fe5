/*-------------------------------------------------------------------------
 *
 * in_order.c
 *	  Distribution in order: each process gives its rows in the index's order.
 *
 * What a process takes comes behind all that it has taken, and it keeps what it
 * has begun: no other process walks a range that it has come upon, and no row
 * changes hands.
 *
 *		leaves			one range of many leaves is the source's item
 *						(shared/items.h).  Whoever has use for more takes the leaf
 *						that is next, as in core's parallel index scan
 *		combinations	several of IN-list elements are claimed, a few at a time, and
 *						each is walked by the process that has claimed it
 *
 * A range whose leaves are not to be taken from the level above, in a tree of one
 * page or of before version 12, is one process's.  So is a skip scan.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/btree/distribute.h"
#include "ops/btree/probe.h"
#include "ops/btree/range.h"
#include "ops/btree/root.h"
#include "ops/btree/skip.h"

/* All processes answer this alike. */
static bool
is_one_range(const AnagoProbe *probe)
{
	const AnagoStep *step = probe->step;

	return probe->keys.ncombos == 1 && !anago_skips(&step->keys) &&
		(step->backward || step->range->keep != NULL);
}

/* They may see the index at different times, with one page and with several. */
static bool
has_level_above(const AnagoStep *step)
{
	return step->root != InvalidBlockNumber && step->root_level > 0 &&
		step->heapkeyspace;
}

static void
in_order_start(AnagoStep *step)
{
	AnagoPipeline *pipeline = step->op.pipeline;
	AnagoProbe *probe = anago_probe_make(step, NULL);

	step->op.counters.probes++;
	if (is_one_range(probe))
	{
		anago_root_ensure(step);
		if (has_level_above(step) ||
			!anago_item_take_whole(pipeline->peers.share, anago_item_of_source()))
		{
			anago_range_spawn_span(probe, anago_span_of_source(pipeline));
			return;
		}
	}
	anago_range_spawn(probe);
}

static bool
in_order_more(AnagoStep *step)
{
	return false;
}

/* Backward, the last combinations are the first. */
static bool
in_order_claim(AnagoProbe *probe, int *from, int *to)
{
	int			n = probe->keys.ncombos;
	int			first;
	int			end;

	if (!anago_claim(probe->step->op.pipeline->peers.share, n, ANAGO_CLAIM_FEW, &first, &end))
		return false;
	*from = probe->step->backward ? n - end : first;
	*to = probe->step->backward ? n - first : end;
	return true;
}

const AnagoDistribution anago_in_order = {
	.name = "in order",
	.shares = false,
	.start = in_order_start,
	.more = in_order_more,
	.claim = in_order_claim,
};
