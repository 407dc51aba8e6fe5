/*-------------------------------------------------------------------------
 *
 * peers.h
 *	  How a query spreads over the processes of a parallel query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PEERS_H
#define ANAGO_PEERS_H

#include "postgres.h"

#include "pipeline/row.h"
#include "pipeline/state.h"

/* What the scheduler is to ask and tell; of a query that has a share. */
extern PGDLLEXPORT void anago_peers_meet(AnagoPipeline *pipeline, AnagoSchedPeers *peers);

/*
 * All tasks have ended.  True: others had work, of which tasks have been
 * spawned.  False: there is no more, and the share has been left.
 */
extern PGDLLEXPORT bool anago_peers_more(AnagoPipeline *pipeline);

/*
 * Hand the row, which is bound and was to be probed for in `step`, to the
 * process that tick() found to have too little work.  False: not done.
 */
extern PGDLLEXPORT bool anago_peers_give(AnagoPipeline *pipeline, int step, AnagoRow *row);

/* The run loop is entered, or left for the executor's or a child plan's code. */
extern PGDLLEXPORT void anago_peers_cross(const AnagoPipeline *pipeline, bool inside);

/* Do rows and pieces of work go from one process to another at all? */
static inline bool
anago_peers_exchange(const AnagoPipeline *pipeline)
{
	return !pipeline->peers.in_parts && !pipeline->peers.in_order;
}

/* The same of a row that a step has accepted; true: it is done with here. */
static inline bool
anago_peers_given(AnagoPipeline *pipeline, int step, AnagoRow *row)
{
	if (pipeline->peers.give_to < 0 || step == 0 ||
		!anago_peers_give(pipeline, step, row))
		return false;
	anago_row_release(pipeline, row);
	return true;
}

#endif							/* ANAGO_PEERS_H */
