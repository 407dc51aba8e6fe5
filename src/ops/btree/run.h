/*-------------------------------------------------------------------------
 *
 * run.h
 *	  The next part of a probe's work that is one walk of the index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RUN_H
#define ANAGO_RUN_H

#include "postgres.h"

#include "access/itup.h"
#include "storage/block.h"

/*
 * Found by a descent (combos.h): combinations up to `end`; or, where values are
 * skipped (skippage.h), one page of level 1 and the separators around it.
 */
typedef struct AnagoNextRun
{
	int			end;			/* once it is found: the run is from .. end - 1;
								 * or backward, so many of the last ones */
	BlockNumber blkno;			/* page wanted next, or Invalid: found */
	BlockNumber first;			/* the walk begins there; Invalid: at the root */
	bool		none;			/* there is nothing left */
	IndexTuple	lower;			/* in pipeline->context; NULL: none */
	IndexTuple	upper;
} AnagoNextRun;

#endif							/* ANAGO_RUN_H */
