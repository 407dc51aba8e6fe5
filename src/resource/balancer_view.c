/*-------------------------------------------------------------------------
 *
 * balancer_view.c
 *	  What the balancer sees and does: SQL function anago_balancer().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "utils/timestamp.h"

#include "guc.h"
#include "resource/budgets.h"
#include "resource/result_row.h"

PG_FUNCTION_INFO_V1(anago_balancer);

static void
add_number(AnagoResultRow *row, double value, bool known)
{
	anago_result_add(row, Float8GetDatum(rint(value * 1000) / 1000), !known || isnan(value));
}

static void
add_limit(AnagoResultRow *row, uint32 limit)
{
	anago_result_add(row, Int32GetDatum((int32) limit), limit == 0);
}

static const char *
state_of(const AnagoBalancerReport *report)
{
	if (report->pid == 0)
		return "no process";
	if (!report->on)
		return anago_balancer_on ? "starts" : "off";
	return anago_htal_state_name(report->state);
}

static void
add_decision(AnagoResultRow *row, const AnagoBalancerReport *report)
{
	char		decision[ANAGO_HTAL_TEXT] = "";
	char		why[ANAGO_HTAL_TEXT] = "";

	if (report->at != 0)
	{
		anago_htal_decision(report->move, decision);
		anago_htal_why(report->state, &report->thresholds, &report->inputs, why);
	}
	anago_result_add(row, Int32GetDatum(report->pid), report->pid == 0);
	anago_result_add_text(row, state_of(report));
	anago_result_add_text(row, decision);
	anago_result_add_text(row, why);
	anago_result_add(row, TimestampTzGetDatum(report->at), report->at == 0);
}

static void
add_class(AnagoResultRow *row, const AnagoBalancerReport *report, AnagoHtalClass class)
{
	bool		known = report->at != 0 && !report->inputs.absent[class];

	add_number(row, report->cores[class], known);
	anago_result_add(row, Int32GetDatum(report->processes[class]), report->at == 0);
	add_number(row, report->inputs.cpu[class], known);
}

Datum
anago_balancer(PG_FUNCTION_ARGS)
{
	AnagoBudgets *b;
	AnagoBalancerReport report;
	TupleDesc	tupdesc;
	AnagoResultRow row = {.n = 0};

	anago_budgets_prepare();
	b = anago_budgets;
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	SpinLockAcquire(&b->balancer_lock);
	report = b->balancer;
	SpinLockRelease(&b->balancer_lock);

	add_decision(&row, &report);
	add_class(&row, &report, ANAGO_HTAL_OLTP);
	add_class(&row, &report, ANAGO_HTAL_OLAP);
	add_class(&row, &report, ANAGO_HTAL_SHIPPING);
	add_number(&row, report.transactions, report.at != 0);
	add_number(&row, report.inputs.waiting, report.at != 0);
	anago_result_add(&row, Int32GetDatum(report.queues), report.at == 0 || report.queues == 0);
	add_number(&row, report.queueing_before, report.at != 0 && report.queues > 0);
	add_number(&row, report.inputs.queue_variance, report.at != 0);
	add_number(&row, report.inputs.freshness, report.at != 0);
	add_number(&row, report.inputs.olap_iowait, report.at != 0);
	add_limit(&row, pg_atomic_read_u32(&b->governors[ANAGO_BALANCER].reads));
	add_limit(&row, pg_atomic_read_u32(&b->governors[ANAGO_BALANCER].processes));
	anago_result_add(&row, Int32GetDatum(report.placed), report.at == 0);
	anago_result_add(&row, Int32GetDatum(report.grouped), report.at == 0);
	PG_RETURN_DATUM(anago_result_make(&row, tupdesc));
}
