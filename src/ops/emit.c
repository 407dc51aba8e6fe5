/*-------------------------------------------------------------------------
 *
 * emit.c
 *	  The sink: rows for the executor.
 *
 * Nothing is copied: the row stays in the wide slot, and what that points into
 * stays where it is until the task that found the row goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/ops.h"

static AnagoAccepted
emit_accept(AnagoOp *op, AnagoRow *outer)
{
	return ANAGO_OUT;
}

const AnagoOpKind anago_emit_kind = {
	.name = "emit",
	.size = sizeof(AnagoOp),
	.accept = emit_accept,
};
