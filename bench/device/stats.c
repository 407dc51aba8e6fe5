/*
 * stats.c
 *	  What the device has done, and how punctually.
 */
#include "stats.h"

#include <stdio.h>

/* A reply was late; by so many ns after it was due. */
void
stats_count_late(Stats *stats, uint64_t by)
{
	stats->late++;
	stats->late_ns += by;
	if (by > stats->late_max_ns)
		stats->late_max_ns = by;
}

/* One line of JSON into `text`, of STATS_TEXT_MAX bytes; returns its length. */
size_t
stats_text(const Stats *stats, char *text)
{
	return snprintf(text, STATS_TEXT_MAX,
					"{\"reads\": %llu, \"bytes\": %llu, \"model_ns\": %llu, "
					"\"late\": %llu, "
					"\"late_ns\": %llu, \"late_max_ns\": %llu, "
					"\"missed\": %llu, \"writes\": %llu, \"failed\": %llu, "
					"\"peak\": %llu, \"lost\": %llu}\n",
					(unsigned long long) stats->reads,
					(unsigned long long) stats->bytes,
					(unsigned long long) stats->model_ns,
					(unsigned long long) stats->late,
					(unsigned long long) stats->late_ns,
					(unsigned long long) stats->late_max_ns,
					(unsigned long long) stats->missed,
					(unsigned long long) stats->writes,
					(unsigned long long) stats->failed,
					(unsigned long long) stats->peak,
					(unsigned long long) stats->lost);
}
