/*-------------------------------------------------------------------------
 *
 * head.h
 *	  Is the beginning of a range of an index cached, with its heap blocks?
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_HEAD_H
#define ANAGO_HEAD_H

#include "postgres.h"

#include "access/nbtree.h"
#include "utils/rel.h"

#include "survey/position.h"

/*
 * Of so many entries from a position on (`place` is where it was found), or
 * backward of it, the share whose heap blocks are in shared buffers.  False if there are none.
 */
extern bool anago_head_resident(Relation indexrel, BTScanInsert position,
								const AnagoTreePlace *place, bool backward,
								double entries, double per_leaf, double *share);

#endif							/* ANAGO_HEAD_H */
