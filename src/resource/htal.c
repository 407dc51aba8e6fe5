/*-------------------------------------------------------------------------
 *
 * htal.c
 *	  Which class of work gets how many cores: the decision.  See htal.h.
 *
 * Algorithm 1, the state:
 *
 *		W_T >= alpha	favour OLTP
 *		F <= beta		favour log shipping
 *		else			favour OLAP
 *
 * Algorithm 2, the move, by the state:
 *
 *		OLTP		U_C >= gamma					one more for its dispatch
 *					else D_T >= delta				one more for OLTP
 *					else							borders of key ranges move
 *		shipping	C_LS <= C_ML					one more for log shipping
 *		OLAP		U_C >= gamma					one more for its dispatch
 *					else U_A >= epsilon, W_A <= zeta	one more for OLAP
 *
 * Nobody is favoured, and nothing moves, where a comparison that comes before is
 * with something that is not known.
 *
 * U_C is the use of the dispatch of the side that is favoured.  By the letter of
 * C_LS <= C_ML log shipping comes to have one core more than what it is at its
 * best with; it keeps to the letter.
 *
 * Where OLTP cores have one queue, there is nothing that borders could do, and what
 * helps transactions that wait is one more core.
 *
 * The publication says that a core comes from a class that the state does not
 * favour and that can give one.  Of these we take the class with the most idle
 * cores, as it will miss one least; where these are equal, the one with the
 * most cores.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stddef.h>

#include "resource/htal.h"

const AnagoHtalThresholds anago_htal_default = {
	.waiting = 2,
	.freshness = 0.85,
	.dispatch_cpu = 0.6,
	.queue_variance = 8,
	.olap_cpu = 0.8,
	.olap_iowait = 0.1
};

/* With a threshold of 0 for what is compared by >=, that side always asks. */
const AnagoHtalThresholds anago_htal_least = {0, 0, 0, 0, 0, 0};

const AnagoHtalThresholds anago_htal_most = {
	.waiting = 1e6,
	.freshness = 1,
	.dispatch_cpu = 1,
	.queue_variance = 1e12,
	.olap_cpu = 1,
	.olap_iowait = 1
};

/* Of 96 cores; and who has one first, where there are fewer than classes. */
static const struct
{
	const char *name;
	int			start;
	int			rank;
}			classes[ANAGO_HTAL_CLASSES] = {
	[ANAGO_HTAL_OLTP] = {"OLTP", 40, 0},
	[ANAGO_HTAL_OLTP_DISPATCH] = {"OLTP dispatch", 8, 3},
	[ANAGO_HTAL_OLAP] = {"OLAP", 44, 1},
	[ANAGO_HTAL_OLAP_DISPATCH] = {"OLAP dispatch", 2, 4},
	[ANAGO_HTAL_SHIPPING] = {"log shipping", 1, 2},
	[ANAGO_HTAL_BALANCER] = {"balancer", 1, 5}
};

/* ---- the start ---- */

static bool
is_absent(const bool *absent, int class)
{
	return absent != NULL && absent[class];
}

/* Cores of those that are there, on the published machine. */
static int
published_cores(const bool *absent)
{
	int			cores = 0;
	int			i;

	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
		cores += is_absent(absent, i) ? 0 : classes[i].start;
	return cores;
}

/* Of those that are there, how many have a core before this one? */
static int
rank_of(int class, const bool *absent)
{
	int			rank = 0;
	int			i;

	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
		rank += !is_absent(absent, i) && classes[i].rank < classes[class].rank;
	return rank;
}

/* The class that is farthest below its share of all cores. */
static int
most_wanting(const AnagoHtalCores *cores, int ncores, const bool *absent)
{
	int			published = published_cores(absent);
	long long	most = 0;
	int			wanting = ANAGO_HTAL_OLTP;
	int			i;

	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
	{
		long long	wants = (long long) classes[i].start * ncores -
			(long long) cores->of[i] * published;

		if (!is_absent(absent, i) && wants > most)
		{
			most = wants;
			wanting = i;
		}
	}
	return wanting;
}

AnagoHtalCores
anago_htal_start_of(int ncores, const bool *absent)
{
	AnagoHtalCores cores = {{0}};
	int			left = ncores;
	int			i;

	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
	{
		cores.of[i] = !is_absent(absent, i) && rank_of(i, absent) < ncores;
		left -= cores.of[i];
	}
	for (; left > 0; left--)
		cores.of[most_wanting(&cores, ncores, absent)]++;
	return cores;
}

AnagoHtalCores
anago_htal_start(int ncores)
{
	return anago_htal_start_of(ncores, NULL);
}

/* ---- Algorithm 1 ---- */

AnagoHtalState
anago_htal_state(const AnagoHtalThresholds *thresholds,
				 const AnagoHtalInputs *inputs)
{
	if (isnan(inputs->waiting))
		return ANAGO_HTAL_FAVOUR_NOBODY;
	if (inputs->waiting >= thresholds->waiting)
		return ANAGO_HTAL_FAVOUR_OLTP;
	if (isnan(inputs->freshness))
		return ANAGO_HTAL_FAVOUR_NOBODY;
	if (inputs->freshness <= thresholds->freshness)
		return ANAGO_HTAL_FAVOUR_SHIPPING;
	return ANAGO_HTAL_FAVOUR_OLAP;
}

bool
anago_htal_favours(AnagoHtalState state, AnagoHtalClass class)
{
	switch (state)
	{
		case ANAGO_HTAL_FAVOUR_OLTP:
			return class == ANAGO_HTAL_OLTP || class == ANAGO_HTAL_OLTP_DISPATCH;
		case ANAGO_HTAL_FAVOUR_SHIPPING:
			return class == ANAGO_HTAL_SHIPPING;
		case ANAGO_HTAL_FAVOUR_OLAP:
			return class == ANAGO_HTAL_OLAP || class == ANAGO_HTAL_OLAP_DISPATCH;
		case ANAGO_HTAL_FAVOUR_NOBODY:
		case ANAGO_HTAL_STATES:
			break;
	}
	return false;
}

/* ---- Algorithm 2 ---- */

static const AnagoHtalMove stay = {ANAGO_HTAL_STAY, ANAGO_HTAL_OLTP, ANAGO_HTAL_OLTP};

static bool
can_give(AnagoHtalState state, const AnagoHtalCores *cores, int class)
{
	return class != ANAGO_HTAL_BALANCER && cores->of[class] > 1 &&
		!anago_htal_favours(state, class);
}

/* Cores of a class that do nothing.  If that is not known, they may all work. */
static double
idle_cores(const AnagoHtalInputs *inputs, const AnagoHtalCores *cores, int class)
{
	double		cpu = inputs->cpu[class];

	if (!(cpu >= 0 && cpu <= 1))
		cpu = 1;
	return cores->of[class] * (1 - cpu);
}

/* One more core for a class, from the one that will miss it least. */
static AnagoHtalMove
one_more(AnagoHtalClass to, AnagoHtalState state, const AnagoHtalInputs *inputs,
		 const AnagoHtalCores *cores)
{
	AnagoHtalMove move = {ANAGO_HTAL_NOBODY_GIVES, to, to};
	double		most_idle = 0;
	int			i;

	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
	{
		double		idle;

		if (!can_give(state, cores, i))
			continue;
		idle = idle_cores(inputs, cores, i);
		if (move.action == ANAGO_HTAL_NOBODY_GIVES || idle > most_idle ||
			(idle == most_idle && cores->of[i] > cores->of[move.from]))
		{
			move.action = ANAGO_HTAL_MOVE_CORE;
			move.from = (AnagoHtalClass) i;
			most_idle = idle;
		}
	}
	return move;
}

/* Who is not there asks for nothing, with any threshold. */
static double
dispatch_use(const AnagoHtalInputs *inputs, int class)
{
	return inputs->absent[class] ? -1 : inputs->cpu[class];
}

static AnagoHtalMove
move_for_oltp(const AnagoHtalThresholds *thresholds,
			  const AnagoHtalInputs *inputs, const AnagoHtalCores *cores)
{
	AnagoHtalState state = ANAGO_HTAL_FAVOUR_OLTP;
	double		dispatch_cpu = dispatch_use(inputs, ANAGO_HTAL_OLTP_DISPATCH);
	AnagoHtalMove borders = {ANAGO_HTAL_MOVE_BORDERS, ANAGO_HTAL_OLTP,
	ANAGO_HTAL_OLTP};

	if (dispatch_cpu >= thresholds->dispatch_cpu)
		return one_more(ANAGO_HTAL_OLTP_DISPATCH, state, inputs, cores);
	if (isnan(dispatch_cpu))
		return stay;
	if (inputs->one_queue)
		return one_more(ANAGO_HTAL_OLTP, state, inputs, cores);
	if (isnan(inputs->queue_variance))
		return stay;
	if (inputs->queue_variance >= thresholds->queue_variance)
		return one_more(ANAGO_HTAL_OLTP, state, inputs, cores);
	return borders;
}

static AnagoHtalMove
move_for_shipping(const AnagoHtalInputs *inputs, const AnagoHtalCores *cores)
{
	if (inputs->absent[ANAGO_HTAL_SHIPPING] ||
		cores->of[ANAGO_HTAL_SHIPPING] > inputs->shipping_best)
		return stay;
	return one_more(ANAGO_HTAL_SHIPPING, ANAGO_HTAL_FAVOUR_SHIPPING, inputs,
					cores);
}

static AnagoHtalMove
move_for_olap(const AnagoHtalThresholds *thresholds,
			  const AnagoHtalInputs *inputs, const AnagoHtalCores *cores)
{
	AnagoHtalState state = ANAGO_HTAL_FAVOUR_OLAP;
	double		dispatch_cpu = dispatch_use(inputs, ANAGO_HTAL_OLAP_DISPATCH);

	if (dispatch_cpu >= thresholds->dispatch_cpu)
		return one_more(ANAGO_HTAL_OLAP_DISPATCH, state, inputs, cores);
	if (!isnan(dispatch_cpu) &&
		inputs->cpu[ANAGO_HTAL_OLAP] >= thresholds->olap_cpu &&
		inputs->olap_iowait <= thresholds->olap_iowait)
		return one_more(ANAGO_HTAL_OLAP, state, inputs, cores);
	return stay;
}

AnagoHtalMove
anago_htal_move(AnagoHtalState state, const AnagoHtalThresholds *thresholds,
				const AnagoHtalInputs *inputs, const AnagoHtalCores *cores)
{
	switch (state)
	{
		case ANAGO_HTAL_FAVOUR_OLTP:
			return move_for_oltp(thresholds, inputs, cores);
		case ANAGO_HTAL_FAVOUR_SHIPPING:
			return move_for_shipping(inputs, cores);
		case ANAGO_HTAL_FAVOUR_OLAP:
			return move_for_olap(thresholds, inputs, cores);
		case ANAGO_HTAL_FAVOUR_NOBODY:
		case ANAGO_HTAL_STATES:
			break;
	}
	return stay;
}

bool
anago_htal_apply(AnagoHtalMove move, AnagoHtalCores *cores)
{
	if (move.action != ANAGO_HTAL_MOVE_CORE)
		return false;
	cores->of[move.from]--;
	cores->of[move.to]++;
	return true;
}

/* ---- bounds and names ---- */

static bool
within(double value, double least, double most)
{
	return value >= least && value <= most;
}

bool
anago_htal_valid(const AnagoHtalThresholds *thresholds)
{
	const AnagoHtalThresholds *least = &anago_htal_least;
	const AnagoHtalThresholds *most = &anago_htal_most;

	return within(thresholds->waiting, least->waiting, most->waiting) &&
		within(thresholds->freshness, least->freshness, most->freshness) &&
		within(thresholds->dispatch_cpu, least->dispatch_cpu, most->dispatch_cpu) &&
		within(thresholds->queue_variance, least->queue_variance,
			   most->queue_variance) &&
		within(thresholds->olap_cpu, least->olap_cpu, most->olap_cpu) &&
		within(thresholds->olap_iowait, least->olap_iowait, most->olap_iowait);
}

const char *
anago_htal_class_name(AnagoHtalClass class)
{
	return class < ANAGO_HTAL_CLASSES ? classes[class].name : "none";
}

const char *
anago_htal_state_name(AnagoHtalState state)
{
	static const char *const names[ANAGO_HTAL_STATES] = {
		[ANAGO_HTAL_FAVOUR_OLTP] = "favour OLTP",
		[ANAGO_HTAL_FAVOUR_SHIPPING] = "favour log shipping",
		[ANAGO_HTAL_FAVOUR_OLAP] = "favour OLAP",
		[ANAGO_HTAL_FAVOUR_NOBODY] = "favour nobody"
	};

	return state < ANAGO_HTAL_STATES ? names[state] : "none";
}

const char *
anago_htal_action_name(AnagoHtalAction action)
{
	static const char *const names[ANAGO_HTAL_ACTIONS] = {
		[ANAGO_HTAL_STAY] = "stay",
		[ANAGO_HTAL_MOVE_CORE] = "move core",
		[ANAGO_HTAL_MOVE_BORDERS] = "move borders",
		[ANAGO_HTAL_NOBODY_GIVES] = "nobody gives"
	};

	return action < ANAGO_HTAL_ACTIONS ? names[action] : "none";
}
