/*-------------------------------------------------------------------------
 *
 * swap_other.c
 *	  What the other standby has to tell: asked for by a process of its own.
 *
 * It reads one row of the other one's anago_swap(), twice in a second, and does nothing else
 * there; nobody waits for it.  The connection is made by libpqwalreceiver, the library that the
 * server itself connects with to its primary: it is part of every installation, takes the same
 * strings as primary_conninfo, and waits so that a shutdown or a timeout ends it.  So
 * neither this library needs libpq nor the database dblink.
 *
 * Each answer is published with its time.  What fails is published as well, and said once.
 * After an error that was thrown, as by the timeout, libpq's memory is of an unknown state:
 * the process ends, and is started again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "replication/walreceiver.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "guc.h"
#include "resource/background.h"
#include "resource/budgets.h"
#include "resource/swap_memory.h"
#include "resource/swap_worker.h"

/* What it may take to connect and to answer; after an error, or the process's end. */
#define ANSWER_MS		5000
#define RETRY_MS		2000

/* Beyond any term that comes about by swaps. */
#define MOST_TERM		(PG_INT64_MAX / 2)

/* ---- the side of who decides ---- */

static BackgroundWorkerHandle *process = NULL;

static bool
is_wanted(void)
{
	return anago_swap_on && anago_swap_other_conninfo[0] != '\0' && RecoveryInProgress();
}

void
anago_swap_other_keep(void)
{
	static uint64 tried = 0;
	static bool said = false;
	uint64		now = anago_budgets_now();

	if (!is_wanted() || anago_background_runs(process) ||
		(tried != 0 && now - tried < RETRY_MS * UINT64CONST(1000000)))
		return;
	tried = now;
	if (process != NULL)
		pfree(process);
	process = anago_background_start("anago swap asks", "anago_swap_other_main");
	if (process == NULL && !said)
		ereport(LOG,
				(errmsg("anago's swap cannot start the process that asks the other standby"),
				 errhint("Consider a greater \"max_worker_processes\".")));
	said = process == NULL;
}

void
anago_swap_other_end(void)
{
	if (anago_background_runs(process))
		TerminateBackgroundWorker(process);
}

/* ---- the process: what fails ---- */

/* Once, until it is another one; the memory outlives the process. */
static void
note_error(const char *error)
{
	AnagoSwapOther other = anago_swap_other();
	char		before[ANAGO_SWAP_ERROR];

	strlcpy(before, other.error, sizeof(before));
	strlcpy(other.error, error, sizeof(other.error));
	anago_swap_set_other(&other);
	if (strcmp(before, other.error) == 0)
		return;
	if (other.error[0] != '\0')
		ereport(LOG,
				(errmsg("anago's swap cannot ask the other standby: %s", other.error),
				 errhint("See \"anago.swap_other\". Whichever standby answers goes on to do so.")));
	else
		ereport(LOG, (errmsg("anago's swap: the other standby can be asked")));
}

/* ---- the process: one question ---- */

static WalReceiverConn *connection = NULL;
static char *connected_by = NULL;
static char schema[2 * NAMEDATALEN + 3];	/* of the extension there; empty: not known */

static void
disconnect(void)
{
	if (connection != NULL)
		walrcv_disconnect(connection);
	connection = NULL;
}

/* False: *error says why. */
static bool
connect_other(char **error)
{
	MemoryContext old;
	char	   *why = NULL;

	if (connection != NULL && strcmp(connected_by, anago_swap_other_conninfo) == 0)
		return true;
	disconnect();
	schema[0] = '\0';
	old = MemoryContextSwitchTo(TopMemoryContext);
	if (connected_by != NULL)
		pfree(connected_by);
	connected_by = pstrdup(anago_swap_other_conninfo);
	connection = anago_connect(connected_by, "anago swap", &why);
	MemoryContextSwitchTo(old);
	if (why != NULL)
	{
		*error = pstrdup(why);
		pfree(why);
	}
	return connection != NULL;
}

/* One row of the other one, or NULL: *error says why.  In a transaction. */
static TupleTableSlot *
fetch(const char *query, int n, const Oid *types, char **error)
{
	WalRcvExecResult *result = walrcv_exec(connection, query, n, types);
	TupleTableSlot *slot;

	if (result->status != WALRCV_OK_TUPLES)
	{
		*error = result->err != NULL ? pstrdup(result->err) : "it is no answer";
		walrcv_clear_result(result);
		return NULL;
	}
	slot = MakeSingleTupleTableSlot(result->tupledesc, &TTSOpsMinimalTuple);
	if (tuplestore_gettupleslot(result->tuplestore, true, true, slot))
		return slot;
	*error = "extension \"anago\" is not in that database";
	return NULL;
}

static Datum
column(TupleTableSlot *slot, int i, bool *isnull)
{
	return slot_getattr(slot, i, isnull);
}

/* (libpqwalreceiver has made search_path empty) */
static bool
find_schema(char **error)
{
	static const Oid types[] = {TEXTOID};
	bool		isnull;
	TupleTableSlot *slot;

	if (schema[0] != '\0')
		return true;
	slot = fetch("SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_extension "
				 "JOIN pg_catalog.pg_namespace n ON n.oid = extnamespace WHERE extname = 'anago'",
				 lengthof(types), types, error);
	if (slot != NULL)
		strlcpy(schema, TextDatumGetCString(column(slot, 1, &isnull)), sizeof(schema));
	return slot != NULL;
}

/* NULL: it makes sense. */
static const char *
wrong_with(const AnagoSwapServer *server, uint64 system)
{
	if (system != GetSystemIdentifier())
		return "it is of another cluster";
	if (server->id == anago_swap_report().server.id)
		return "it is this standby itself";
	if (server->state == ANAGO_SWAP_STATES || server->wish == ANAGO_SWAP_WISHES ||
		server->term < 0 || server->term > MOST_TERM)
		return "what it tells makes no sense: it has another version of anago";
	return NULL;
}

/* False: *error says why. */
static bool
ask_server(AnagoSwapServer *server, char **error)
{
	static const Oid types[] = {INT8OID, TEXTOID, INT8OID, TEXTOID, INT8OID, INT8OID, FLOAT8OID, INT8OID};
	TupleTableSlot *slot;
	bool		isnull;
	const char *wrong;

	if (!find_schema(error))
		return false;
	slot = fetch(psprintf("SELECT coalesce(id, 0), state, coalesce(term, 0), coalesce(wish, 'none'), "
						  "coalesce(replayed - '0/0', 0), coalesce(received - '0/0', 0), "
						  "coalesce(freshness, 'NaN'), system_identifier FROM %s.anago_swap()", schema),
				 lengthof(types), types, error);
	if (slot == NULL)
		return false;
	server->id = DatumGetInt64(column(slot, 1, &isnull));
	server->state = anago_swap_state_of(TextDatumGetCString(column(slot, 2, &isnull)));
	server->term = DatumGetInt64(column(slot, 3, &isnull));
	server->wish = anago_swap_wish_of(TextDatumGetCString(column(slot, 4, &isnull)));
	server->replayed = (uint64) DatumGetInt64(column(slot, 5, &isnull));
	server->received = (uint64) DatumGetInt64(column(slot, 6, &isnull));
	server->freshness = DatumGetFloat8(column(slot, 7, &isnull));
	wrong = wrong_with(server, (uint64) DatumGetInt64(column(slot, 8, &isnull)));
	if (wrong != NULL)
		*error = pstrdup(wrong);
	return wrong == NULL;
}

static void
publish(const AnagoSwapServer *server)
{
	AnagoSwapOther other = anago_swap_other();

	other.server = *server;
	other.at = GetCurrentTimestamp();
	other.heard = anago_budgets_now();
	anago_swap_set_other(&other);
}

static bool
ask(void)
{
	AnagoSwapServer server = {0};
	char	   *error = "";
	bool		done;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	enable_timeout_after(STATEMENT_TIMEOUT, ANSWER_MS);
	done = connect_other(&error) && ask_server(&server, &error);
	disable_timeout(STATEMENT_TIMEOUT, false);
	if (done)
		publish(&server);
	else
		disconnect();
	note_error(error);
	CommitTransactionCommand();
	return done;
}

/* ---- the process ---- */

static bool
ask_or_end(MemoryContext context)
{
	volatile bool done = false;

	PG_TRY();
	{
		done = ask();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		disable_all_timeouts(false);
		note_error(error->message);
		proc_exit(0);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	MemoryContextReset(context);
	return done;
}

/* What was heard stays, with its time. */
static void
set_pid(int pid)
{
	AnagoSwapOther other = anago_swap_other();

	other.pid = pid;
	anago_swap_set_other(&other);
}

/* before_shmem_exit callback */
static void
end_process(int code, Datum arg)
{
	set_pid(0);
}

void
anago_swap_other_main(Datum arg)
{
	static uint32 event = 0;
	MemoryContext context;

	anago_background_begin(true, anago_balancer_database);
	pqsignal(SIGTERM, die);		/* also while it waits for an answer */
	before_shmem_exit(end_process, (Datum) 0);
	set_pid(MyProcPid);
	load_file("libpqwalreceiver", false);
	context = AllocSetContextCreate(TopMemoryContext, "anago swap asks", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(context);
	while (is_wanted())
	{
		/* (a connection that fails is a line in the other one's log, each time) */
		anago_background_sleep(ask_or_end(context) ? ANAGO_SWAP_PERIOD_MS : RETRY_MS,
							   anago_wait_event(&event, "AnagoSwap"));
	}
	disconnect();
	proc_exit(0);
}
