/*-------------------------------------------------------------------------
 *
 * guard_test.c
 *	  The guard's controller in invented worlds.  Prints TAP; built and run by
 *	  062_guard_functions.pl, needs no server.
 *
 * In a world so many clients run transactions one after the other, which take the
 * longer the more reads our queries have in flight.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "claim.h"
#include "resource/guard.h"

#define MOST		1024
#define STEP_MS		20
#define TARGET		1.2

typedef struct World
{
	int			cpus;
	int			clients;
	double		running;		/* of these, so many run or wait for a CPU */
	double		alone_us;		/* a transaction's latency without us */
	double		hurt;			/* part by which one read in flight makes it longer */
	double		anyway;			/* and what it is longer by whatever we do */
	double		noise;			/* of a mean latency, up or down */
	int			queries;
	double		wants;
	int			workers;		/* of one parallel query: */
	double		crowds;			/* by what each beside the first hurts */
	double		late_us;		/* late time of each transaction without us, */
	double		late_wakes_us;	/* and of each wake-up */
	double		tail;			/* part by which one read in flight makes the tail of
								 * transactions longer, */
	double		wakes_tail;		/* and that of wake-ups */
} World;

static double
slowdown_of(const World *world, double budget, int processes)
{
	int			work = processes < world->workers ? processes : world->workers;
	double		reads = world->queries == 0 ? 0 : fmin(budget, world->wants);

	return 1 + world->hurt * reads + (work > 1 ? world->crowds * (work - 1) : 0) + (world->queries == 0 ? 0 : world->anyway);
}

static AnagoGuardInput
see(const World *world, double budget, int processes)
{
	AnagoGuardInput seen = {.ms = STEP_MS, .queries = world->queries, .wants = world->wants, .cpus = world->cpus,
	.workers = world->workers, .parallel = world->workers > 0};
	double		noise = world->noise * (2.0 * rand() / RAND_MAX - 1);
	double		reads = world->queries == 0 ? 0 : fmin(budget, world->wants);
	double		us = world->alone_us * slowdown_of(world, budget, processes) * (1 + noise);

	if (world->clients == 0)
		return seen;
	seen.busy_ms = world->clients * STEP_MS;
	seen.runnable = world->running + (processes < world->workers ? processes : world->workers);
	seen.transactions = floor(seen.busy_ms * 1000 / us);
	seen.late_ms = seen.transactions * world->late_us / 1000 * pow(1 + world->tail * reads, 3);
	seen.wakes = STEP_MS / 0.6;
	seen.late_wakes_ms = seen.wakes * world->late_wakes_us / 1000 * pow(1 + world->wakes_tail * reads, 3);
	return seen;
}

/* So many milliseconds in that world. */
static void
live(AnagoGuard *guard, const World *world, int ms)
{
	for (; ms > 0; ms -= STEP_MS)
	{
		AnagoGuardInput seen = see(world, guard->budget, guard->processes);

		anago_guard_step(guard, &seen, TARGET, MOST);
	}
}

static double
mean_budget(AnagoGuard *guard, const World *world, int ms)
{
	double		sum = 0;

	for (int past = 0; past < ms; past += STEP_MS)
	{
		live(guard, world, STEP_MS);
		sum += guard->budget;
	}
	return sum * STEP_MS / ms;
}

static AnagoGuard
begin(void)
{
	AnagoGuard	guard;

	anago_guard_init(&guard, MOST);
	return guard;
}

static const World alone = {.cpus = 2, .clients = 4, .running = 2, .alone_us = 400};
static const World both = {.cpus = 2, .clients = 4, .running = 2, .alone_us = 400, .hurt = 0.05, .queries = 1, .wants = 256};
static const World queries = {.cpus = 2, .queries = 1, .wants = 256};

static bool
tails_known(const AnagoGuard *guard)
{
	return anago_tail_is_known(&guard->tail) && anago_tail_is_known(&guard->wakes_tail);
}

static void
test_states(void)
{
	AnagoGuard	guard = begin();

	claim(guard.budget == MOST, "it begins with everything for everybody");
	live(&guard, &alone, 1000);
	claim(guard.state == ANAGO_GUARD_IDLE && fabs(guard.unloaded_us - 400) < 20,
		  "without queries it learns what transactions take");
	live(&guard, &queries, 200);
	claim(guard.state == ANAGO_GUARD_FREE && guard.budget == MOST,
		  "without transactions queries have everything");
	live(&guard, &both, STEP_MS);
	claim(guard.state == ANAGO_GUARD_LIMITS && guard.budget <= 1,
		  "transactions are protected from the first one on");
	live(&guard, &queries, 120);
	claim(guard.state == ANAGO_GUARD_FREE && guard.budget == MOST,
		  "queries have everything again 120 ms after the last one");
}

static void
test_convergence(void)
{
	AnagoGuard	guard = begin();
	World		worse = both;

	live(&guard, &alone, 500);
	live(&guard, &both, 3000);
	/* 0.05 for each read: 4 are 20% */
	claim(guard.budget > 2.5 && guard.budget < 5, "it finds the budget: %.2f reads", guard.budget);
	claim(slowdown_of(&both, guard.budget, guard.processes) < 1.25, "and keeps it");
	worse.hurt = 0.4;
	live(&guard, &worse, 200);
	claim(slowdown_of(&worse, guard.budget, guard.processes) < 1.35, "a device that is slower: less, within 200 ms (%.2f)", guard.budget);
	live(&guard, &both, 2000);
	claim(guard.budget > 2, "and more again (%.2f)", guard.budget);
}

static void
test_extremes(void)
{
	AnagoGuard	guard = begin();
	World		hopeless = both;
	World		harmless = both;

	hopeless.anyway = 3;
	hopeless.hurt = 0;
	live(&guard, &alone, 500);
	live(&guard, &hopeless, 5000);
	claim(guard.budget >= ANAGO_GUARD_LEAST, "queries get on even where they always hurt");
	guard = begin();
	harmless.hurt = 0;
	live(&guard, &alone, 500);
	live(&guard, &harmless, 3000);
	claim(guard.budget >= harmless.wants, "where they do not hurt they have all they want (%.0f)", guard.budget);
	claim(guard.budget <= 2.5 * harmless.wants, "and not much more (%.0f)", guard.budget);
}

static void
test_probe(void)
{
	AnagoGuard	guard = begin();
	int			probed = 0;
	int			longest = 0;
	int			now = 0;

	live(&guard, &both, STEP_MS);
	claim(guard.state == ANAGO_GUARD_PROBE, "where nothing is known, it looks first");
	live(&guard, &both, 300);
	claim(guard.state == ANAGO_GUARD_LIMITS && guard.unloaded_us < 400 * 1.06,
		  "and has seen enough soon (%.0f us)", guard.unloaded_us);
	for (int ms = 0; ms < 60000; ms += STEP_MS)
	{
		live(&guard, &both, STEP_MS);
		now = guard.state == ANAGO_GUARD_PROBE ? now + STEP_MS : 0;
		probed += guard.state == ANAGO_GUARD_PROBE ? STEP_MS : 0;
		longest = now > longest ? now : longest;
	}
	claim(probed > 0 && probed < 60000 / 50, "it looks again now and then: %d ms of a minute", probed);
	claim(longest <= 160, "for %d ms at most", longest);
}

static void
test_noise(void)
{
	AnagoGuard	guard = begin();
	World		noisy = both;
	int			good = 0;
	double		sum = 0;
	int			n = 0;

	srand(11);
	noisy.noise = 0.3;
	live(&guard, &alone, 1000);
	live(&guard, &noisy, 2000);
	for (int ms = 0; ms < 30000; ms += STEP_MS, n++)
	{
		live(&guard, &noisy, STEP_MS);
		good += guard.budget < 7;
		sum += guard.budget;
	}
	claim(good > n * 9 / 10, "noise: hardly ever too much (%d of %d)", good, n);
	claim(sum / n > 1, "noise: nor too little (mean %.2f)", sum / n);
}

/* The mean is as ever, and tails grow. */
static void
test_tails(void)
{
	World		quiet = {.cpus = 2, .clients = 4, .running = 2, .alone_us = 100, .late_us = 3, .late_wakes_us = 8};
	World		harmless = quiet;
	World		transactions;
	World		wakes;
	World		changed;
	AnagoGuard	guard = begin();
	double		mean;

	harmless.queries = 1;
	harmless.wants = 256;
	transactions = wakes = harmless;
	transactions.tail = 0.05;
	wakes.wakes_tail = 0.05;
	live(&guard, &quiet, 2000);
	live(&guard, &harmless, 6000);
	claim(guard.budget >= harmless.wants, "tails as ever: all that is wanted (%.0f)", guard.budget);
	live(&guard, &transactions, 3000);
	mean = mean_budget(&guard, &transactions, 6000);
	claim(mean > 3 && mean < 10, "the longest transactions are longer: less (%.2f)", mean);
	claim(guard.slowdown < 1.05, "though the mean is as ever");
	guard = begin();
	live(&guard, &wakes, 8000);
	claim(tails_known(&guard), "where a query always runs probes tell what tails are");
	mean = mean_budget(&guard, &wakes, 6000);
	claim(mean > 3 && mean < 10, "who wakes waits longer for a CPU: less (%.2f)", mean);

	/* as many clients whose transactions take longer: fewer of them */
	for (wakes.alone_us = 2000; wakes.alone_us <= 8000; wakes.alone_us *= 4)
	{
		guard = begin();
		live(&guard, &wakes, 8000);
		mean = mean_budget(&guard, &wakes, 6000);
		claim(mean > 3 && mean < 10, "also beside %.0f transactions a second (%.2f)",
			  wakes.clients * 1e6 / wakes.alone_us, mean);
	}
	wakes.alone_us = quiet.alone_us;

	/* transactions themselves crowd the CPUs, more than when that was learnt */
	changed = wakes;
	changed.late_wakes_us = 40;
	changed.wakes_tail = 0;
	live(&guard, &changed, 30000);
	claim(guard.budget > 20, "what was learnt and is no longer so does not hold queries back for ever (%.2f)", guard.budget);
}

/* Steps with queries and without them, or with transactions and without, by turns. */
static void
come_and_go(AnagoGuard *guard, const World *with, const World *without, int turn_ms, int ms)
{
	for (int past = 0; past < ms; past += 2 * turn_ms)
	{
		live(guard, with, turn_ms);
		live(guard, without, turn_ms);
	}
}

/* Worlds in which little is seen of tails, that were known. */
static void
test_tails_unseen(void)
{
	World		quiet = {.cpus = 2, .clients = 4, .running = 2, .alone_us = 100, .late_us = 3, .late_wakes_us = 8};
	World		harmless = quiet;
	World		only_queries;
	World		hurt;
	AnagoGuardInput others = {.ms = STEP_MS, .queries = 1, .wants = 256, .others = 3, .others_io = 0.9,
		.read_us = 100, .runnable = 1, .cpus = 2};
	int			turns[] = {60, 160};
	AnagoGuard	guard = begin();
	int			probed = 0;
	double		learnt;

	harmless.queries = 1;
	harmless.wants = 256;
	only_queries = harmless;
	only_queries.clients = 0;
	live(&guard, &quiet, 2000);
	for (int i = 0; i < 500; i++)
		anago_guard_step(&guard, &others, TARGET, MOST);
	claim(guard.budget > 4, "many short ones once, now few long ones: reads grow (%.1f)", guard.budget);

	for (int i = 0; i < 2; i++)
	{
		guard = begin();
		live(&guard, &quiet, 2000);
		come_and_go(&guard, &harmless, &quiet, turns[i], 20000);
		claim(guard.resume > 50, "queries of %d ms that do no harm get more (%.1f)", turns[i], guard.resume);
		hurt = harmless;
		hurt.tail = 0.05;
		come_and_go(&guard, &hurt, &quiet, turns[i], 20000);
		claim(guard.resume < 20, "and less where tails grow (%.1f)", guard.resume);
		guard = begin();
		live(&guard, &quiet, 2000);
		come_and_go(&guard, &harmless, &only_queries, turns[i], 20000);
		claim(guard.resume > 50, "so where transactions come and go (%.1f)", guard.resume);
	}

	guard = begin();
	harmless.alone_us = quiet.alone_us = 80000;
	for (int past = 0; past < 20000; past += 320)
	{
		live(&guard, &quiet, 160);
		for (int i = 0; i < 8; i++)
		{
			live(&guard, &harmless, STEP_MS);
			probed += guard.state == ANAGO_GUARD_PROBE ? STEP_MS : 0;
		}
	}
	claim(probed < 2000, "few transactions, short queries: they are seldom probed (%d ms)", probed);

	guard = begin();
	harmless.alone_us = 100;
	hurt = harmless;
	hurt.hurt = 0;
	hurt.anyway = 3;
	hurt.late_us = 300;
	live(&guard, &quiet, 2000);
	quiet.alone_us = 100;
	live(&guard, &quiet, 2000);
	learnt = guard.tail.learnt_late_ms / guard.tail.learnt;
	while (guard.state != ANAGO_GUARD_LIMITS || guard.budget > 0.1)
		live(&guard, &hurt, STEP_MS);
	for (int i = 0; i < 50; i++)
		if (guard.state == ANAGO_GUARD_LIMITS)
			live(&guard, &hurt, STEP_MS);
	claim(guard.tail.learnt_late_ms / guard.tail.learnt < 2 * learnt,
		  "where the mean is too slow nothing is learnt of tails beside queries");
}

/* Where looks are seldom, wake-ups are few. */
static void
test_seldom(void)
{
	World		world = {.cpus = 2, .clients = 4, .running = 2, .alone_us = 100, .late_us = 3, .queries = 1, .wants = 256};
	AnagoGuard	guard = begin();
	int			probed = 0;

	for (int ms = 0; ms < 60000; ms += STEP_MS)
	{
		AnagoGuardInput seen = see(&world, guard.budget, guard.processes);

		seen.wakes = 1;
		anago_guard_step(&guard, &seen, TARGET, MOST);
		probed += guard.state == ANAGO_GUARD_PROBE ? STEP_MS : 0;
	}
	claim(probed < 6000, "it does not probe for ever what it cannot know (%d ms of a minute)", probed);
}

/* Transactions that are too long to be counted. */
static void
test_waits(void)
{
	AnagoGuard	guard = begin();
	AnagoGuardInput seen = {.ms = STEP_MS, .queries = 1, .wants = 256, .others = 3, .others_io = 0.9,
		.read_us = 100, .runnable = 1, .cpus = 2};
	double		before;

	for (int i = 0; i < 100; i++)
		anago_guard_step(&guard, &seen, TARGET, MOST);
	before = guard.budget;
	claim(before > 4, "long transactions: reads as fast as ever, more of them (%.1f)", before);
	seen.read_us = 300;
	for (int i = 0; i < 20; i++)
		anago_guard_step(&guard, &seen, TARGET, MOST);
	claim(guard.budget < before / 2, "long transactions: reads are slower, fewer of them (%.1f)", guard.budget);
	seen.read_us = 100;
	seen.others_io = 0;
	seen.runnable = 8;
	before = guard.budget;
	for (int i = 0; i < 40; i++)
		anago_guard_step(&guard, &seen, TARGET, MOST);
	claim(guard.budget < before, "long transactions: they wait for a CPU (%.2f)", guard.budget);
}

static void
test_anything(void)
{
	AnagoGuard	guard = begin();
	bool		holds = true;

	srand(5);
	for (int i = 0; i < 200000; i++)
	{
		AnagoGuardInput seen = {.ms = rand() % 100, .queries = rand() % 3, .wants = rand() % 300,
			.transactions = rand() % 4 ? rand() % 500 : 0, .busy_ms = rand() % 5000,
			.late_ms = rand() % 100, .wakes = rand() % 40, .late_wakes_ms = rand() % 100,
			.others = rand() % 5 ? 0 : rand() % 9, .others_io = (rand() % 11) / 10.0,
			.read_us = rand() % 3 ? rand() % 10000 : 0, .runnable = rand() % 20, .cpus = rand() % 4};
		double		budget = anago_guard_step(&guard, &seen, 1.01 + (rand() % 30) / 10.0, MOST);

		holds = holds && budget >= ANAGO_GUARD_LEAST && budget <= MOST;
		if (guard.state == ANAGO_GUARD_IDLE || guard.state == ANAGO_GUARD_FREE)
			holds = holds && budget == MOST;
	}
	claim(holds, "whatever is seen, the budget is within its bounds");
}

static void
test_processes(void)
{
	AnagoGuard	guard = begin();
	World		crowded = both;
	World		cached = {.cpus = 2, .clients = 4, .running = 2, .alone_us = 400, .workers = 4, .crowds = 0.2};
	World		quiet = {.cpus = 2, .clients = 4, .running = 0.1, .alone_us = 100, .late_us = 3, .late_wakes_us = 8};
	World		ends = quiet;
	double		reads;

	ends.queries = 1;
	ends.wants = 256;
	ends.workers = 4;
	crowded.hurt = 0.0001;
	crowded.workers = 4;
	crowded.crowds = 0.4;
	live(&guard, &alone, 500);
	claim(guard.processes == ANAGO_GUARD_PROCESSES, "no limit of processes without need");
	live(&guard, &crowded, 400);
	claim(guard.processes == 1, "where CPUs are short workers are parked (%d work)", guard.processes);
	reads = guard.budget;
	live(&guard, &crowded, 150);
	claim(guard.budget >= reads, "and reads are left to the query");
	crowded.crowds = 0;
	live(&guard, &crowded, 3000);
	claim(guard.processes == 1, "they stay so where only the mean is as it should be");
	crowded.running = 0.1;
	live(&guard, &crowded, 3000);
	claim(guard.processes == 2, "they wake where there is a CPU (%d work)", guard.processes);
	crowded.cpus = 8;
	live(&guard, &crowded, 3000);
	claim(guard.processes == ANAGO_GUARD_PROCESSES, "all of them, if there are so many");
	crowded.cpus = 2;
	live(&guard, &queries, 200);
	claim(guard.state == ANAGO_GUARD_FREE && guard.processes == ANAGO_GUARD_PROCESSES,
		  "and where there are no transactions");

	guard = begin();
	ends.running = 2;
	live(&guard, &quiet, 2000);
	live(&guard, &ends, 600);
	ends.running = 0.1;
	for (int i = 0; i < 500 && !(guard.calm == 9 && guard.transactions > 100); i++)
		live(&guard, &ends, STEP_MS);
	reads = guard.processes;
	claim(reads < 4, "(some are parked)");
	live(&guard, &quiet, STEP_MS);
	claim(guard.state == ANAGO_GUARD_LIMITS, "a query that reads nothing for a moment is not over");
	live(&guard, &quiet, 120);
	claim(guard.state == ANAGO_GUARD_IDLE && guard.resume_processes == reads, "the end of a query is no room for more processes (%d)", guard.resume_processes);

	guard = begin();
	live(&guard, &alone, 500);
	live(&guard, &cached, 1000);
	claim(guard.state == ANAGO_GUARD_LIMITS && guard.processes >= 1 && guard.processes <= 2,
		  "also of a query that reads nothing (%d work)", guard.processes);

	guard = begin();
	crowded = both;
	crowded.workers = 1;
	live(&guard, &alone, 500);
	live(&guard, &crowded, 3000);
	claim(guard.budget < 6, "where nobody can be parked reads are taken away (%.2f)", guard.budget);
}

int
main(void)
{
	test_states();
	test_processes();
	test_convergence();
	test_extremes();
	test_probe();
	test_noise();
	test_tails();
	test_tails_unseen();
	test_seldom();
	test_waits();
	test_anything();
	printf("1..%d\n", ntests);
	return nfailed > 0;
}
