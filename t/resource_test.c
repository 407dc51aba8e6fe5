/*-------------------------------------------------------------------------
 *
 * resource_test.c
 *	  Budgets by invented claims and clocks.  Prints TAP; built and run by
 *	  060_resource_functions.pl, needs no server.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "claim.h"
#include "resource/bucket.h"
#include "resource/level.h"
#include "resource/parking.h"

#define MOST_CLAIMS		200
#define ROUNDS			2000

/* What claim i has at that level, unrounded. */
static double
has(const AnagoClaim *c, double level)
{
	double		part = fmax(level * c->weight, 1);

	return fmin(part, c->wants);
}

static double
sum(const AnagoClaim *claims, int n, double level)
{
	double		all = 0;

	for (int i = 0; i < n; i++)
		all += has(&claims[i], level);
	return all;
}

/* ---- level ---- */

static void
test_shares(void)
{
	AnagoClaim	four[] = {{100, 256}, {200, 256}, {400, 256}, {800, 256}};
	AnagoClaim	idle[] = {{100, 256}, {200, 256}, {400, 3}, {800, 0}};
	double		level = anago_level(four, 4, 30);

	for (int i = 0; i < 4; i++)
		claim(fabs(has(&four[i], level) - (2 << i)) < 0.01,
			  "shares 1, 2, 4, 8 of 30 reads: %d", 2 << i);
	level = anago_level(idle, 4, 30);
	claim(fabs(has(&idle[0], level) - 9) < 0.01 && fabs(has(&idle[1], level) - 18) < 0.01,
		  "what others do not want is divided, too");
	claim(anago_level(idle, 4, 1000) == ANAGO_NO_LEVEL, "no bound where all want less");
	claim(anago_level(idle, 0, 10) == ANAGO_NO_LEVEL, "no bound where nobody wants anything");
	claim(anago_level_allows(0.001, 1, 0) == 1, "one read at least");
	claim(anago_level_allows(ANAGO_NO_LEVEL, 10000, 0.5) == 1000000000, "no overflow");
	claim(anago_level_allows(2.5, 1, 0.4) == 2 && anago_level_allows(2.5, 1, 0.6) == 3,
		  "a fraction is rounded up as often as it is great");
}

/* Reads that last longer are more of them in flight, for as many a second. */
static void
test_latencies(void)
{
	AnagoClaim	two[] = {{100, 256, 4000}, {100, 256, 2000}};
	AnagoClaim	new[] = {{100, 256, 4000}, {300, 256, 0}};
	AnagoClaim	far[] = {{100, 256, 90000}, {100, 256, 100}};
	double		level;

	claim(anago_level_weigh(two, 2) == 3000, "the mean latency");
	level = anago_level(two, 2, 30);
	claim(fabs(has(&two[0], level) - 20) < 0.01 && fabs(has(&two[1], level) - 10) < 0.01,
		  "twice as long: twice as many");
	claim(anago_level_weigh(new, 2) == 4000 && new[0].weight == 100 && new[1].weight == 300,
		  "a latency that is not known changes nothing");
	anago_level_weigh(far, 2);
	level = anago_level(far, 2, 30);
	claim(fabs(has(&far[0], level) - 24) < 0.01 && fabs(has(&far[1], level) - 6) < 0.01,
		  "much longer: four times as many, and no more");
	claim(anago_level_weigh(far, 0) == 0, "no mean of nothing");
}

static void
test_random_claims(void)
{
	bool		exact = true;
	bool		one_each = true;
	bool		nothing_left = true;

	srand(7);
	for (int round = 0; round < ROUNDS; round++)
	{
		AnagoClaim	claims[MOST_CLAIMS];
		int			n = 1 + rand() % MOST_CLAIMS;
		int			limit = 1 + rand() % 1000;
		double		wanted = 0;
		double		level;
		double		all;

		for (int i = 0; i < n; i++)
		{
			claims[i].weight = 1 + rand() % 10000;
			claims[i].wants = 1 + rand() % 300;
			wanted += claims[i].wants;
		}
		level = anago_level(claims, n, limit);
		all = sum(claims, n, level);
		if (limit < n)
			one_each = one_each && fabs(all - n) < 0.01;
		else if (wanted <= limit)
			nothing_left = nothing_left && level == ANAGO_NO_LEVEL;
		else
			exact = exact && all <= limit + 0.001 && all > limit - 1;
	}
	claim(exact, "random claims: the limit is divided, and no more");
	claim(one_each, "random claims: one each where the limit is less");
	claim(nothing_left, "random claims: all that is wanted, where that is less");
}

/* ---- bucket ---- */

/* Tokens that one who asks for 16 every `step` ns has in a second. */
static int
taken_in_a_second(double per_second, uint64_t step)
{
	uint64_t	due = 0;
	int			all = 0;

	for (uint64_t now = 1000000000; now < 2000000000; now += step)
	{
		int			n = anago_bucket_has(due, now, per_second, 16);

		all += n;
		due = anago_bucket_take(due, now, per_second, n);
	}
	return all;
}

static void
test_bucket(void)
{
	static const double rates[] = {1, 7, 100, 5000, 1e5, 3e6};
	uint64_t	due;

	for (int i = 0; i < 6; i++)
	{
		int			all = taken_in_a_second(rates[i], 1000);

		claim(all >= rates[i] * 0.98 && all <= rates[i] * 1.03 + 1,
			  "%g reads per second: %d", rates[i], all);
	}
	due = anago_bucket_take(0, 1000, 100, 50);
	claim(anago_bucket_has(due, 1000, 100, 1) == 0, "a debt leaves nothing");
	claim(anago_bucket_wait(due, 1000, 100) > 0, "and is waited for");
	claim(anago_bucket_has(due, 1000 + anago_bucket_wait(due, 1000, 100), 100, 1) == 1,
		  "for as long as it takes");
	claim(anago_bucket_has(due, due, 1e8, 10) == 10, "the highest rate");
	due = anago_bucket_take(0, 1000, 0.01, 1);
	claim(anago_bucket_within(due, 1000, 0.01) == due, "one that was not there is owed");
	claim(anago_bucket_wait(anago_bucket_within(due, 1000, 100), 1000, 100) == 20000000,
		  "no longer than at the rate there is now");
}

/* ---- parking ---- */

/* Workers first .. first + n - 1 of a query, which the first one leads. */
static int
add_query(AnagoWorker *workers, int at, int first, int n, double weight)
{
	for (int i = 0; i < n; i++)
		workers[at + i] = (AnagoWorker) {.process = first + i, .query = first, .weight = weight};
	return at + n;
}

/* Those of a query that are not parked. */
static int
awake(const AnagoWorker *workers, int n, int query)
{
	int			sum = 0;

	for (int i = 0; i < n; i++)
		sum += workers[i].query == query && !workers[i].park;
	return sum;
}

static bool
is_parked(const AnagoWorker *workers, int n, int process)
{
	for (int i = 0; i < n; i++)
		if (workers[i].process == process)
			return workers[i].park;
	return false;
}

static void
test_parking(void)
{
	AnagoWorker workers[20];
	AnagoClaim	claims[20];
	int			n = add_query(workers, add_query(workers, 0, 10, 4, 100), 20, 6, 200);

	anago_parking_decide(workers, n, 0, claims);
	claim(awake(workers, n, 10) == 4 && awake(workers, n, 20) == 6, "no limit: nobody is parked");
	anago_parking_decide(workers, n, 6, claims);
	claim(awake(workers, n, 10) == 2 && awake(workers, n, 20) == 4, "six processes by weights 1 and 2");
	claim(!is_parked(workers, n, 10) && !is_parked(workers, n, 20), "leaders are let first");
	anago_parking_decide(workers, n, 1, claims);
	claim(awake(workers, n, 10) == 1 && awake(workers, n, 20) == 1, "one at least of each query");
	anago_parking_decide(workers, n, 9, claims);
	claim(awake(workers, n, 10) + awake(workers, n, 20) == 9, "nothing is left over");

	n = add_query(workers, add_query(workers, 0, 10, 4, 100), 20, 6, 200);
	for (int i = 0; i < n; i++)
		workers[i].most = workers[i].query == 20 ? 2 : 0;
	anago_parking_decide(workers, n, 0, claims);
	claim(awake(workers, n, 10) == 4 && awake(workers, n, 20) == 2, "a query's own limit");
	anago_parking_decide(workers, n, 5, claims);
	claim(awake(workers, n, 10) == 3 && awake(workers, n, 20) == 2, "others have what it does not want");
	for (int i = 0; i < n; i++)
		workers[i].exempt = workers[i].query == 10;
	anago_parking_decide(workers, n, 1, claims);
	claim(awake(workers, n, 10) == 4 && awake(workers, n, 20) == 1, "one that is exempt is not held back");

	n = add_query(workers, 0, 10, 4, 100);
	for (int i = 0; i < n; i++)
		workers[i].was_parked = i == 1 || i == 2;
	anago_parking_decide(workers, n, 2, claims);
	claim(!is_parked(workers, n, 10) && !is_parked(workers, n, 13), "those that work go on");
	anago_parking_decide(workers, n, 3, claims);
	claim(!is_parked(workers, n, 11) && is_parked(workers, n, 12), "then one that is parked wakes");
	anago_parking_decide(workers, 0, 3, claims);
	claim(true, "nobody is there");
}

static void
test_random_parking(void)
{
	bool		within = true;
	bool		one_each = true;
	bool		nothing_left = true;

	for (int round = 0; round < ROUNDS; round++)
	{
		AnagoWorker workers[MOST_CLAIMS * 5];
		AnagoClaim	claims[MOST_CLAIMS * 5];
		int			queries = 1 + rand() % MOST_CLAIMS;
		int			limit = 1 + rand() % 300;
		int			n = 0;
		int			all = 0;

		for (int q = 0; q < queries; q++)
			n = add_query(workers, n, q * 10, 1 + rand() % 5, 1 + rand() % 1000);
		anago_parking_decide(workers, n, limit, claims);
		for (int q = 0; q < queries; q++)
		{
			int			its = awake(workers, n, q * 10);

			one_each = one_each && its >= 1 && !is_parked(workers, n, q * 10);
			all += its;
		}
		within = within && all <= (limit > queries ? limit : queries);
		nothing_left = nothing_left && all >= (limit < n ? limit : n);
	}
	claim(within, "random queries: no more processes than the limit");
	claim(one_each, "random queries: one each, the leader");
	claim(nothing_left, "random queries: all of the limit is used");
}

static void
test_divided_reads(void)
{
	AnagoClaim	claims[4];
	int			equal[] = {50, 50, 50};
	int			uneven[] = {2, 50, 50};
	int			few[] = {1, 2, 0};
	int			least[] = {9, 9, 9, 9};

	anago_parking_divide_reads(equal, 3, 10, claims);
	claim(equal[0] + equal[1] + equal[2] == 10 && equal[2] >= 3, "ten reads of three processes");
	anago_parking_divide_reads(uneven, 3, 10, claims);
	claim(uneven[0] == 2 && uneven[1] == 4 && uneven[2] == 4, "what one does not want others have");
	anago_parking_divide_reads(few, 3, 30, claims);
	claim(few[0] + few[1] + few[2] == 30 && few[2] >= 1, "what nobody wants yet is for whoever wants more");
	anago_parking_divide_reads(least, 4, 2, claims);
	claim(least[0] == 1 && least[3] == 1, "one read at least of each process");
}

int
main(void)
{
	test_shares();
	test_latencies();
	test_random_claims();
	test_bucket();
	test_parking();
	test_random_parking();
	test_divided_reads();
	printf("1..%d\n", ntests);
	return nfailed > 0;
}
