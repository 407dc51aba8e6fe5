/*-------------------------------------------------------------------------
 *
 * balance_test.c
 *	  What the balancer makes of what it sees, on invented machines.  Prints TAP; built
 *	  and run by 072_balance_functions.pl, needs no server.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "resource/balance.h"

#define OLTP		ANAGO_HTAL_OLTP
#define OLAP		ANAGO_HTAL_OLAP
#define SHIPPING	ANAGO_HTAL_SHIPPING

#define PERIOD_MS	1000
#define MOST_READS	256

/*
 * A server: OLTP processes that want a CPU, cores' worth of OLAP, cores that log shipping
 * takes, and how fresh a standby is.
 */
typedef struct Server
{
	double		transactions;
	double		olap;
	double		iowait;
	double		freshness;
	int			shipping;		/* processes */
} Server;

static AnagoBalanceSeen
see(const AnagoBalance *balance, const Server *server)
{
	AnagoBalanceSeen seen = {
		.ms = PERIOD_MS,
		.freshness = server->freshness,
		.olap_iowait = server->iowait,
		.processes = {[SHIPPING] = server->shipping}
	};

	seen.cpu_ms[OLTP] = PERIOD_MS * fmin(server->transactions, anago_balance_cores(balance, OLTP));
	/* of those that have no CPU a half wait for one */
	seen.queueing_ms = (server->transactions * PERIOD_MS - seen.cpu_ms[OLTP]) / 2;
	seen.waiting = seen.queueing_ms / PERIOD_MS;
	seen.cpu_ms[OLAP] = PERIOD_MS * fmin(server->olap, anago_balance_cores(balance, OLAP));
	seen.cpu_ms[SHIPPING] = server->shipping * PERIOD_MS / 10;
	return seen;
}

static void
live(AnagoBalance *balance, const Server *server, int periods)
{
	int			i;

	for (i = 0; i < periods; i++)
	{
		AnagoBalanceSeen seen = see(balance, server);

		anago_balance_step(balance, &anago_htal_default, &seen);
	}
}

static AnagoBalance
begin(int ncpus)
{
	AnagoBalance balance;

	anago_balance_begin(&balance, ncpus);
	return balance;
}

static int
cpus_of(const AnagoBalance *balance, int class)
{
	int			n = 0;
	int			i;

	for (i = 0; i < balance->ncpus; i++)
		n += balance->owner[i] == class;
	return n;
}

/* With this load, and the assignment as it is. */
static AnagoBalanceLimits
limits_of(const AnagoBalance *balance, const Server *server)
{
	AnagoBalance then = *balance;
	AnagoHtalCores same = balance->of;

	live(&then, server, 1);
	then.of = same;
	return anago_balance_limits(&then, MOST_READS);
}

static const Server crowded = {.transactions = 40,.olap = 90,.freshness = 1};
static const Server quiet = {.transactions = 0,.olap = 90,.freshness = 1};

static void
check_two_cores(void)
{
	AnagoBalance balance = begin(2);
	AnagoBalanceLimits limits;

	claim(balance.parts == 8 && balance.of.of[OLTP] == 8 && balance.of.of[OLAP] == 8,
		  "two cores: eight parts of each, half of them for either");
	claim(cpus_of(&balance, OLTP) == 1 && cpus_of(&balance, OLAP) == 1,
		  "two cores: a CPU for either");
	live(&balance, &crowded, 1);
	claim(balance.state == ANAGO_HTAL_FAVOUR_OLTP && balance.of.of[OLTP] == 9,
		  "transactions wait: a part of a core for them");
	live(&balance, &crowded, 20);
	claim(balance.of.of[OLTP] == 15 && balance.of.of[OLAP] == 1 &&
		  balance.move.action == ANAGO_HTAL_NOBODY_GIVES, "until queries have their last");
	claim(cpus_of(&balance, OLTP) == 1 && cpus_of(&balance, OLAP) == 1,
		  "which have their CPU still");
	limits = limits_of(&balance, &crowded);
	claim(limits.processes == 1 && limits.reads == MOST_READS / 16,
		  "one process and few reads for queries (%d, %d)", limits.processes, limits.reads);
	limits = limits_of(&balance, &quiet);
	claim(limits.processes == 0 && limits.reads == 0, "without transactions no limit");
	claim(anago_balance_quota(&balance, OLTP) == 15 / 8.0 && anago_balance_quota(&balance, OLAP) == 1 / 8.0,
		  "quotas are the cores of each");
	live(&balance, &quiet, 20);
	claim(balance.state == ANAGO_HTAL_FAVOUR_OLAP && balance.of.of[OLAP] == 15,
		  "nothing waits: queries have all but the last part");
	claim(anago_balance_quota(&balance, OLTP) == 0 && anago_balance_quota(&balance, OLAP) == 0,
		  "without transactions no quotas");
	limits = limits_of(&balance, &crowded);
	claim(limits.processes == 2 && limits.reads == MOST_READS * 15 / 16,
		  "and two processes (%d, %d)", limits.processes, limits.reads);
}

static void
check_large(void)
{
	AnagoBalance balance = begin(96);
	AnagoBalance before;
	Server		busy = {.transactions = 200,.olap = 96,.freshness = 1};
	int			moved = 0;
	int			i;

	claim(balance.parts == 1 && balance.of.of[OLTP] + balance.of.of[OLAP] == 96 &&
		  balance.of.of[OLTP] == 46, "96 cores: whole ones, in the published proportion");
	before = balance;
	live(&balance, &busy, 1);
	for (i = 0; i < 96; i++)
		moved += balance.owner[i] != before.owner[i];
	claim(moved == 1 && cpus_of(&balance, OLTP) == 47, "one core moves, and no other");
}

static void
check_shipping(void)
{
	AnagoBalance balance = begin(4);
	Server		stale = {.transactions = 0,.olap = 4,.freshness = 0.5,.shipping = 2};
	Server		fresh = {.transactions = 0,.olap = 4,.freshness = 1,.shipping = 2};
	Server		gone = {.transactions = 0,.olap = 4,.freshness = NAN,.shipping = 2};
	AnagoHtalCores then;

	claim(balance.of.of[SHIPPING] == 0, "no log shipping: no cores for it");
	live(&balance, &stale, 1);
	claim(balance.of.of[SHIPPING] == 2 && balance.state == ANAGO_HTAL_FAVOUR_SHIPPING,
		  "a standby: it has some, and more while it is behind");
	live(&balance, &stale, 20);
	claim(balance.of.of[SHIPPING] == 5 && cpus_of(&balance, SHIPPING) == 1,
		  "up to one core and a part (%d)", balance.of.of[SHIPPING]);
	live(&balance, &fresh, 20);
	claim(balance.of.of[SHIPPING] == 1 && balance.state == ANAGO_HTAL_FAVOUR_OLAP,
		  "fresh again: it gives them back");
	then = balance.of;
	live(&balance, &gone, 5);
	claim(balance.state == ANAGO_HTAL_FAVOUR_NOBODY && memcmp(&then, &balance.of, sizeof(then)) == 0,
		  "not known how fresh: nothing moves");
	live(&balance, &quiet, 1);
	claim(balance.of.of[SHIPPING] == 0, "no log shipping any more: its cores are others'");
}

static void
check_unknown(void)
{
	AnagoBalance balance = begin(2);
	AnagoBalanceSeen seen = see(&balance, &quiet);

	seen.cpu_ms[OLAP] = NAN;
	anago_balance_step(&balance, &anago_htal_default, &seen);
	claim(isnan(balance.inputs.cpu[OLAP]) && balance.state == ANAGO_HTAL_FAVOUR_OLAP && balance.move.action == ANAGO_HTAL_STAY,
		  "not known what queries take: nothing moves");
	seen = see(&balance, &quiet);
	seen.olap_iowait = NAN;
	anago_balance_step(&balance, &anago_htal_default, &seen);
	claim(balance.move.action == ANAGO_HTAL_STAY, "nor where it is not known whether they wait for storage");
	seen.olap_iowait = 0.2;
	anago_balance_step(&balance, &anago_htal_default, &seen);
	claim(balance.move.action == ANAGO_HTAL_STAY, "who waits for storage gets no core");
}

/* Where the kernel does not say how long processes wait for a CPU. */
static void
check_no_queueing(void)
{
	AnagoBalance balance = begin(2);
	AnagoBalanceSeen seen = see(&balance, &crowded);
	AnagoBalanceLimits limits;

	seen.queueing_ms = NAN;
	anago_balance_step(&balance, &anago_htal_default, &seen);
	limits = anago_balance_limits(&balance, MOST_READS);
	claim(balance.state == ANAGO_HTAL_FAVOUR_NOBODY && limits.reads == 0,
		  "not known what waits for a CPU: nobody is favoured, and nothing is limited");
}

static void
check_one_cpu(void)
{
	AnagoBalance balance = begin(1);

	claim(balance.parts == 16 && balance.owner[0] == ANAGO_BALANCE_NO_OWNER,
		  "one CPU: parts of it, and it is everybody's");
	live(&balance, &crowded, 30);
	claim(balance.of.of[OLTP] == 15, "parts move on it as well");
}

/* One period of a server without transactions, with so many before it. */
static void
step_with_pooler(AnagoBalance *balance, int queues, double waiting, double variance)
{
	AnagoBalanceSeen seen = see(balance, &quiet);

	seen.queues = queues;
	seen.queueing_before = waiting;
	seen.queue_variance = variance;
	anago_balance_step(balance, &anago_htal_default, &seen);
}

static void
check_pooler(void)
{
	AnagoBalance balance = begin(4);
	AnagoHtalCores then;

	step_with_pooler(&balance, 2, 0, 0);
	claim(balance.state == ANAGO_HTAL_FAVOUR_OLAP, "nothing waits in a pooler: as without one");
	step_with_pooler(&balance, 2, 20, 9);
	claim(balance.state == ANAGO_HTAL_FAVOUR_OLTP && balance.move.to == OLTP &&
		  balance.move.action == ANAGO_HTAL_MOVE_CORE, "queues of unlike lengths: a part of a core");
	step_with_pooler(&balance, 2, 20, 7);
	claim(balance.move.action == ANAGO_HTAL_MOVE_BORDERS, "of lengths alike: borders");
	step_with_pooler(&balance, 1, 20, 0);
	claim(balance.move.action == ANAGO_HTAL_MOVE_CORE, "a single queue has no borders");
	then = balance.of;
	step_with_pooler(&balance, 0, NAN, NAN);
	claim(balance.state == ANAGO_HTAL_FAVOUR_NOBODY && balance.transactions == 0 &&
		  memcmp(&then, &balance.of, sizeof(then)) == 0,
		  "the pooler is gone: nothing moves, what runs in the server is known");
}

/* Whatever comes: nothing is lost, everybody has some. */
static void
check_walks(void)
{
	bool		sound = true;
	int			walk,
				step,
				i;

	srand(1);
	for (walk = 0; walk < 200; walk++)
	{
		AnagoBalance balance = begin(1 + rand() % (walk % 2 ? 8 : 200));

		for (step = 0; step < 100; step++)
		{
			Server		server = {
				.transactions = rand() % 300,
				.olap = rand() % 100,
				.iowait = (rand() % 3) / 10.0,
				.freshness = rand() % 10 == 0 ? NAN : (rand() % 100) / 100.0,
				.shipping = step % 20 < 10 ? rand() % 10 == 0 : 2
			};
			AnagoBalanceLimits limits;
			int			parts = 0;
			int			cpus = 0;

			live(&balance, &server, 1);
			limits = limits_of(&balance, &server);
			for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
			{
				parts += balance.of.of[i];
				cpus += cpus_of(&balance, i);
			}
			sound = sound && parts == balance.ncpus * balance.parts &&
				balance.of.of[OLTP] > 0 && balance.of.of[OLAP] > 0 &&
				cpus == (balance.ncpus > 1 ? balance.ncpus : 0) &&
				(balance.ncpus == 1 ||
				 (cpus_of(&balance, OLTP) > 0 && cpus_of(&balance, OLAP) > 0)) &&
				limits.processes <= balance.ncpus && limits.reads <= MOST_READS &&
				(limits.processes > 0) == (server.transactions > 0);
		}
	}
	claim(sound, "on any machine: each part and CPU is somebody's, transactions and queries have some");
}

static void
check_words(void)
{
	AnagoBalance balance = begin(2);
	char		text[ANAGO_HTAL_TEXT];

	live(&balance, &crowded, 1);
	anago_htal_why(balance.state, &anago_htal_default, &balance.inputs, text);
	claim(strcmp(text, "39.00 transactions wait for each OLTP core, at least 2.00") == 0, "why: %s", text);
	anago_htal_decision(balance.move, text);
	claim(strcmp(text, "more for OLTP, from OLAP") == 0, "what: %s", text);
	live(&balance, &crowded, 20);
	anago_htal_decision(balance.move, text);
	claim(strcmp(text, "no class can give to OLTP") == 0, "what: %s", text);
	balance.inputs.freshness = NAN;
	anago_htal_why(ANAGO_HTAL_FAVOUR_NOBODY, &anago_htal_default, &balance.inputs, text);
	claim(strcmp(text, "it is not known how fresh the data is") == 0, "why: %s", text);
}

int
main(void)
{
	check_two_cores();
	check_large();
	check_shipping();
	check_unknown();
	check_no_queueing();
	check_one_cpu();
	check_pooler();
	check_walks();
	check_words();
	printf("1..%d\n", ntests);
	return nfailed > 0;
}
