/*-------------------------------------------------------------------------
 *
 * unit.c
 *	  The unit source: one row without columns.
 *
 * So an index scan is simply the probe of that row.  The processes of a
 * parallel query each have one, and share the ranges of its probe; in static
 * mode each has a part of them instead.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/ops.h"
#include "ops/query.h"
#include "ops/static.h"

static void
unit_start(AnagoOp *op)
{
	AnagoQuery *query = op->query;
	AnagoAccepted accepted PG_USED_FOR_ASSERTS_ONLY;

	query->bound = NULL;
	if (query->in_parts)
	{
		anago_static_spawn(query);
		return;
	}
	accepted = op->next->kind->accept(op->next, NULL);
	Assert(accepted == ANAGO_TAKEN);
}

const AnagoOpKind anago_unit_kind = {
	.name = "unit",
	.ndepths = 1,				/* as every source */
	.size = sizeof(AnagoOp),
	.start = unit_start,
};
