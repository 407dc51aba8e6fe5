/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  Settings that a query is planned and executed by, and those for tests.
 *
 * Those of the server are in guc_server.c, those of the swap in guc_swap.c.
 *
 * Those that decide between plans, or how fast a plan is, are shown by EXPLAIN
 * (SETTINGS).  Settings for tests (debug_*, sim_*, and the value `sim` of
 * io_method) are for superusers and are left out of sample configuration files.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/plancache.h"

#include "compat.h"
#include "guc.h"
#include "operators.h"

#define ANAGO_MAX_SIM_DELAY	1000
#define ANAGO_MAX_SIM_LATENCY	1000000

bool		anago_ahead = true;
bool		anago_debug_force = false;
int			anago_debug_turn_after = 0;
int			anago_dive_pages = 16;
bool		anago_enable = false;
bool		anago_hash_fallback = true;
double		anago_io_gain = 0.0;
int			anago_io_method = ANAGO_IO_AUTO;
double		anago_least_gain = 0.1;
int			anago_max_inflight_reads = 256;
int			anago_max_rows_ahead = 1024;
int			anago_mode = ANAGO_MODE_OOO;
int			anago_numa = ANAGO_NUMA_AUTO;
char	   *anago_operators = "";
bool		anago_pin_workers = false;
bool		anago_residency = true;
int			anago_sim_delay = 8;
double		anago_sim_device_latency = 100.0;
int			anago_sim_device_parallel = 16;
double		anago_sim_device_sequential = 500.0;
double		anago_sim_fault_rate = 0.0;
double		anago_sim_hint_fault_rate = 0.0;
double		anago_sim_hit_rate = 0.5;
int			anago_sim_latency = 0;
int			anago_sim_seed = 0;

static const struct config_enum_entry read_method_options[] = {
	{"auto", ANAGO_IO_AUTO, false},
	{"uring", ANAGO_IO_URING, false},
	{"pgaio", ANAGO_IO_PGAIO, false},
	{"sync", ANAGO_IO_SYNC, false},
	{"sim", ANAGO_IO_SIM, false},
	{NULL, 0, false}
};

static const struct config_enum_entry mode_options[] = {
	{"ooo", ANAGO_MODE_OOO, false},
	{"serial", ANAGO_MODE_SERIAL, false},
	{"static", ANAGO_MODE_STATIC, false},
	{NULL, 0, false}
};

static const struct config_enum_entry numa_options[] = {
	{"auto", ANAGO_NUMA_AUTO, false},
	{"off", ANAGO_NUMA_OFF, false},
	{NULL, 0, false}
};

/*
 * May whoever sets this use the simulator?  Configuration files and the
 * command line are the superuser's; a worker repeats what its leader was
 * allowed to set.
 */
static bool
may_simulate(GucSource source)
{
	return source <= PGC_S_GLOBAL || InitializingParallelWorker ||
		(IsTransactionState() && superuser());
}

static bool
check_io_method(int *newval, void **extra, GucSource source)
{
#ifndef ANAGO_HAVE_AIO
	if (*newval == ANAGO_IO_PGAIO)
	{
		GUC_check_errdetail("I/O method \"pgaio\" needs PostgreSQL 18 or later.");
		return false;
	}
#endif
#ifndef HAVE_LIBURING
	if (*newval == ANAGO_IO_URING)
	{
		GUC_check_errdetail("This build of anago does not have liburing.");
		return false;
	}
#endif
	if (*newval == ANAGO_IO_SIM && !may_simulate(source))
	{
		GUC_check_errdetail("Only superusers may use I/O method \"sim\".");
		return false;
	}
	return true;
}

static bool
check_io_gain(double *newval, void **extra, GucSource source)
{
	if (*newval > 0 && *newval < 1)
	{
		GUC_check_errdetail("It is 0, or 1 or more.");
		return false;
	}
	return true;
}

/*
 * What decides between plans takes effect at once: also prepared statements
 * and functions plan anew.  The cached plans are only marked, which may be done
 * at any time, at the end of an aborted transaction as well.  A plan that runs
 * goes on.  The variable still has its old value here.
 */
static void
plan_setting_changed(bool changed)
{
	if (changed)
		ResetPlanCache();
}

#define DEFINE_ASSIGN(name, type) \
	static void \
	assign_##name(type newval, void *extra) \
	{ \
		plan_setting_changed(newval != anago_##name); \
	}

DEFINE_ASSIGN(ahead, bool)
DEFINE_ASSIGN(debug_force, bool)
DEFINE_ASSIGN(dive_pages, int)
DEFINE_ASSIGN(enable, bool)
DEFINE_ASSIGN(io_gain, double)
DEFINE_ASSIGN(io_method, int)
DEFINE_ASSIGN(least_gain, double)
DEFINE_ASSIGN(max_inflight_reads, int)
DEFINE_ASSIGN(mode, int)
DEFINE_ASSIGN(residency, bool)

static void
assign_operators(const char *newval, void *extra)
{
	anago_operators_assigned();
	plan_setting_changed(anago_operators == NULL ||
						 strcmp(newval, anago_operators) != 0);
}

/* What the planner goes by. */
static void
define_plan_settings(void)
{
	DefineCustomBoolVariable("anago.ahead",
							 "Has plans of PostgreSQL's own read ahead of the rows that lead to other pages.",
							 NULL,
							 &anago_ahead, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, assign_ahead, NULL);

	DefineCustomIntVariable("anago.dive_pages",
							"Sets how many leaves of an index planning may sample.",
							"They say how many entries a probe finds. Zero leaves that to statistics.",
							&anago_dive_pages, 16, 0, ANAGO_MAX_DIVE_PAGES,
							PGC_USERSET, GUC_EXPLAIN, NULL, assign_dive_pages, NULL);

	DefineCustomBoolVariable("anago.enable",
							 "Lets the planner choose out-of-order execution for selective queries.",
							 NULL,
							 &anago_enable, false,
							 PGC_USERSET, GUC_EXPLAIN, NULL, assign_enable, NULL);

	DefineCustomRealVariable("anago.io_gain",
							 "Sets how many random page reads the planner takes to overlap.",
							 "The cost of waiting for random pages is divided by this number. Zero goes by what is known of the device.",
							 &anago_io_gain, 0.0, 0.0, 1000.0,
							 PGC_USERSET, GUC_EXPLAIN, check_io_gain, assign_io_gain, NULL);

	DefineCustomRealVariable("anago.least_gain",
							 "Sets by which part of the cost, from 0 to 1, a plan with anago must be cheaper than one without.",
							 "Plans of three tables and more, with a nested loop of PostgreSQL above a node of anago, that do not cost little are compared. Zero compares none.",
							 &anago_least_gain, 0.1, 0.0, 1.0,
							 PGC_USERSET, GUC_EXPLAIN, NULL, assign_least_gain, NULL);

	DefineCustomBoolVariable("anago.residency",
							 "Has planning look up how much of a table and index is cached.",
							 "Nothing is gained by waiting for pages that are cached.",
							 &anago_residency, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, assign_residency, NULL);
}

/* How a query is executed. */
static void
define_run_settings(void)
{
	DefineCustomBoolVariable("anago.hash_fallback",
							 "Lets a join by index turn into a hash join while it runs.",
							 "Where many more rows come than were expected.",
							 &anago_hash_fallback, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomEnumVariable("anago.io_method",
							 "Selects the way in which pages are read ahead of their use.",
							 NULL,
							 &anago_io_method, ANAGO_IO_AUTO, read_method_options,
							 PGC_USERSET, GUC_EXPLAIN, check_io_method, assign_io_method, NULL);

	DefineCustomIntVariable("anago.max_inflight_reads",
							"Sets how many page reads one query may have on their way at once.",
							NULL,
							&anago_max_inflight_reads, 256, 1, ANAGO_MAX_INFLIGHT,
							PGC_USERSET, GUC_EXPLAIN, NULL, assign_max_inflight_reads, NULL);

	DefineCustomIntVariable("anago.max_rows_ahead",
							"Sets how many rows are held back while what they lead to is read.",
							"Of one plan node; they also take no more than half of work_mem.",
							&anago_max_rows_ahead, 1024, 1, ANAGO_MAX_ROWS_AHEAD,
							PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomEnumVariable("anago.mode",
							 "Selects out-of-order execution, or one task at a time with synchronous reads.",
							 "With \"static\", the processes of a parallel query have equal parts of the source, which each runs like \"serial\".",
							 &anago_mode, ANAGO_MODE_OOO, mode_options,
							 PGC_USERSET, GUC_EXPLAIN, NULL, assign_mode, NULL);

	DefineCustomEnumVariable("anago.numa",
							 "Selects whether parallel workers are spread over memory nodes.",
							 "Each of them then runs on the CPUs of one node and prefers the memory of that node.",
							 &anago_numa, ANAGO_NUMA_AUTO, numa_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	DefineCustomStringVariable("anago.operators",
							   "Selects implementations of what queries are executed with.",
							   "A list of role=implementation; roles that are not in it have anago's own.",
							   &anago_operators, "",
							   PGC_USERSET, GUC_EXPLAIN | GUC_LIST_INPUT,
							   anago_operators_check, assign_operators, NULL);

	DefineCustomBoolVariable("anago.pin_workers",
							 "Keeps each parallel worker on one CPU.",
							 NULL,
							 &anago_pin_workers, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

/* Settings for tests. */
static void
define_test_settings(void)
{
	DefineCustomBoolVariable("anago.debug_force",
							 "Makes every plan that anago can execute win.",
							 NULL,
							 &anago_debug_force, false,
							 PGC_SUSET, GUC_EXPLAIN | GUC_NOT_IN_SAMPLE, NULL, assign_debug_force, NULL);

	DefineCustomIntVariable("anago.debug_turn_after",
							"Has every join by index turn into a hash join after so many rows.",
							"Zero means when that pays.",
							&anago_debug_turn_after, 0, 0, PG_INT32_MAX,
							PGC_SUSET, GUC_EXPLAIN | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomIntVariable("anago.sim_delay",
							"Sets for how many polls at most a simulated read is on its way.",
							NULL,
							&anago_sim_delay, 8, 0, ANAGO_MAX_SIM_DELAY,
							PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomRealVariable("anago.sim_device_latency",
							 "Sets what a read of the device takes that a calibration simulates, in microseconds.",
							 NULL,
							 &anago_sim_device_latency, 100.0, 1.0, 1e7,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomIntVariable("anago.sim_device_parallel",
							"Sets how many reads that device serves at a time.",
							NULL,
							&anago_sim_device_parallel, 16, 1, ANAGO_MAX_SIM_PARALLEL,
							PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomRealVariable("anago.sim_device_sequential",
							 "Sets how many megabytes in order that device reads in a second.",
							 NULL,
							 &anago_sim_device_sequential, 500.0, 1.0, 1e6,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomRealVariable("anago.sim_fault_rate",
							 "Sets the fraction of simulated reads that fail with an error.",
							 NULL,
							 &anago_sim_fault_rate, 0.0, 0.0, 1.0,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomRealVariable("anago.sim_hint_fault_rate",
							 "Sets the fraction of simulated reads that are lost or short, which costs time only.",
							 NULL,
							 &anago_sim_hint_fault_rate, 0.0, 0.0, 1.0,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomRealVariable("anago.sim_hit_rate",
							 "Sets the fraction of blocks in shared buffers that the simulator does not make wait.",
							 NULL,
							 &anago_sim_hit_rate, 0.5, 0.0, 1.0,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomIntVariable("anago.sim_latency",
							"Sets what a simulated read takes at least, in microseconds.",
							NULL,
							&anago_sim_latency, 0, 0, ANAGO_MAX_SIM_LATENCY,
							PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomIntVariable("anago.sim_seed",
							"Sets the seed of the simulator's random choices.",
							NULL,
							&anago_sim_seed, 0, 0, PG_INT32_MAX,
							PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

void
anago_guc_init(void)
{
	define_plan_settings();
	define_run_settings();
	anago_guc_server();
	anago_guc_swap();
	define_test_settings();
	MarkGUCPrefixReserved("anago");
}
