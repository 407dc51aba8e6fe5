/*-------------------------------------------------------------------------
 *
 * behind.h
 *	  Looks at what refers to rows that a late look finds: second cascades.
 *
 *		delete from top where id = 3
 *		look 1		kid: rows of top = 3		finds kid 31, kid 32
 *		look 2		grand: rows of kid = 31, and rows of kid = 32
 *
 * The steps of a pipeline pass rows on, and there is one row here, that which is deleted.  So
 * the second look's step hands that row on as if it were not there; its probes are
 * made by the heap tasks of the first one, for what these see on their pages.  Probes of
 * the row, in both steps, have an AnagoFan in common: whichever ends last hands the row
 * on.  Steps of a family follow each other, so that it does not matter which.
 *
 * Whether a row that is found is visible is not asked: a version that is not known to be dead
 * will do, for it costs no more than reads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BEHIND_H
#define ANAGO_BEHIND_H

#include "postgres.h"

#include "ops/btree/btree.h"

/* Of a step that has such looks: these, and their probes that are yet to be spawned. */
typedef struct AnagoBehind
{
	int			nsteps;
	AnagoStep  *steps[ANAGO_MAX_STEPS];
	int			nprobes;
	int			max_probes;
	AnagoProbe **probes;
	void		(*spawn) (AnagoProbe *probe);
} AnagoBehind;

/*
 * This step is such a look, of the nearest step before it whose level is less by 1.
 * `spawn` spawns the task of a probe.
 */
extern void anago_behind_begin(AnagoStep *step, const AnagoPipelineDesc *desc,
							   void (*spawn) (AnagoProbe *probe));

/* These matches are in a page that has come: make probes for what is found there. */
extern void anago_behind_see(AnagoProbe *probe, AnagoMatches *matches, int from, int to,
							 Buffer buf);

static inline bool
anago_behind_are_left(const AnagoStep *step)
{
	return step->behind != NULL && step->behind->nprobes > 0;
}

/* Where the next one is spawned, once there is room, and its spawning. */
extern int	anago_behind_depth(const AnagoStep *step);
extern void anago_behind_spawn(AnagoStep *step);

/* Tasks have gone. */
extern void anago_behind_forget(AnagoStep *step);

#endif							/* ANAGO_BEHIND_H */
