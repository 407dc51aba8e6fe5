/*-------------------------------------------------------------------------
 *
 * waits.h
 *	  What waiting for pages costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_WAITS_H
#define ANAGO_WAITS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* A path of ours is preferred to core's for the same work by this share. */
#define ANAGO_TOKEN				0.05

/* Reads of one step that wait for each other: leaf, heap. */
#define ANAGO_DEPENDENT_READS	2.0

/* How many reads of a table overlap. */
extern double anago_gain(const RelOptInfo *rel);

/*
 * `io` is core's charge for pages at random places of a table and index.  What is
 * waited for them if most of it overlaps, and the CPU time that they take.
 */
extern Cost anago_overlapped(const RelOptInfo *rel, Cost io, Cost *cpu);
extern Cost anago_page_cpu(const RelOptInfo *rel, Cost io);

/*
 * CPU time of visits that lead to some pages more than once each, if shared
 * buffers hold these; and what is added where they do not.
 */
extern Cost anago_again_cpu(double visits, double pages);
extern Cost anago_copied_again(double visits, double pages);

/* Of core's charge for pages, the least share that both together may be. */
extern double anago_least_share(const RelOptInfo *rel);

/*
 * What core's bitmap scan for the same index path would cost, if core knew what
 * it waits; of the whole path.  0 if that is not known.  The share `cold` of
 * its pages has to be waited for.
 */
extern Cost anago_bitmap_price(PlannerInfo *root, IndexPath *ipath, double cold);

/* How many random pages cost that much? */
static inline double
anago_pages_for(Cost io, double random_page)
{
	return random_page > 0 ? io / random_page : 0;
}

#endif							/* ANAGO_WAITS_H */
