/*-------------------------------------------------------------------------
 *
 * level.h
 *	  How a limit of reads in flight is divided among those who want some.
 *
 * One number says it all, the level: what a claim may have is the level times its
 * weight, but one at least, and no more than it wants.  As water that is poured
 * into vessels of different widths and heights,
 *
 *		|     |			limit 20	weight	wants	level 4		has
 *		|~~~~~|__					1		2		4			2
 *		|     |~~|					1		9		4			4
 *		|_____|__|					4		14		16			14
 *
 * what one vessel has no room for raises the level for the others.  So weights are
 * shares, not caps, and nothing is left over while somebody wants it.
 *
 * What is divided is reads in flight, and what is to follow shares is reads that are
 * done.  Whose reads are in flight for longer than those of others, as its process waits
 * for a CPU before it sees that they have come, needs more of them at a time for as many
 * a second (Little's law).  So a weight is a share times how much longer.  That is
 * bounded: one whose process has no time for more reads, or whose device is another,
 * would else have nearly all, for next to nothing.
 *
 * Pure functions; neither this header nor level.c includes postgres.h
 * (t/resource_test.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_LEVEL_H
#define ANAGO_LEVEL_H

typedef struct AnagoClaim
{
	double		weight;			/* > 0; a share, until it is weighed */
	int			wants;			/* reads */
	double		latency;		/* of its reads, mean; 0: not known */
} AnagoClaim;

/* A level that is no bound for anybody. */
#define ANAGO_NO_LEVEL		1e18

/* How much longer, or shorter, than the mean the reads of one count as, at most. */
#define ANAGO_LEVEL_LONGER	2.0

/* The weight of a share; `mean` is that of all claims' latencies. */
static inline double
anago_level_weight(double share, double latency, double mean)
{
	double		longer = latency > 0 && mean > 0 ? latency / mean : 1;

	if (longer > ANAGO_LEVEL_LONGER)
		longer = ANAGO_LEVEL_LONGER;
	else if (longer < 1 / ANAGO_LEVEL_LONGER)
		longer = 1 / ANAGO_LEVEL_LONGER;
	return share * longer;
}

/* What a claim of that weight may have; `part` below 1 is rounded up or down. */
static inline int
anago_level_allows(double level, double weight, double part)
{
	double		reads = level * weight + part;

	return reads < 1 ? 1 : reads > 1e9 ? 1000000000 : (int) reads;
}

/* Weighs all claims; returns the mean of their latencies, 0: not known. */
extern double anago_level_weigh(AnagoClaim *claims, int n);

/*
 * The level at which n claims together have the limit, or ANAGO_NO_LEVEL where they
 * want less.  Within one read; more than the limit only where each has one.
 */
extern double anago_level(const AnagoClaim *claims, int n, int limit);

#endif							/* ANAGO_LEVEL_H */
