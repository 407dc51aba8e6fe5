/*
 * stats.h
 *	  What the device has done, and how punctually, since it was last reset.
 */
#ifndef STATS_H
#define STATS_H

#include <stddef.h>
#include <stdint.h>

typedef struct Stats
{
	uint64_t	reads;
	uint64_t	bytes;
	uint64_t	model_ns;		/* time of all reads by the model */
	uint64_t	late;			/* reads replied later than is tolerated */
	uint64_t	late_ns;		/* by how much later than due, in sum */
	uint64_t	late_max_ns;
	uint64_t	missed;			/* reads not in the page cache of the image */
	uint64_t	writes;
	uint64_t	failed;			/* requests replied with an error */
	uint64_t	lost;			/* writes among them; never reset */
	uint64_t	peak;			/* most reads held at once */
} Stats;

#define STATS_TEXT_MAX	512

extern void stats_count_late(Stats *stats, uint64_t by);
extern size_t stats_text(const Stats *stats, char *text);

#endif							/* STATS_H */
