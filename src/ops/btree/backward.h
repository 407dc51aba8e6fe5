/*-------------------------------------------------------------------------
 *
 * backward.h
 *	  The walk of an index range from its end to its start.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BACKWARD_H
#define ANAGO_BACKWARD_H

#include "postgres.h"

#include "ops/btree/walk.h"

/* All children of the page are taken: the one on the left of it comes next. */
extern void anago_backward_turn(AnagoWalk *walk);

/*
 * A skip scan: may the child that was taken have matches?  If not, the one that is
 * taken next is one that may.
 */
extern bool anago_backward_skip_child(AnagoWalk *walk);

/*
 * Which combinations *from .. *to - 1 have part of the child that was taken, and
 * the bound of its stretch, or NULL; false: none has.
 */
extern bool anago_backward_stretch(AnagoWalk *walk, int *from, int *to,
								   IndexTuple *bound);

#endif							/* ANAGO_BACKWARD_H */
