/*-------------------------------------------------------------------------
 *
 * balance.c
 *	  HTAL on a running server: what was seen, as its inputs; its assignment, as CPUs
 *	  and limits.  See balance.h.
 *
 *-------------------------------------------------------------------------
 */
#include "resource/balance.h"

#include <math.h>
#include <string.h>

static const short cpu_classes[] = {
	ANAGO_HTAL_OLTP, ANAGO_HTAL_OLAP, ANAGO_HTAL_SHIPPING
};

#define NCPU_CLASSES	((int) (sizeof(cpu_classes) / sizeof(cpu_classes[0])))

double
anago_balance_cores(const AnagoBalance *balance, int class)
{
	return (double) balance->of.of[class] / balance->parts;
}

/* ---- whose each CPU is ---- */

/* Whole CPUs for a class: the nearest number. */
static int
rounded(const AnagoBalance *balance, int class)
{
	int			parts = balance->of.of[class];
	int			cpus = (parts + balance->parts / 2) / balance->parts;
	bool		must = class != ANAGO_HTAL_SHIPPING && balance->ncpus > 1;

	return cpus > 0 || !must ? cpus : 1;
}

/* These are no more, and with what rounding leaves over no fewer, than there are. */
static void
whole_cpus(const AnagoBalance *balance, int *cpus)
{
	int			sum = 0;
	int			i;

	memset(cpus, 0, sizeof(int) * ANAGO_HTAL_CLASSES);
	if (balance->ncpus == 1)
		return;					/* everybody's */
	for (i = 0; i < NCPU_CLASSES; i++)
		sum += cpus[cpu_classes[i]] = rounded(balance, cpu_classes[i]);
	while (sum != balance->ncpus)
	{
		int			more = sum < balance->ncpus ? 1 : -1;
		int			class = ANAGO_HTAL_OLTP;
		double		most = -1e9;

		for (i = 0; i < NCPU_CLASSES; i++)
		{
			int			c = cpu_classes[i];
			double		lacks = more * (anago_balance_cores(balance, c) - cpus[c]);

			if (lacks > most && (more > 0 || cpus[c] > (c != ANAGO_HTAL_SHIPPING)))
			{
				most = lacks;
				class = c;
			}
		}
		cpus[class] += more;
		sum += more;
	}
}

static void
place(AnagoBalance *balance)
{
	int			left[ANAGO_HTAL_CLASSES];
	int			i,
				j;

	whole_cpus(balance, left);
	for (i = 0; i < balance->ncpus; i++)
	{
		short	   *owner = &balance->owner[i];

		if (*owner != ANAGO_BALANCE_NO_OWNER && left[*owner] > 0)
			left[*owner]--;
		else
			*owner = ANAGO_BALANCE_NO_OWNER;
	}
	for (i = 0, j = 0; i < balance->ncpus; i++)
	{
		if (balance->owner[i] != ANAGO_BALANCE_NO_OWNER)
			continue;
		while (j < NCPU_CLASSES && left[cpu_classes[j]] == 0)
			j++;
		if (j == NCPU_CLASSES)
			return;
		balance->owner[i] = cpu_classes[j];
		left[cpu_classes[j]]--;
	}
}

/* ---- the start ---- */

/* What is absent, among the inputs. */
static void
note_absent(AnagoBalance *balance)
{
	bool	   *absent = balance->inputs.absent;

	memset(absent, 0, sizeof(balance->inputs.absent));
	absent[ANAGO_HTAL_OLTP_DISPATCH] = absent[ANAGO_HTAL_OLAP_DISPATCH] = true;
	absent[ANAGO_HTAL_BALANCER] = true;
	absent[ANAGO_HTAL_SHIPPING] = !balance->shipping;
}

static void
start(AnagoBalance *balance)
{
	note_absent(balance);
	balance->of = anago_htal_start_of(balance->ncpus * balance->parts,
									  balance->inputs.absent);
	place(balance);
}

void
anago_balance_begin(AnagoBalance *balance, int ncpus)
{
	int			i;

	memset(balance, 0, sizeof(*balance));
	balance->ncpus = ncpus < 1 ? 1 :
		ncpus > ANAGO_BALANCE_MAX_CPUS ? ANAGO_BALANCE_MAX_CPUS : ncpus;
	balance->parts = (ANAGO_BALANCE_PARTS + balance->ncpus - 1) / balance->ncpus;
	balance->state = ANAGO_HTAL_FAVOUR_NOBODY;
	balance->move.action = ANAGO_HTAL_STAY;
	for (i = 0; i < ANAGO_BALANCE_MAX_CPUS; i++)
		balance->owner[i] = ANAGO_BALANCE_NO_OWNER;
	start(balance);
}

/* ---- one turn ---- */

/* The use of a class's cores.  Its processes may have run elsewhere, too. */
static double
use_of(const AnagoBalance *balance, const AnagoBalanceSeen *seen, int class)
{
	double		cores = anago_balance_cores(balance, class);
	double		use;

	if (balance->inputs.absent[class])
		return 0;
	if (cores == 0 || seen->ms <= 0 || isnan(seen->cpu_ms[class]))
		return NAN;
	use = seen->cpu_ms[class] / (seen->ms * cores);
	return use < 1 ? use : 1;
}

static void
fill_inputs(AnagoBalance *balance, const AnagoBalanceSeen *seen)
{
	AnagoHtalInputs *inputs = &balance->inputs;
	double		cores = anago_balance_cores(balance, ANAGO_HTAL_OLTP);
	double		waiting;
	int			i;

	balance->transactions = seen->ms <= 0 ? NAN : seen->waiting +
		(seen->cpu_ms[ANAGO_HTAL_OLTP] + seen->queueing_ms) / seen->ms;
	waiting = (balance->transactions + seen->queueing_before - cores) / cores;
	/* (a comparison with what is not known is false) */
	inputs->waiting = waiting < 0 ? 0 : waiting;
	inputs->one_queue = seen->queues < 2;
	inputs->queue_variance = inputs->one_queue ? NAN : seen->queue_variance;
	inputs->freshness = seen->freshness;
	inputs->olap_iowait = seen->olap_iowait;
	for (i = 0; i < ANAGO_HTAL_CLASSES; i++)
		inputs->cpu[i] = use_of(balance, seen, i);
	/* what replays is one process */
	inputs->shipping_best = balance->parts;
}

void
anago_balance_step(AnagoBalance *balance, const AnagoHtalThresholds *thresholds,
				   const AnagoBalanceSeen *seen)
{
	bool		shipping = seen->processes[ANAGO_HTAL_SHIPPING] > 0;

	if (shipping != balance->shipping)
	{
		balance->shipping = shipping;
		start(balance);
	}
	fill_inputs(balance, seen);
	balance->state = anago_htal_state(thresholds, &balance->inputs);
	balance->move = anago_htal_move(balance->state, thresholds, &balance->inputs, &balance->of);
	if (anago_htal_apply(balance->move, &balance->of))
		place(balance);
}

/* ---- limits ---- */

static int
share_of(double all, double share)
{
	int			n = (int) ceil(all * share - 1e-9);

	return n > 1 ? n : 1;
}

/* (a comparison with what is not known is false) */
static bool
has_transactions(const AnagoBalance *balance)
{
	return balance->transactions >= ANAGO_BALANCE_LEAST;
}

double
anago_balance_quota(const AnagoBalance *balance, int class)
{
	return has_transactions(balance) ? anago_balance_cores(balance, class) : 0;
}

AnagoBalanceLimits
anago_balance_limits(const AnagoBalance *balance, int most_reads)
{
	AnagoBalanceLimits limits = {0, 0};
	double		share = anago_balance_cores(balance, ANAGO_HTAL_OLAP) / balance->ncpus;

	if (!has_transactions(balance))
		return limits;
	limits.processes = share_of(balance->ncpus, share);
	limits.reads = share_of(most_reads, share);
	return limits;
}
