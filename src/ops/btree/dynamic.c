/*-------------------------------------------------------------------------
 *
 * dynamic.c
 *	  Dynamic distribution: work is taken by who has use for it.
 *
 * What others take comes to them by the ranges that were published (span.c) and
 * the rows that were given (pipeline/peers.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/btree/distribute.h"
#include "ops/btree/probe.h"
#include "ops/btree/range.h"

static void
dynamic_start(AnagoStep *step)
{
	step->op.counters.probes++;
	anago_range_spawn(anago_probe_make(step, NULL));
}

static bool
dynamic_more(AnagoStep *step)
{
	return false;
}

static bool
dynamic_claim(AnagoProbe *probe, int *from, int *to)
{
	return anago_claim(probe->step->op.pipeline->peers.share,
					   probe->keys.ncombos, ANAGO_CLAIM_SOME, from, to);
}

const AnagoDistribution anago_dynamic = {
	.name = "dynamic",
	.shares = true,
	.start = dynamic_start,
	.more = dynamic_more,
	.claim = dynamic_claim,
};
