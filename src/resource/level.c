/*-------------------------------------------------------------------------
 *
 * level.c
 *	  How a limit of reads in flight is divided.  See level.h.
 *
 *-------------------------------------------------------------------------
 */
#include "resource/level.h"

/* Halvings: a limit of 2^20 reads is then divided to a thousandth of one. */
#define HALVINGS	30

double
anago_level_weigh(AnagoClaim *claims, int n)
{
	double		sum = 0;
	int			known = 0;
	double		mean;

	for (int i = 0; i < n; i++)
	{
		sum += claims[i].latency;
		known += claims[i].latency > 0;
	}
	mean = known > 0 ? sum / known : 0;
	for (int i = 0; i < n; i++)
		claims[i].weight = anago_level_weight(claims[i].weight, claims[i].latency, mean);
	return mean;
}

/* What all have at that level, without rounding. */
static double
had(const AnagoClaim *claims, int n, double level)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		double		part = level * claims[i].weight;

		if (part < 1)
			part = 1;
		sum += part < claims[i].wants ? part : claims[i].wants;
	}
	return sum;
}

static double
least_weight(const AnagoClaim *claims, int n)
{
	double		least = claims[0].weight;

	for (int i = 1; i < n; i++)
		if (claims[i].weight < least)
			least = claims[i].weight;
	return least;
}

double
anago_level(const AnagoClaim *claims, int n, int limit)
{
	double		low = 0;
	double		high;

	if (n == 0 || had(claims, n, ANAGO_NO_LEVEL) <= limit)
		return ANAGO_NO_LEVEL;
	/* there, whoever has the least weight would have the whole limit */
	high = limit / least_weight(claims, n);
	for (int i = 0; i < HALVINGS; i++)
	{
		double		middle = (low + high) / 2;

		if (had(claims, n, middle) <= limit)
			low = middle;
		else
			high = middle;
	}
	return low;
}
