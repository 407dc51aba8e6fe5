/*-------------------------------------------------------------------------
 *
 * root.h
 *	  The root of a step's index, where its walks begin.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ROOT_H
#define ANAGO_ROOT_H

#include "postgres.h"

#include "ops/btree/btree.h"

/*
 * Know step->root, its level, and the version of the index, after this.  An index without
 * a root is empty for our snapshot; to a serializable transaction it is locked
 * as a whole then.
 */
extern void anago_root_ensure(AnagoStep *step);

#endif							/* ANAGO_ROOT_H */
