/*-------------------------------------------------------------------------
 *
 * parking.c
 *	  Which processes of parallel queries are parked.  See parking.h.
 *
 *-------------------------------------------------------------------------
 */
#include "resource/parking.h"

#include <stdlib.h>

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* ---- processes ---- */

/* By queries, and in each in the order in which they are let. */
static int
compare_workers(const void *a, const void *b)
{
	const AnagoWorker *x = a;
	const AnagoWorker *y = b;
	bool		x_leads = x->process == x->query;
	bool		y_leads = y->process == y->query;

	if (x->query != y->query)
		return x->query < y->query ? -1 : 1;
	if (x_leads != y_leads)
		return x_leads ? -1 : 1;
	if (x->was_parked != y->was_parked)
		return x->was_parked ? 1 : -1;
	return x->process < y->process ? -1 : x->process > y->process;
}

/* Workers of the query that begins there. */
static int
count_query(const AnagoWorker *workers, int n)
{
	int			count = 1;

	while (count < n && workers[count].query == workers[0].query)
		count++;
	return count;
}

/* What that query has use for, within its own limit. */
static int
query_wants(const AnagoWorker *worker, int count)
{
	return worker->most > 0 ? least(count, worker->most) : count;
}

/* What each query under the common limit may have: claims[].wants.  They are sorted. */
static void
divide_limit(const AnagoWorker *workers, int n, int limit, AnagoClaim *claims)
{
	int			nqueries = 0;
	int			left = limit;
	double		level;

	for (int i = 0, count; i < n; i += count)
	{
		count = count_query(&workers[i], n - i);
		if (workers[i].exempt)
			continue;
		claims[nqueries].weight = workers[i].weight;
		claims[nqueries++].wants = query_wants(&workers[i], count);
	}
	level = anago_level(claims, nqueries, limit);
	if (level == ANAGO_NO_LEVEL)
		return;
	for (int i = 0; i < nqueries; i++)
		left -= least(claims[i].wants, anago_level_allows(level, claims[i].weight, 0));
	/* what fractions leave over goes to whoever comes first */
	for (int i = 0; i < nqueries; i++)
	{
		int			allowed = anago_level_allows(level, claims[i].weight, 0);

		if (allowed < claims[i].wants && left > 0)
		{
			allowed++;
			left--;
		}
		claims[i].wants = least(claims[i].wants, allowed);
	}
}

void
anago_parking_decide(AnagoWorker *workers, int n, int limit, AnagoClaim *claims)
{
	int			query = 0;

	qsort(workers, n, sizeof(AnagoWorker), compare_workers);
	if (limit > 0)
		divide_limit(workers, n, limit, claims);
	for (int i = 0, count; i < n; i += count)
	{
		int			has;

		count = count_query(&workers[i], n - i);
		has = limit > 0 && !workers[i].exempt ? claims[query++].wants :
			query_wants(&workers[i], count);
		for (int j = 0; j < count; j++)
			workers[i + j].park = j >= has;
	}
}

/* ---- reads ---- */

/* Those that want less than they may have now have the rest when they want more. */
static void
divide_surplus(int *wants, int n, int surplus)
{
	for (int i = 0; i < n; i++)
	{
		int			more = surplus / (n - i);

		wants[i] = wants[i] + more > 0 ? wants[i] + more : 1;
		surplus -= more;
	}
}

void
anago_parking_divide_reads(int *wants, int n, int reads, AnagoClaim *claims)
{
	double		level;
	int			sum = 0;
	int			left = reads;

	for (int i = 0; i < n; i++)
	{
		claims[i] = (AnagoClaim) {.weight = 1, .wants = wants[i]};
		sum += wants[i];
	}
	level = anago_level(claims, n, reads);
	if (level == ANAGO_NO_LEVEL)
	{
		divide_surplus(wants, n, reads - sum);
		return;
	}
	for (int i = 0; i < n; i++)
	{
		int			has = least(wants[i], anago_level_allows(level, 1, 0));

		has = has > 0 ? has : 1;
		left -= has;
		claims[i].wants = has;
	}
	for (int i = 0; i < n; i++)
	{
		bool		more = left > 0 && wants[i] > claims[i].wants;

		wants[i] = claims[i].wants + more;
		left -= more;
	}
}
