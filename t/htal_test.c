/*-------------------------------------------------------------------------
 *
 * htal_test.c
 *	  Who gets which cores, on invented machines.  Prints TAP; built and run by
 *	  070_htal.pl, needs no server.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "resource/htal.h"

#define OLTP			ANAGO_HTAL_OLTP
#define DISPATCH		ANAGO_HTAL_OLTP_DISPATCH
#define OLAP			ANAGO_HTAL_OLAP
#define OLAP_DISPATCH	ANAGO_HTAL_OLAP_DISPATCH
#define SHIPPING		ANAGO_HTAL_SHIPPING
#define BALANCER		ANAGO_HTAL_BALANCER

#define FOR_OLTP		ANAGO_HTAL_FAVOUR_OLTP
#define FOR_SHIPPING	ANAGO_HTAL_FAVOUR_SHIPPING
#define FOR_OLAP		ANAGO_HTAL_FAVOUR_OLAP
#define FOR_NOBODY		ANAGO_HTAL_FAVOUR_NOBODY

#define STAY			ANAGO_HTAL_STAY
#define CORE			ANAGO_HTAL_MOVE_CORE
#define BORDERS			ANAGO_HTAL_MOVE_BORDERS
#define NOBODY			ANAGO_HTAL_NOBODY_GIVES

#define WALKS			200
#define STEPS			500

static const AnagoHtalThresholds *const published = &anago_htal_default;

/* ---- one step on a machine of 96 cores ---- */

/*
 * What was measured (cpu: OLTP, its dispatch, OLAP, its dispatch, shipping,
 * balancer), who has which cores, and what should come of it.
 */
typedef struct Case
{
	const char *name;
	AnagoHtalInputs inputs;
	AnagoHtalCores cores;
	AnagoHtalState state;
	AnagoHtalMove move;
} Case;

#define START	{{40, 8, 44, 2, 1, 1}}
#define BUSY	{0.9, 0.4, 1, 0.1, 0.9, 0.01}
#define ABSENT	{false, true, false, true, true, true}

static const Case cases[] = {
	/* Algorithm 1 */
	{"work waits: OLTP, whatever else is short",
		{5, 20, 0.1, 0, BUSY, 4}, START, FOR_OLTP, {CORE, OLTP, OLAP_DISPATCH}},
	{"just as much work waits as alpha",
		{2, 20, 0.1, 0, BUSY, 4}, START, FOR_OLTP, {CORE, OLTP, OLAP_DISPATCH}},
	{"a little less than alpha, and stale",
		{1.999, 20, 0.1, 0, BUSY, 4}, START, FOR_SHIPPING, {CORE, SHIPPING, DISPATCH}},
	{"just as fresh as beta",
		{0, 0, 0.85, 0, BUSY, 4}, START, FOR_SHIPPING, {CORE, SHIPPING, DISPATCH}},
	{"a little fresher than beta",
		{0, 0, 0.8501, 0, BUSY, 4}, START, FOR_OLAP, {CORE, OLAP, DISPATCH}},
	{"infinitely much work waits",
		{INFINITY, INFINITY, 1, 0, BUSY, 4}, START, FOR_OLTP,
		{CORE, OLTP, OLAP_DISPATCH}},

	/* Algorithm 2, OLTP */
	{"OLTP: its dispatch is as busy as gamma",
		{5, 20, 1, 0, {0.9, 0.6, 1, 0.1, 0.9, 0}, 4}, START, FOR_OLTP,
		{CORE, DISPATCH, OLAP_DISPATCH}},
	{"OLTP: busy dispatch goes before uneven queues",
		{5, 1e6, 1, 0, {1, 1, 0.2, 1, 1, 0}, 4}, START, FOR_OLTP,
		{CORE, DISPATCH, OLAP}},
	{"OLTP: the other side's dispatch is not asked",
		{5, 8, 1, 0, {0.9, 0.59, 0.2, 1, 0.9, 0}, 4}, START, FOR_OLTP,
		{CORE, OLTP, OLAP}},
	{"OLTP: queues as uneven as delta",
		{5, 8, 1, 0, BUSY, 4}, START, FOR_OLTP, {CORE, OLTP, OLAP_DISPATCH}},
	{"OLTP: queues less uneven than delta: borders",
		{5, 7.999, 1, 0, BUSY, 4}, START, FOR_OLTP, {BORDERS, OLTP, OLTP}},

	/* Algorithm 2, log shipping */
	{"shipping: fewer cores than it is best with",
		{0, 0, 0.5, 0, BUSY, 4}, {{40, 8, 42, 2, 3, 1}}, FOR_SHIPPING,
		{CORE, SHIPPING, DISPATCH}},
	{"shipping: as many: one more, by the letter",
		{0, 0, 0.5, 0, BUSY, 4}, {{40, 8, 41, 2, 4, 1}}, FOR_SHIPPING,
		{CORE, SHIPPING, DISPATCH}},
	{"shipping: more",
		{0, 0, 0.5, 0, BUSY, 4}, {{40, 8, 40, 2, 5, 1}}, FOR_SHIPPING,
		{STAY, OLTP, OLTP}},

	/* Algorithm 2, OLAP */
	{"OLAP: its dispatch is as busy as gamma",
		{0, 0, 1, 0, {0.9, 0.9, 1, 0.6, 0.9, 0}, 4}, START, FOR_OLAP,
		{CORE, OLAP_DISPATCH, OLTP}},
	{"OLAP: the other side's dispatch is not asked",
		{0, 0, 1, 0, {0.9, 1, 1, 0.59, 0.9, 0}, 4}, START, FOR_OLAP,
		{CORE, OLAP, OLTP}},
	{"OLAP: as busy as epsilon, iowait as zeta",
		{0, 0, 1, 0.1, {0.5, 0.4, 0.8, 0.1, 0.9, 0}, 4}, START, FOR_OLAP,
		{CORE, OLAP, OLTP}},
	{"OLAP: less busy than epsilon",
		{0, 0, 1, 0, {0.5, 0.4, 0.799, 0.1, 0.9, 0}, 4}, START, FOR_OLAP,
		{STAY, OLTP, OLTP}},
	{"OLAP: it waits for storage",
		{0, 0, 1, 0.101, {0.5, 0.4, 1, 0.1, 0.9, 0}, 4}, START, FOR_OLAP,
		{STAY, OLTP, OLTP}},

	/* Who gives */
	{"the most idle cores, not the most idle share: 44 * 0.1 are more than 2 * 0.9",
		{5, 20, 1, 0, {1, 0.1, 0.9, 0.1, 0.9, 0}, 4}, START, FOR_OLTP,
		{CORE, OLTP, OLAP}},
	{"all equally busy: the class with the most cores",
		{5, 20, 1, 0, {1, 0.1, 1, 1, 1, 0}, 4}, START, FOR_OLTP,
		{CORE, OLTP, OLAP}},
	{"who has one core only, keeps it",
		{5, 20, 1, 0, {1, 0.1, 1, 0, 0, 0}, 4}, {{40, 8, 45, 1, 1, 1}}, FOR_OLTP,
		{CORE, OLTP, OLAP}},
	{"log shipping gives, too",
		{5, 20, 1, 0, {1, 0.1, 1, 1, 0.1, 0}, 4}, {{40, 8, 43, 1, 3, 1}}, FOR_OLTP,
		{CORE, OLTP, SHIPPING}},
	{"a balancer with cores to spare gives none",
		{5, 20, 1, 0, {1, 0.1, 1, 1, 1, 0}, 4}, {{40, 8, 2, 1, 1, 44}}, FOR_OLTP,
		{CORE, OLTP, OLAP}},
	{"nobody can give",
		{5, 20, 1, 0, BUSY, 4}, {{84, 8, 1, 1, 1, 1}}, FOR_OLTP, {NOBODY, OLTP, OLTP}},
	{"nobody can give to log shipping",
		{0, 0, 0, 0, BUSY, 4}, {{1, 1, 1, 1, 1, 91}}, FOR_SHIPPING,
		{NOBODY, SHIPPING, SHIPPING}},
	{"one core is left for OLTP, which keeps it",
		{0, 0, 1, 0, {0, 0, 1, 0.1, 0, 0}, 4}, {{1, 1, 91, 1, 1, 1}}, FOR_OLAP,
		{NOBODY, OLAP, OLAP}},
	{"who has no core can get one",
		{0, 0, 0.5, 0, BUSY, 4}, {{50, 0, 46, 0, 0, 0}}, FOR_SHIPPING,
		{CORE, SHIPPING, OLTP}},

	/* What is not known */
	{"nothing is known",
		{NAN, NAN, NAN, NAN, {NAN, NAN, NAN, NAN, NAN, NAN}, 4}, START, FOR_NOBODY,
		{STAY, OLTP, OLTP}},
	{"not known what waits: also what is stale gets nothing",
		{NAN, 20, 0.1, 0, BUSY, 4}, START, FOR_NOBODY, {STAY, OLTP, OLTP}},
	{"no standby: OLAP gets nothing",
		{0, 20, NAN, 0, BUSY, 4}, START, FOR_NOBODY, {STAY, OLTP, OLTP}},
	{"no standby: OLTP does",
		{5, 20, NAN, 0, BUSY, 4}, START, FOR_OLTP, {CORE, OLTP, OLAP_DISPATCH}},
	{"OLTP: not known how busy its dispatch is",
		{5, 20, 1, 0, {1, NAN, 1, 1, 1, 1}, 4}, START, FOR_OLTP, {STAY, OLTP, OLTP}},
	{"OLTP: not known how uneven queues are",
		{5, NAN, 1, 0, BUSY, 4}, START, FOR_OLTP, {STAY, OLTP, OLTP}},
	{"OLAP: not known how busy its dispatch is",
		{0, 0, 1, 0, {0, 0, 1, NAN, 0, 0}, 4}, START, FOR_OLAP, {STAY, OLTP, OLTP}},
	{"OLAP: not known how busy it is",
		{0, 0, 1, 0, {0, 0, NAN, 0, 0, 0}, 4}, START, FOR_OLAP, {STAY, OLTP, OLTP}},
	{"OLAP: not known if it waits for storage",
		{0, 0, 1, NAN, {0, 0, 1, 0, 0, 0}, 4}, START, FOR_OLAP, {STAY, OLTP, OLTP}},
	{"who is not known to be idle gives last",
		{5, 20, 1, 0, {1, 0.1, NAN, 0.9, 1, 0}, 4}, START, FOR_OLTP,
		{CORE, OLTP, OLAP_DISPATCH}},
	{"impossible shares are not known",
		{5, 20, 1, 0, {1, 0.1, -3, 0.9, 7, 0}, 4}, {{40, 8, 40, 2, 5, 1}}, FOR_OLTP,
		{CORE, OLTP, OLAP_DISPATCH}},

	/* what is not there */
	{"no dispatch: whatever it is said to take, nothing for it",
		{5, 20, 1, 0, {1, 1, 1, 1, 0, 0}, 4, ABSENT}, {{40, 0, 55, 0, 0, 0}}, FOR_OLTP,
		{CORE, OLTP, OLAP}},
	{"no dispatch: that it is not known does not matter",
		{0, 0, 1, 0, {0, NAN, 0.9, NAN, 0, 0}, 4, ABSENT}, {{40, 0, 55, 0, 0, 0}}, FOR_OLAP,
		{CORE, OLAP, OLTP}},
	{"no log shipping: nothing for it",
		{0, 0, 0.5, 0, BUSY, 4, ABSENT}, {{40, 0, 55, 0, 0, 0}}, FOR_SHIPPING,
		{STAY, OLTP, OLTP}},
	{"one queue: no borders move",
		{5, 0, 1, 0, BUSY, 4, .one_queue = true}, START, FOR_OLTP, {CORE, OLTP, OLAP_DISPATCH}},
	{"one queue: it has no variance",
		{5, NAN, 1, 0, BUSY, 4, .one_queue = true}, START, FOR_OLTP, {CORE, OLTP, OLAP_DISPATCH}},
};

static bool
same_move(AnagoHtalMove a, AnagoHtalMove b)
{
	return a.action == b.action && a.to == b.to && a.from == b.from;
}

static void
check_case(const Case *c)
{
	AnagoHtalState state = anago_htal_state(published, &c->inputs);
	AnagoHtalMove move = anago_htal_move(state, published, &c->inputs, &c->cores);
	bool		right = state == c->state && same_move(move, c->move);

	claim(right, "%s", c->name);
	if (!right)
		printf("# %s; %s, to %s from %s\n", anago_htal_state_name(state),
			   anago_htal_action_name(move.action),
			   anago_htal_class_name(move.to), anago_htal_class_name(move.from));
}

/* ---- the start ---- */

static int
sum_of(const AnagoHtalCores *cores)
{
	int			sum = 0;
	int			i;

	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
		sum += cores->of[i];
	return sum;
}

static bool
same_cores(AnagoHtalCores a, AnagoHtalCores b)
{
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static bool
starts_with(int ncores, AnagoHtalCores expected)
{
	return same_cores(anago_htal_start(ncores), expected);
}

static void
check_start(void)
{
	AnagoHtalCores published_start = START;
	const bool	absent[ANAGO_HTAL_CLASSES] = ABSENT;
	bool		all = true;
	bool		one_each = true;
	bool		near = true;
	int			n;
	int			i;

	claim(starts_with(96, published_start), "96 cores: as published");
	claim(starts_with(192, (AnagoHtalCores) {{80, 16, 88, 4, 2, 2}}),
		  "192 cores: twice as many of each");
	claim(starts_with(8, (AnagoHtalCores) {{2, 1, 2, 1, 1, 1}}), "8 cores");
	claim(starts_with(6, (AnagoHtalCores) {{1, 1, 1, 1, 1, 1}}),
		  "6 cores: one each");
	claim(starts_with(4, (AnagoHtalCores) {{1, 1, 1, 0, 1, 0}}),
		  "4 cores: not for OLAP's dispatch and the balancer");
	claim(starts_with(2, (AnagoHtalCores) {{1, 0, 1, 0, 0, 0}}),
		  "2 cores: one for OLTP, one for OLAP");
	claim(starts_with(1, (AnagoHtalCores) {{1, 0, 0, 0, 0, 0}}), "1 core: OLTP's");
	claim(same_cores(anago_htal_start_of(84, absent), (AnagoHtalCores) {{40, 0, 44, 0, 0, 0}}) &&
		  same_cores(anago_htal_start_of(2, absent), (AnagoHtalCores) {{1, 0, 1, 0, 0, 0}}),
		  "who is absent has none, others in proportion");
	claim(starts_with(0, (AnagoHtalCores) {{0, 0, 0, 0, 0, 0}}) &&
		  starts_with(-5, (AnagoHtalCores) {{0, 0, 0, 0, 0, 0}}), "no cores");

	for (n = 1; n <= 1024; n++)
	{
		AnagoHtalCores cores = anago_htal_start(n);

		all = all && sum_of(&cores) == n;
		for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
		{
			double		share = published_start.of[i] * n / 96.0;

			one_each = one_each && cores.of[i] >= (n >= ANAGO_HTAL_CLASSES);
			near = near && cores.of[i] < fmax(share, 1) + 1 &&
				cores.of[i] > share - ANAGO_HTAL_CLASSES;
		}
	}
	claim(all, "1 to 1024 cores: all are given out");
	claim(one_each, "from 6 cores on each class has one");
	claim(near, "nobody has a core more than its share, but its first");
}

/* ---- walks ---- */

static double
random_share(void)
{
	switch (rand() % 8)
	{
		case 0:
			return NAN;
		case 1:
			return 0;
		case 2:
			return 1;
		default:
			return rand() / (double) RAND_MAX;
	}
}

static AnagoHtalInputs
random_inputs(void)
{
	AnagoHtalInputs inputs = {0};
	int			i;

	inputs.waiting = random_share() * 4;
	inputs.queue_variance = random_share() * 16;
	inputs.freshness = random_share();
	inputs.olap_iowait = random_share() / 4;
	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
		inputs.cpu[i] = random_share();
	inputs.shipping_best = rand() % 6;
	return inputs;
}

/* What must hold of one step of a walk, and what was seen in any. */
typedef struct Walked
{
	bool		constant;		/* the sum of cores */
	bool		least;			/* one stays one */
	bool		favoured;		/* who is favoured loses nothing */
	bool		balancer;		/* has what it has */
	bool		pure;			/* the same again, and nothing else changes */
	bool		one;			/* one core moves, or nothing */
	bool		seen[ANAGO_HTAL_STATES][ANAGO_HTAL_ACTIONS];
} Walked;

static void
step(AnagoHtalCores *cores, Walked *walked)
{
	AnagoHtalInputs inputs = random_inputs();
	AnagoHtalCores before = *cores;
	AnagoHtalState state = anago_htal_state(published, &inputs);
	AnagoHtalMove move = anago_htal_move(state, published, &inputs, cores);
	int			changed = 0;
	int			i;

	walked->pure = walked->pure && memcmp(&before, cores, sizeof(before)) == 0 &&
		same_move(move, anago_htal_move(state, published, &inputs, cores));
	walked->seen[state][move.action] = true;
	walked->one = walked->one && anago_htal_apply(move, cores) == (move.action == CORE);
	walked->constant = walked->constant && sum_of(cores) == sum_of(&before);
	walked->balancer = walked->balancer && cores->of[BALANCER] == before.of[BALANCER];
	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
	{
		int			gained = cores->of[i] - before.of[i];

		changed += abs(gained);
		walked->least = walked->least && (gained >= 0 || cores->of[i] >= 1);
		walked->favoured = walked->favoured &&
			(gained >= 0 || !anago_htal_favours(state, (AnagoHtalClass) i));
	}
	walked->one = walked->one && changed == (move.action == CORE ? 2 : 0);
}

static void
check_walks(void)
{
	Walked		walked = {true, true, true, true, true, true};
	int			walk;
	int			n;

	srand(13);
	for (walk = 0; walk < WALKS; walk++)
	{
		AnagoHtalCores cores = anago_htal_start(walk % 2 ? 96 : 1 + rand() % 128);

		for (n = 0; n < STEPS; n++)
			step(&cores, &walked);
	}
	claim(walked.constant, "walks: the sum of cores is constant");
	claim(walked.least, "walks: no class loses its last core");
	claim(walked.favoured, "walks: who is favoured loses nothing");
	claim(walked.balancer, "walks: the balancer has what it has");
	claim(walked.one, "walks: one core from one class to another, or nothing");
	claim(walked.pure, "walks: the same again, and inputs are only read");
	claim(walked.seen[FOR_OLTP][CORE] && walked.seen[FOR_OLTP][BORDERS] &&
		  walked.seen[FOR_OLTP][NOBODY] && walked.seen[FOR_OLTP][STAY] &&
		  walked.seen[FOR_SHIPPING][CORE] && walked.seen[FOR_SHIPPING][STAY] &&
		  walked.seen[FOR_OLAP][CORE] && walked.seen[FOR_OLAP][STAY] &&
		  walked.seen[FOR_NOBODY][STAY] && !walked.seen[FOR_NOBODY][CORE],
		  "walks: they came by all branches");
}

/* With one reading that does not change, moves come to an end. */
static void
check_end(void)
{
	AnagoHtalInputs inputs = {5, 20, 1, 0, BUSY, 4};
	AnagoHtalCores cores = anago_htal_start(96);
	int			moves = 0;

	while (anago_htal_apply(anago_htal_move(FOR_OLTP, published, &inputs, &cores),
							&cores))
		moves++;
	claim(moves == 44 && cores.of[OLTP] == 84 && cores.of[OLAP] == 1 &&
		  cores.of[OLAP_DISPATCH] == 1 && cores.of[DISPATCH] == 8,
		  "OLTP that goes on waiting has all but the last core of each in the end");

	inputs.freshness = 0;
	cores = anago_htal_start(96);
	while (anago_htal_apply(anago_htal_move(FOR_SHIPPING, published, &inputs, &cores),
							&cores))
		;
	claim(cores.of[SHIPPING] == 5,
		  "log shipping has one core more than it is best with in the end");
}

/* ---- thresholds ---- */

static void
check_thresholds(void)
{
	AnagoHtalThresholds t = anago_htal_default;
	AnagoHtalInputs inputs = {1.5, 3, 0.9, 0.3, BUSY, 4};
	AnagoHtalCores cores = START;

	claim(t.waiting == 2 && t.freshness == 0.85 && t.dispatch_cpu == 0.6 &&
		  t.queue_variance == 8 && t.olap_cpu == 0.8 && t.olap_iowait == 0.1,
		  "thresholds: by default the published ones");
	claim(anago_htal_valid(&t) && anago_htal_valid(&anago_htal_least) &&
		  anago_htal_valid(&anago_htal_most), "thresholds: bounds are within bounds");

	t.waiting = 1.5;
	claim(anago_htal_state(&t, &inputs) == FOR_OLTP, "thresholds: alpha counts");
	t.queue_variance = 3;
	claim(anago_htal_move(FOR_OLTP, &t, &inputs, &cores).action == CORE,
		  "thresholds: delta counts");
	t = anago_htal_default;
	t.freshness = 0.95;
	claim(anago_htal_state(&t, &inputs) == FOR_SHIPPING, "thresholds: beta counts");
	t.olap_iowait = 0.3;
	claim(anago_htal_move(FOR_OLAP, &t, &inputs, &cores).to == OLAP,
		  "thresholds: zeta counts");
	t.dispatch_cpu = 0.1;
	claim(anago_htal_move(FOR_OLAP, &t, &inputs, &cores).to == OLAP_DISPATCH,
		  "thresholds: gamma counts");
	t = anago_htal_default;
	inputs.olap_iowait = 0;
	inputs.cpu[OLAP] = 0.5;
	t.olap_cpu = 0.5;
	claim(anago_htal_move(FOR_OLAP, &t, &inputs, &cores).to == OLAP,
		  "thresholds: epsilon counts");

	t = anago_htal_default;
	t.freshness = 1.001;
	claim(!anago_htal_valid(&t), "thresholds: a share above 1 is none");
	t = anago_htal_default;
	t.waiting = -1;
	claim(!anago_htal_valid(&t), "thresholds: nor below 0");
	t = anago_htal_default;
	t.olap_cpu = NAN;
	claim(!anago_htal_valid(&t), "thresholds: what is no number is none");
}

static void
check_names(void)
{
	bool		named = true;
	int			i;

	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
		named = named && strcmp(anago_htal_class_name((AnagoHtalClass) i), "none") != 0;
	for (i = 0; i < ANAGO_HTAL_STATES; i++)
		named = named && strcmp(anago_htal_state_name((AnagoHtalState) i), "none") != 0;
	for (i = 0; i < ANAGO_HTAL_ACTIONS; i++)
		named = named && strcmp(anago_htal_action_name((AnagoHtalAction) i), "none") != 0;
	claim(named && strcmp(anago_htal_class_name(ANAGO_HTAL_CLASSES), "none") == 0,
		  "everything has a name");
}

int
main(void)
{
	size_t		i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_case(&cases[i]);
	check_start();
	check_walks();
	check_end();
	check_thresholds();
	check_names();
	printf("1..%d\n", ntests);
	return nfailed > 0;
}
