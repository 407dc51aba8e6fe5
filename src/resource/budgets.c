/*-------------------------------------------------------------------------
 *
 * budgets.c
 *	  The server's budget of reads.  See budgets.h.
 *
 *	  budgets.c		slots, settings, who joins and leaves
 *	  take.c		taking reads and giving them back
 *	  rate.c		reads per second
 *	  groups.c		limits of roles and databases
 *	  division.c	how limits are divided among all that want reads
 *	  level.c		how a limit is divided: a pure function
 *	  bucket.h		reads per second, in one number: pure functions
 *	  elastic.c		processes and reads that a running query gains and loses
 *	  parking.c		who of them is parked: a pure function
 *	  lease.c		what the page layer has of all budgets above it
 *	  activity.c	what all processes are doing, for SQL
 *	  htal.c		which class of work gets how many cores: pure functions;
 *					htal_text.c, that in words
 *	  freshness.c	how fresh a standby is
 *	  guard.c		what budget leaves transactions unhurt: a pure function
 *	  guard_worker.c	its process; transactions.c, what that sees
 *	  balance.c		HTAL on a running server: pure functions
 *	  balancer.c	the balancer's process; members.c, whose each process is;
 *					machine.c, what these take of CPUs; actuators.c, what is done
 *	  queues.c		what waits before the server, asked for by another process
 *	  background.c	what background workers have in common
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "guc.h"
#include "layout.h"
#include "resource/budgets.h"
#include "shared/server.h"

#define WAIT_EVENT_CLASS	0xFF000000U

/* Another version's is found by the same name, and left alone. */
#define SEGMENT_NAME	"anago_budgets"

AnagoBudgets *anago_budgets = NULL;
AnagoSlot  *anago_slot = NULL;

/* Those of this process alone. */
static AnagoBudgets *own_budgets = NULL;

static const int *const limit_settings[ANAGO_LIMITS] = {
	[ANAGO_LIMIT_INFLIGHT] = &anago_server_inflight_reads,
	[ANAGO_LIMIT_READS_PER_S] = &anago_server_reads_per_s,
	[ANAGO_LIMIT_MB_PER_S] = &anago_server_mb_per_s,
	[ANAGO_LIMIT_PROCESSES] = &anago_server_processes
};

/* ---- the memory ---- */

static Size
budgets_size(int nslots)
{
	return add_size(offsetof(AnagoBudgets, slots),
					add_size(mul_size(sizeof(AnagoSlot), nslots),
							 sizeof(uint64) * ((nslots + 63) / 64)));
}

static pg_atomic_uint64 *
active_word(AnagoBudgets *budgets, int slot)
{
	return (pg_atomic_uint64 *) &budgets->slots[budgets->nslots] + slot / 64;
}

/* Whether that process runs anything of anago's. */
static void
mark_slot(AnagoBudgets *budgets, AnagoSlot *slot, bool active)
{
	int			i = slot - budgets->slots;
	uint64		bit = UINT64CONST(1) << (i % 64);

	if (active)
		pg_atomic_fetch_or_u64(active_word(budgets, i), bit);
	else
		pg_atomic_fetch_and_u64(active_word(budgets, i), ~bit);
}

/* Of one query: no process but this one, and nothing done or wanted yet. */
static void
slot_reset_query(AnagoSlot *slot)
{
	slot->waits_since = slot->query_waits_since = 0;
	pg_atomic_write_u32(&slot->processes, 1);
	pg_atomic_write_u32(&slot->wants, 0);
	pg_atomic_write_u32(&slot->latency_us, 0);
	pg_atomic_write_u32(&slot->allowed, 0);
	pg_atomic_write_u32(&slot->phase, ANAGO_PHASE_NONE);
	pg_atomic_write_u32(&slot->planned, 0);
	pg_atomic_write_u32(&slot->park, 0);
	pg_atomic_write_u32(&slot->own_limit, 0);
	pg_atomic_write_u64(&slot->reads, 0);
	pg_atomic_write_u64(&slot->timed, 0);
	pg_atomic_write_u64(&slot->timed_us, 0);
	pg_atomic_write_u64(&slot->rows, 0);
	pg_atomic_write_u64(&slot->tasks, 0);
}

/* All of it but what goes on from process to process. */
static void
slot_reset(AnagoSlot *slot)
{
	slot->pid = slot->leader = slot->query = slot->active = 0;
	slot->user = slot->database = InvalidOid;
	slot->since = 0;
	slot->due = 0;
	memset(slot->group_due, 0, sizeof(slot->group_due));
	slot->role_inflight = 0;
	pg_atomic_write_u32(&slot->share, 0);
	pg_atomic_write_u32(&slot->inflight, 0);
	pg_atomic_write_u32(&slot->charged, 0);
	pg_atomic_write_u32(&slot->query_charged, 0);
	for (int kind = 0; kind < ANAGO_GROUP_KINDS; kind++)
	{
		pg_atomic_write_u32(&slot->group[kind], 0);
		pg_atomic_write_u32(&slot->group_charged[kind], 0);
	}
	pg_atomic_write_u32(&slot->shortage, ANAGO_SHORT_OF_NOTHING);
	pg_atomic_write_u32(&slot->leases, 0);
	pg_atomic_write_u32(&slot->nodes, 0);
	pg_atomic_write_u32(&slot->query_bound, 0);
	slot_reset_query(slot);
}

/* (atomics of 8 bytes may be locks) */
static void
slot_init(AnagoSlot *slot)
{
	memset(slot, 0, sizeof(AnagoSlot));
	pg_atomic_init_u32(&slot->query_taken, 0);
	pg_atomic_init_u64(&slot->control, 0);
	pg_atomic_init_u64(&slot->reads, 0);
	pg_atomic_init_u64(&slot->timed, 0);
	pg_atomic_init_u64(&slot->timed_us, 0);
	pg_atomic_init_u64(&slot->rows, 0);
	pg_atomic_init_u64(&slot->tasks, 0);
	slot_reset(slot);
}

void
anago_slot_end_query(AnagoSlot *slot)
{
	uint64		control = pg_atomic_read_u64(&slot->control);
	uint64		next;

	do
		next = ((control >> ANAGO_CONTROL_NUMBER_SHIFT) + 1) << ANAGO_CONTROL_NUMBER_SHIFT;
	while (!pg_atomic_compare_exchange_u64(&slot->control, &control, next));
	if (anago_control_limits(control) != 0)
		pg_atomic_fetch_sub_u32(&anago_budgets->controls, 1);
	pg_atomic_write_u32(&slot->query_bound, 0);
}

/*
 * For another process, or none.  Numbers of queries go on, and workers of a leader
 * that has just ended may still have to give back what they took of its query.
 */
static void
slot_renew(AnagoSlot *slot)
{
	anago_slot_end_query(slot);
	slot_reset(slot);
}

static void
report_init(AnagoGuardReport *report)
{
	pg_atomic_init_u32(&report->pid, 0);
	pg_atomic_init_u32(&report->state, 0);
	pg_atomic_init_u64(&report->per_second, 0);
	pg_atomic_init_u64(&report->latency_us, 0);
	pg_atomic_init_u64(&report->unloaded_us, 0);
	pg_atomic_init_u64(&report->slowdown, 0);
	pg_atomic_init_u64(&report->budget, 0);
}

void
anago_division_init(AnagoDivision *division, int limit)
{
	pg_atomic_init_u64(&division->level, 0);
	pg_atomic_init_u64(&division->latency, 0);
	pg_atomic_init_u64(&division->shares, 0);
	pg_atomic_init_u32(&division->bound, limit);
	pg_atomic_init_u32(&division->uncounted, 0);
}

static void
budgets_fill(AnagoBudgets *budgets, int nslots)
{
	budgets->layout = ANAGO_LAYOUT;
	budgets->nslots = nslots;
	for (int i = 0; i < ANAGO_LIMITS; i++)
		pg_atomic_init_u32(&budgets->limits[i], *limit_settings[i]);
	pg_atomic_init_u64(&budgets->set_at, PgReloadTime);
	for (int i = 0; i < ANAGO_GOVERNORS; i++)
	{
		pg_atomic_init_u32(&budgets->governors[i].reads, 0);
		pg_atomic_init_u32(&budgets->governors[i].processes, 0);
	}
	pg_atomic_init_u32(&budgets->guard_duty, ANAGO_DUTY_ALWAYS);
	pg_atomic_init_u32(&budgets->guard_asleep, 0);
	report_init(&budgets->guard);
	SpinLockInit(&budgets->balancer_lock);
	memset(&budgets->balancer, 0, sizeof(AnagoBalancerReport));
	memset(&budgets->queues, 0, sizeof(AnagoQueuesReport));
	pg_atomic_init_u64(&budgets->computed, 0);
	anago_division_init(&budgets->all, anago_server_inflight_reads);
	anago_division_init(&budgets->governed, anago_server_inflight_reads);
	anago_groups_fill(&budgets->groups);
	pg_atomic_init_u32(&budgets->controls, 0);
	pg_atomic_init_u64(&budgets->decided, 0);
	pg_atomic_init_u32(&budgets->taken, 0);
	pg_atomic_init_u32(&budgets->peak, 0);
	pg_atomic_init_u64(&budgets->due, 0);
	for (int i = 0; i < nslots; i++)
		slot_init(&budgets->slots[i]);
	for (int i = 0; i < nslots; i += 64)
		pg_atomic_init_u64(active_word(budgets, i), 0);
}

static Size
server_size(void)
{
	return budgets_size(MaxBackends);
}

static void
server_create(ANAGO_DSM_INIT_ARGS(memory))
{
	budgets_fill(memory, MaxBackends);
}

static AnagoServerPiece piece = {
	.name = SEGMENT_NAME,
	.what = "budgets",
	.size = server_size,
	.create = server_create,
};

void
anago_budgets_init(void)
{
	own_budgets = MemoryContextAlloc(TopMemoryContext, budgets_size(1));
	budgets_fill(own_budgets, 1);
	anago_budgets = own_budgets;
	anago_slot = &own_budgets->slots[0];
	anago_server_piece(&piece);
}

bool
anago_budgets_of_server(void)
{
	return anago_budgets != own_budgets;
}

/* ---- settings ---- */

static void
set_limit(AnagoBudgets *budgets, AnagoLimit which, int value)
{
	if (value == (int) pg_atomic_read_u32(&budgets->limits[which]))
		return;
	pg_atomic_write_u32(&budgets->limits[which], value);
	/* what was taken ahead at a low rate is not to be waited for at a higher one */
	if (which == ANAGO_LIMIT_READS_PER_S || which == ANAGO_LIMIT_MB_PER_S)
		pg_atomic_write_u64(&budgets->due, 0);
	if (which != ANAGO_LIMIT_INFLIGHT)
		return;
	pg_atomic_write_u32(&budgets->peak, 0);
	pg_atomic_write_u64(&budgets->computed, 0);
}

/*
 * NULL: _PG_init() is not that far.  A parallel worker is given its leader's settings, by
 * way of their defaults, and the leader's statement may be older than the latest of them.
 */
static AnagoBudgets *
budgets_to_set(void)
{
	return own_budgets != NULL && IsUnderPostmaster && !IsParallelWorker() &&
		piece.memory != NULL ? piece.memory : own_budgets;
}

/*
 * Called by each process that reads the configuration file anew.  With anago
 * preloaded those are the server's own (checkpointer, WAL writer...), too, which
 * read it at once; sessions do between statements.
 */
void
anago_budgets_assigned(AnagoLimit which, int value)
{
	AnagoBudgets *budgets = budgets_to_set();

	if (budgets == NULL)
		return;
	set_limit(budgets, which, value);
	pg_atomic_write_u64(&budgets->set_at, GetCurrentTimestamp());
}

void
anago_budgets_groups_assigned(void)
{
	AnagoBudgets *budgets = budgets_to_set();

	if (budgets != NULL)
		anago_groups_set(&budgets->groups);
}

/* A session may be the first that knows of new settings. */
static void
publish_settings(void)
{
	if ((TimestampTz) pg_atomic_read_u64(&anago_budgets->set_at) >= PgReloadTime)
		return;
	for (int i = 0; i < ANAGO_LIMITS; i++)
		set_limit(anago_budgets, i, *limit_settings[i]);
	pg_atomic_write_u64(&anago_budgets->set_at, PgReloadTime);
	anago_groups_set(&anago_budgets->groups);
}

/* ---- joining and leaving ---- */

/* before_shmem_exit callback: before segments are unmapped. */
static void
give_all_back(int code, Datum arg)
{
	if (!anago_budgets_of_server())
		return;
	mark_slot(anago_budgets, anago_slot, false);
	pg_atomic_fetch_sub_u32(&anago_budgets->taken,
							pg_atomic_read_u32(&anago_slot->charged));
	pg_atomic_fetch_sub_u32(&anago_budgets->slots[anago_slot->query].query_taken,
							pg_atomic_read_u32(&anago_slot->query_charged));
	for (int kind = 0; kind < ANAGO_GROUP_KINDS; kind++)
		anago_slot_change_group(kind, 0);
	slot_renew(anago_slot);
	/* what is still to be let go of, by callbacks after this one, is our own */
	anago_budgets = own_budgets;
	anago_slot = &own_budgets->slots[0];
}

static void
join(AnagoBudgets *budgets)
{
	/* slots are counted in */
	if (budgets == NULL || anago_slot->active > 0 ||
		ANAGO_PROC_NUMBER >= budgets->nslots)
		return;
	anago_budgets = budgets;
	anago_slot = &budgets->slots[ANAGO_PROC_NUMBER];
	slot_renew(anago_slot);
	before_shmem_exit(give_all_back, (Datum) 0);
}

/* Once in a process. */
static void
warn_alone(void)
{
	static bool warned = false;

	if (warned || !anago_budgets_limited())
		return;
	warned = true;
	ereport(WARNING,
			(errmsg("anago's limits of reads hold for this process alone"),
			 anago_server_is_possible() ?
			 errdetail("The memory in which the server's reads are counted cannot be had; the server's log says why.") :
			 errdetail("Before PostgreSQL 17, the server's reads can be counted only with anago in shared_preload_libraries."),
			 anago_server_is_possible() ? 0 :
			 errhint("Add anago to shared_preload_libraries, and restart the server.")));
}

void
anago_budgets_prepare(void)
{
	if (!anago_budgets_of_server())
		join(anago_server_attach(&piece));
	publish_settings();
	if (!anago_budgets_of_server() && anago_slot->active == 0)
		warn_alone();
}

void
anago_budgets_prepare_worker(void)
{
	if (!anago_budgets_of_server())
		join(anago_server_attach_worker(&piece));
}

/* ---- activity ---- */

static void
become_active(AnagoSlot *slot)
{
	PGPROC	   *leader = MyProc->lockGroupLeader;

	slot->pid = MyProcPid;
	slot->leader = leader != NULL ? leader->pid : MyProcPid;
	slot->query = leader != NULL && anago_budgets_of_server() ? anago_slot_of(leader) :
		slot - anago_budgets->slots;
	slot->user = GetUserId();
	slot->database = MyDatabaseId;
	slot->since = GetCurrentStatementStartTimestamp();
	slot_reset_query(slot);
	pg_atomic_write_u32(&slot->share, anago_share);
	anago_groups_begin();
	mark_slot(anago_budgets, slot, true);
}

void
anago_slot_enter(void)
{
	/* (which may fail, at a look at catalogs) */
	if (anago_slot->active == 0)
		become_active(anago_slot);
	anago_slot->active++;
}

void
anago_slot_leave(void)
{
	/* the process is about to end, and has left already */
	if (anago_slot->active == 0)
		return;
	if (--anago_slot->active > 0)
		return;
	mark_slot(anago_budgets, anago_slot, false);
	pg_atomic_write_u32(&anago_slot->shortage, ANAGO_SHORT_OF_NOTHING);
}

void
anago_budgets_wake_guard(void)
{
	uint32		guard = pg_atomic_read_u32(&anago_budgets->guard_asleep);

	if (guard != 0)
		SetLatch(&GetPGProcByNumber(guard - 1)->procLatch);
}

static inline PGPROC *
process_of(int slot)
{
	return anago_budgets_of_server() ? GetPGProcByNumber(slot) : MyProc;
}

static inline uint32
wait_of(const PGPROC *proc)
{
	return *(const volatile uint32 *) &proc->wait_event_info;
}

uint32
anago_slot_wait_class(int slot)
{
	return wait_of(process_of(slot)) & WAIT_EVENT_CLASS;
}

/* (pg_sleep() is a wait for a timeout) */
static bool
stands_by(uint32 wait)
{
	switch (wait & WAIT_EVENT_CLASS)
	{
		case PG_WAIT_LOCK:
		case PG_WAIT_CLIENT:
		case PG_WAIT_TIMEOUT:
			return true;
		default:
			return false;
	}
}

/* A worker may have more rows than its leader has room for, and that stands still. */
bool
anago_slot_stands(int slot)
{
	PGPROC	   *proc = process_of(slot);
	uint32		wait = wait_of(proc);
	PGPROC	   *leader;

	if (wait != ANAGO_WAIT_FOR_QUEUE)
		return stands_by(wait);
	leader = *(PGPROC *volatile *) &proc->lockGroupLeader;
	return leader != NULL && stands_by(wait_of(leader));
}

/* A worker has the XID of its leader's transaction. */
bool
anago_slot_exempt(int slot)
{
	int			query = anago_budgets->slots[slot].query;

	return anago_budgets_of_server() &&
		TransactionIdIsValid(*(volatile TransactionId *) &GetPGProcByNumber(query)->xid);
}

int
anago_budgets_next(AnagoBudgets *budgets, int slot)
{
	while (slot < budgets->nslots)
	{
		uint64		word = pg_atomic_read_u64(active_word(budgets, slot));

		word &= ~UINT64CONST(0) << (slot % 64);
		if (word != 0)
			return slot / 64 * 64 + pg_rightmost_one_pos64(word);
		slot = (slot / 64 + 1) * 64;
	}
	return -1;
}
