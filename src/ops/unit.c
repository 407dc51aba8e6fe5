/*-------------------------------------------------------------------------
 *
 * unit.c
 *	  The unit source: one row without columns.
 *
 * So an index scan is simply the probe of that row.  The processes of a
 * parallel query each have one; how these share the ranges of its probe, or
 * have each a part of them, is the step's affair.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/ops.h"
#include "pipeline/state.h"

static void
unit_start(AnagoOp *op)
{
	AnagoPipeline *pipeline = op->pipeline;
	AnagoAccepted accepted PG_USED_FOR_ASSERTS_ONLY;

	pipeline->bound = NULL;
	accepted = op->next->kind->accept(op->next, NULL);
	Assert(accepted == ANAGO_TAKEN);
}

const AnagoOpKind anago_unit_kind = {
	.name = "unit",
	.ndepths = 1,				/* as every source */
	.size = sizeof(AnagoOp),
	.start = unit_start,
};
