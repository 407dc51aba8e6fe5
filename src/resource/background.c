/*-------------------------------------------------------------------------
 *
 * background.c
 *	  What the background workers of anago have in common.  See background.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "resource/background.h"
#include "resource/budgets.h"

#define RESTART_S		1

void
anago_background_register(const char *name, const char *function, bool catalogs)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS |
		(catalogs ? BGWORKER_BACKEND_DATABASE_CONNECTION : 0),
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = RESTART_S,
		.bgw_library_name = "anago",
	};

	if (!process_shared_preload_libraries_in_progress)
		return;
	strlcpy(worker.bgw_name, name, BGW_MAXLEN);
	strlcpy(worker.bgw_type, name, BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, function, BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

BackgroundWorkerHandle *
anago_background_start(const char *name, const char *function)
{
	BackgroundWorker worker = {
		.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
		.bgw_start_time = BgWorkerStart_ConsistentState,
		.bgw_restart_time = BGW_NEVER_RESTART,
		.bgw_library_name = "anago",
	};
	BackgroundWorkerHandle *process = NULL;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

	strlcpy(worker.bgw_name, name, BGW_MAXLEN);
	strlcpy(worker.bgw_type, name, BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, function, BGW_MAXLEN);
	if (!RegisterDynamicBackgroundWorker(&worker, &process))
		process = NULL;
	MemoryContextSwitchTo(old);
	return process;
}

bool
anago_background_runs(BackgroundWorkerHandle *process)
{
	pid_t		pid;

	return process != NULL && GetBackgroundWorkerPid(process, &pid) != BGWH_STOPPED;
}

void
anago_background_begin(bool catalogs, const char *database)
{
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	/* one with a database may be in the middle of something, or wait for that */
	pqsignal(SIGTERM, database != NULL ? die : SignalHandlerForShutdownRequest);
	BackgroundWorkerUnblockSignals();
	if (catalogs)
		BackgroundWorkerInitializeConnection(database, NULL, 0);
	anago_budgets_prepare();
}

void
anago_background_sleep(long ms, uint32 wait_event)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					 ms, wait_event);
	ResetLatch(MyLatch);
	/* a cancel, or a time-out that comes too late, is of a query, and there is none */
	QueryCancelPending = false;
	CHECK_FOR_INTERRUPTS();
	if (ShutdownRequestPending)
		proc_exit(1);			/* with 0 it would not be started again */
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}
