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
 * Pure functions; neither this header nor level.c includes postgres.h
 * (t/resource_test.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_LEVEL_H
#define ANAGO_LEVEL_H

typedef struct AnagoClaim
{
	double		weight;			/* > 0 */
	int			wants;			/* reads */
} AnagoClaim;

/* A level that is no bound for anybody. */
#define ANAGO_NO_LEVEL		1e18

/* What a claim of that weight may have; `part` below 1 is rounded up or down. */
static inline int
anago_level_allows(double level, double weight, double part)
{
	double		reads = level * weight + part;

	return reads < 1 ? 1 : reads > 1e9 ? 1000000000 : (int) reads;
}

/*
 * The level at which n claims together have the limit, or ANAGO_NO_LEVEL where they
 * want less.  Within one read; more than the limit only where each has one.
 */
extern double anago_level(const AnagoClaim *claims, int n, int limit);

#endif							/* ANAGO_LEVEL_H */
