/*-------------------------------------------------------------------------
 *
 * queues.c
 *	  What waits before the server: asked for by a process of its own.  See queues.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "resource/background.h"
#include "resource/budgets.h"
#include "resource/queues.h"

/* A report is good for so many periods; what a query may take, but for its connections. */
#define GOOD_PERIODS	3
#define QUERY_MS		10000

/* The log has no more than one line in so many periods, or so long. */
#define SAY_PERIODS		10
#define SAY_MS			10000

/* A process that has ended by itself, or could not be started. */
#define RETRY_MS		5000

/* Times that are compared are of a clock that nobody sets. */
#define MS_IN_NS		UINT64CONST(1000000)

static inline bool
is_wanted(void)
{
	return anago_balancer_on && anago_balancer_queues[0] != '\0';
}

static void
publish(const AnagoQueuesReport *report)
{
	SpinLockAcquire(&anago_budgets->balancer_lock);
	anago_budgets->queues = *report;
	SpinLockRelease(&anago_budgets->balancer_lock);
}

/* ---- the balancer's side ---- */

static BackgroundWorkerHandle *process = NULL;

/* By its index only if that is known, as PostgreSQL does itself without a database. */
static bool
may_connect(Relation databases)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	database;
	bool		may;

	ScanKeyInit(&key, Anum_pg_database_datname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(anago_balancer_database));
	scan = systable_beginscan(databases, DatabaseNameIndexId, criticalSharedRelcachesBuilt,
							  NULL, 1, &key);
	database = systable_getnext(scan);
	may = HeapTupleIsValid(database) &&
		((Form_pg_database) GETSTRUCT(database))->datallowconn;
	systable_endscan(scan);
	return may;
}

/*
 * Is there that database?  (Else the process would end with an error each time.)  False: it
 * cannot be known now; the look-up might wait for that lock, for as long as somebody likes.
 */
static bool
look_for_database(bool *exists)
{
	bool		known;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	known = ConditionalLockRelationOid(DatabaseRelationId, AccessShareLock);
	if (known)
	{
		Relation	databases = table_open(DatabaseRelationId, NoLock);

		*exists = may_connect(databases);
		table_close(databases, NoLock);
	}
	CommitTransactionCommand();
	return known;
}

/* Once, until that has worked. */
static void
start_or_say(void)
{
	static bool said = false;
	bool		exists;

	if (!look_for_database(&exists))
		return;
	process = exists ? anago_background_start("anago queues", "anago_queues_main") : NULL;
	if (process == NULL && !said)
		ereport(LOG,
				(errmsg("anago's balancer cannot start the process that asks for queues"),
				 exists ? errhint("Consider a greater \"max_worker_processes\".") :
				 errdetail("There is no database \"%s\" to connect to, as anago.balancer_database names it.",
						   anago_balancer_database)));
	said = process == NULL;
}

void
anago_queues_keep(void)
{
	static uint64 tried = 0;
	uint64		now = anago_budgets_now();

	if (!is_wanted() || anago_background_runs(process) ||
		(tried != 0 && now - tried < RETRY_MS * MS_IN_NS))
		return;
	tried = now;
	if (process != NULL)
		pfree(process);
	process = NULL;
	start_or_say();
}

/* It ends by itself where it is wanted no more. */
void
anago_queues_end(void)
{
	if (anago_background_runs(process))
		TerminateBackgroundWorker(process);
}

AnagoQueues
anago_queues_now(void)
{
	AnagoQueues none = {0};
	AnagoQueues unknown = {0, get_float8_nan(), get_float8_nan()};
	AnagoQueuesReport report;

	if (!is_wanted())
		return none;
	SpinLockAcquire(&anago_budgets->balancer_lock);
	report = anago_budgets->queues;
	SpinLockRelease(&anago_budgets->balancer_lock);
	if (report.at == 0 ||
		anago_budgets_now() - report.at > GOOD_PERIODS * anago_balancer_period * MS_IN_NS)
		return unknown;
	return (AnagoQueues) {report.n, report.waiting, report.variance};
}

/* ---- the process: one query ---- */

/* A comment may end the query. */
static char *
whole_query(void)
{
	return psprintf("SELECT count(n)::float8, coalesce(sum(n), 0), coalesce(var_pop(n), 0) "
					"FROM (SELECT greatest(n::float8, 0) AS n FROM (%s\n) AS q(n)) AS q",
					anago_balancer_queues);
}

static double
column(int i)
{
	bool		isnull;

	return DatumGetFloat8(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, i,
										&isnull));
}

/* Raises an error if that cannot be had. */
static void
ask(void)
{
	AnagoQueuesReport report = {.pid = MyProcPid};

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	pgstat_report_activity(STATE_RUNNING, anago_balancer_queues);
	SPI_connect();
	enable_timeout_after(STATEMENT_TIMEOUT, QUERY_MS);
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_execute(whole_query(), true, 0) != SPI_OK_SELECT || SPI_processed != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("it is no query")));
	disable_timeout(STATEMENT_TIMEOUT, false);
	report.n = (int) column(1);
	report.waiting = column(2);
	report.variance = column(3);
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
	report.at = anago_budgets_now();
	publish(&report);
}

/* Once, until it is another one. */
static void
say_failed(const ErrorData *error)
{
	static char said[1024] = "";
	static uint64 at = 0;
	uint64		now = anago_budgets_now();

	if (at != 0 && now - at < Min(anago_balancer_period * SAY_PERIODS, SAY_MS) * MS_IN_NS)
		return;
	if (error == NULL ? said[0] != '\0' :
		strncmp(said, error->message, sizeof(said) - 1) != 0)
	{
		at = now;
		if (error != NULL)
			ereport(LOG,
					(errmsg("anago's balancer cannot see what waits: %s", error->message),
					 error->detail != NULL ? errdetail_internal("%s", error->detail) : 0,
					 errhint("Cores stay where they are until it can. See anago.balancer_queues, a query in database \"%s\".",
							 anago_balancer_database)));
		else
			ereport(LOG, (errmsg("anago's balancer sees again what waits")));
		strlcpy(said, error != NULL ? error->message : "", sizeof(said));
	}
}

static void
try(MemoryContext context)
{
	ErrorData  *error = NULL;

	PG_TRY();
	{
		ask();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		disable_all_timeouts(false);
		QueryCancelPending = false;
		AbortCurrentTransaction();
		pgstat_report_activity(STATE_IDLE, NULL);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	say_failed(error);
	MemoryContextReset(context);
}

/* ---- the process ---- */

/* before_shmem_exit callback */
static void
end_process(int code, Datum arg)
{
	AnagoQueuesReport nothing = {0};

	publish(&nothing);
}

/* A superuser's session: what its query calls has to be named with a schema. */
static void
set_up(void)
{
	static const char *const settings[][2] = {
		{"search_path", "pg_catalog"},
		{"default_transaction_read_only", "on"},
		{"anago.enable", "off"},
		{"log_min_messages", "error"},	/* what it warns of would be there each time */
		{"max_parallel_workers_per_gather", "0"}
	};

	for (int i = 0; i < lengthof(settings); i++)
		SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
}

void
anago_queues_main(Datum arg)
{
	static uint32 event = 0;
	AnagoQueuesReport nothing = {.pid = MyProcPid};
	MemoryContext context;
	char	   *database;

	anago_background_begin(true, anago_balancer_database);
	context = AllocSetContextCreate(TopMemoryContext, "anago queues", ALLOCSET_SMALL_SIZES);
	database = MemoryContextStrdup(TopMemoryContext, anago_balancer_database);
	before_shmem_exit(end_process, (Datum) 0);
	publish(&nothing);
	set_up();
	MemoryContextSwitchTo(context);
	while (is_wanted() && strcmp(database, anago_balancer_database) == 0)
	{
		try(context);
		anago_background_sleep(anago_balancer_period,
							   anago_wait_event(&event, "AnagoBalancer"));
	}
	proc_exit(0);
}
