/*-------------------------------------------------------------------------
 *
 * transactions.c
 *	  What transactions of other sessions do.  See transactions.h.
 *
 * A session numbers its transactions; the number is there while one runs.  Two looks
 * at it tell how many began in between, also those that were over before anybody
 * looked.  Time busy is counted by looks, and belongs to the transaction that ends
 * when the next one begins:
 *
 *		look		.   .   .   .   .   .   .   .
 *		number		7   7   0   9   9   0   0  10
 *		busy		x   x       x   x           x
 *		seen				    2 began, 2 ms   1 began, 2 ms
 *
 * Where nobody looked for a while, of transactions that began since the same part counts
 * as of the time.
 *
 * The first look at a transaction may come when that has just begun, so that of its
 * time only what lies between two looks is sure: by that it is told what is late.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/fd.h"
#include "storage/proc.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "resource/budgets.h"
#include "resource/elastic.h"
#include "resource/swap_memory.h"
#include "resource/transactions.h"

#define WAIT_EVENT_CLASS	0xFF000000U

/*
 * Busy for so long with one transaction: it is too long to be counted, and no longer late
 * but another kind of work.  (One dump would be more late time than all lookups have.)
 */
#define LONG_MS		200.0

/* A session does not begin more in a millisecond, whatever its number says. */
#define MOST_BEGUN	1000

/* A session, by the number of its process. */
typedef struct Session
{
	int			pid;
	LocalTransactionId latest;
	double		latest_ms;		/* when that was first seen, */
	double		latest_looked_ms;	/* and how long was looked until then */
	double		busy_ms;		/* since that began */
	double		reading_ms;		/* of this, waiting for reads */
	double		surely_ms;		/* of this, between looks that both saw it */

	/* of one that leads a query of ours: the latest look at its workers */
	uint32		turn;

	/* of its reads, if it is one of ours: what was counted when last seen */
	uint64		reads;
	uint64		read_us;
} Session;

static Session *sessions;
static double now_ms;			/* of the latest look */
static double all_looked_ms;
static double looked_ms;		/* since the last time */
static double transactions;
static double busy_ms;
static double late_ms;

void
anago_transactions_begin(void)
{
	sessions = palloc0(sizeof(Session) * MaxBackends);
}

static inline bool
is_ours(int i)
{
	return anago_budgets_next(anago_budgets, i) == i;
}

/* A session, and no process that only helps one or cleans up. */
static inline bool
is_session(const PGPROC *proc)
{
	return OidIsValid(proc->databaseId) &&
		proc->pid != *(volatile int *) &anago_budgets->queues.pid &&
		proc->pid != anago_swap_other_pid() &&
		(proc->statusFlags & PROC_IS_AUTOVACUUM) == 0 &&
		(proc->lockGroupLeader == NULL || proc->lockGroupLeader == proc);
}

/* The number of its transaction; it may change at any time. */
static inline LocalTransactionId
number_of(PGPROC *proc)
{
	return *(volatile LocalTransactionId *) &ANAGO_PROC_LXID(proc);
}

/* (between two transactions there is no number) */
static void
begin_anew(Session *session, LocalTransactionId now)
{
	session->latest = now;
	session->latest_ms = now_ms;
	session->latest_looked_ms = all_looked_ms;
	session->busy_ms = session->reading_ms = session->surely_ms = 0;
}

/*
 * One that began, and perhaps others before it: of what began since the latest one, the
 * part of the time in which was looked, as busy time is counted only then.
 */
static void
count_begun(Session *session, LocalTransactionId now)
{
	double		ms = now_ms - session->latest_ms;
	double		part = ms > 0 ? Min((all_looked_ms - session->latest_looked_ms) / ms, 1) : 1;
	double		begun = (uint32) (now - session->latest);

	if (session->latest == InvalidLocalTransactionId || begun > MOST_BEGUN * Max(ms, 1))
		begun = part = 1;
	transactions += begun * part;
	busy_ms += session->busy_ms;
	begin_anew(session, now);
}

static void
look_at(Session *session, PGPROC *proc, double ms, double late_from_ms)
{
	LocalTransactionId now = number_of(proc);
	uint32		event = *(volatile uint32 *) &proc->wait_event_info;

	if (now == InvalidLocalTransactionId)
		return;
	if (now != session->latest)
		count_begun(session, now);
	/*
	 * (it is asked to sleep: pg_sleep(); who waits for a lock is not the slower for
	 * our reads, but its holder may be)
	 */
	if ((event & WAIT_EVENT_CLASS) == PG_WAIT_CLIENT ||
		(event & WAIT_EVENT_CLASS) == PG_WAIT_TIMEOUT ||
		(event & WAIT_EVENT_CLASS) == PG_WAIT_LOCK)
		return;
	if (session->busy_ms > 0)
		session->surely_ms += ms;
	if (session->surely_ms >= late_from_ms && session->busy_ms <= LONG_MS)
		late_ms += ms;
	session->busy_ms += ms;
	if ((event & WAIT_EVENT_CLASS) == PG_WAIT_IO)
		session->reading_ms += ms;
}

/*
 * The session that has this process now.  NULL: there is none, or it is no client's; or
 * it runs a query of ours, so that its transaction is not looked at.
 */
static Session *
session_of(int i)
{
	PGPROC	   *proc = GetPGProcByNumber(i);
	Session    *session = &sessions[i];
	int			pid = *(volatile int *) &proc->pid;

	if (pid != session->pid)
	{
		memset(session, 0, sizeof(Session));
		session->pid = pid;
	}
	if (pid == 0 || !is_session(proc))
		return NULL;
	if (!is_ours(i))
		return session;
	begin_anew(session, number_of(proc));
	return NULL;
}

void
anago_transactions_look(double ms, double late_from_ms)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	now_ms = INSTR_TIME_GET_MILLISEC(now);
	all_looked_ms += ms;
	looked_ms += ms;
	for (int i = 0; i < Min(MaxBackends, anago_budgets->nslots); i++)
	{
		Session    *session = session_of(i);

		if (session != NULL)
			look_at(session, GetPGProcByNumber(i), ms, late_from_ms);
	}
}

/* Sessions that are busy with one long transaction, and what part of it they read. */
static void
see_long_ones(AnagoGuardInput *seen)
{
	double		reading = 0;
	double		busy = 0;

	for (int i = 0; i < MaxBackends; i++)
		if (sessions[i].busy_ms > LONG_MS)
		{
			seen->others++;
			busy += sessions[i].busy_ms;
			reading += sessions[i].reading_ms;
		}
	seen->others_io = busy > 0 ? reading / busy : 0;
}

/* Processes of parallel queries of ours, and these queries. */
static void
see_workers(AnagoGuardInput *seen)
{
	static uint32 turn = 0;

	turn++;
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];
		Session    *leader = &sessions[slot->query];

		if (!anago_elastic_works(i) || pg_atomic_read_u32(&slot->planned) == 0 ||
			anago_slot_exempt(i))
			continue;
		seen->workers++;
		seen->parallel += leader->turn != turn;
		leader->turn = turn;
	}
}

/* Mean latency of our own reads. */
static double
own_read_us(void)
{
	double		reads = 0;
	double		us = 0;

	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];
		Session    *session = &sessions[i];
		uint64		now = pg_atomic_read_u64(&slot->timed);
		uint64		now_us = pg_atomic_read_u64(&slot->timed_us);

		/* else it is another query */
		if (now >= session->reads && now_us >= session->read_us)
		{
			reads += now - session->reads;
			us += now_us - session->read_us;
		}
		session->reads = now;
		session->read_us = now_us;
	}
	return reads > 0 ? us / reads : 0;
}

/* Processes that run or wait for a CPU, but for this one: as the kernel says. */
static double
runnable(void)
{
	FILE	   *file = AllocateFile("/proc/loadavg", "r");
	int			n = 1;

	if (file == NULL)
		return 0;
	if (fscanf(file, "%*f %*f %*f %d/", &n) != 1)
		n = 1;
	FreeFile(file);
	return Max(n - 1, 0);
}

int
anago_transactions_running(void)
{
	int			n = 0;

	for (int i = 0; i < MaxBackends; i++)
	{
		PGPROC	   *proc = GetPGProcByNumber(i);

		n += *(volatile int *) &proc->pid != 0 && is_session(proc) &&
			number_of(proc) != InvalidLocalTransactionId;
	}
	return n;
}

int
anago_transactions_queries(double *wants)
{
	int			n = 0;

	*wants = 0;
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];
		uint32		wants_now = pg_atomic_read_u32(&slot->wants);
		uint32		inflight = pg_atomic_read_u32(&slot->inflight);
		uint32		wanted = anago_slot_stands(i) || anago_slot_exempt(i) ? 0 :
			Max(wants_now, inflight);

		n += wanted > 0;
		*wants += wanted;
	}
	return n;
}

void
anago_transactions_seen(AnagoGuardInput *seen)
{
	memset(seen, 0, sizeof(*seen));
	seen->ms = looked_ms;
	seen->queries = anago_transactions_queries(&seen->wants);
	seen->transactions = transactions;
	seen->busy_ms = busy_ms;
	seen->late_ms = late_ms;
	see_workers(seen);
	see_long_ones(seen);
	seen->read_us = own_read_us();
	seen->runnable = runnable();
	seen->cpus = (int) sysconf(_SC_NPROCESSORS_ONLN);
	looked_ms = transactions = busy_ms = late_ms = 0;
}
