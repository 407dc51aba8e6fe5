/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The simulated machine.  See model.h.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct Model
{
	ModelParams params;
	uint64_t	random;
	AnagoHtalCores cores;

	/* transactions: queued or in work, all of them clients' */
	int			clients;		/* as many there should be */
	int			present;
	int			undispatched;
	double		dispatched;		/* what the dispatch cores could still do in
								 * this step, in transactions */
	int			queue[MODEL_MAX_CORES]; /* with the one in work */
	double		paused[MODEL_MAX_CORES];	/* seconds left */

	/* key ranges */
	short		owner[MODEL_MAX_RANGES];	/* the core, ascending */
	double		arrivals[MODEL_MAX_RANGES]; /* lately */

	/* the others */
	double		backlog;		/* transactions yet to be applied */
	int			queries;		/* clients */
	double		olap_paused;	/* core-seconds */
};

/* Sums over the steps of a run. */
typedef struct Sums
{
	double		waiting;
	double		variance;
	double		busy;			/* steps of OLTP cores */
	double		dispatches;
	double		applying;		/* share of a step in which there was a backlog */
	double		scanning;		/* core-steps of OLAP, and of these */
	double		starved;		/* those that waited for storage */
} Sums;

/* Marsaglia's xorshift, with a multiplication: xorshift64*. */
static uint64_t
next_random(Model *model)
{
	uint64_t	x = model->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	model->random = x;
	return x * UINT64_C(2685821657736338717);
}

static double
random_share(Model *model)
{
	return (next_random(model) >> 11) / 9007199254740992.0;
}

static int
random_below(Model *model, int n)
{
	return (int) (random_share(model) * n);
}

static int
random_range(Model *model)
{
	const ModelParams *p = &model->params;

	if (p->hot_ranges > 0 && random_share(model) < p->hot_share)
		return random_below(model, p->hot_ranges);
	return random_below(model, p->ranges);
}

Model *
model_new(const ModelParams *params, unsigned long long seed)
{
	Model	   *model;

	if (params->ranges < 1 || params->ranges > MODEL_MAX_RANGES)
		return NULL;
	model = calloc(1, sizeof(Model));
	if (model == NULL)
		return NULL;
	model->params = *params;
	model->random = seed * 2 + 1;
	return model;
}

void
model_free(Model *model)
{
	free(model);
}

/* ---- clients ---- */

/* Those that are too many leave when their transaction has ended. */
void
model_load(Model *model, int transactions, int queries)
{
	model->clients = transactions;
	model->queries = queries;
	for (; model->present < model->clients; model->present++)
		model->undispatched++;
}

static void
begin_next(Model *model)
{
	if (model->present > model->clients)
		model->present--;
	else
		model->undispatched++;
}

/* ---- cores ---- */

/* Cut the ranges into parts of the same load; true where that moved any. */
static void
cut_ranges(Model *model, bool by_load, bool *changed)
{
	const ModelParams *p = &model->params;
	int			ncores = model->cores.of[ANAGO_HTAL_OLTP];
	double		all = 0;
	double		before = 0;
	int			i;

	for (i = 0; i < p->ranges; i++)
		all += by_load ? model->arrivals[i] : 1;
	for (i = 0; i < p->ranges; i++)
	{
		double		load = by_load ? model->arrivals[i] : 1;
		int			core = all > 0 ? (int) ((before + load / 2) / all * ncores) : 0;

		if (core >= ncores)
			core = ncores - 1;
		if (core != model->owner[i])
			changed[core] = true;
		model->owner[i] = (short) core;
		before += load;
	}
}

/* What waits goes to the cores that have the keys now. */
static void
requeue(Model *model)
{
	int			n = 0;
	int			i;

	for (i = 0; i < MODEL_MAX_CORES; i++)
	{
		n += model->queue[i];
		model->queue[i] = 0;
	}
	while (n-- > 0)
		model->queue[model->owner[random_range(model)]]++;
}

void
model_assign(Model *model, const AnagoHtalCores *cores, bool cut)
{
	bool		changed[MODEL_MAX_CORES] = {false};
	bool		first = model->cores.of[ANAGO_HTAL_OLTP] == 0;
	int			gained = cores->of[ANAGO_HTAL_OLAP] - model->cores.of[ANAGO_HTAL_OLAP];
	int			i;

	cut = cut || cores->of[ANAGO_HTAL_OLTP] != model->cores.of[ANAGO_HTAL_OLTP];
	model->cores = *cores;
	if (!first && gained > 0)
		model->olap_paused += gained * model->params.pause;
	if (!cut)
		return;
	cut_ranges(model, !first, changed);
	requeue(model);
	for (i = 0; i < MODEL_MAX_CORES && !first; i++)
		model->paused[i] = changed[i] ? model->params.pause : 0;
}

/* ---- one step ---- */

static void
dispatch(Model *model, Sums *sums)
{
	const ModelParams *p = &model->params;
	int			ncores = model->cores.of[ANAGO_HTAL_OLTP_DISPATCH];

	/* What was not used is lost, but for the transactions that are begun. */
	model->dispatched = fmin(model->dispatched, ncores) +
		ncores * p->step / p->dispatch;
	for (; model->undispatched > 0 && model->dispatched >= 1; model->dispatched--)
	{
		int			range = random_range(model);

		model->arrivals[range]++;
		model->queue[model->owner[range]]++;
		model->undispatched--;
		sums->dispatches++;
	}
}

static int
work_on_transactions(Model *model, Sums *sums)
{
	const ModelParams *p = &model->params;
	double		ends = p->step / p->transaction;
	int			ended = 0;
	int			i;

	for (i = 0; i < model->cores.of[ANAGO_HTAL_OLTP]; i++)
	{
		if (model->paused[i] > 0)
			model->paused[i] -= p->step;
		else if (model->queue[i] > 0)
		{
			sums->busy++;
			if (random_share(model) < ends)
			{
				model->queue[i]--;
				ended++;
				begin_next(model);
			}
		}
	}
	return ended;
}

/* How many times as fast as one core. */
static double
speedup(double serial, int ncores)
{
	return ncores < 1 ? 0 : 1 / (serial + (1 - serial) / ncores);
}

static double
apply_changes(Model *model, Sums *sums)
{
	const ModelParams *p = &model->params;
	double		most = p->step / p->apply *
		speedup(p->apply_serial, model->cores.of[ANAGO_HTAL_SHIPPING]);
	double		applied = fmin(model->backlog, most);

	model->backlog -= applied;
	if (most > 0)
		sums->applying += applied / most;
	return applied;
}

/* Core-seconds of queries. */
static double
scan(Model *model, Sums *sums)
{
	const ModelParams *p = &model->params;
	double		used = fmin(model->cores.of[ANAGO_HTAL_OLAP],
							model->queries * p->degree);
	double		fed = fmin(used, p->fed_cores);
	double		lost = fmin(model->olap_paused, fed * p->step);

	model->olap_paused -= lost;
	sums->scanning += fed;
	sums->starved += used - fed;
	return fed * p->step - lost;
}

static void
look_at_queues(const Model *model, Sums *sums)
{
	int			ncores = model->cores.of[ANAGO_HTAL_OLTP];
	double		sum = 0;
	double		squares = 0;
	int			i;

	for (i = 0; i < ncores; i++)
	{
		double		waits = model->queue[i] > 0 ? model->queue[i] - 1 : 0;

		sum += waits;
		squares += waits * waits;
	}
	sums->waiting += (sum + model->undispatched) / ncores;
	sums->variance += squares / ncores - (sum / ncores) * (sum / ncores);
}

/* ---- a run ---- */

static double
share_of(double sum, double most)
{
	return most > 0 ? fmin(sum / most, 1) : 0;
}

static void
sum_up(const Model *model, const Sums *sums, double steps, double seconds,
	   ModelSeen *seen)
{
	const ModelParams *p = &model->params;
	const int  *cores = model->cores.of;
	double	   *cpu = seen->inputs.cpu;

	memset(&seen->inputs, 0, sizeof(seen->inputs));
	seen->backlog = model->backlog;
	seen->inputs.waiting = sums->waiting / steps;
	seen->inputs.queue_variance = sums->variance / steps;
	seen->inputs.freshness = NAN;
	seen->inputs.olap_iowait = share_of(sums->starved, steps * cores[ANAGO_HTAL_OLAP]);
	cpu[ANAGO_HTAL_OLTP] = share_of(sums->busy, steps * cores[ANAGO_HTAL_OLTP]);
	cpu[ANAGO_HTAL_OLTP_DISPATCH] = share_of(sums->dispatches * p->dispatch,
											 seconds * cores[ANAGO_HTAL_OLTP_DISPATCH]);
	cpu[ANAGO_HTAL_OLAP] = share_of(sums->scanning, steps * cores[ANAGO_HTAL_OLAP]);
	cpu[ANAGO_HTAL_OLAP_DISPATCH] = share_of(seen->queries * p->query_dispatch,
											 seconds * cores[ANAGO_HTAL_OLAP_DISPATCH]);
	cpu[ANAGO_HTAL_SHIPPING] = share_of(sums->applying, steps);
	cpu[ANAGO_HTAL_BALANCER] = 0;
}

/* What was seen of the load fades, so that a change of it is soon seen. */
static void
fade(Model *model)
{
	int			i;

	for (i = 0; i < model->params.ranges; i++)
		model->arrivals[i] /= 2;
}

void
model_run(Model *model, double seconds, ModelSeen *seen)
{
	const ModelParams *p = &model->params;
	long		steps = lround(seconds / p->step);
	Sums		sums = {0};
	long		i;

	memset(seen, 0, sizeof(*seen));
	fade(model);
	for (i = 0; i < steps; i++)
	{
		int			ended;

		dispatch(model, &sums);
		ended = work_on_transactions(model, &sums);
		model->backlog += ended;
		seen->transactions += ended;
		seen->applied += apply_changes(model, &sums);
		seen->queries += scan(model, &sums) / p->query;
		look_at_queues(model, &sums);
	}
	sum_up(model, &sums, steps, seconds, seen);
}
