/*-------------------------------------------------------------------------
 *
 * distribute.h
 *	  How the work of a step is distributed over processes: three policies.
 *
 * All start from the unit row, whose ranges all processes have in common, and
 * walk the index by the same rule (descend.h).
 *
 *		dynamic		combinations are claimed a few at a time; a range that is found
 *					to be wide is published, and all take leaves of it
 *		static		each process has an equal part from the beginning, and nothing
 *					that it has begun goes to another
 *		in order	combinations are claimed, or the leaves of the one range that
 *					there is, by whoever has use for more; nothing that a process
 *					has begun goes to another
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_DISTRIBUTE_H
#define ANAGO_DISTRIBUTE_H

#include "postgres.h"

#include "ops/btree/btree.h"
#include "shared/items.h"

/*
 * static: how far the source has been cut, in shared memory; written and read
 * by whose turn it is.
 */
typedef struct AnagoCut
{
	bool		opened;			/* the following is known */
	int			parts;			/* cut off already */
	uint64		leaves;			/* of the whole range; */
	uint64		done;			/* of these, in parts already */
	AnagoBatch	at;				/* where the next part begins */
} AnagoCut;

typedef struct AnagoDistribution
{
	const char *name;

	/* May what one process has begun be published for others? */
	bool		shares;

	/* The unit row is bound: spawn tasks for what of it is this process's. */
	void		(*start) (AnagoStep *step);

	/* Nothing is ready: spawn more of that; false: there is no more. */
	bool		(*more) (AnagoStep *step);

	/*
	 * Combinations *from .. *to - 1 of the unit row's probe are this process's;
	 * false: none is left.
	 */
	bool		(*claim) (AnagoProbe *probe, int *from, int *to);
} AnagoDistribution;

extern PGDLLIMPORT const AnagoDistribution anago_dynamic;
extern PGDLLIMPORT const AnagoDistribution anago_static;
extern PGDLLIMPORT const AnagoDistribution anago_in_order;

static inline const AnagoDistribution *
anago_distribution(const AnagoStep *step)
{
	const AnagoPeers *peers = &step->op.pipeline->peers;

	if (peers->in_order)
		return &anago_in_order;
	return peers->in_parts ? &anago_static : &anago_dynamic;
}

#endif							/* ANAGO_DISTRIBUTE_H */
