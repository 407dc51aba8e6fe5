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
#include "port/atomics.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "layout.h"
#include "shared/server.h"
#include "stats/stats.h"

/* Versions of the library with other counters have others. */
#define STATS_SEGMENT_NAME	"anago_stats_" CppAsString2(ANAGO_LAYOUT_VERSION)

typedef struct AnagoStats
{
	uint32		layout;			/* ANAGO_LAYOUT */
	pg_atomic_uint64 reset;		/* TimestampTz of the latest reset */
	pg_atomic_uint64 said[ANAGO_STATS_SAYINGS];	/* keys, see anago_stats_first */
	pg_atomic_uint64 counters[ANAGO_NCOUNTS];	/* as anago_counts[]; only those
												 * that have a column */
} AnagoStats;

/* Where nothing is shared, or not yet. */
static AnagoStats process_stats;

static AnagoStats *stats = &process_stats;

PG_FUNCTION_INFO_V1(anago_stats);
PG_FUNCTION_INFO_V1(anago_stats_reset);

static void
stats_clear(AnagoStats *s)
{
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
		pg_atomic_write_u64(&s->counters[i], 0);
	pg_atomic_write_u64(&s->reset, (uint64) GetCurrentTimestamp());
}

static void
stats_create(ANAGO_DSM_INIT_ARGS(ptr))
{
	AnagoStats *s = ptr;

	s->layout = ANAGO_LAYOUT;
	for (int i = 0; i < ANAGO_STATS_SAYINGS; i++)
		pg_atomic_init_u64(&s->said[i], 0);
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
		pg_atomic_init_u64(&s->counters[i], 0);
	pg_atomic_init_u64(&s->reset, (uint64) GetCurrentTimestamp());
}

static Size
stats_size(void)
{
	return sizeof(AnagoStats);
}

static AnagoServerPiece piece = {
	.name = STATS_SEGMENT_NAME,
	.what = "counters",
	.size = stats_size,
	.create = stats_create,
};

void
anago_stats_init(void)
{
	ANAGO_DSM_INIT(stats_create, &process_stats);
	anago_server_piece(&piece);
}

/* ---- from the process's counters to the server's ---- */

/* What was counted meanwhile goes with it. */
static void
move_counters(AnagoStats *from, AnagoStats *to)
{
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
		pg_atomic_fetch_add_u64(&to->counters[i],
								pg_atomic_exchange_u64(&from->counters[i], 0));
}

void
anago_stats_prepare(void)
{
	AnagoStats *attached;

	if (stats != &process_stats)
		return;
	attached = anago_server_attach(&piece);
	if (attached == NULL)
		return;
	move_counters(&process_stats, attached);
	stats = attached;
}

/* ---- counting ---- */

void
anago_stats_add(const AnagoCounts *counts)
{
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
	{
		int64		n = anago_count_of(&anago_counts[i], counts);

		Assert(n >= 0);
		if (n != 0 && anago_counts[i].column != NULL)
			(void) pg_atomic_fetch_add_u64(&stats->counters[i], n);
	}
}

bool
anago_stats_first(int what, uint64 key)
{
	Assert(what >= 0 && what < ANAGO_STATS_SAYINGS);
	return pg_atomic_exchange_u64(&stats->said[what], key) != key;
}

static int64
counted(Size offset)
{
	return (int64) pg_atomic_read_u64(&stats->counters[offset / sizeof(int64)]);
}

void
anago_stats_seen(AnagoReadsSeen *seen)
{
	seen->alone = counted(offsetof(AnagoCounts, alone_reads));
	seen->alone_us = counted(offsetof(AnagoCounts, alone_us));
	seen->together = counted(offsetof(AnagoCounts, together_reads));
	seen->together_us = counted(offsetof(AnagoCounts, together_us));
	seen->in_flight = counted(offsetof(AnagoCounts, together_inflight));
}

/* The value of a column, by its name. */
static Datum
column_value(AnagoStats *s, const char *name)
{
	if (strcmp(name, "stats_reset") == 0)
		return TimestampTzGetDatum((TimestampTz) pg_atomic_read_u64(&s->reset));
	if (strcmp(name, "scope") == 0)
		return CStringGetTextDatum(s == &process_stats ? "process" : "server");
	for (int i = 0; i < ANAGO_NCOUNTS; i++)
		if (anago_counts[i].column != NULL && strcmp(name, anago_counts[i].column) == 0)
			return Int64GetDatum((int64) pg_atomic_read_u64(&s->counters[i]));
	elog(ERROR, "anago counts no \"%s\"", name);
}

Datum
anago_stats(PG_FUNCTION_ARGS)
{
	TupleDesc	tupdesc;
	Datum	   *values;
	bool	   *nulls;

	anago_stats_prepare();
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values = palloc(sizeof(Datum) * tupdesc->natts);
	nulls = palloc0(sizeof(bool) * tupdesc->natts);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, i);

		values[i] = column_value(stats, NameStr(attribute->attname));
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}

Datum
anago_stats_reset(PG_FUNCTION_ARGS)
{
	anago_stats_prepare();
	stats_clear(stats);
	PG_RETURN_VOID();
}
