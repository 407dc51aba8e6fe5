/*-------------------------------------------------------------------------
 *
 * balancer.c
 *	  The balancer's process: HTAL on a running server.  See htal.h for what it
 *	  decides, balance.h for what of, and actuators.h for what comes of it.
 *
 * A background worker without a database (it looks up roles).  In each period it looks
 * at the server's processes some times, then at what these have taken of the CPUs, makes
 * one decision, and puts the assignment into effect.  Nobody waits for it.
 *
 * When it ends, by itself or by SIGTERM, processes run where they ran before, and its
 * budgets are without a limit; it is started again a second later, and begins anew.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sched.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "resource/actuators.h"
#include "resource/background.h"
#include "resource/balance.h"
#include "resource/balancer.h"
#include "resource/budgets.h"
#include "resource/freshness.h"
#include "resource/machine.h"
#include "resource/members.h"
#include "resource/queues.h"

/* In a period. */
#define LOOKS			10

/* The log has no more than one line in so many periods. */
#define SAY_PERIODS		10

/* A process, and its times by the end of a period. */
typedef struct Taken
{
	int			pid;			/* must be first */
	AnagoCpuTime time;
} Taken;

static AnagoBalance balance;
static cpu_set_t usual;			/* CPUs of the server, */
static short cpus[ANAGO_BALANCE_MAX_CPUS];	/* in the order of the balance */

static Taken *taken;			/* by pid */
static int	ntaken = -1;		/* nothing is known yet */

/* ---- the machine ---- */

/* True: these are not the CPUs of before. */
static bool
read_cpus(int *ncpus)
{
	cpu_set_t	now;
	int			n = 0;

	if (!anago_machine_usual(&now))
	{
		/* more than a mask has room for: they are counted, and none is named */
		CPU_ZERO(&now);
		n = (int) sysconf(_SC_NPROCESSORS_ONLN);
	}
	for (int i = 0; i < CPU_SETSIZE && n < ANAGO_BALANCE_MAX_CPUS; i++)
		if (CPU_ISSET(i, &now))
			cpus[n++] = (short) i;
	*ncpus = n;
	if (CPU_EQUAL(&now, &usual))
		return false;
	usual = now;
	return true;
}

/* Begin anew where CPUs have come or gone; actuators follow at the end of the period. */
static void
keep_machine(void)
{
	int			ncpus;

	if (!read_cpus(&ncpus) && balance.ncpus > 0)
		return;
	anago_balance_begin(&balance, ncpus);
}

/* ---- what is seen ---- */

/* How much a time has grown; that of a process that was not there before, from 0. */
static inline double
grown(double now, double before)
{
	return before <= now ? now - before : now;
}

/* What a process took in this period. */
static void
see_process(AnagoBalanceSeen *seen, int class, const Taken *now)
{
	static const AnagoCpuTime nothing;
	const Taken *before = ntaken > 0 ?
		bsearch(now, taken, ntaken, sizeof(Taken), anago_compare_pids) : NULL;
	const AnagoCpuTime *then = before != NULL ? &before->time : &nothing;

	seen->cpu_ms[class] += grown(now->time.used_ms, then->used_ms);
	if (class == ANAGO_HTAL_OLTP)
		seen->queueing_ms += grown(now->time.waited_ms, then->waited_ms);
}

/* Nothing is, the first time and where the kernel does not tell. */
static bool
cpu_is_known(void)
{
	AnagoCpuTime time;

	return ntaken >= 0 && anago_machine_process(MyProcPid, &time);
}

/* Members are sorted by pid. */
static void
see_cpu(AnagoBalanceSeen *seen, const AnagoMember *members, int n)
{
	static Taken *next = NULL;
	Size		size = sizeof(Taken) * ProcGlobal->allProcCount;
	bool		known = cpu_is_known();
	int			nnext = 0;
	Taken	   *old;

	if (taken == NULL)
		taken = MemoryContextAlloc(TopMemoryContext, size);
	if (next == NULL)
		next = MemoryContextAlloc(TopMemoryContext, size);
	for (int i = 0; i < n; i++)
	{
		Taken	   *now = &next[nnext];

		now->pid = members[i].pid;
		seen->processes[members[i].class]++;
		if (!anago_machine_process(now->pid, &now->time))
			continue;
		see_process(seen, members[i].class, now);
		nnext++;
	}
	for (int i = 0; i < ANAGO_HTAL_CLASSES && !known; i++)
		seen->cpu_ms[i] = get_float8_nan();
	old = taken;
	taken = next;
	next = old;
	ntaken = nnext;
}

/* Queries of a primary read the data itself. */
static double
freshness(void)
{
	return RecoveryInProgress() ? anago_freshness_now(ANAGO_FRESHNESS_WINDOW) : 1;
}

static void
see_queues(AnagoBalanceSeen *seen)
{
	AnagoQueues queues = anago_queues_now();

	seen->queues = queues.n;
	seen->queueing_before = queues.waiting;
	seen->queue_variance = queues.variance;
}

static int
count_waiting(const AnagoMember *members, int n)
{
	int			count = 0;

	for (int i = 0; i < n; i++)
		count += members[i].class == ANAGO_HTAL_OLTP && anago_member_waits(&members[i]);
	return count;
}

static void
balancer_sleep(long ms)
{
	static uint32 event = 0;

	anago_background_sleep(ms, anago_wait_event(&event, "AnagoBalancer"));
}

/* Through one period, or until it is switched off. */
static void
see(AnagoBalanceSeen *seen, AnagoAssignment *assignment)
{
	uint64		begin = anago_budgets_now();
	int			looks = 0;
	double		waiting = 0;
	cpu_set_t	olap;

	memset(seen, 0, sizeof(*seen));
	do
	{
		balancer_sleep(Max(anago_balancer_period / LOOKS, 1));
		if (!anago_balancer_on)
			return;
		assignment->members = anago_members_look(&assignment->nmembers);
		waiting += count_waiting(assignment->members, assignment->nmembers);
		looks++;
		seen->ms = (double) (anago_budgets_now() - begin) / 1e6;
	} while (seen->ms < anago_balancer_period);
	seen->waiting = waiting / looks;
	see_cpu(seen, assignment->members, assignment->nmembers);
	anago_machine_look();
	if (anago_affinity_placed() == 0 ||
		!anago_assignment_cpus(assignment, ANAGO_HTAL_OLAP, &olap))
		olap = usual;
	seen->olap_iowait = anago_machine_iowait(&olap);
	seen->freshness = freshness();
	see_queues(seen);
}

/* ---- what is told ---- */

/* That of dispatch is asked for by nobody. */
static AnagoHtalThresholds
thresholds(void)
{
	AnagoHtalThresholds by = anago_htal_default;

	by.waiting = anago_balancer_oltp_waiting;
	by.freshness = anago_balancer_freshness;
	by.queue_variance = anago_balancer_queue_variance;
	by.olap_cpu = anago_balancer_olap_cpu;
	by.olap_iowait = anago_balancer_olap_iowait;
	return by;
}

static void
publish(const AnagoBalancerReport *report)
{
	AnagoBudgets *b = anago_budgets;

	SpinLockAcquire(&b->balancer_lock);
	b->balancer = *report;
	SpinLockRelease(&b->balancer_lock);
}

static void
report(const AnagoBalanceSeen *seen, const AnagoHtalThresholds *by)
{
	AnagoBalancerReport report = {
		.pid = MyProcPid,
		.on = true,
		.at = GetCurrentTimestamp(),
		.thresholds = *by,
		.inputs = balance.inputs,
		.state = balance.state,
		.move = balance.move,
		.transactions = balance.transactions,
		.queues = seen->queues,
		.queueing_before = seen->queueing_before,
		.placed = anago_affinity_placed(),
		.grouped = anago_cgroup_grouped()
	};

	for (int i = 0; i < ANAGO_HTAL_CLASSES; i++)
		report.cores[i] = anago_balance_cores(&balance, i);
	memcpy(report.processes, seen->processes, sizeof(report.processes));
	publish(&report);
}

static void
report_nothing(void)
{
	AnagoBalancerReport report = {.pid = MyProcPid};

	publish(&report);
}

/* A decision that is another one than the one last told; not of each period. */
static void
say(const AnagoHtalThresholds *by)
{
	static AnagoHtalState state = ANAGO_HTAL_STATES;
	static AnagoHtalMove move;
	static TimestampTz said = 0;
	TimestampTz now = GetCurrentTimestamp();
	char		why[ANAGO_HTAL_TEXT];
	char		decision[ANAGO_HTAL_TEXT];

	if ((state == balance.state && move.action == balance.move.action &&
		 move.to == balance.move.to && move.from == balance.move.from) ||
		!TimestampDifferenceExceeds(said, now, anago_balancer_period * SAY_PERIODS))
		return;
	state = balance.state;
	move = balance.move;
	said = now;
	anago_htal_why(state, by, &balance.inputs, why);
	anago_htal_decision(move, decision);
	ereport(LOG,
			(errmsg("anago's balancer: %s, %s", anago_htal_state_name(state), decision),
			 errdetail_internal("OLTP has %.2f cores, OLAP %.2f, log shipping %.2f; %s.",
								anago_balance_cores(&balance, ANAGO_HTAL_OLTP),
								anago_balance_cores(&balance, ANAGO_HTAL_OLAP),
								anago_balance_cores(&balance, ANAGO_HTAL_SHIPPING), why)));
}

/* ---- the process ---- */

static void
balance_for_a_period(void)
{
	AnagoBalanceSeen seen;
	AnagoAssignment assignment = {.balance = &balance,.cpus = cpus};
	AnagoHtalThresholds by;

	keep_machine();
	if (!anago_members_prepare())
	{
		report_nothing();
		balancer_sleep(anago_balancer_period);
		return;
	}
	anago_queues_keep();
	see(&seen, &assignment);
	if (!anago_balancer_on)
		return;
	by = thresholds();
	anago_balance_step(&balance, &by, &seen);
	anago_actuators_act(&assignment);
	report(&seen, &by);
	say(&by);
}

static void
be_off(void)
{
	anago_actuators_end();
	balance.ncpus = 0;
	ntaken = -1;
	report_nothing();
}

/* before_shmem_exit callback */
static void
end_everything(int code, Datum arg)
{
	AnagoBalancerReport nothing = {0};

	anago_actuators_end();
	anago_queues_end();
	publish(&nothing);
}

void
anago_balancer_main(Datum arg)
{
	anago_background_begin(true, NULL);
	before_shmem_exit(end_everything, (Datum) 0);
	for (;;)
	{
		if (anago_balancer_on)
			balance_for_a_period();
		else
		{
			be_off();
			balancer_sleep(ANAGO_BACKGROUND_OFF_MS);
		}
	}
}

void
anago_balancer_init(void)
{
	anago_background_register("anago balancer", "anago_balancer_main", true);
}
