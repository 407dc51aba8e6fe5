/*-------------------------------------------------------------------------
 *
 * rate.c
 *	  Reads per second: of the server, and of roles and databases.
 *
 * Each limit is a bucket of tokens that all its processes take of, and for each of them
 * a bucket of its own, of its part by shares:
 *
 *		all		|--------+--------|			10,000 per second
 *					 ^ what is above its half, whoever comes first may have
 *		own		|--|			 |------|	2,500 and 7,500
 *
 * A process may read what its own buckets have, or what others leave over, and no more
 * than those of all have.  It keeps within all limits that it is under, and takes as much
 * of each.  Two that look at the same moment may both have what is there once: what was
 * taken too much is missing from then on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "resource/bucket.h"
#include "resource/budgets.h"
#include "resource/groups.h"

#define MS_IN_NS	1000000

/* A limit that this process is under. */
typedef struct Rate
{
	pg_atomic_uint64 *all_due;
	uint64	   *own_due;
	double		all;			/* reads per second, */
	double		own;			/* and this process's part of them */
} Rate;

/* The server's, and of each kind one. */
#define MOST_RATES	(1 + ANAGO_GROUP_KINDS)

/* ---- which ---- */

/* In reads, each of which is of one block; 0: there is no limit. */
static double
lesser_rate(double reads, double mb)
{
	double		bytes = mb * 1e6;

	return reads > 0 && (bytes == 0 || reads * BLCKSZ <= bytes) ? reads : bytes / BLCKSZ;
}

static double
own_part(const AnagoDivision *division)
{
	double		shares = anago_read_double((pg_atomic_uint64 *) &division->shares);
	double		share = anago_slot_share(anago_slot);

	return Min(share / Max(shares, share), 1.0);
}

/* Returns how many there are. */
static int
find_rates(Rate *rates)
{
	double		all = lesser_rate(anago_budgets_limit(ANAGO_LIMIT_READS_PER_S),
								  anago_budgets_limit(ANAGO_LIMIT_MB_PER_S));
	int			n = 0;

	if (all > 0)
		rates[n++] = (Rate) {
			&anago_budgets->due, &anago_slot->due, all, all * own_part(&anago_budgets->all)
		};
	for (int kind = 0; kind < ANAGO_GROUP_KINDS; kind++)
	{
		AnagoGroup *group = anago_group(kind);

		all = lesser_rate(anago_group_limit(group, ANAGO_LIMIT_READS_PER_S),
						  anago_group_limit(group, ANAGO_LIMIT_MB_PER_S));
		if (all > 0)
			rates[n++] = (Rate) {
				&group->due, &anago_slot->group_due[kind], all, all * own_part(&group->division)
			};
	}
	return n;
}

/*
 * The same for who comes without having looked at any limit: others may have come or
 * gone, and all that are left may be waiting here.
 */
static int
find_rates_anew(Rate *rates, uint64 now)
{
	int			limit;

	anago_groups_keep();
	if (find_rates(rates) == 0)
		return 0;
	(void) anago_division(now, &limit);
	return find_rates(rates);
}

/* ---- tokens ---- */

/* Of its own bucket, at its part of the rate as it is now. */
static uint64
own_due(const Rate *rate, uint64 now)
{
	*rate->own_due = anago_bucket_within(*rate->own_due, now, rate->own);
	return *rate->own_due;
}

/* What its own part has, or what others leave over: the upper half of the common bucket. */
static int
may_take(const Rate *rate, int want, uint64 now)
{
	int			half = (int) (rate->all * (ANAGO_BURST_NS / 2e9));
	int			mine = anago_bucket_has(own_due(rate, now), now, rate->own, want);
	int			common = anago_bucket_has(pg_atomic_read_u64(rate->all_due), now,
										  rate->all, INT_MAX);
	int			n = Min(Max(mine, Min(common - half, want)), common);

	return Max(n, 0);
}

/* Of its own part so many, whether they are there or not. */
static void
take(const Rate *rate, int n, int mine, uint64 now)
{
	uint64		due = pg_atomic_read_u64(rate->all_due);

	while (!pg_atomic_compare_exchange_u64(rate->all_due, &due,
										   anago_bucket_take(due, now, rate->all, n)))
		;
	*rate->own_due = anago_bucket_take(own_due(rate, now), now, rate->own, mine);
}

/* Milliseconds until there may be a token again; 0: there is one. */
static int
wait_for(const Rate *rate, uint64 now)
{
	uint64		mine = anago_bucket_wait(own_due(rate, now), now, rate->own);
	uint64		common = anago_bucket_wait(pg_atomic_read_u64(rate->all_due), now, rate->all);
	uint64		wait = Max(mine, common);

	return wait == 0 ? 0 : (int) Min(wait / MS_IN_NS + 1, ANAGO_STARVED_MS);
}

/* ---- of all limits ---- */

int
anago_rate_take(int want, uint64 now)
{
	Rate		rates[MOST_RATES];
	int			nrates = find_rates(rates);
	int			n = want;

	for (int i = 0; i < nrates; i++)
		n = may_take(&rates[i], n, now);
	for (int i = 0; i < nrates && n > 0; i++)
		take(&rates[i], n, anago_bucket_has(*rates[i].own_due, now, rates[i].own, n), now);
	return n;
}

int
anago_rate_wait(uint64 now)
{
	Rate		rates[MOST_RATES];
	int			nrates = find_rates_anew(rates, now);
	int			ms = 0;

	for (int i = 0; i < nrates; i++)
	{
		int			of_rate = wait_for(&rates[i], now);

		ms = Max(ms, of_rate);
	}
	return ms;
}

void
anago_rate_count(void)
{
	uint64		now = anago_budgets_now();
	Rate		rates[MOST_RATES];
	int			nrates = find_rates_anew(rates, now);

	for (int i = 0; i < nrates; i++)
		take(&rates[i], 1, 1, now);
}
