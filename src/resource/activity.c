/*-------------------------------------------------------------------------
 *
 * activity.c
 *	  What all processes are doing, for SQL.
 *
 * anago_activity() has a row for each process that runs a query of ours, and
 * anago_budget() one row of the server's budget.  Nothing is locked: figures are
 * those of the moment in which each of them is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "resource/budgets.h"
#include "resource/elastic.h"

PG_FUNCTION_INFO_V1(anago_activity);
PG_FUNCTION_INFO_V1(anago_budget);

/* Columns of anago_activity(), in the order of the extension's script. */
typedef enum ActivityColumn
{
	PID,
	LEADER_PID,
	USER_ID,
	DATABASE_ID,
	SINCE,
	SHARE,
	IN_FLIGHT,
	WANTED,
	ALLOWED,
	AWAKE,
	PLANNED,
	READS,
	ROWS,
	TASKS,
	WAITING_FOR,
	ACTIVITY_COLUMNS
} ActivityColumn;

/* Of a wait event, the bits that are its class. */
#define WAIT_EVENT_CLASS	0xFF000000U

/* Those of anago_budget(). */
typedef enum BudgetColumn
{
	SCOPE,
	INFLIGHT_LIMIT,
	READS_PER_S_LIMIT,
	MB_PER_S_LIMIT,
	PROCESSES,
	ALL_IN_FLIGHT,
	PEAK,
	BUDGET_COLUMNS
} BudgetColumn;

static bool
may_see(Oid user)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		has_privs_of_role(GetUserId(), user);
}

static inline bool
is_parked(AnagoSlot *slot)
{
	return pg_atomic_read_u32(&slot->phase) == ANAGO_PHASE_PARKED;
}

/* Of the process whose slot it is; NULL: it is at work. */
static const char *
waiting_for(AnagoSlot *slot)
{
	int			me = slot - anago_budgets->slots;
	PGPROC	   *proc = anago_budgets_of_server() ? GetPGProcByNumber(me) : MyProc;
	uint32		event = *(volatile uint32 *) &proc->wait_event_info;

	if (is_parked(slot))
		return "parked";
	/* a function of the query's may wait for a lock while reads are held back */
	if ((event & WAIT_EVENT_CLASS) == PG_WAIT_LOCK)
		return pgstat_get_wait_event(event);
	switch ((AnagoShortage) pg_atomic_read_u32(&slot->shortage))
	{
		case ANAGO_SHORT_OF_BUDGET:
			return "budget";
		case ANAGO_SHORT_OF_RATE:
			return "reads per second";
		case ANAGO_SHORT_OF_NOTHING:
			break;
	}
	return pgstat_get_wait_event(event);
}

static void
put_row(ReturnSetInfo *rsinfo, AnagoSlot *slot, uint32 inflight)
{
	Datum		values[ACTIVITY_COLUMNS] = {0};
	bool		nulls[ACTIVITY_COLUMNS] = {false};
	uint32		allowed = pg_atomic_read_u32(&slot->allowed);
	const char *waits = waiting_for(slot);
	int			awake;
	int			planned;

	values[PID] = Int32GetDatum(slot->pid);
	values[LEADER_PID] = Int32GetDatum(slot->leader);
	values[USER_ID] = ObjectIdGetDatum(slot->user);
	values[DATABASE_ID] = ObjectIdGetDatum(slot->database);
	values[SINCE] = TimestampTzGetDatum(slot->since);
	values[SHARE] = Int32GetDatum((int32) pg_atomic_read_u32(&slot->share));
	values[IN_FLIGHT] = Int32GetDatum((int32) inflight);
	values[WANTED] = Int32GetDatum((int32) pg_atomic_read_u32(&slot->wants));
	values[ALLOWED] = Int32GetDatum((int32) allowed);
	nulls[ALLOWED] = allowed == 0 || is_parked(slot) ||
		!(anago_budgets_limited() || anago_elastic_is_on());
	nulls[AWAKE] = nulls[PLANNED] = !anago_elastic_processes(slot, &awake, &planned);
	values[AWAKE] = Int32GetDatum(awake);
	values[PLANNED] = Int32GetDatum(planned);
	values[READS] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->reads));
	values[ROWS] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->rows));
	values[TASKS] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->tasks));
	nulls[WAITING_FOR] = waits == NULL;
	if (waits != NULL)
		values[WAITING_FOR] = CStringGetTextDatum(waits);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * What all have in flight, as nearly at one moment as can be: what one process has
 * given back another may have taken meanwhile, and would be counted twice.
 */
static uint32 *
look_at_all(void)
{
	uint32	   *inflight = palloc0(sizeof(uint32) * anago_budgets->nslots);

	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
		inflight[i] = pg_atomic_read_u32(&anago_budgets->slots[i].inflight);
	return inflight;
}

Datum
anago_activity(PG_FUNCTION_ARGS)
{
	uint32	   *inflight;

	anago_budgets_prepare();
	InitMaterializedSRF(fcinfo, 0);
	inflight = look_at_all();
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];

		if (may_see(slot->user))
			put_row((ReturnSetInfo *) fcinfo->resultinfo, slot, inflight[i]);
	}
	return (Datum) 0;
}

/* 0 is no limit. */
static void
put_limit(AnagoLimit which, Datum *value, bool *isnull)
{
	*value = Int32GetDatum((int32) anago_budgets_limit(which));
	*isnull = DatumGetInt32(*value) == 0;
}

/*
 * Processes that run a query, and what they have in flight; what one that stands still
 * has is not reckoned with.
 */
static int
count_active(int *inflight)
{
	int			n = 0;

	*inflight = 0;
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		if (!anago_slot_stands(i))
			*inflight += (int) pg_atomic_read_u32(&anago_budgets->slots[i].inflight);
		n++;
	}
	return n;
}

Datum
anago_budget(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;
	Datum		values[BUDGET_COLUMNS];
	bool		nulls[BUDGET_COLUMNS] = {false};
	int			inflight;

	anago_budgets_prepare();
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[SCOPE] = CStringGetTextDatum(anago_budgets_of_server() ? "server" : "process");
	put_limit(ANAGO_LIMIT_INFLIGHT, &values[INFLIGHT_LIMIT], &nulls[INFLIGHT_LIMIT]);
	put_limit(ANAGO_LIMIT_READS_PER_S, &values[READS_PER_S_LIMIT], &nulls[READS_PER_S_LIMIT]);
	put_limit(ANAGO_LIMIT_MB_PER_S, &values[MB_PER_S_LIMIT], &nulls[MB_PER_S_LIMIT]);
	values[PROCESSES] = Int32GetDatum(count_active(&inflight));
	values[ALL_IN_FLIGHT] = Int32GetDatum(inflight);
	values[PEAK] = Int32GetDatum((int32) pg_atomic_read_u32(&anago_budgets->peak));
	nulls[PEAK] = nulls[INFLIGHT_LIMIT];
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
