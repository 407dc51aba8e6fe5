/*-------------------------------------------------------------------------
 *
 * static.h
 *	  anago.mode = static: the source is cut once, into equal parts.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_STATIC_H
#define ANAGO_STATIC_H

#include "postgres.h"

#include "ops/btree/btree.h"

/* Instead of a probe of the unit row, which is bound; of a query with a share. */
extern void anago_static_spawn(AnagoStep *step);

/*
 * Spawn what comes next in this process's part or, at the end of it, in one
 * that no other process has come for.  False: there is none.
 */
extern bool anago_static_next(AnagoStep *step);

#endif							/* ANAGO_STATIC_H */
