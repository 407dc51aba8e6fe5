/*-------------------------------------------------------------------------
 *
 * elastic.c
 *	  A running query gains and loses processes and reads.  See elastic.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/acl.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "guc.h"
#include "resource/elastic.h"
#include "resource/parking.h"
#include "shared/server.h"

PG_FUNCTION_INFO_V1(anago_set_resources);

StaticAssertDecl(ANAGO_MAX_QUERY_PROCESSES < 1 << (32 - ANAGO_CONTROL_READS_BITS),
				 "processes fit a control");
StaticAssertDecl(ANAGO_MAX_SERVER_INFLIGHT < 1 << ANAGO_CONTROL_READS_BITS,
				 "reads fit a control");

static inline int
processes_of(uint64 control)
{
	return (int) (anago_control_limits(control) >> ANAGO_CONTROL_READS_BITS);
}

static inline int
reads_of(uint64 control)
{
	return (int) (anago_control_limits(control) &
				  ((UINT64CONST(1) << ANAGO_CONTROL_READS_BITS) - 1));
}

/* ---- what a process tells ---- */

typedef struct BegunNode
{
	MemoryContextCallback on_reset;
	AnagoSlot  *slot;
} BegunNode;

static void
node_ends(void *arg)
{
	AnagoSlot  *slot = ((BegunNode *) arg)->slot;

	/* the process is about to end, and has left already */
	if (slot != anago_slot || pg_atomic_read_u32(&slot->nodes) == 0)
		return;
	if (pg_atomic_sub_fetch_u32(&slot->nodes, 1) == 0)
		anago_slot_end_query(slot);
	anago_slot_leave();
}

void
anago_elastic_enter(void)
{
	BegunNode  *node;

	if (IsParallelWorker())
		return;
	node = palloc0(sizeof(BegunNode));
	node->slot = anago_slot;
	node->on_reset.func = node_ends;
	node->on_reset.arg = node;
	anago_slot_enter();
	pg_atomic_fetch_add_u32(&anago_slot->nodes, 1);
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &node->on_reset);
}

void
anago_elastic_participate(int planned)
{
	pg_atomic_write_u32(&anago_slot->planned, planned);
	pg_atomic_write_u32(&anago_slot->park, 0);
	anago_elastic_phase(ANAGO_PHASE_OUTSIDE);
}

void
anago_elastic_lease_begun(void)
{
	pg_atomic_fetch_add_u32(&anago_slot->leases, 1);
}

/* After an error the phase is what it was when that was raised. */
void
anago_elastic_lease_ended(void)
{
	if (pg_atomic_read_u32(&anago_slot->leases) > 0 &&
		pg_atomic_sub_fetch_u32(&anago_slot->leases, 1) == 0)
		anago_elastic_phase(ANAGO_PHASE_NONE);
}

/* ---- what is decided ---- */

/*
 * Sleeps it outside of the run loop?  Reads, short locks and pins end by themselves.
 */
static bool
sleeps_outside(int slot)
{
	switch (anago_slot_wait_class(slot))
	{
		case PG_WAIT_LOCK:
		case PG_WAIT_CLIENT:
		case PG_WAIT_TIMEOUT:
		case PG_WAIT_ACTIVITY:
		case PG_WAIT_IPC:
		case PG_WAIT_EXTENSION:
			return true;
		default:
			return false;
	}
}

bool
anago_elastic_works(int number)
{
	AnagoSlot  *slot = &anago_budgets->slots[number];

	switch ((AnagoPhase) pg_atomic_read_u32(&slot->phase))
	{
		case ANAGO_PHASE_NONE:
			/* of a query of one process, or a leader that only collects */
			return pg_atomic_read_u32(&slot->leases) > 0 &&
				pg_atomic_read_u32(&slot->planned) == 0 && !anago_slot_stands(number);
		case ANAGO_PHASE_OUTSIDE:
			return !sleeps_outside(number);
		case ANAGO_PHASE_INSIDE:
			return !anago_slot_stands(number);
		case ANAGO_PHASE_WAITING:
			return false;
		case ANAGO_PHASE_PARKED:
			return true;
	}
	return false;
}

static inline uint64
control_of(const AnagoSlot *slot)
{
	return pg_atomic_read_u64(&anago_budgets->slots[slot->query].control);
}

/* Room for a decision about all slots. */
typedef struct Decision
{
	AnagoWorker *workers;
	AnagoClaim *claims;
	int		   *numbers;
	int		   *wants;
} Decision;

static const Decision *
decision_room(void)
{
	static Decision room;
	static int	nslots = 0;

	if (nslots < anago_budgets->nslots)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
		int			n = anago_budgets->nslots;

		room.workers = palloc(sizeof(AnagoWorker) * n);
		room.claims = palloc(sizeof(AnagoClaim) * n);
		room.numbers = palloc(sizeof(int) * n);
		room.wants = palloc(sizeof(int) * n);
		nslots = n;
		MemoryContextSwitchTo(old);
	}
	return &room;
}

/* Processes of all queries that may work; 0: no limit. */
static int
common_limit(void)
{
	return (int) anago_lesser_limit(anago_budgets_limit(ANAGO_LIMIT_PROCESSES),
									anago_governed_processes());
}

static void
decide_processes(const Decision *room)
{
	int			n = 0;

	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];

		if (!anago_elastic_works(i))
		{
			pg_atomic_write_u32(&slot->park, 0);
			continue;
		}
		room->workers[n++] = (AnagoWorker)
		{
			.process = i,
				.query = slot->query,
				.weight = anago_read_positive(&slot->share),
				.most = processes_of(control_of(slot)),
				.exempt = anago_slot_exempt(i),
				.was_parked = pg_atomic_read_u32(&slot->phase) == ANAGO_PHASE_PARKED,
		};
	}
	anago_parking_decide(room->workers, n, common_limit(), room->claims);
	for (int i = 0; i < n; i++)
		pg_atomic_write_u32(&anago_budgets->slots[room->workers[i].process].park,
							room->workers[i].park);
}

/* Will it read before somebody else does something? */
static bool
may_read(int number)
{
	AnagoSlot  *slot = &anago_budgets->slots[number];
	uint32		phase = pg_atomic_read_u32(&slot->phase);

	return pg_atomic_read_u32(&slot->leases) > 0 && phase != ANAGO_PHASE_PARKED &&
		!anago_slot_stands(number) &&
		!(phase == ANAGO_PHASE_OUTSIDE && sleeps_outside(number));
}

/*
 * Processes of the query in slot `query` that may read, and in *uncounted what the
 * others have in flight.
 */
static int
gather_readers(const Decision *room, int query, uint32 *uncounted)
{
	int			n = 0;

	*uncounted = 0;
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];

		if (slot->query != query)
			continue;
		if (!may_read(i))
		{
			*uncounted += pg_atomic_read_u32(&slot->query_charged);
			continue;
		}
		room->numbers[n] = i;
		room->wants[n++] = (int) pg_atomic_read_u32(&slot->wants);
	}
	return n;
}

static void
decide_reads_of(const Decision *room, int query, int reads)
{
	uint32		uncounted;
	int			n = gather_readers(room, query, &uncounted);

	pg_atomic_write_u32(&anago_budgets->slots[query].query_bound,
						Max(reads, n) + uncounted);
	anago_parking_divide_reads(room->wants, n, reads, room->claims);
	for (int i = 0; i < n; i++)
		pg_atomic_write_u32(&anago_budgets->slots[room->numbers[i]].own_limit,
							room->wants[i]);
}

static void
end_limit(AnagoSlot *slot)
{
	pg_atomic_write_u32(&slot->own_limit, 0);
	pg_atomic_write_u32(&slot->query_bound, 0);
}

static void
decide_reads(const Decision *room)
{
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];
		int			reads = reads_of(control_of(slot));

		if (reads == 0)
			end_limit(slot);
		else if (slot->query == i)
			decide_reads_of(room, i, reads);
	}
}

static void
decide_now(void)
{
	const Decision *room = decision_room();

	decide_processes(room);
	decide_reads(room);
}

void
anago_elastic_decide(void)
{
	uint64		now = anago_budgets_now();
	uint64		then = pg_atomic_read_u64(&anago_budgets->decided);

	if (now - then >= ANAGO_DECIDE_US * UINT64CONST(1000) &&
		pg_atomic_compare_exchange_u64(&anago_budgets->decided, &then, now))
		decide_now();
}

bool
anago_elastic_is_parked(void)
{
	if (anago_elastic_is_on())
		anago_elastic_decide();
	else
		pg_atomic_write_u32(&anago_slot->park, 0);
	return pg_atomic_read_u32(&anago_slot->park) != 0;
}

/* ---- for SQL ---- */

bool
anago_elastic_processes(const AnagoSlot *of, int *awake, int *planned)
{
	*awake = *planned = 0;
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];
		uint32		phase = pg_atomic_read_u32(&slot->phase);
		int			of_slot = (int) pg_atomic_read_u32(&slot->planned);

		if (slot->query != of->query)
			continue;
		*planned = Max(*planned, of_slot);
		*awake += phase == ANAGO_PHASE_INSIDE || phase == ANAGO_PHASE_OUTSIDE;
	}
	return *planned > 0;
}

static void
check_possible(void)
{
	anago_budgets_prepare();
	if (anago_budgets_of_server())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("resources of other processes cannot be set"),
			 anago_server_is_possible() ?
			 errdetail("The memory in which the server's reads are counted cannot be had; the server's log says why.") :
			 errdetail("Before PostgreSQL 17, this needs anago in shared_preload_libraries."),
			 anago_server_is_possible() ? 0 :
			 errhint("Add anago to shared_preload_libraries, and restart the server.")));
}

static void
raise_no_query(int pid)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("process %d runs no query of anago", pid)));
}

static void
check_range(FunctionCallInfo fcinfo, int arg, const char *what, int most)
{
	if (!PG_ARGISNULL(arg) && (PG_GETARG_INT32(arg) < 0 || PG_GETARG_INT32(arg) > most))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s must be from 0 to %d, not %d", what, most, PG_GETARG_INT32(arg)),
				 errhint("0 ends the limit, NULL leaves it as it is.")));
}

/* As for pg_cancel_backend(). */
static void
check_privilege(const PGPROC *proc)
{
	if (superuser_arg(proc->roleId) && !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to set resources of process %d", proc->pid),
				 errdetail("Only superusers may set those of a superuser's query.")));
	if (!has_privs_of_role(GetUserId(), proc->roleId) &&
		!has_privs_of_role(GetUserId(), ROLE_PG_SIGNAL_BACKEND))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to set resources of process %d", proc->pid),
				 errdetail("Only its own user, and members of role pg_signal_backend, may.")));
}

/* The slot of the query that the process works for, and its control. */
static AnagoSlot *
find_query(int pid, uint64 *control)
{
	PGPROC	   *proc = BackendPidGetProc(pid);
	PGPROC	   *leader;
	AnagoSlot  *slot;

	if (proc == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("process %d is no session or parallel worker of this server", pid)));
	/* (read once: a worker may be about to leave its group) */
	leader = *(PGPROC *volatile *) &proc->lockGroupLeader;
	if (leader == NULL)
		leader = proc;
	check_privilege(leader);
	check_possible();
	slot = &anago_budgets->slots[anago_slot_of(leader)];
	*control = anago_slot_of(leader) < anago_budgets->nslots ?
		pg_atomic_read_u64(&slot->control) : 0;
	if (anago_slot_of(leader) >= anago_budgets->nslots ||
		pg_atomic_read_u32(&slot->nodes) == 0)
		raise_no_query(pid);
	return slot;
}

static uint64
with_limits(uint64 control, int processes, int reads)
{
	return (control >> ANAGO_CONTROL_NUMBER_SHIFT << ANAGO_CONTROL_NUMBER_SHIFT) |
		((uint64) processes << ANAGO_CONTROL_READS_BITS) | (uint64) reads;
}

static void
set_limits(FunctionCallInfo fcinfo, AnagoSlot *slot, uint64 control)
{
	uint64		number = control >> ANAGO_CONTROL_NUMBER_SHIFT;
	uint64		next;
	int			more;

	do
	{
		if (control >> ANAGO_CONTROL_NUMBER_SHIFT != number)
			raise_no_query(PG_GETARG_INT32(0));
		next = with_limits(control,
						   PG_ARGISNULL(1) ? processes_of(control) : PG_GETARG_INT32(1),
						   PG_ARGISNULL(2) ? reads_of(control) : PG_GETARG_INT32(2));
	} while (!pg_atomic_compare_exchange_u64(&slot->control, &control, next));

	more = (anago_control_limits(next) != 0) - (anago_control_limits(control) != 0);
	pg_atomic_fetch_add_u32(&anago_budgets->controls, more);
}

/* anago_set_resources(pid, processes, reads) */
Datum
anago_set_resources(PG_FUNCTION_ARGS)
{
	AnagoSlot  *slot;
	uint64		control;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the process must be named")));
	check_range(fcinfo, 1, "processes", ANAGO_MAX_QUERY_PROCESSES);
	check_range(fcinfo, 2, "reads", ANAGO_MAX_SERVER_INFLIGHT);
	slot = find_query(PG_GETARG_INT32(0), &control);
	set_limits(fcinfo, slot, control);
	decide_now();
	PG_RETURN_VOID();
}
