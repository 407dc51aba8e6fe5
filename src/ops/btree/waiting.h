/*-------------------------------------------------------------------------
 *
 * waiting.h
 *	  Rows that wait until late looks are taken up.
 *
 * A late look has its table locked while it is at work, and no such lock may be held
 * while a row is with the executor (late.h).  So what comes to it between two of
 * these times is kept here, in the order in which it came:
 *
 *		rows leave, others come		waiting[]: 17 18 19
 *		late looks are taken up		a task spawns a probe for each
 *		all of them have ended		the table is let go; rows leave
 *
 * No more rows wait than are held.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_WAITING_H
#define ANAGO_WAITING_H

#include "postgres.h"

#include "ops/btree/late.h"

/* Must a row that comes to this step wait? */
static inline bool
anago_waits(const AnagoStep *step)
{
	return anago_desc_is_late(step->desc) && !step->op.pipeline->late;
}

/* This one does; the caller's reference goes with it. */
extern void anago_waiting_add(AnagoStep *step, AnagoRow *row);

/* Late looks are taken up: spawn what probes for those that wait; false: none do. */
extern bool anago_waiting_go_on(AnagoStep *step);

/* What waits is given up. */
extern void anago_waiting_forget(AnagoStep *step);

#endif							/* ANAGO_WAITING_H */
