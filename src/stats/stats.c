/*-------------------------------------------------------------------------
 *
 * stats.c
 *	  Counters over all queries.  See stats.h.
 *
 * SQL functions: anago_stats() gives one row, anago_stats_reset() sets the
 * counters to zero.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "stats/stats.h"

#ifdef ANAGO_HAVE_DSM_REGISTRY
#include "storage/dsm_registry.h"
#endif

#define STATS_SEGMENT_NAME	"anago_stats"

/* In the order of the columns of anago_stats(). */
typedef enum StatsCounter
{
	STATS_QUERIES,
	STATS_ROWS,
	STATS_TASKS,
	STATS_HITS,
	STATS_READS,
	STATS_SHARED_READS,
	STATS_SYNC_READS,
	STATS_LATENCY_US,
	STATS_FALLBACKS,
	STATS_COUNTERS
} StatsCounter;

/* Then stats_reset and scope. */
#define STATS_COLUMNS	(STATS_COUNTERS + 2)

typedef struct AnagoStats
{
	pg_atomic_uint64 reset;		/* TimestampTz of the latest reset */
	pg_atomic_uint64 counters[STATS_COUNTERS];
} AnagoStats;

/* Where nothing is shared. */
static AnagoStats process_stats;

static AnagoStats *stats = NULL;	/* attached at first use */

PG_FUNCTION_INFO_V1(anago_stats);
PG_FUNCTION_INFO_V1(anago_stats_reset);

static void
stats_clear(AnagoStats *s)
{
	for (int i = 0; i < STATS_COUNTERS; i++)
		pg_atomic_write_u64(&s->counters[i], 0);
	pg_atomic_write_u64(&s->reset, (uint64) GetCurrentTimestamp());
}

static void
stats_create(ANAGO_DSM_INIT_ARGS(ptr))
{
	AnagoStats *s = ptr;

	for (int i = 0; i < STATS_COUNTERS; i++)
		pg_atomic_init_u64(&s->counters[i], 0);
	pg_atomic_init_u64(&s->reset, (uint64) GetCurrentTimestamp());
}

#ifdef ANAGO_HAVE_DSM_REGISTRY

void
anago_stats_init(void)
{
}

static AnagoStats *
stats_attach(void)
{
	bool		found;

	if (!IsUnderPostmaster)
		return NULL;
	return ANAGO_NAMED_DSM(STATS_SEGMENT_NAME, sizeof(AnagoStats), stats_create,
						   &found);
}

#else

static AnagoStats *preloaded_stats = NULL;
static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static void
stats_shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(AnagoStats)));
}

static void
stats_shmem_startup(void)
{
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	preloaded_stats = ShmemInitStruct(STATS_SEGMENT_NAME, sizeof(AnagoStats),
									  &found);
	if (!found)
		stats_create(preloaded_stats);
	LWLockRelease(AddinShmemInitLock);
}

void
anago_stats_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = stats_shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = stats_shmem_startup;
}

static AnagoStats *
stats_attach(void)
{
	return preloaded_stats;
}

#endif							/* ANAGO_HAVE_DSM_REGISTRY */

static AnagoStats *
stats_get(void)
{
	if (stats != NULL)
		return stats;
	stats = stats_attach();
	if (stats == NULL)
	{
		ANAGO_DSM_INIT(stats_create, &process_stats);
		stats = &process_stats;
	}
	return stats;
}

static inline void
stats_count(AnagoStats *s, StatsCounter counter, int64 n)
{
	Assert(n >= 0);
	if (n != 0)
		(void) pg_atomic_fetch_add_u64(&s->counters[counter], n);
}

void
anago_stats_add(const AnagoQueryTotals *totals)
{
	AnagoStats *s = stats_get();

	stats_count(s, STATS_QUERIES, totals->queries);
	stats_count(s, STATS_ROWS, totals->rows);
	stats_count(s, STATS_TASKS, totals->tasks);
	stats_count(s, STATS_HITS, totals->hits);
	stats_count(s, STATS_READS, totals->reads);
	stats_count(s, STATS_SHARED_READS, totals->shared_reads);
	stats_count(s, STATS_SYNC_READS, totals->sync_reads);
	stats_count(s, STATS_LATENCY_US, (int64) totals->latency_sum_us);
	stats_count(s, STATS_FALLBACKS, totals->fallbacks);
}

Datum
anago_stats(PG_FUNCTION_ARGS)
{
	AnagoStats *s = stats_get();
	TupleDesc	tupdesc;
	Datum		values[STATS_COLUMNS];
	bool		nulls[STATS_COLUMNS] = {0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (tupdesc->natts != STATS_COLUMNS)
		elog(ERROR, "incorrect number of output arguments");

	for (int i = 0; i < STATS_COUNTERS; i++)
		values[i] = Int64GetDatum((int64) pg_atomic_read_u64(&s->counters[i]));
	values[STATS_COUNTERS] =
		TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&s->reset));
	values[STATS_COUNTERS + 1] =
		CStringGetTextDatum(s == &process_stats ? "process" : "server");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}

Datum
anago_stats_reset(PG_FUNCTION_ARGS)
{
	stats_clear(stats_get());
	PG_RETURN_VOID();
}
