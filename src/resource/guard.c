/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  How many reads and processes queries may have beside transactions.  See guard.h.
 *
 * The budget grows by a tenth, and falls to where transactions would be as slow as is
 * put up with if each read slowed them down by as much, to a quarter at most: it finds
 * the edge from below and goes back from it fast.  Near below the target it stays where
 * it is.
 *
 * Where tails are known, too, a judgement takes longer, as little of what is seen is in
 * them; only what is far off is judged at once.  The budget then grows fast until it was
 * too large once, and slowly from there on.
 *
 * Processes follow the CPUs, not the slowdown: the mean latency hides what one process
 * too many does, as most transactions find a CPU at once and few wait for a whole time
 * slice.  (Query C in two processes on two CPUs, beside four clients of lookups: their
 * mean was below what it was without, and one in a hundred took 2.6 times as long.)
 * Processes are halved, and come back one by one.
 *
 *-------------------------------------------------------------------------
 */
#include "resource/guard.h"

#include <math.h>

/* No transactions for so long: there are none.  No queries: the same. */
#define GUARD_QUIET_MS		100

/* Transactions that a judgement takes, and how long they are waited for. */
#define GUARD_ENOUGH		20
#define GUARD_ENOUGH_MS		100

/* So many are a judgement of their own, fewer at least this part of one... */
#define GUARD_MANY			200
#define GUARD_LEAST_PART	0.2

/* ...unless they are slower than the latest ones by that factor. */
#define GUARD_ALARM			2.0

/*
 * Tails may be longer by so many times what the mean may: with 1.2, by 0.29.  (Of 16
 * runs beside query C with 1, 1.35 and 1.75, p99 was 1.0 to 1.2, 1.2 to 1.4 and 1.3 to 1.8
 * times what it is alone.)
 */
#define GUARD_TAILS_MORE	1.45

/* Tails are judged that often, unless the mean is past the target by that factor. */
#define GUARD_TAILS_MS		100
#define GUARD_FAR_OFF		1.3
#define GUARD_FAR_OFF_MS	40

/* A probe: reads on their way end; then it is looked, longer where tails are not known. */
#define GUARD_DRAIN_MS		15
#define GUARD_PROBE_MS		45
#define GUARD_PROBE_TAILS_MS	100
#define GUARD_PROBE_MAX_MS	150

/* What was learnt is looked at again after so long, sooner with so small a budget. */
#define GUARD_OLD_MS		10000
#define GUARD_DOUBTED_MS	2000
#define GUARD_DOUBTED		2.0

/* As long as tails are not known, that often, but no oftener than so many times. */
#define GUARD_UNKNOWN_MS	300
#define GUARD_MOST_PROBES	40

/* With fewer transactions in a millisecond it takes too long until tails are seen. */
#define GUARD_TAILS_RATE	0.2
#define GUARD_RATE_MS		1000.0

/* What was seen of tails is of now after so short a time without either. */
#define GUARD_AWAY_MS		500

/*
 * With so small a budget queries have no more of the CPUs than a plan of PostgreSQL's own
 * that reads one page at a time: what tails are then is as in a probe, and they take
 * nothing away.
 */
#define GUARD_HARMLESS		0.25

/* Of what is learnt while no query runs, and in a probe, how much counts. */
#define GUARD_LEARN_IDLE	0.1
#define GUARD_LEARN_PROBE	0.5

/* What queries begin with beside transactions. */
#define GUARD_BEGIN			1.0

#define GUARD_GROWTH		1.1
#define GUARD_FAST_GROWTH	1.25	/* with tails, which are judged less often */
#define GUARD_DEAD_BAND		0.8		/* of what is put up with */
#define GUARD_LEAST_CUT		0.9
#define GUARD_MOST_CUT		0.25

/* CPUs are short: so many processes for each; looked at in the mean of so long. */
#define GUARD_CROWDED		1.2
#define GUARD_CROWD_MS		100.0

/* There is room for one more if it finds a CPU, or nearly. */
#define GUARD_ROOM			0.2

/* How long it takes until that shows what parking did. */
#define GUARD_PARKED_MS		100

/* One process more after so many judgements that all is well. */
#define GUARD_CALM			10

/*
 * A transaction is late when it has taken so many times the mean, but no less than looks
 * can tell.  Late time of so much of the mean is as good as none; of wake-ups, so much.
 */
#define GUARD_LATE			3.0
#define GUARD_LATE_MS		0.5
#define GUARD_LATE_FLOOR	0.02
#define GUARD_WAKE_FLOOR_MS	0.003

static const AnagoTailKind of_transactions = {
	.known = 5000,.memory = 10000,.window = 6000,.least = 200
};
static const AnagoTailKind of_wakes = {
	.known = 800,.memory = 3000,.window = 1600,.least = 250
};

static double
within(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

static void
forget_gathered(AnagoGuard *guard)
{
	guard->transactions = guard->busy_ms = guard->late_ms = guard->gathered_ms = 0;
	guard->wakes = guard->late_wakes_ms = 0;
}

static int
processes_in(const AnagoGuard *guard, AnagoGuardState state)
{
	return state == ANAGO_GUARD_PROBE ? 1 :
		state == ANAGO_GUARD_LIMITS ? guard->resume_processes : ANAGO_GUARD_PROCESSES;
}

static void
go(AnagoGuard *guard, AnagoGuardState state, double budget)
{
	if (guard->state != state)
	{
		if (guard->state == ANAGO_GUARD_LIMITS)
		{
			guard->resume = guard->budget;
			guard->resume_processes = guard->processes;
		}
		guard->state = state;
		guard->processes = processes_in(guard, state);
		guard->in_state_ms = 0;
		forget_gathered(guard);
	}
	guard->budget = budget;
}

void
anago_guard_init(AnagoGuard *guard, int most)
{
	*guard = (AnagoGuard)
	{
		.state = ANAGO_GUARD_IDLE,
			.budget = most,
			.processes = ANAGO_GUARD_PROCESSES,
			.resume = GUARD_BEGIN,
			.resume_processes = ANAGO_GUARD_PROCESSES,
			.quiet_ms = GUARD_QUIET_MS,
			.slowdown = 1,
	};
	anago_tail_init(&guard->tail, &of_transactions);
	anago_tail_init(&guard->wakes_tail, &of_wakes);
}

/* Of tails, as of a mean: what may be put up with of it. */
static double
tails_slowdown(const AnagoGuard *guard)
{
	double		worse = fmax(guard->tail.slowdown, guard->wakes_tail.slowdown);

	return 1 + (worse - 1) / GUARD_TAILS_MORE;
}

double
anago_guard_slowdown(const AnagoGuard *guard)
{
	return fmax(guard->slowdown, tails_slowdown(guard));
}

double
anago_guard_late_from_ms(const AnagoGuard *guard)
{
	return fmax(GUARD_LATE_MS, GUARD_LATE * guard->unloaded_us / 1000);
}

/* That of wake-ups is known soon; that of transactions where these are many. */
static inline bool
tails_are_known(const AnagoGuard *guard)
{
	return anago_tail_is_known(&guard->wakes_tail);
}

/* ...and transactions are so many that tails can be seen. */
static inline bool
tails_count(const AnagoGuard *guard)
{
	return tails_are_known(guard) && guard->rate >= GUARD_TAILS_RATE;
}

/* ...or may be known soon. */
static inline bool
sees_tails(const AnagoGuard *guard)
{
	return guard->rate >= GUARD_TAILS_RATE &&
		(tails_are_known(guard) || guard->probes < GUARD_MOST_PROBES);
}

/* Was enough seen of those that are known? */
static bool
tails_are_seen(const AnagoGuard *guard)
{
	return anago_tail_is_seen(&guard->wakes_tail) &&
		(anago_tail_is_seen(&guard->tail) || !anago_tail_is_known(&guard->tail));
}

static void
forget_tails(AnagoGuard *guard)
{
	anago_tail_forget(&guard->tail);
	anago_tail_forget(&guard->wakes_tail);
}

/* ---- what is seen ---- */

static void
gather(AnagoGuard *guard, const AnagoGuardInput *seen)
{
	guard->transactions += seen->transactions;
	guard->busy_ms += seen->busy_ms;
	guard->late_ms += seen->late_ms;
	guard->wakes += seen->wakes;
	guard->late_wakes_ms += seen->late_wakes_ms;
	guard->gathered_ms += seen->ms;
}

/* Mean latency in what was gathered; 0: there was no transaction. */
static double
latency_us(const AnagoGuard *guard)
{
	return guard->transactions > 0 ? guard->busy_ms * 1000 / guard->transactions : 0;
}

static void
learn_tails(AnagoGuard *guard)
{
	anago_tail_learn(&guard->tail, guard->transactions, guard->late_ms);
	anago_tail_learn(&guard->wakes_tail, guard->wakes, guard->late_wakes_ms);
}

static void
learn(AnagoGuard *guard, double part)
{
	double		now = latency_us(guard);

	if (now > 0)
	{
		if (guard->unloaded_us > 0) /* else it was not known yet what is late */
			learn_tails(guard);
		guard->unloaded_us = guard->unloaded_us == 0 ? now :
			guard->unloaded_us + part * (now - guard->unloaded_us);
		guard->latency_us = now;
		guard->age_ms = 0;
	}
	guard->slowdown = 1;
	forget_gathered(guard);
}

static inline bool
is_far_off(const AnagoGuard *guard, double target)
{
	return latency_us(guard) > GUARD_FAR_OFF * target * guard->unloaded_us;
}

/* Is it enough to judge by, or all that can be had? */
static bool
is_enough(const AnagoGuard *guard, double target)
{
	bool		some = guard->transactions >= GUARD_ENOUGH;

	if (!sees_tails(guard))
		return some || guard->gathered_ms >= GUARD_ENOUGH_MS;
	return guard->gathered_ms >= GUARD_TAILS_MS ||
		(some && guard->gathered_ms >= GUARD_FAR_OFF_MS && is_far_off(guard, target));
}

/*
 * Where transactions are too long to be counted: by what they wait for, reads or a
 * CPU, and how much slower these are.
 */
static double
slowdown_by_waits(const AnagoGuard *guard, const AnagoGuardInput *seen)
{
	double		reads = 1;
	double		cpu = within(seen->runnable / (seen->cpus > 0 ? seen->cpus : 1), 1, 100);

	if (seen->read_us > 0 && guard->read_unloaded_us > 0)
		reads = within(seen->read_us / guard->read_unloaded_us, 1, 100);
	return seen->others_io * reads + (1 - seen->others_io) * cpu;
}

/*
 * One judgement of few transactions is worth little; one that is far off counts
 * whole.
 */
static void
smooth(AnagoGuard *guard, double slowdown, double transactions, bool far_off)
{
	double		part = within(transactions / GUARD_MANY, GUARD_LEAST_PART, 1);

	if (far_off || slowdown > GUARD_ALARM * guard->slowdown)
		part = 1;
	guard->slowdown += part * (slowdown - guard->slowdown);
}

static void
judge_tails(AnagoGuard *guard, double target)
{
	/* (where the mean is worse than in a probe, so are tails) */
	if (guard->budget <= GUARD_HARMLESS && guard->unloaded_us > 0 &&
		latency_us(guard) <= target * guard->unloaded_us)
		learn_tails(guard);
	if (!tails_count(guard))
	{
		forget_tails(guard);
		guard->tail.slowdown = guard->wakes_tail.slowdown = 1;
		return;
	}
	anago_tail_judge(&guard->tail, guard->transactions, guard->late_ms,
					 GUARD_LATE_FLOOR * guard->unloaded_us / 1000);
	anago_tail_judge(&guard->wakes_tail, guard->wakes, guard->late_wakes_ms,
					 GUARD_WAKE_FLOOR_MS);
}

static void
judge(AnagoGuard *guard, const AnagoGuardInput *seen, double target)
{
	double		now = latency_us(guard);

	judge_tails(guard, target);
	if (now > 0 && guard->unloaded_us > 0)
	{
		guard->latency_us = now;
		smooth(guard, now / guard->unloaded_us, guard->transactions,
			   sees_tails(guard) && is_far_off(guard, target));
	}
	else if (seen->others > 0)
		guard->slowdown = slowdown_by_waits(guard, seen);
	forget_gathered(guard);
}

/* ---- what is decided ---- */

static inline bool
is_calm(double slowdown, double target)
{
	return slowdown < 1 + (target - 1) * GUARD_DEAD_BAND;
}

/* After a cut tails are not known until enough was seen with what was left. */
static inline bool
waits_for_tails(const AnagoGuard *guard)
{
	return tails_count(guard) && guard->budget > GUARD_HARMLESS && !tails_are_seen(guard);
}

/* More than is wanted would only be longer to be taken back. */
static double
next_budget(const AnagoGuard *guard, double wants, double target, int most)
{
	double		budget = guard->budget;
	double		slowdown = budget > GUARD_HARMLESS ? anago_guard_slowdown(guard) : guard->slowdown;

	if (slowdown > target)
		budget = fmax(budget * within((target - 1) / (slowdown - 1), GUARD_MOST_CUT, GUARD_LEAST_CUT),
					  guard->slowdown > target ? 0 : GUARD_HARMLESS);
	else if (is_calm(slowdown, target) && budget < 2 * wants && !waits_for_tails(guard))
		budget *= tails_count(guard) && !guard->edge_seen ? GUARD_FAST_GROWTH : GUARD_GROWTH;
	return within(budget, ANAGO_GUARD_LEAST, most);
}

/* Half of those that work, but one of each query; false: these are all there are. */
static bool
park_half(AnagoGuard *guard, const AnagoGuardInput *seen)
{
	int			work = guard->processes < seen->workers ? guard->processes : seen->workers;

	if (work <= seen->parallel)
		return false;
	guard->processes = work / 2 > seen->parallel ? work / 2 : seen->parallel;
	return true;
}

static void
wake_one(AnagoGuard *guard, const AnagoGuardInput *seen)
{
	guard->calm = 0;
	if (guard->processes < ANAGO_GUARD_PROCESSES)
		guard->processes++;
	if (guard->processes > seen->workers)
		guard->processes = ANAGO_GUARD_PROCESSES;
}

static void
decide_processes(AnagoGuard *guard, const AnagoGuardInput *seen)
{
	if (guard->crowd > GUARD_CROWDED * seen->cpus)
	{
		guard->calm = 0;
		if (guard->parked_ms >= GUARD_PARKED_MS && park_half(guard, seen))
			guard->parked_ms = 0;
	}
	else if (guard->calm >= GUARD_CALM && guard->crowd + 1 <= seen->cpus + GUARD_ROOM)
		wake_one(guard, seen);
}

static void
decide(AnagoGuard *guard, const AnagoGuardInput *seen, double target, int most)
{
	guard->calm = is_calm(anago_guard_slowdown(guard), target) ? guard->calm + 1 : 0;
	decide_processes(guard, seen);
	guard->budget = next_budget(guard, seen->wants, target, most);
	if (anago_guard_slowdown(guard) > target)
	{
		/* tails of now are of the budget of before */
		guard->edge_seen = true;
		forget_tails(guard);
	}
}

/* Is it time to hold queries up, and see what transactions take without? */
static bool
must_probe(const AnagoGuard *guard)
{
	return guard->age_ms >= (guard->budget < GUARD_DOUBTED ? GUARD_DOUBTED_MS : GUARD_OLD_MS) ||
		(guard->age_ms >= GUARD_UNKNOWN_MS && sees_tails(guard) && !tails_are_known(guard));
}

static void
begin_guarding(AnagoGuard *guard, int most)
{
	if (guard->in_state_ms >= GUARD_AWAY_MS)
	{
		guard->edge_seen = false;
		forget_tails(guard);
	}
	if (guard->unloaded_us == 0 || guard->age_ms >= GUARD_OLD_MS)
		go(guard, ANAGO_GUARD_PROBE, ANAGO_GUARD_LEAST);
	else
		go(guard, ANAGO_GUARD_LIMITS, within(guard->resume, ANAGO_GUARD_LEAST, most));
}

static void
end_probe(AnagoGuard *guard)
{
	guard->probes += !tails_are_known(guard) && guard->probes < GUARD_MOST_PROBES;
	learn(guard, GUARD_LEARN_PROBE);
	guard->age_ms = 0;			/* also where there was nothing to be learnt */
}

static void
probe(AnagoGuard *guard, const AnagoGuardInput *seen, int most)
{
	double		least_ms = tails_are_known(guard) ? GUARD_PROBE_MS :
		GUARD_PROBE_TAILS_MS;

	if (guard->in_state_ms <= GUARD_DRAIN_MS)
		return;
	gather(guard, seen);
	if (guard->in_state_ms < GUARD_PROBE_MAX_MS &&
		(guard->in_state_ms < least_ms || guard->transactions < GUARD_ENOUGH))
		return;
	end_probe(guard);
	go(guard, ANAGO_GUARD_LIMITS, within(guard->resume, ANAGO_GUARD_LEAST, most));
}

static void
limit(AnagoGuard *guard, const AnagoGuardInput *seen, double target, int most)
{
	gather(guard, seen);
	guard->wanted = seen->wants;
	if (is_enough(guard, target))
	{
		judge(guard, seen, target);
		decide(guard, seen, target, most);
	}
	if (must_probe(guard))
		go(guard, ANAGO_GUARD_PROBE, ANAGO_GUARD_LEAST);
}

/*
 * Queries or transactions are over, perhaps before enough was seen.  Else one short
 * query after the other would be held up by a probe that never ends, or never have more
 * reads.
 */
static void
end_guarding(AnagoGuard *guard, const AnagoGuardInput *seen, double target, int most)
{
	AnagoGuardInput last = *seen;
	int			processes = guard->processes;

	if (guard->state == ANAGO_GUARD_PROBE && guard->gathered_ms > 0)
		end_probe(guard);
	if (guard->state != ANAGO_GUARD_LIMITS || guard->transactions < GUARD_ENOUGH)
		return;
	last.wants = guard->wanted;
	judge(guard, &last, target);
	decide(guard, &last, target, most);
	guard->processes = processes;	/* workers are gone, and tell nothing */
}

/* No query of ours wants reads just now: is there none any more? */
static inline bool
is_over(const AnagoGuard *guard)
{
	return guard->away_ms >= GUARD_QUIET_MS ||
		(guard->state != ANAGO_GUARD_LIMITS && guard->state != ANAGO_GUARD_PROBE);
}

double
anago_guard_step(AnagoGuard *guard, const AnagoGuardInput *seen,
				 double target, int most)
{
	bool		transactions = seen->transactions > 0 || seen->others > 0;

	guard->in_state_ms += seen->ms;
	guard->age_ms += seen->ms;
	guard->parked_ms += seen->ms;
	guard->crowd += (seen->runnable - guard->crowd) * within(seen->ms / GUARD_CROWD_MS, 0, 1);
	guard->rate += (seen->transactions - guard->rate * seen->ms) / fmax(GUARD_RATE_MS, seen->ms);
	guard->quiet_ms = transactions ? 0 : guard->quiet_ms + seen->ms;
	guard->away_ms = seen->queries + seen->workers > 0 ? 0 : guard->away_ms + seen->ms;
	if (seen->read_us > 0 &&
		(guard->read_unloaded_us == 0 || seen->read_us < guard->read_unloaded_us))
		guard->read_unloaded_us = seen->read_us;

	if (guard->away_ms > 0 && !is_over(guard))
	{
		/* it computes just now, or the next one is about to begin */
		if (guard->state == ANAGO_GUARD_PROBE)
			probe(guard, seen, most);
	}
	else if (guard->away_ms > 0)
	{
		end_guarding(guard, seen, target, most);
		go(guard, ANAGO_GUARD_IDLE, most);
		gather(guard, seen);
		if (guard->transactions >= GUARD_ENOUGH)
			learn(guard, GUARD_LEARN_IDLE);
	}
	else if (guard->quiet_ms >= GUARD_QUIET_MS)
	{
		end_guarding(guard, seen, target, most);
		go(guard, ANAGO_GUARD_FREE, most);
	}
	else if (guard->state == ANAGO_GUARD_PROBE)
		probe(guard, seen, most);
	else if (guard->state == ANAGO_GUARD_LIMITS)
		limit(guard, seen, target, most);
	else if (transactions)
		begin_guarding(guard, most);
	else
		go(guard, ANAGO_GUARD_FREE, most);
	return guard->budget;
}

const char *
anago_guard_state_name(AnagoGuardState state)
{
	static const char *const names[] = {"idle", "free", "probe", "limits"};

	return names[state];
}
