/*-------------------------------------------------------------------------
 *
 * ops.h
 *	  The kinds of operators that there are; see ops.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_OPS_H
#define ANAGO_OPS_H

#include "postgres.h"

#include "operators.h"
#include "pipeline/op.h"

extern PGDLLEXPORT const AnagoOpKind anago_unit_kind;
extern PGDLLEXPORT const AnagoOpKind anago_child_kind;
extern PGDLLEXPORT const AnagoOpKind anago_step_kind;
extern PGDLLEXPORT const AnagoOpKind anago_append_kind;
extern PGDLLEXPORT const AnagoOpKind anago_held_source_kind;
extern PGDLLEXPORT const AnagoOpKind anago_held_sink_kind;
extern PGDLLEXPORT const AnagoOpKind anago_old_row_kind;
extern PGDLLEXPORT const AnagoOpKind anago_routed_kind;
extern PGDLLEXPORT const AnagoOpKind anago_merged_kind;
extern PGDLLEXPORT const AnagoOpKind anago_emit_kind;
extern PGDLLEXPORT const AnagoOpKind anago_retire_kind;

/* All of that, and which parts of a step there are, by role and name. */
extern PGDLLEXPORT const AnagoOperatorModule anago_own_operators;

#endif							/* ANAGO_OPS_H */
