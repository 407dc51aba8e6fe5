/*-------------------------------------------------------------------------
 *
 * dive.h
 *	  What planning looks up for an index path: how many entries it finds, and
 *	  how much of what it reads is cached.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_DIVE_H
#define ANAGO_DIVE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/answer.h"

typedef struct AnagoDive
{
	bool		known;			/* and something else than core believes */
	double		entries;		/* that a probe finds, and that satisfy all
								 * conditions that the index checks */
	double		blocks;			/* of the heap that these lead to, also where
								 * their number is as core believes; 0: unknown */
	double		ratio;			/* of entries to what core believes */
	double		join_ratio;		/* of rows of the join to what core believes, as
								 * far as this index knows */
} AnagoDive;

/*
 * What has been found out about a step's index paths, for all joins that it is
 * tried in; ANAGO_NOT_LOOKED_UP: nothing yet.
 */
typedef struct AnagoStepFacts
{
	AnagoAnswer eligible;		/* its index path (eligible.c) */
	Cost		io;				/* core's charge for the pages of one probe */
	Cost		filter;			/* of a tuple: conditions that the index does not
								 * check */
	List	   *subplans;		/* correlated subqueries of other tables' values
								 * in its filter (repeats.c), once the next is known: */
	Cost		evaluated;		/* of a tuple: these by core's price, */
	Cost		again;			/* if all of their pages are found, */
	Cost		one_of_many;	/* and as one of so many evaluations, which were */
	double		evaluations;	/* asked about last */
	double		cold;			/* of its pages, the share that is not cached */
	bool		dived;
	AnagoDive	dive;			/* but for join_ratio */
	double		group;			/* entries for one value; 0: not asked */
	double		join_ratio;		/* the dive's in an inner join */
	AnagoAnswer leads_anywhere; /* its rows are in no order of the index (naps.c) */
} AnagoStepFacts;

#define ANAGO_NOT_LOOKED_UP		(-1.0)

extern AnagoStepFacts *anago_no_facts(void);

/* May an index be asked about probes or a scan that cost as much? */
extern bool anago_may_dive(Cost cost);

/*
 * Have the index say it, unless that is known, of a path whose core cost, all probes
 * together, is `cost`; false: that is not worth it.
 */
extern bool anago_ask_index(PlannerInfo *root, const IndexPath *ipath,
							AnagoStepFacts *facts, Cost cost);

/*
 * The same, and what it says.  `sjinfo` is of the join that the path is the inner side of,
 * or NULL.
 */
extern void anago_dive(PlannerInfo *root, const IndexPath *ipath,
					   AnagoStepFacts *facts, Cost cost,
					   SpecialJoinInfo *sjinfo, AnagoDive *dive);

/*
 * Of the pages that an index path reads, the share that is not cached: of the heap
 * and of the index, by how many pages of each it reads.
 */
extern double anago_cold_share(PlannerInfo *root, const IndexPath *ipath);

/* The same of index paths of several tables; some are asked for. */
extern double anago_cold_share_of_all(PlannerInfo *root, List *ipaths);

/* The same of all pages of a table or index. */
extern double anago_cold_relation(Oid relid, BlockNumber pages);

/* The same of the first so many entries of one scan; 1: it may all be to wait for. */
extern double anago_cold_head(PlannerInfo *root, const IndexPath *ipath, double entries);

#endif							/* ANAGO_DIVE_H */
