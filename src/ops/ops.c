/*-------------------------------------------------------------------------
 *
 * ops.c
 *	  The kinds of operators that there are.
 *
 *	  unit.c	source: one row without columns
 *	  child.c	source: a core plan
 *	  btree/	step: probes of a B-tree index (btree/step.c)
 *	  btree/	step: the same of several tables (btree/append.c)
 *	  emit.c	sink: the executor
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/ops.h"

const AnagoOpKind *const anago_op_kinds[] = {
	[ANAGO_OP_UNIT] = &anago_unit_kind,
	[ANAGO_OP_CHILD] = &anago_child_kind,
	[ANAGO_OP_PROBE] = &anago_step_kind,
	[ANAGO_OP_APPEND] = &anago_append_kind,
	[ANAGO_OP_EMIT] = &anago_emit_kind,
};
