/*-------------------------------------------------------------------------
 *
 * fan.h
 *	  One row in all members of a step.
 *
 * A join sees the members' matches as those of one inner side: the first match
 * anywhere ends a semijoin's probes, or those of a unique inner side, and only
 * where no member has a match is the outer row extended by NULLs.
 *
 *		fan		which: 2, 5, 6
 *		 |-- probe in member 2		its tasks go on
 *		 '-- probe in member 5		its task makes the next one, in member 6
 *
 * Invariants
 *	- a fan lives while it has probes; while there is a next member, the task of
 *	  the probe made last lives;
 *	- `matched` is set if it is for any probe; `done` goes for all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_FAN_H
#define ANAGO_FAN_H

#include "postgres.h"

#include "ops/btree/btree.h"

/* Is there another member to be probed for the same row? */
static inline bool
anago_fan_has_next(const AnagoProbe *probe)
{
	const AnagoFan *fan = probe->fan;

	return fan != NULL && !fan->done && fan->next < fan->n;
}

static inline void
anago_fan_add(AnagoFan *fan, AnagoProbe *probe)
{
	probe->fan = fan;
	probe->done = fan->done;
	fan->nprobes++;
	dlist_push_tail(&fan->probes, &probe->sibling);
}

/* This probe has found a match; that may have been all that was wanted. */
static inline void
anago_fan_match(AnagoProbe *probe)
{
	AnagoFan   *fan = probe->fan;
	dlist_iter	iter;

	fan->matched = true;
	if (!probe->done)
		return;
	fan->done = true;
	dlist_foreach(iter, &fan->probes)
		dlist_container(AnagoProbe, sibling, iter.cur)->done = true;
}

/* Is this probe the last one, and has none of them found a match? */
static inline bool
anago_fan_is_unmatched(const AnagoProbe *probe)
{
	const AnagoFan *fan = probe->fan;

	return fan->nprobes == 1 && fan->next == fan->n && !fan->matched;
}

/* A probe ends. */
static inline void
anago_fan_leave(AnagoPipeline *pipeline, AnagoProbe *probe)
{
	AnagoFan   *fan = probe->fan;

	dlist_delete(&probe->sibling);
	if (--fan->nprobes == 0)
		anago_pipeline_free(pipeline, fan, fan->size);
}

#endif							/* ANAGO_FAN_H */
