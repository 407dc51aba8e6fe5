/*-------------------------------------------------------------------------
 *
 * guard_worker.c
 *	  The guard's process.  See guard.h for what it decides.
 *
 * A background worker without a database.  While queries of ours read, it looks at
 * transactions about every half of a millisecond, as single rows are looked up in less;
 * and decides after some looks; else it sleeps, looks now and then, and is woken by the first query.  Queries wait for
 * nothing of it: what it has decided stands in shared memory.  When it ends, that
 * stays until the postmaster has started it again; it starts from nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "resource/background.h"
#include "resource/budgets.h"
#include "resource/guard.h"
#include "resource/guard_worker.h"
#include "resource/transactions.h"

/* Between looks, and between decisions; sleeps where there is nothing to do. */
#define LOOK_US			500
#define BACKENDS_OF_A_LOOK	500 /* with so many more, a millisecond longer */
#define FREE_MS			1		/* without transactions */

/* The kernel's timers end so much later, and the process goes on, where a CPU is idle. */
#define TIMER_MS		0.25
#define DECIDE_MS		20
#define STANDING_MS		100			/* a query that stands still may go on */
#define IDLE_MS			250

/* The log has no more than one line in that time. */
#define SAY_MS			10000

/* So many reads in flight are as good as all. */
#define MOST_READS		1024

PG_FUNCTION_INFO_V1(anago_guard);

static AnagoGuard guard;

/* What this process slept between looks. */
static int	wakes;
static double late_wakes_ms;

void
anago_guard_worker_init(void)
{
	anago_background_register("anago guard", "anago_guard_main", false);
}

/* ---- sleeping ---- */

static void
sleep_ms(long ms)
{
	static uint32 event = 0;

	anago_background_sleep(ms, anago_wait_event(&event, "AnagoGuard"));
}

/*
 * Between two looks.  (A latch knows whole milliseconds; nobody wakes us for a decision.)
 * How long that took beyond what the kernel needs is how long whoever wakes waits for a
 * CPU.
 */
static void
sleep_between_looks(void)
{
	static uint32 event = 0;
	long		us = LOOK_US + MaxBackends / BACKENDS_OF_A_LOOK * 1000L;
	instr_time	begin;
	instr_time	end;

	pgstat_report_wait_start(anago_wait_event(&event, "AnagoGuard"));
	INSTR_TIME_SET_CURRENT(begin);
	pg_usleep(us);
	INSTR_TIME_SET_CURRENT(end);
	pgstat_report_wait_end();
	INSTR_TIME_SUBTRACT(end, begin);
	wakes++;
	late_wakes_ms += Max(INSTR_TIME_GET_MILLISEC(end) - us / 1000.0 - TIMER_MS, 0);
}

/* Until a query reads, or so long. */
static void
sleep_idle(long ms)
{
	double		wants;

	pg_atomic_write_u32(&anago_budgets->guard_asleep, ANAGO_PROC_NUMBER + 1);
	pg_memory_barrier();
	if (!anago_guard_on)
		sleep_ms(ms);
	else if (anago_transactions_queries(&wants) == 0)
		sleep_ms(anago_budgets_next(anago_budgets, 0) < 0 ? ms : STANDING_MS);
	pg_atomic_write_u32(&anago_budgets->guard_asleep, 0);
}

/* ---- a decision, and its effect ---- */

static void
look_for_a_while(void)
{
	instr_time	begin;
	double		before = 0;

	INSTR_TIME_SET_CURRENT(begin);
	while (before < DECIDE_MS)
	{
		instr_time	now;

		if (guard.state == ANAGO_GUARD_FREE)
			sleep_ms(FREE_MS + MaxBackends / BACKENDS_OF_A_LOOK);
		else
			sleep_between_looks();
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, begin);
		anago_transactions_look(INSTR_TIME_GET_MILLISEC(now) - before,
								anago_guard_late_from_ms(&guard));
		before = INSTR_TIME_GET_MILLISEC(now);
	}
}

/*
 * Each process of a query has one read at least.  A budget of fewer is part of the
 * time.
 */
static void
put_into_effect(double budget, int processes, int queries)
{
	AnagoBudgets *b = anago_budgets;
	double		part = budget < queries ? budget / queries : 1;

	part = Max(part, ANAGO_GUARD_LEAST);
	pg_atomic_write_u32(&b->guard_duty, (uint32) (part * ANAGO_DUTY_ALWAYS));
	pg_atomic_write_u32(&b->governors[ANAGO_GUARD].processes,
						processes >= ANAGO_GUARD_PROCESSES ? 0 : processes);
	pg_atomic_write_u32(&b->governors[ANAGO_GUARD].reads,
						budget >= MOST_READS ? 0 : Max((int) budget, 1));
}

static void
report(const AnagoGuardInput *seen)
{
	AnagoGuardReport *report = &anago_budgets->guard;

	pg_atomic_write_u32(&report->state, guard.state);
	pg_atomic_write_u32(&report->pid, MyProcPid);
	anago_write_double(&report->per_second, seen->ms > 0 ? seen->transactions * 1000 / seen->ms : 0);
	anago_write_double(&report->latency_us, guard.latency_us);
	anago_write_double(&report->unloaded_us, guard.unloaded_us);
	anago_write_double(&report->slowdown, anago_guard_slowdown(&guard));
	anago_write_double(&report->budget, guard.budget);
}

/* What it does, when that has changed. */
static void
say(AnagoGuardState before)
{
	static TimestampTz said = 0;
	bool		limits = guard.state == ANAGO_GUARD_LIMITS;
	TimestampTz now = GetCurrentTimestamp();

	if (guard.state == before || (!limits && before != ANAGO_GUARD_LIMITS) ||
		guard.state == ANAGO_GUARD_PROBE || !TimestampDifferenceExceeds(said, now, SAY_MS))
		return;
	said = now;
	if (limits)
		ereport(LOG,
				(errmsg("anago's guard limits reads in flight to %.2f", guard.budget),
				 errdetail("Transactions take %.0f us, and %.0f us without queries of anago.",
						   guard.latency_us, guard.unloaded_us)));
	else
		ereport(LOG,
				(errmsg("anago's guard limits reads no longer"),
				 guard.state == ANAGO_GUARD_FREE ? errdetail("There are no transactions.") :
				 errdetail("No query of anago reads.")));
}

static void
decide(void)
{
	AnagoGuardInput seen;
	AnagoGuardState before = guard.state;

	anago_transactions_seen(&seen);
	seen.wakes = wakes;
	seen.late_wakes_ms = late_wakes_ms;
	wakes = 0;
	late_wakes_ms = 0;
	anago_guard_step(&guard, &seen, anago_oltp_slowdown, MOST_READS);
	put_into_effect(guard.budget, guard.processes, seen.queries);
	report(&seen);
	say(before);
}

static void
be_off(void)
{
	AnagoGuardInput nothing = {0};

	anago_guard_init(&guard, MOST_READS);
	put_into_effect(guard.budget, guard.processes, 0);
	report(&nothing);
}

void
anago_guard_main(Datum arg)
{
	anago_background_begin(false, NULL);
	anago_transactions_begin();
	anago_guard_init(&guard, MOST_READS);
	for (;;)
	{
		if (!anago_guard_on)
		{
			be_off();
			sleep_idle(ANAGO_BACKGROUND_OFF_MS);
			continue;
		}
		sleep_ms(0);			/* what is asked of us: to end, to read settings */
		look_for_a_while();
		decide();
		if (guard.state == ANAGO_GUARD_IDLE)
			sleep_idle(IDLE_MS);
	}
}

/* ---- for SQL ---- */

static Datum
rounded(pg_atomic_uint64 *at, bool *isnull)
{
	double		value = anago_read_double(at);

	*isnull = value == 0;
	return Float8GetDatum(rint(value * 1000) / 1000);
}

Datum
anago_guard(PG_FUNCTION_ARGS)
{
	AnagoBudgets *b;
	AnagoGuardReport *report;
	uint32		limit;
	TupleDesc	tupdesc;
	Datum		values[9];
	bool		nulls[9] = {false};

	anago_budgets_prepare();
	b = anago_budgets;
	report = &b->guard;
	limit = pg_atomic_read_u32(&b->governors[ANAGO_GUARD].reads);
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int32GetDatum((int32) pg_atomic_read_u32(&report->pid));
	nulls[0] = DatumGetInt32(values[0]) == 0;
	values[1] = CStringGetTextDatum(nulls[0] ? "no process" : !anago_guard_on ? "off" :
									anago_guard_state_name(pg_atomic_read_u32(&report->state)));
	values[2] = rounded(&report->per_second, &nulls[2]);
	values[3] = rounded(&report->latency_us, &nulls[3]);
	values[4] = rounded(&report->unloaded_us, &nulls[4]);
	values[5] = rounded(&report->slowdown, &nulls[5]);
	values[6] = Int32GetDatum((int32) limit);
	values[7] = Float8GetDatum((double) pg_atomic_read_u32(&b->guard_duty) / ANAGO_DUTY_ALWAYS);
	nulls[6] = nulls[7] = limit == 0;
	values[8] = Int32GetDatum((int32) pg_atomic_read_u32(&b->governors[ANAGO_GUARD].processes));
	nulls[8] = DatumGetInt32(values[8]) == 0;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
