/*-------------------------------------------------------------------------
 *
 * guc_server.c
 *	  Settings of the server: limits, the guard, the balancer.
 *
 * They are for whoever has to see to it that there is enough for all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "guc.h"
#include "resource/actuators.h"
#include "resource/budgets.h"
#include "resource/groups.h"
#include "resource/members.h"

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
char	   *anago_group_inflight_reads;
char	   *anago_group_mb_per_s;
char	   *anago_group_reads_per_s;
bool		anago_guard_on = false;
double		anago_oltp_slowdown = 1.2;
int			anago_server_inflight_reads = 0;
int			anago_server_mb_per_s = 0;
int			anago_server_processes = 0;
int			anago_server_reads_per_s = 0;
int			anago_share = ANAGO_DEFAULT_SHARE;

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

static void
define_limits(void)
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

static void
define_balancer(void)
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

void
anago_guc_server(void)
{
	define_limits();
	define_balancer();
}
