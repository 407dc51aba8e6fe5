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

#include "pipeline/op.h"

extern PGDLLIMPORT const AnagoOpKind anago_unit_kind;
extern PGDLLIMPORT const AnagoOpKind anago_child_kind;
extern PGDLLIMPORT const AnagoOpKind anago_step_kind;
extern PGDLLIMPORT const AnagoOpKind anago_append_kind;
extern PGDLLIMPORT const AnagoOpKind anago_emit_kind;

#endif							/* ANAGO_OPS_H */
