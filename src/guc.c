/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  Every setting of anago, alphabetical; those of the swap are in guc_swap.c.
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
#include "resource/actuators.h"
#include "resource/budgets.h"
#include "resource/groups.h"
#include "resource/members.h"

#define ANAGO_MAX_SIM_DELAY	1000
#define ANAGO_MAX_SIM_LATENCY	1000000

bool		anago_ahead = true;
char	   *anago_balancer_actuators = "budgets";
char	   *anago_balancer_cgroup = "";
char	   *anago_balancer_database = "postgres";
double		anago_balancer_freshness = 0.85;
double		anago_balancer_olap_cpu = 0.8;
double		anago_balancer_olap_iowait = 0.1;
char	   *anago_balancer_oltp = "";
double		anago_balancer_oltp_waiting = 2.0;
bool		anago_balancer_on = false;
int			anago_balancer_period = 1000;
double		anago_balancer_queue_variance = 8.0;
char	   *anago_balancer_queues = "";
bool		anago_debug_force = false;
int			anago_debug_turn_after = 0;
int			anago_dive_pages = 16;
bool		anago_enable = false;
bool		anago_guard_on = false;
bool		anago_hash_fallback = true;
double		anago_io_gain = 0.0;
int			anago_io_method = ANAGO_IO_AUTO;
double		anago_least_gain = 0.1;
int			anago_max_inflight_reads = 256;
int			anago_max_rows_ahead = 1024;
int			anago_mode = ANAGO_MODE_OOO;
int			anago_numa = ANAGO_NUMA_AUTO;
double		anago_oltp_slowdown = 1.2;
char	   *anago_operators = "";
bool		anago_pin_workers = false;
bool		anago_residency = true;
char	   *anago_group_inflight_reads;
char	   *anago_group_mb_per_s;
char	   *anago_group_reads_per_s;
int			anago_server_inflight_reads = 0;
int			anago_server_mb_per_s = 0;
int			anago_server_processes = 0;
int			anago_server_reads_per_s = 0;
int			anago_share = ANAGO_DEFAULT_SHARE;
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

static void
assign_ahead(bool newval, void *extra)
{
	plan_setting_changed(newval != anago_ahead);
}

static void
assign_debug_force(bool newval, void *extra)
{
	plan_setting_changed(newval != anago_debug_force);
}

static void
assign_dive_pages(int newval, void *extra)
{
	plan_setting_changed(newval != anago_dive_pages);
}

static void
assign_residency(bool newval, void *extra)
{
	plan_setting_changed(newval != anago_residency);
}

static void
assign_enable(bool newval, void *extra)
{
	plan_setting_changed(newval != anago_enable);
}

static void
assign_io_gain(double newval, void *extra)
{
	plan_setting_changed(newval != anago_io_gain);
}

static void
assign_io_method(int newval, void *extra)
{
	plan_setting_changed(newval != anago_io_method);
}

static void
assign_least_gain(double newval, void *extra)
{
	plan_setting_changed(newval != anago_least_gain);
}

static void
assign_max_inflight_reads(int newval, void *extra)
{
	plan_setting_changed(newval != anago_max_inflight_reads);
}

static void
assign_mode(int newval, void *extra)
{
	plan_setting_changed(newval != anago_mode);
}

static void
assign_operators(const char *newval, void *extra)
{
	anago_operators_assigned();
	plan_setting_changed(anago_operators == NULL ||
						 strcmp(newval, anago_operators) != 0);
}

/* These take effect on queries that run. */
static void
assign_server_inflight_reads(int newval, void *extra)
{
	anago_budgets_assigned(ANAGO_LIMIT_INFLIGHT, newval);
}

static void
assign_server_mb_per_s(int newval, void *extra)
{
	anago_budgets_assigned(ANAGO_LIMIT_MB_PER_S, newval);
}

static void
assign_server_processes(int newval, void *extra)
{
	anago_budgets_assigned(ANAGO_LIMIT_PROCESSES, newval);
}

static void
assign_server_reads_per_s(int newval, void *extra)
{
	anago_budgets_assigned(ANAGO_LIMIT_READS_PER_S, newval);
}

/* Settings for everybody. */
static void
define_user_settings(void)
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

	DefineCustomBoolVariable("anago.hash_fallback",
							 "Lets a join by index turn into a hash join while it runs.",
							 "Where many more rows come than were expected.",
							 &anago_hash_fallback, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomRealVariable("anago.io_gain",
							 "Sets how many random page reads the planner takes to overlap.",
							 "The cost of waiting for random pages is divided by this number. Zero goes by what is known of the device.",
							 &anago_io_gain, 0.0, 0.0, 1000.0,
							 PGC_USERSET, GUC_EXPLAIN, check_io_gain, assign_io_gain, NULL);

	DefineCustomEnumVariable("anago.io_method",
							 "Selects the way in which pages are read ahead of their use.",
							 NULL,
							 &anago_io_method, ANAGO_IO_AUTO, read_method_options,
							 PGC_USERSET, GUC_EXPLAIN, check_io_method, assign_io_method, NULL);

	DefineCustomRealVariable("anago.least_gain",
							 "Sets by which part of the cost, from 0 to 1, a plan with anago must be cheaper than one without.",
							 "Plans of three tables and more, with a nested loop of PostgreSQL above a node of anago, that do not cost little are compared. Zero compares none.",
							 &anago_least_gain, 0.1, 0.0, 1.0,
							 PGC_USERSET, GUC_EXPLAIN, NULL, assign_least_gain, NULL);

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

	DefineCustomBoolVariable("anago.residency",
							 "Has planning look up how much of a table and index is cached.",
							 "Nothing is gained by waiting for pages that are cached.",
							 &anago_residency, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, assign_residency, NULL);
}

/* Settings for whoever has to see to it that there is enough for all. */
static void
define_server_settings(void)
{
	DefineCustomStringVariable("anago.group_inflight_reads",
							   "Sets how many page reads all queries of a role, or in a database, may have on their way at once.",
							   "A list of role:name=reads and database:name=reads.",
							   &anago_group_inflight_reads, "",
							   PGC_SIGHUP, GUC_LIST_INPUT,
							   anago_group_inflight_reads_check,
							   anago_group_inflight_reads_assign, NULL);

	DefineCustomStringVariable("anago.group_mb_per_s",
							   "Sets how many megabytes all queries of a role, or in a database, may read per second.",
							   "A list of role:name=MB and database:name=MB; a megabyte is a million bytes.",
							   &anago_group_mb_per_s, "",
							   PGC_SIGHUP, GUC_LIST_INPUT,
							   anago_group_mb_per_s_check, anago_group_mb_per_s_assign, NULL);

	DefineCustomStringVariable("anago.group_reads_per_s",
							   "Sets how many pages all queries of a role, or in a database, may read per second.",
							   "A list of role:name=reads and database:name=reads.",
							   &anago_group_reads_per_s, "",
							   PGC_SIGHUP, GUC_LIST_INPUT,
							   anago_group_reads_per_s_check,
							   anago_group_reads_per_s_assign, NULL);

	DefineCustomBoolVariable("anago.guard",
							 "Holds queries back where transactions of other sessions become slower.",
							 "Needs anago in shared_preload_libraries.",
							 &anago_guard_on, false,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomRealVariable("anago.oltp_slowdown",
							 "Sets by what factor transactions may be slower than without queries of anago.",
							 "The guard moves the server's budget of reads so that they are not slower than that.",
							 &anago_oltp_slowdown, 1.2, 1.01, 100.0,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("anago.server_inflight_reads",
							"Sets how many page reads all queries of the server may have on their way at once.",
							"Those that anago issues. Zero means no limit.",
							&anago_server_inflight_reads, 0, 0, ANAGO_MAX_SERVER_INFLIGHT,
							PGC_SIGHUP, 0, NULL, assign_server_inflight_reads, NULL);

	DefineCustomIntVariable("anago.server_mb_per_s",
							"Sets how many megabytes all queries of the server may read per second.",
							"Those that anago reads; a megabyte is a million bytes. Zero means no limit.",
							&anago_server_mb_per_s, 0, 0, ANAGO_MAX_SERVER_MB,
							PGC_SIGHUP, 0, NULL, assign_server_mb_per_s, NULL);

	DefineCustomIntVariable("anago.server_processes",
							"Sets how many processes of all queries of the server may be at work at once.",
							"Workers of parallel queries of anago beyond that are parked until there is a place; each query has one process at least. Zero means no limit.",
							&anago_server_processes, 0, 0, ANAGO_MAX_SERVER_PROCESSES,
							PGC_SIGHUP, 0, NULL, assign_server_processes, NULL);

	DefineCustomIntVariable("anago.server_reads_per_s",
							"Sets how many pages all queries of the server may read per second.",
							"Those that anago reads. Zero means no limit.",
							&anago_server_reads_per_s, 0, 0, ANAGO_MAX_SERVER_RATE,
							PGC_SIGHUP, 0, NULL, assign_server_reads_per_s, NULL);

	DefineCustomIntVariable("anago.share",
							"Sets the weight of a query where reads of the server are limited.",
							"A query with twice the share may have twice as many reads on their way.",
							&anago_share, ANAGO_DEFAULT_SHARE, 1, ANAGO_MAX_SHARE,
							PGC_SUSET, 0, NULL, NULL, NULL);
}

/* A threshold of HTAL: the published one, within bounds. */
static void
define_threshold(const char *name, const char *what, double *variable,
				 double published, double least, double most)
{
	DefineCustomRealVariable(name, what, NULL, variable, published, least, most,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
}

#define DEFINE_THRESHOLD(name, what, variable, field) \
	define_threshold(name, what, variable, anago_htal_default.field, \
					 anago_htal_least.field, anago_htal_most.field)

static void
define_thresholds(void)
{
	DEFINE_THRESHOLD("anago.balancer_freshness",
					 "Sets the part of the changes, from 0 to 1, at which log shipping is favoured when no more is applied.",
					 &anago_balancer_freshness, freshness);
	DEFINE_THRESHOLD("anago.balancer_queue_variance",
					 "Sets the variance of the lengths of queues before the server at which transactions get one more core.",
					 &anago_balancer_queue_variance, queue_variance);
	DEFINE_THRESHOLD("anago.balancer_olap_cpu",
					 "Sets how busy the cores of queries are, from 0 to 1, when there is to be one more.",
					 &anago_balancer_olap_cpu, olap_cpu);
	DEFINE_THRESHOLD("anago.balancer_olap_iowait",
					 "Sets for what part of the time, from 0 to 1, they may wait for storage then.",
					 &anago_balancer_olap_iowait, olap_iowait);
	DEFINE_THRESHOLD("anago.balancer_oltp_waiting",
					 "Sets how many transactions wait for each of their cores when transactions are favoured.",
					 &anago_balancer_oltp_waiting, waiting);
}

/* Settings of the balancer. */
static void
define_balancer_settings(void)
{
	DefineCustomBoolVariable("anago.balancer",
							 "Divides the cores of the server among transactions, log shipping and queries by what waits.",
							 "Needs anago in shared_preload_libraries.",
							 &anago_balancer_on, false,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomStringVariable("anago.balancer_actuators",
							   "Selects what the balancer does: \"budgets\" of queries, \"affinity\" and \"cgroup\" of processes.",
							   NULL,
							   &anago_balancer_actuators, "budgets",
							   PGC_SIGHUP, GUC_LIST_INPUT, anago_actuators_check, NULL, NULL);

	DefineCustomStringVariable("anago.balancer_cgroup",
							   "Sets the directory in which the balancer has a control group for each class of work.",
							   "Of version 2, delegated to the server's account.",
							   &anago_balancer_cgroup, "",
							   PGC_SIGHUP, 0, anago_cgroup_check, NULL, NULL);

	DefineCustomStringVariable("anago.balancer_database",
							   "Sets the database in which the balancer asks for the queues before the server.",
							   NULL,
							   &anago_balancer_database, "postgres",
							   PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomStringVariable("anago.balancer_oltp",
							   "Names the sessions that run transactions: role:NAME, application_name:NAME.",
							   "Where it is empty, all that run no query of anago's.",
							   &anago_balancer_oltp, "",
							   PGC_SIGHUP, GUC_LIST_INPUT, anago_members_check, NULL, NULL);

	DefineCustomIntVariable("anago.balancer_period",
							"Sets the time between two decisions of the balancer.",
							NULL,
							&anago_balancer_period, 1000, ANAGO_MIN_PERIOD, ANAGO_MAX_PERIOD,
							PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);

	DefineCustomStringVariable("anago.balancer_queues",
							   "Sets the query that tells how many transactions wait before the server.",
							   "Each row is a queue, its first column the length. Where it is empty, nobody is asked.",
							   &anago_balancer_queues, "",
							   PGC_SIGHUP, GUC_SUPERUSER_ONLY, NULL, NULL, NULL);

	define_thresholds();
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
	define_user_settings();
	define_server_settings();
	define_balancer_settings();
	anago_guc_swap();
	define_test_settings();
	MarkGUCPrefixReserved("anago");
}
