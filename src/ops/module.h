/*-------------------------------------------------------------------------
 *
 * module.h
 *	  What a library with operators of its own includes; see docs/operators.md.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MODULE_H
#define ANAGO_MODULE_H

#include "postgres.h"

#include "operators.h"
#include "ops/btree/btree.h"
#include "ops/btree/fetch.h"
#include "ops/btree/heap.h"
#include "ops/btree/kinds.h"
#include "ops/btree/probe.h"
#include "ops/btree/walk.h"
#include "pipeline/op.h"
#include "pipeline/row.h"
#include "pipeline/state.h"

/* Initializes an AnagoOperatorModule with an array of implementations. */
#define ANAGO_OPERATOR_MODULE(its_name, array) \
	.version = ANAGO_OPERATORS_VERSION, \
	.size = sizeof(AnagoOperatorModule), \
	.library = (its_name), \
	.sizes = { \
		sizeof(AnagoOp), sizeof(AnagoOpKind), sizeof(AnagoPipeline), sizeof(AnagoRow), \
		sizeof(AnagoTask), sizeof(AnagoStep), sizeof(AnagoProbe), sizeof(AnagoWalk), \
		sizeof(AnagoMatches), sizeof(AnagoVisit) \
	}, \
	.n = lengthof(array), \
	.implementations = (array)

#endif							/* ANAGO_MODULE_H */
