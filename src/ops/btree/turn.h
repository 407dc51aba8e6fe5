/*-------------------------------------------------------------------------
 *
 * turn.h
 *	  A step that turns into a hash join while it runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TURN_H
#define ANAGO_TURN_H

#include "postgres.h"

#include "ops/btree/btree.h"

/* When a step of one table is opened: may it ever turn? */
extern void anago_turn_begin(AnagoStep *step);

/*
 * A row's probe was made, for which no task is spawned yet.  True: it finds its
 * matches in the table of a step that has turned, by now or before, and has its task.
 */
extern bool anago_turn_take(AnagoStep *step, AnagoProbe *probe);

#endif							/* ANAGO_TURN_H */
