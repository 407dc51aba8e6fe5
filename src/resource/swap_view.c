/*-------------------------------------------------------------------------
 *
 * swap_view.c
 *	  Which of two standbys answers: SQL function anago_swap().  The other one reads it, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "resource/swap_memory.h"

PG_FUNCTION_INFO_V1(anago_swap);

#define COLUMNS		17

/* A row as it grows. */
typedef struct Row
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
	int			n;
} Row;

static void
add(Row *row, Datum value, bool isnull)
{
	Assert(row->n < COLUMNS);
	row->nulls[row->n] = isnull;
	row->values[row->n++] = isnull ? (Datum) 0 : value;
}

static void
add_text(Row *row, const char *text)
{
	add(row, CStringGetTextDatum(text), text[0] == '\0');
}

static void
add_state(Row *row, const AnagoSwapReport *report)
{
	bool		on = report->server.state != ANAGO_SWAP_OFF;

	add(row, Int32GetDatum(report->pid), report->pid == 0);
	add_text(row, report->pid == 0 ? "off" : anago_swap_state_name(report->server.state));
	add_text(row, on ? anago_swap_reason_name(report->reason) : "");
	add(row, TimestampTzGetDatum(report->since), !on);
	add_text(row, on ? anago_swap_wish_name(report->server.wish) : "");
}

static void
add_replay(Row *row, const AnagoSwapReport *report)
{
	const AnagoSwapServer *server = &report->server;
	bool		known = server->state > ANAGO_SWAP_PRIMARY;

	add(row, Float8GetDatum(server->freshness), !known || isnan(server->freshness));
	add(row, LSNGetDatum(server->replayed), !known);
	add(row, LSNGetDatum(server->received), !known);
	add(row, BoolGetDatum(report->stands_still), !known);
	add(row, Int32GetDatum(report->transactions), !known);
}

static void
add_other(Row *row, const AnagoSwapOther *other)
{
	add_text(row, other->at != 0 ? anago_swap_state_name(other->server.state) : "");
	add(row, Float8GetDatum(other->server.freshness),
		other->at == 0 || isnan(other->server.freshness));
	add(row, TimestampTzGetDatum(other->at), other->at == 0);
	add_text(row, other->error);
}

Datum
anago_swap(PG_FUNCTION_ARGS)
{
	AnagoSwapReport report = anago_swap_report();
	AnagoSwapOther other = anago_swap_other();
	TupleDesc	tupdesc;
	Row			row = {.n = 0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	add_state(&row, &report);
	add_replay(&row, &report);
	add_other(&row, &other);
	add(&row, Int64GetDatum(report.server.id), report.pid == 0);
	add(&row, Int64GetDatum(report.server.term), report.pid == 0);
	add(&row, Int64GetDatum((int64) GetSystemIdentifier()), false);
	Assert(row.n == tupdesc->natts);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, row.values, row.nulls)));
}
