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
}

int
main(void)
{
	test_shares();
	test_random_claims();
	test_bucket();
	printf("1..%d\n", ntests);
	return nfailed > 0;
}
