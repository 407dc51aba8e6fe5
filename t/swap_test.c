/*-------------------------------------------------------------------------
 *
 * swap_test.c
 *	  When two standbys change places, on invented ones.  Prints TAP; built and run by
 *	  077_swap_decisions.pl, needs no server.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "resource/swap.h"

#define OFF			ANAGO_SWAP_OFF
#define PRIMARY		ANAGO_SWAP_PRIMARY
#define STARTING	ANAGO_SWAP_STARTING
#define APPLYING	ANAGO_SWAP_APPLYING
#define TAKING		ANAGO_SWAP_TAKING
#define ANSWERING	ANAGO_SWAP_ANSWERING
#define DRAINING	ANAGO_SWAP_DRAINING
#define ALONE		ANAGO_SWAP_ALONE

#define NONE		ANAGO_SWAP_NO_WISH
#define FRESHNESS	ANAGO_SWAP_BY_FRESHNESS
#define CLOCK		ANAGO_SWAP_BY_CLOCK
#define BOUND		ANAGO_SWAP_BY_BOUND

#define WALKS		300
#define STEPS		2000
#define PERIOD		0.5

static const AnagoSwapSettings by = {
	.freshness = 0.85,.interval = 600,.drain = 300,.max_pause = 3600,
	.max_wal = 1e9,.patience = 10
};

/* ---- one step ---- */

/* This one has number 5, and is in its state since 1000 s. */
typedef struct Case
{
	const char *name;
	AnagoSwapState state;
	int			term;
	double		after;			/* s in that state */
	bool		stands_still;
	int			transactions;
	double		freshness;
	uint64_t	replayed;
	uint64_t	received;
	double		heard;
	AnagoSwapServer other;		/* id, state, term, wish, replayed, received, freshness */
	AnagoSwapState next;
	AnagoSwapWish wish;
} Case;

#define FRESH		0.99, 1000, 1000
#define OLD			0.5, 1000, 2000
#define UNKNOWN		NAN, 1000, 1000
#define UNKNOWN_OLD	NAN, 1000, 2000
#define NEW_THERE	1500, 2000, 0.99
#define OLD_THERE	500, 2000, 0.3
#define HEARD		1

static const Case cases[] = {
	/* starting */
	{"a start waits for a word of the other one",
		STARTING, 0, 3, false, 0, FRESH, INFINITY, {0}, STARTING, NONE},
	{"none came: alone", STARTING, 0, 11, false, 0, FRESH, INFINITY, {0}, ALONE, NONE},
	{"the last one was long ago", STARTING, 0, 11, false, 0, FRESH, 11,
		{9, ANSWERING, 1, NONE, NEW_THERE}, ALONE, NONE},
	{"the other one has no part in it: alone at once",
		STARTING, 0, 1, false, 0, FRESH, HEARD, {9, OFF, 0, NONE, 0, 0, NAN}, ALONE, NONE},
	{"it is the primary", STARTING, 0, 1, false, 0, FRESH, HEARD,
		{9, PRIMARY, 0, NONE, 0, 0, NAN}, ALONE, NONE},
	{"the other one answers: apply", STARTING, 0, 1, false, 0, OLD, HEARD,
		{9, ANSWERING, 1, NONE, NEW_THERE}, APPLYING, NONE},
	{"the other one is about to answer", STARTING, 0, 1, false, 0, OLD, HEARD,
		{9, TAKING, 1, NONE, NEW_THERE}, APPLYING, NONE},
	{"the other one answers alone", STARTING, 0, 1, false, 0, OLD, HEARD,
		{9, ALONE, 1, NONE, NEW_THERE}, APPLYING, NONE},
	{"both start: the greater number waits for nobody", STARTING, 0, 1, false, 0, FRESH, HEARD,
		{4, STARTING, 0, NONE, NEW_THERE}, ALONE, NONE},
	{"both start: the less waits", STARTING, 0, 1, false, 0, FRESH, HEARD,
		{9, STARTING, 0, NONE, NEW_THERE}, STARTING, NONE},
	{"the other one applies: nobody answers", STARTING, 0, 1, false, 0, FRESH, HEARD,
		{9, APPLYING, 3, NONE, NEW_THERE}, ALONE, NONE},

	{"what was heard before the start is not counted", STARTING, 0, 1, false, 0, FRESH, 2,
		{9, APPLYING, 3, NONE, NEW_THERE}, STARTING, NONE},

	/* answering */
	{"fresh: nothing changes", ANSWERING, 1, 60, true, 3, FRESH, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, NONE},
	{"no longer fresh", ANSWERING, 1, 60, true, 3, OLD, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, FRESHNESS},
	{"just as fresh as the threshold", ANSWERING, 1, 60, true, 3, 0.85, 1000, 2000, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, FRESHNESS},
	{"a little fresher", ANSWERING, 1, 60, true, 3, 0.8501, 1000, 2000, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, NONE},
	{"its time is over", ANSWERING, 1, 600, true, 3, 0.99, 1000, 2000, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, CLOCK},
	{"its time is over, but nothing has changed", ANSWERING, 1, 600, true, 3, FRESH, HEARD,
		{9, APPLYING, 0, NONE, OLD_THERE}, ANSWERING, NONE},
	{"freshness is not known: the clock", ANSWERING, 1, 600, true, 3, UNKNOWN_OLD, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, CLOCK},
	{"the other one answers, with a greater term", ANSWERING, 1, 60, true, 3, OLD, HEARD,
		{4, ANSWERING, 2, NONE, NEW_THERE}, DRAINING, NONE},
	{"with a less one", ANSWERING, 3, 60, true, 3, FRESH, HEARD,
		{9, ANSWERING, 2, NONE, NEW_THERE}, ANSWERING, NONE},
	{"with the same, and a greater number", ANSWERING, 2, 60, true, 3, FRESH, HEARD,
		{9, ANSWERING, 2, NONE, NEW_THERE}, DRAINING, NONE},
	{"with the same, and a less one", ANSWERING, 2, 60, true, 3, FRESH, HEARD,
		{4, ANSWERING, 2, NONE, NEW_THERE}, ANSWERING, NONE},
	{"it answered, long ago", ANSWERING, 1, 60, true, 3, FRESH, 11,
		{4, ANSWERING, 2, NONE, NEW_THERE}, ANSWERING, NONE},
	{"the other one is gone: it goes on to answer", ANSWERING, 1, 60, true, 3, OLD, INFINITY,
		{0}, ANSWERING, FRESHNESS},
	{"and is in no hurry to apply", ANSWERING, 1, 3599, true, 3, OLD, INFINITY,
		{0}, ANSWERING, FRESHNESS},
	{"until replay has stood still for too long", ANSWERING, 1, 3601, true, 3, OLD, INFINITY,
		{0}, ALONE, FRESHNESS},
	{"or has too much to do", ANSWERING, 1, 60, true, 3, 0.5, 1000, 2000000000, INFINITY,
		{0}, ALONE, FRESHNESS},
	{"where the other one is there, it may answer first", ANSWERING, 1, 3601, true, 3, OLD, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, BOUND},

	{"its time is over, and only the other one has more", ANSWERING, 1, 600, true, 3, UNKNOWN, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, FRESHNESS},
	{"as it has, both without a primary", ANSWERING, 1, 600, true, 3, UNKNOWN, HEARD,
		{9, APPLYING, 0, NONE, 1500, 1500, NAN}, ANSWERING, CLOCK},
	{"WAL comes to the other one alone", ANSWERING, 1, 60, true, 3, UNKNOWN, HEARD,
		{9, APPLYING, 0, NONE, NEW_THERE}, ANSWERING, FRESHNESS},
	{"to neither", ANSWERING, 1, 60, true, 3, UNKNOWN, HEARD,
		{9, APPLYING, 0, NONE, 1500, 1500, NAN}, ANSWERING, NONE},
	{"none comes, and the other one is gone", ANSWERING, 1, 3599, true, 3, UNKNOWN, INFINITY,
		{0}, ANSWERING, NONE},
	{"not for ever", ANSWERING, 1, 3601, true, 3, UNKNOWN, INFINITY, {0}, ALONE, NONE},
	{"nor where it is promoted", ANSWERING, 1, 3601, true, 3, UNKNOWN, HEARD,
		{9, PRIMARY, 2, NONE, 0, 0, NAN}, ALONE, NONE},

	/* applying */
	{"nothing is wished", APPLYING, 1, 60, false, 0, FRESH, HEARD,
		{9, ANSWERING, 2, NONE, OLD_THERE}, APPLYING, NONE},
	{"the other one is old, this one fresh", APPLYING, 1, 60, false, 0, FRESH, HEARD,
		{9, ANSWERING, 2, FRESHNESS, OLD_THERE}, TAKING, NONE},
	{"both are old", APPLYING, 1, 60, false, 0, OLD, HEARD,
		{9, ANSWERING, 2, FRESHNESS, OLD_THERE}, APPLYING, NONE},
	{"fresh, but not further than the other one", APPLYING, 1, 60, false, 0, FRESH, HEARD,
		{9, ANSWERING, 2, FRESHNESS, NEW_THERE}, APPLYING, NONE},
	{"by the clock", APPLYING, 1, 60, false, 0, FRESH, HEARD,
		{9, ANSWERING, 2, CLOCK, OLD_THERE}, TAKING, NONE},
	{"by the clock, old", APPLYING, 1, 60, false, 0, OLD, HEARD,
		{9, ANSWERING, 2, CLOCK, OLD_THERE}, APPLYING, NONE},
	{"the other one's replay has to go on: old, but less so", APPLYING, 1, 60, false, 0, OLD, HEARD,
		{9, ANSWERING, 2, BOUND, OLD_THERE}, TAKING, NONE},
	{"it has to, and this one is older", APPLYING, 1, 60, false, 0, OLD, HEARD,
		{9, ANSWERING, 2, BOUND, NEW_THERE}, APPLYING, NONE},
	{"without a primary: all is applied", APPLYING, 1, 60, false, 0, UNKNOWN, HEARD,
		{9, ANSWERING, 2, CLOCK, OLD_THERE}, TAKING, NONE},
	{"without a primary: not all", APPLYING, 1, 60, false, 0, UNKNOWN_OLD, HEARD,
		{9, ANSWERING, 2, CLOCK, OLD_THERE}, APPLYING, NONE},
	{"the other one is gone", APPLYING, 1, 60, false, 0, FRESH, 11,
		{9, ANSWERING, 2, NONE, OLD_THERE}, ALONE, NONE},
	{"not yet", APPLYING, 1, 60, false, 0, FRESH, 9,
		{9, ANSWERING, 2, NONE, OLD_THERE}, APPLYING, NONE},
	{"it is promoted", APPLYING, 1, 60, false, 0, FRESH, HEARD,
		{9, PRIMARY, 2, NONE, 0, 0, NAN}, ALONE, NONE},
	{"it is switched off", APPLYING, 1, 60, false, 0, OLD, HEARD,
		{9, OFF, 2, NONE, 0, 0, NAN}, ALONE, FRESHNESS},
	{"it starts: it will see that nobody answers", APPLYING, 1, 60, false, 0, FRESH, HEARD,
		{9, STARTING, 0, NONE, OLD_THERE}, APPLYING, NONE},
	{"both apply: the greater number answers", APPLYING, 1, 60, false, 0, FRESH, HEARD,
		{4, APPLYING, 2, NONE, OLD_THERE}, ALONE, NONE},
	{"both apply: the less does not", APPLYING, 1, 60, false, 0, FRESH, HEARD,
		{9, APPLYING, 2, NONE, OLD_THERE}, APPLYING, NONE},

	/* taking over */
	{"replay does not stand still yet", TAKING, 1, 60, false, 0, FRESH, HEARD,
		{9, ANSWERING, 2, FRESHNESS, OLD_THERE}, TAKING, NONE},
	{"it does", TAKING, 1, 1, true, 0, FRESH, HEARD,
		{9, ANSWERING, 2, FRESHNESS, OLD_THERE}, ANSWERING, NONE},
	{"it does, and the other one is gone", TAKING, 1, 1, true, 0, FRESH, INFINITY, {0},
		ANSWERING, NONE},

	/* draining */
	{"queries run", DRAINING, 1, 200, true, 1, OLD, HEARD,
		{9, ANSWERING, 2, NONE, NEW_THERE}, DRAINING, NONE},
	{"none for two seconds", DRAINING, 1, 2, true, 0, OLD, HEARD,
		{9, ANSWERING, 2, NONE, NEW_THERE}, APPLYING, NONE},
	{"none, just now", DRAINING, 1, 1, true, 0, OLD, HEARD,
		{9, ANSWERING, 2, NONE, NEW_THERE}, DRAINING, NONE},
	{"time is over", DRAINING, 1, 301, true, 1, OLD, HEARD,
		{9, ANSWERING, 2, NONE, NEW_THERE}, APPLYING, NONE},
	{"too much WAL", DRAINING, 1, 20, true, 1, 0.5, 1000, 2000000000, HEARD,
		{9, ANSWERING, 2, NONE, NEW_THERE}, APPLYING, NONE},
	{"the other one is gone: it answers again", DRAINING, 1, 20, true, 1, OLD, 11,
		{9, ANSWERING, 2, NONE, NEW_THERE}, ANSWERING, FRESHNESS},
	{"it is promoted while this one drains", DRAINING, 1, 20, true, 0, OLD, HEARD,
		{9, PRIMARY, 2, NONE, 0, 0, NAN}, ANSWERING, FRESHNESS},
	{"it does not answer any more", DRAINING, 1, 20, true, 0, OLD, HEARD,
		{9, APPLYING, 2, NONE, NEW_THERE}, ANSWERING, FRESHNESS},

	/* alone */
	{"there is still no other one", ALONE, 1, 6000, false, 3, OLD, INFINITY, {0}, ALONE, FRESHNESS},
	{"there is one that applies", ALONE, 1, 60, false, 3, FRESH, HEARD,
		{9, APPLYING, 0, NONE, OLD_THERE}, TAKING, NONE},
	{"there is one, but data is old", ALONE, 1, 60, false, 3, OLD, HEARD,
		{9, APPLYING, 0, NONE, OLD_THERE}, ALONE, FRESHNESS},
	{"there is one that answers, with a greater term", ALONE, 1, 60, false, 3, FRESH, HEARD,
		{9, ANSWERING, 2, NONE, OLD_THERE}, APPLYING, NONE},
	{"with a less one", ALONE, 3, 60, false, 3, FRESH, HEARD,
		{9, ANSWERING, 2, NONE, OLD_THERE}, ALONE, NONE},

	/* on and off */
	{"switched on", OFF, 0, 0, false, 0, FRESH, INFINITY, {0}, STARTING, NONE},
};

static void
test_cases(void)
{
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Case *c = &cases[i];
		AnagoSwap	swap = {.id = 5,.state = c->state,.term = c->term,
			.since = 1000,.paused = 1000,.quiet = 1000,.wished = 1000};
		AnagoSwapInputs in = {
			.now = 1000 + c->after,.standby = true,.stands_still = c->stands_still,
			.receives = !isnan(c->freshness),
			.transactions = c->transactions,.replayed = c->replayed,.received = c->received,
			.freshness = c->freshness,.heard = c->heard,.other = c->other
		};
		bool		changed = anago_swap_step(&swap, &by, &in);

		claim(swap.state == c->next && swap.wish == c->wish && changed == (c->next != c->state),
			  "%s: %s, was %s, wish %s", c->name, anago_swap_state_name(swap.state),
			  anago_swap_state_name(c->state), anago_swap_wish_name(swap.wish));
	}
}

static void
test_promoted(void)
{
	for (int state = STARTING; state < ANAGO_SWAP_STATES; state++)
	{
		AnagoSwap	swap = {.id = 5,.state = state};
		AnagoSwapInputs in = {.now = 1,.heard = INFINITY,.freshness = NAN};
		bool		changed = anago_swap_step(&swap, &by, &in);

		claim(changed && swap.state == PRIMARY && !anago_swap_pauses(swap.state) &&
			  !anago_swap_sends_away(swap.state),
			  "promoted, was %s: a primary", anago_swap_state_name(state));
	}
}

static void
test_terms(void)
{
	AnagoSwap	swap = {.id = 5,.state = TAKING,.term = 3};
	AnagoSwapInputs in = {.now = 1,.standby = true,.stands_still = true,.other = {.id = 9,.state = ANSWERING,.term = 7}};

	anago_swap_step(&swap, &by, &in);
	claim(swap.state == ANSWERING && swap.term == 8, "who takes over has the greatest term");
}

static void
test_bound_with_another(void)
{
	AnagoSwap	swap = {.id = 5,.state = ANSWERING,.term = 1,.since = 0,.paused = 0};
	AnagoSwapInputs in = {.now = 3601,.standby = true,.stands_still = true,.replayed = 1000,
		.received = 2000,.freshness = 0,.heard = 1,
	.other = {.id = 9,.state = APPLYING,.replayed = 900}};

	anago_swap_step(&swap, &by, &in);
	in.now += by.patience;
	anago_swap_step(&swap, &by, &in);
	claim(swap.state == ANSWERING && swap.wish == BOUND, "replay has to go on: the other one has time to answer");
	in.now += 1;
	anago_swap_step(&swap, &by, &in);
	claim(swap.state == ALONE && !anago_swap_pauses(swap.state), "it did not: replay goes on here");
}

/* The greatest threshold: all that changes is to be seen, so who has applied all is fresh. */
static void
test_all_fresh(void)
{
	AnagoSwapSettings all = by;
	AnagoSwap	swap = {.id = 5,.state = APPLYING};
	AnagoSwapInputs in = {.now = 1,.standby = true,.receives = true,.replayed = 1000,.received = 1000,
	.freshness = 1,.heard = 1,.other = {.id = 9,.state = ANSWERING,.wish = FRESHNESS,.replayed = 900}};

	all.freshness = 1;
	anago_swap_step(&swap, &all, &in);
	claim(swap.state == TAKING, "at threshold 1 who has applied all is fresh");
	swap = (AnagoSwap) {.id = 5,.state = ANSWERING};
	in.other.state = APPLYING;
	anago_swap_step(&swap, &all, &in);
	claim(swap.wish == NONE, "and wishes nothing");
	in.freshness = 0.999;
	anago_swap_step(&swap, &all, &in);
	claim(swap.wish == FRESHNESS, "until something is not");
}

static void
test_age(void)
{
	claim(anago_swap_age(3000000000, 1000000000) == 2, "age in seconds");
	claim(anago_swap_age(1000, 2000) == 0, "what was heard after the clock was read is not of long ago");
}

static void
test_names(void)
{
	bool		same = true;

	for (int i = 0; i < ANAGO_SWAP_STATES; i++)
		same = same && anago_swap_state_of(anago_swap_state_name(i)) == (AnagoSwapState) i;
	for (int i = 0; i < ANAGO_SWAP_WISHES; i++)
		same = same && anago_swap_wish_of(anago_swap_wish_name(i)) == (AnagoSwapWish) i;
	claim(same, "states and wishes have names of their own");
	claim(anago_swap_state_of("sleeping") == ANAGO_SWAP_STATES, "other names are of none");
	for (int i = 0; i < ANAGO_SWAP_REASONS; i++)
		same = same && strlen(anago_swap_reason_name(i)) > 0;
	claim(same, "each reason has words");
}

/* ---- two standbys, with a primary, failures and a network between them ---- */

typedef struct Standby
{
	AnagoSwap	swap;
	bool		up;
	bool		stands_still;
	double		replayed;
	double		query_ends;		/* of one that runs; 0: none */
	AnagoSwapServer last;		/* heard of the other one */
	double		heard_at;
	double		stood;			/* s, with something to apply */
	int			cancelled;		/* queries that replay would have met, by a swap */
} Standby;

typedef struct World
{
	Standby		of[2];
	double		now;
	double		written;		/* by the primary */
	double		rate;
	bool		cut;			/* the network between them */
	double		nobody;			/* s in which neither answers */
	double		longest_nobody;
	double		longest_stand;
	int			swaps;
} World;

static double
random_part(void)
{
	return rand() / (RAND_MAX + 1.0);
}

static bool
answers(const Standby *s)
{
	return s->up && (s->swap.state == ANSWERING || s->swap.state == ALONE || s->swap.state == TAKING);
}

static AnagoSwapServer
tell(const Standby *s, double written)
{
	return (AnagoSwapServer) {
		s->swap.id, s->swap.state, s->swap.term, s->swap.wish, (uint64_t) s->replayed,
			(uint64_t) written, fmax(0, 1 - (written - s->replayed) / 6e6)
	};
}

static void
see_and_step(World *world, int i, const AnagoSwapSettings *settings)
{
	Standby    *me = &world->of[i];
	Standby    *other = &world->of[1 - i];
	AnagoSwapServer own = tell(me, world->written);
	AnagoSwapInputs in = {
		.now = world->now,.standby = true,.receives = true,.stands_still = me->stands_still,
		.transactions = me->query_ends > 0,.replayed = own.replayed,.received = own.received,
		.freshness = own.freshness
	};
	AnagoSwapState before = me->swap.state;

	if (other->up && !world->cut)
	{
		me->last = tell(other, world->written);
		me->heard_at = world->now;
	}
	in.other = me->last;
	in.heard = world->now - me->heard_at;
	anago_swap_step(&me->swap, settings, &in);
	if (before == DRAINING && me->swap.state == APPLYING && me->query_ends > 0)
		me->cancelled += me->swap.reason != ANAGO_SWAP_DRAIN_OVER &&
			me->swap.reason != ANAGO_SWAP_OUT_OF_BOUNDS;
	world->swaps += before == TAKING && me->swap.state == ANSWERING;
}

static void
replay(World *world, Standby *s)
{
	s->stands_still = anago_swap_pauses(s->swap.state);
	if (!s->stands_still)
		s->replayed = fmin(world->written, s->replayed + 4e5 * PERIOD);
	s->stood = s->stands_still && s->replayed < world->written ? s->stood + PERIOD : 0;
	world->longest_stand = fmax(world->longest_stand, s->stood);
	if (s->query_ends > 0 && s->query_ends <= world->now)
		s->query_ends = 0;
	if (s->query_ends == 0 && answers(s) && random_part() < 0.05)
		s->query_ends = world->now + random_part() * 40;
}

static void
boot(World *world, Standby *s)
{
	s->swap = (AnagoSwap) {.id = rand()};
	s->up = true;
	s->stands_still = false;
	s->query_ends = 0;
	s->heard_at = -INFINITY;
	s->stood = 0;
	s->swap.since = world->now;
}

static void
fail_or_mend(World *world)
{
	int			i = random_part() < 0.5;

	if (random_part() < 0.002)
		world->cut = !world->cut;
	if (random_part() > 0.004)
		return;
	if (world->of[i].up)
		world->of[i].up = false;
	else
		boot(world, &world->of[i]);
}

static void
period(World *world, const AnagoSwapSettings *settings)
{
	world->now += PERIOD;
	world->written += world->rate * PERIOD;
	for (int i = 0; i < 2; i++)
		if (world->of[i].up)
		{
			see_and_step(world, i, settings);
			replay(world, &world->of[i]);
		}
	world->nobody = answers(&world->of[0]) || answers(&world->of[1]) ||
		(!world->of[0].up && !world->of[1].up) ? 0 : world->nobody + PERIOD;
	world->longest_nobody = fmax(world->longest_nobody, world->nobody);
}

static void
test_walks(void)
{
	AnagoSwapSettings settings = by;
	int			cancelled = 0;
	int			swaps = 0;
	int			settled = 0;
	double		nobody = 0;
	double		stand = 0;

	settings.interval = 60;
	settings.max_pause = 300;
	for (int seed = 0; seed < WALKS; seed++)
	{
		World		world = {.rate = seed % 3 * 1e5};

		srand(seed);
		boot(&world, &world.of[0]);
		boot(&world, &world.of[1]);
		for (int i = 0; i < STEPS; i++)
		{
			fail_or_mend(&world);
			period(&world, &settings);
		}
		/* all is well again */
		world.cut = false;
		for (int i = 0; i < 2; i++)
			if (!world.of[i].up)
				boot(&world, &world.of[i]);
		for (int i = 0; i < STEPS; i++)
			period(&world, &settings);
		settled += (answers(&world.of[0]) || answers(&world.of[1])) &&
			!(world.of[0].swap.state == ALONE && world.of[1].swap.state == ALONE);
		cancelled += world.of[0].cancelled + world.of[1].cancelled;
		swaps += world.swaps;
		nobody = fmax(nobody, world.longest_nobody);
		stand = fmax(stand, world.longest_stand);
	}
	claim(swaps > WALKS, "%d walks of two standbys that fail, are cut off and come back: %d swaps", WALKS, swaps);
	claim(cancelled == 0, "no query is met by replay that a swap has begun");
	claim(nobody <= 2 * settings.patience + 5, "while one is there, nobody answers for %.1f s at most", nobody);
	claim(stand <= settings.max_pause + settings.drain + settings.patience + 5,
		  "replay stands still for %.1f s at most", stand);
	claim(settled == WALKS, "when all is well again, one answers (%d)", settled);
}

int
main(void)
{
	test_cases();
	test_promoted();
	test_terms();
	test_bound_with_another();
	test_all_fresh();
	test_age();
	test_names();
	test_walks();
	printf("1..%d\n", ntests);
	return nfailed != 0;
}
