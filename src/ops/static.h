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

#include "ops/query.h"

/* Instead of the unit row's probe; of a query with a share. */
extern void anago_static_spawn(AnagoQuery *query);

/*
 * Spawn what comes next in this process's part or, at the end of it, in one
 * that no other process has come for.  False: there is none.
 */
extern bool anago_static_next(AnagoQuery *query);

#endif							/* ANAGO_STATIC_H */
