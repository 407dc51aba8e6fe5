/*-------------------------------------------------------------------------
 *
 * swap_view.c
 *	  Which of two standbys answers: SQL function anago_swap().  The other one reads it, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "resource/result_row.h"
#include "resource/swap_memory.h"

PG_FUNCTION_INFO_V1(anago_swap);

static void
add_state(AnagoResultRow *row, const AnagoSwapReport *report)
{
	bool		on = report->server.state != ANAGO_SWAP_OFF;

	anago_result_add(row, Int32GetDatum(report->pid), report->pid == 0);
	anago_result_add_text(row, report->pid == 0 ? "off" : anago_swap_state_name(report->server.state));
	anago_result_add_text(row, on ? anago_swap_reason_name(report->reason) : "");
	anago_result_add(row, TimestampTzGetDatum(report->since), !on);
	anago_result_add_text(row, on ? anago_swap_wish_name(report->server.wish) : "");
}

static void
add_replay(AnagoResultRow *row, const AnagoSwapReport *report)
{
	const AnagoSwapServer *server = &report->server;
	bool		known = server->state > ANAGO_SWAP_PRIMARY;

	anago_result_add(row, Float8GetDatum(server->freshness), !known || isnan(server->freshness));
	anago_result_add(row, LSNGetDatum(server->replayed), !known);
	anago_result_add(row, LSNGetDatum(server->received), !known);
	anago_result_add(row, BoolGetDatum(report->stands_still), !known);
	anago_result_add(row, Int32GetDatum(report->transactions), !known);
}

static void
add_other(AnagoResultRow *row, const AnagoSwapOther *other)
{
	anago_result_add_text(row, other->at != 0 ? anago_swap_state_name(other->server.state) : "");
	anago_result_add(row, Float8GetDatum(other->server.freshness),
		other->at == 0 || isnan(other->server.freshness));
	anago_result_add(row, TimestampTzGetDatum(other->at), other->at == 0);
	anago_result_add_text(row, other->error);
}

Datum
anago_swap(PG_FUNCTION_ARGS)
{
	AnagoSwapReport report = anago_swap_report();
	AnagoSwapOther other = anago_swap_other();
	TupleDesc	tupdesc;
	AnagoResultRow row = {.n = 0};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	add_state(&row, &report);
	add_replay(&row, &report);
	add_other(&row, &other);
	anago_result_add(&row, Int64GetDatum(report.server.id), report.pid == 0);
	anago_result_add(&row, Int64GetDatum(report.server.term), report.pid == 0);
	anago_result_add(&row, Int64GetDatum((int64) GetSystemIdentifier()), false);
	PG_RETURN_DATUM(anago_result_make(&row, tupdesc));
}
