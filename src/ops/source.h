/*-------------------------------------------------------------------------
 *
 * source.h
 *	  Sources: where the rows of a pipeline come from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SOURCE_H
#define ANAGO_SOURCE_H

#include "postgres.h"

#include "ops/query.h"

/* Spawn what feeds step 0: the unit row's probe, or a child plan's reader. */
extern void anago_source_spawn(AnagoQuery *query);

#endif							/* ANAGO_SOURCE_H */
