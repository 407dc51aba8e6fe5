/*-------------------------------------------------------------------------
 *
 * calibrate.c
 *	  anago_calibrate(): measure the storage of a tablespace.
 *
 * The given time goes to
 *
 *		8 parts of 10	blocks at random places, with 1, 2, 4 ... in flight
 *		2 parts of 10	large reads in order
 *
 * and what a page of either cache takes is known in a moment.  One calibration
 * runs at a time in a server: it holds a lock on the class of tablespaces as such,
 * on which nothing else has one.  What it is at is told in pg_stat_activity.
 *
 * The row of the result is written last, in the caller's transaction.  However it
 * ends before, nothing has been changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_tablespace.h"
#include "commands/tablespace.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "device/device.h"
#include "device/files.h"
#include "device/measure.h"
#include "device/probe.h"
#include "device/table.h"

PG_FUNCTION_INFO_V1(anago_calibrate);

/* Bounds of time, in seconds. */
#define LEAST_SECONDS		0.1
#define MOST_SECONDS		600.0

/* Parts of it: all depths together, and reads in order. */
#define RANDOM_PART			0.8
#define IN_ORDER_PART		0.2

/* Less data says nothing of a device; a little more, little. */
#define LEAST_BLOCKS		(16 * 1024 * 1024 / BLCKSZ)
#define FEW_BLOCKS			(256 * 1024 * 1024 / BLCKSZ)

/* A read that is faster did not wait for a device. */
#define CACHED_US			25.0

typedef struct Task
{
	char	   *tablespace;
	Oid			oid;
	double		us;				/* for all of it */
	int			max_depth;
} Task;

/* All but its tablespace. */
typedef struct Findings
{
	int			n;
	int			depth[ANAGO_DEVICE_DEPTHS];
	double		per_second[ANAGO_DEVICE_DEPTHS];
	double		latency_us[ANAGO_DEVICE_DEPTHS];
	double		in_order;
	double		kernel_page_us;
	double		buffer_page_us;
} Findings;

/* ---- arguments ---- */

static double
seconds_of(const Interval *interval)
{
	double		seconds = interval->time / (double) USECS_PER_SEC +
		(interval->day + interval->month * (double) DAYS_PER_MONTH) * SECS_PER_DAY;

	if (!(seconds >= LEAST_SECONDS && seconds <= MOST_SECONDS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("duration of a calibration must be between 100 milliseconds and 10 minutes")));
	return seconds;
}

static void
read_arguments(FunctionCallInfo fcinfo, Task *task)
{
	task->oid = PG_ARGISNULL(0) ? MyDatabaseTableSpace :
		get_tablespace_oid(NameStr(*PG_GETARG_NAME(0)), false);
	task->tablespace = get_tablespace_name(task->oid);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("duration and reads in flight of a calibration must not be null")));
	task->us = seconds_of(PG_GETARG_INTERVAL_P(1)) * 1e6;
	task->max_depth = PG_GETARG_INT32(2);
	if (task->max_depth < 1 || task->max_depth > ANAGO_PROBE_MAX_DEPTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("reads in flight of a calibration must be between 1 and %d",
						ANAGO_PROBE_MAX_DEPTH)));
}

static void
check_may_write(void)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot calibrate during recovery"),
				 errdetail("The result could not be kept."),
				 errhint("Calibrate on the primary server; a standby goes by what was found there.")));
	PreventCommandIfReadOnly("anago_calibrate()");
}

/* ---- one at a time ---- */

static void
set_locktag(LOCKTAG *tag)
{
	SET_LOCKTAG_OBJECT(*tag, InvalidOid, TableSpaceRelationId, InvalidOid, 0);
}

static void
be_the_only_one(void)
{
	LOCKTAG		tag;

	set_locktag(&tag);
	if (LockAcquire(&tag, ExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("another calibration is running"),
				 errdetail("Two at a time would measure each other."),
				 errhint("See pg_stat_activity, and try again when it is over.")));
}

static void
let_others(void)
{
	LOCKTAG		tag;

	set_locktag(&tag);
	LockRelease(&tag, ExclusiveLock, false);
}

/* ---- measuring ---- */

/* In pg_stat_activity, in place of the statement. */
static void
tell(const Task *task, int count, const char *what, double fraction)
{
	char		text[256];

	snprintf(text, sizeof(text), "anago_calibrate: tablespace \"%s\", %d %s, %.0f%%",
			 task->tablespace, count, what, fraction * 100);
	pgstat_report_activity(STATE_RUNNING, text);
}

static void
measure_random(const Task *task, const AnagoProbeOps *probe,
			   const AnagoFiles *files, Findings *result)
{
	int			steps = 1;

	while (steps < ANAGO_DEVICE_DEPTHS && 1 << (steps - 1) < task->max_depth)
		steps++;
	for (int i = 0; i < steps; i++)
	{
		int			depth = Min(1 << i, task->max_depth);
		AnagoMeasured measured;

		tell(task, depth, "random reads in flight", RANDOM_PART * i / steps);
		measured = anago_measure_random(probe, files, depth,
										task->us * RANDOM_PART / steps);
		result->depth[i] = depth;
		result->per_second[i] = measured.per_second;
		result->latency_us[i] = measured.latency_us;
		result->n = i + 1;
	}
}

static void
measure(const Task *task, const AnagoProbeOps *probe, const AnagoFiles *files,
		Findings *result)
{
	probe->begin();
	PG_TRY();
	{
		measure_random(task, probe, files, result);
		tell(task, 4, "reads in order in flight", RANDOM_PART);
		result->in_order = anago_measure_in_order(probe, files,
												  task->us * IN_ORDER_PART);
		tell(task, 256, "cached pages", RANDOM_PART + IN_ORDER_PART);
		result->kernel_page_us = probe->kernel_page_us ? probe->kernel_page_us() :
			anago_measure_kernel_page(files);
		result->buffer_page_us = probe->buffer_page_us ? probe->buffer_page_us() :
			anago_measure_buffer_page(files);
	}
	PG_FINALLY();
	{
		probe->end();
		pgstat_report_activity(STATE_RUNNING, debug_query_string);
	}
	PG_END_TRY();
}

static AnagoFiles *
open_files(const Task *task, bool through_cache)
{
	AnagoFiles *files = anago_files_open(task->oid, LEAST_BLOCKS, through_cache);

	if (files->n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("tablespace \"%s\" has too little data of this database to be measured",
						task->tablespace),
				 errdetail("Tables and indexes of %d MB or more are needed.",
						   LEAST_BLOCKS / (1024 * 1024 / BLCKSZ)),
				 errhint("Calibrate in the database whose tables are there, or when there are some.")));
	return files;
}

/* What makes figures doubtful. */
static void
warn(const Task *task, const AnagoProbeOps *probe, const AnagoFiles *files,
	 const Findings *result)
{
	if (probe->kernel_page_us != NULL)
		return;					/* made up */
	if (!files->direct && result->latency_us[0] < CACHED_US)
		ereport(WARNING,
				(errmsg("reads of tablespace \"%s\" seem to have been answered by a cache",
						task->tablespace),
				 errdetail("Its file system has no direct I/O, and a read took %.1f us.",
						   result->latency_us[0])));
	else if (files->blocks < FEW_BLOCKS)
		ereport(NOTICE,
				(errmsg("tablespace \"%s\" has only %llu MB of this database",
						task->tablespace,
						(unsigned long long) files->blocks * BLCKSZ / (1024 * 1024)),
				 errdetail("A cache of the storage may have answered; calibrate again when there is more.")));
}

static Datum
keep(const Task *task, const AnagoProbeOps *probe, const AnagoFiles *files,
	 const Findings *result)
{
	AnagoCalibration calibration = {
		.tablespace = task->tablespace,
		.method = probe->name,
		.direct = files->direct,
		.data_bytes = (int64) files->blocks * BLCKSZ,
		.n = result->n,
		.in_flight = result->depth,
		.per_second = result->per_second,
		.latency_us = result->latency_us,
		.in_order = result->in_order,
		.kernel_page_us = result->kernel_page_us,
		.buffer_page_us = result->buffer_page_us
	};
	Datum		row;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	row = anago_table_add(&calibration);
	SPI_finish();
	return row;
}

Datum
anago_calibrate(PG_FUNCTION_ARGS)
{
	const AnagoProbeOps *probe = anago_probe_pick();
	AnagoFiles *files;
	Task		task;
	Findings		result = {0};
	Datum		row;

	check_may_write();
	anago_table_require();
	read_arguments(fcinfo, &task);
	be_the_only_one();
	files = open_files(&task, probe->through_cache);
	measure(&task, probe, files, &result);
	warn(&task, probe, files, &result);
	row = keep(&task, probe, files, &result);
	anago_files_close(files);
	let_others();
	PG_RETURN_DATUM(row);
}
