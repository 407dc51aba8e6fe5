/*-------------------------------------------------------------------------
 *
 * range.h
 *	  Index range: the walk of one B-tree for one probe.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RANGE_H
#define ANAGO_RANGE_H

#include "postgres.h"

#include "ops/query.h"

/* Spawn the task that finds a probe's index entries; keys are evaluated. */
extern void anago_range_spawn(AnagoProbe *probe);

#endif							/* ANAGO_RANGE_H */
