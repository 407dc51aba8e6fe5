/*-------------------------------------------------------------------------
 *
 * device.c
 *	  How fast a tablespace's storage is.  See device.h.
 *
 * Calibrations are read once in a session, when something is planned, and again
 * after the table has changed; then plans that are kept are made anew.  The latest
 * usable row of each tablespace counts.  A row is usable if its figures are
 * numbers greater than 0, and depths ascend from 1; each figure is then brought
 * within bounds, so that however wrong it is it moves a price no further than
 * the fastest or slowest storage would.
 *
 * Queries see what reads really take.  Two in a row that contradict a calibration
 * by a factor of ten have it ignored in this session, until there is another one.
 *
 * Without a calibration the server's counters tell how many reads overlap: those
 * that were alone say what one takes, and others what many take.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_tablespace.h"
#include "commands/tablespace.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/plancache.h"
#include "utils/timestamp.h"

#include "device/device.h"
#include "device/table.h"
#include "guc.h"
#include "stats/stats.h"

PG_FUNCTION_INFO_V1(anago_device);

/* Bounds of what is believed. */
#define LEAST_PER_SECOND	1.0
#define MOST_PER_SECOND		1e7
#define MOST_GAIN			100.0
#define LEAST_IN_ORDER		1.0	/* MB/s */
#define MOST_IN_ORDER		1e5
#define LEAST_PAGE_US		0.01
#define MOST_PAGE_US		100.0

/* Tablespaces that a session has figures of. */
#define MAX_TABLESPACES		64

/* How long a table that is missing is not looked for again. */
#define MISSING_MS			1000

/* Queries in a row, and reads of each, that contradict a calibration; by what. */
#define CONTRADICTIONS		2
#define CONTRADICTION_READS	500
#define CONTRADICTION		10.0

/* Reads that the server must have seen, alone and together with others. */
#define SEEN_ALONE			1000
#define SEEN_TOGETHER		10000

/* What the server has seen may not promise more than this. */
#define MOST_SEEN_GAIN		10.0

typedef struct Tablespace
{
	Oid			oid;
	AnagoDevice device;
	int			contradicted;	/* queries in a row */
} Tablespace;

static struct
{
	bool		known;			/* the rest is as the table has it */
	bool		usable;			/* the table was there */
	TimestampTz looked;			/* when it was found missing */
	Oid			relid;
	int			n;
	Tablespace	spaces[MAX_TABLESPACES];
}			calibrated;

/* ---- messages, each of them once in the server ---- */

typedef enum Complaint
{
	TABLE_MISSING = 1,
	TABLE_CHANGED,
	ROW_UNUSABLE,
	CONTRADICTED
} Complaint;

/* `which` tells apart what may be said once each. */
static bool
first_to_say(Complaint complaint, uint64 which)
{
	uint64		key = (which << 3) ^ ((uint64) MyDatabaseId << 32) ^ complaint;

	return anago_stats_first(complaint, key);
}

static void
say_not_usable(AnagoTableState state)
{
	bool		missing = state == ANAGO_TABLE_MISSING;

	if (!first_to_say(missing ? TABLE_MISSING : TABLE_CHANGED, 0))
		return;
	ereport(LOG,
			(missing ? errmsg("anago's table \"anago_calibration\" is missing; calibrations are ignored") :
			 errmsg("anago's table \"anago_calibration\" lacks columns; calibrations are ignored"),
			 errhint("Drop the extension and create it again to have it as it was.")));
}

static void
say_unusable_row(const AnagoTableRow *row)
{
	if (!first_to_say(ROW_UNUSABLE, (uint64) row->taken_at))
		return;
	ereport(LOG,
			(errmsg("a calibration of tablespace \"%s\" is ignored, as its figures cannot be",
					row->tablespace),
			 errdetail("It was taken at %s.", timestamptz_to_str(row->taken_at)),
			 errhint("Delete it from \"anago_calibration\", or run anago_calibrate() again.")));
}

/* ---- from rows to figures ---- */

static double
within(double value, double least, double most)
{
	return Max(least, Min(value, most));
}

static bool
is_number(double value)
{
	return !isnan(value) && !isinf(value) && value > 0;
}

/* False: not usable. */
static bool
device_of_row(const AnagoTableRow *row, AnagoDevice *device)
{
	if (row->n < 1 || row->n > ANAGO_DEVICE_DEPTHS || row->in_flight[0] != 1 ||
		!is_number(row->in_order) || !is_number(row->kernel_page_us) ||
		!is_number(row->buffer_page_us))
		return false;
	memset(device, 0, sizeof(*device));
	for (int i = 0; i < row->n; i++)
	{
		if (!is_number(row->per_second[i]) ||
			(i > 0 && row->in_flight[i] <= row->in_flight[i - 1]))
			return false;
		device->depth[i] = row->in_flight[i];
		device->per_second[i] = within(row->per_second[i], LEAST_PER_SECOND, MOST_PER_SECOND);
	}
	device->n = row->n;
	device->measured = true;
	device->taken_at = row->taken_at;
	device->in_order_us = BLCKSZ / within(row->in_order, LEAST_IN_ORDER, MOST_IN_ORDER);
	device->kernel_page_us = within(row->kernel_page_us, LEAST_PAGE_US, MOST_PAGE_US);
	device->buffer_page_us = within(row->buffer_page_us, LEAST_PAGE_US, MOST_PAGE_US);
	return true;
}

static Tablespace *
find_space(Oid oid)
{
	for (int i = 0; i < calibrated.n; i++)
		if (calibrated.spaces[i].oid == oid)
			return &calibrated.spaces[i];
	return NULL;
}

static void
take_row(const AnagoTableRow *row)
{
	Oid			oid = get_tablespace_oid(row->tablespace, true);
	Tablespace *space = find_space(oid);
	AnagoDevice device;

	if (!OidIsValid(oid))
		return;					/* it is gone */
	if (!device_of_row(row, &device))
	{
		say_unusable_row(row);
		return;
	}
	if (space == NULL)
	{
		if (calibrated.n == MAX_TABLESPACES)
			return;
		space = &calibrated.spaces[calibrated.n++];
		space->oid = oid;
	}
	else if (space->device.taken_at >= device.taken_at)
		return;
	space->device = device;
	space->contradicted = 0;
}

/* ---- reading the table ---- */

/* Relation cache callback.  InvalidOid: all relations. */
static void
relation_changed(Datum arg, Oid relid)
{
	if (!calibrated.known || (OidIsValid(relid) && relid != calibrated.relid))
		return;
	calibrated.known = false;
	if (anago_enable && OidIsValid(relid))
		ResetPlanCache();
}

void
anago_device_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

/* Looking at it may itself process invalidations. */
static void
read_table(void)
{
	AnagoTableState state;

	anago_stats_prepare();		/* so that something is said once in the server */
	calibrated.known = true;
	calibrated.n = 0;
	state = anago_table_read(take_row, &calibrated.relid);
	calibrated.usable = state == ANAGO_TABLE_READ;
	calibrated.looked = GetCurrentTimestamp();
	if (state == ANAGO_TABLE_LOCKED)
		calibrated.known = false;
	else if (!calibrated.usable)
	{
		calibrated.n = 0;
		say_not_usable(state);
	}
}

static void
be_current(void)
{
	if (calibrated.known && !calibrated.usable &&
		TimestampDifferenceExceeds(calibrated.looked, GetCurrentTimestamp(), MISSING_MS))
		calibrated.known = false;
	if (!calibrated.known)
		read_table();
}

/* ---- what queries have seen ---- */

/* In steps, so that plans do not depend on the last read. */
static double
in_steps(double gain)
{
	static const double steps[] = {1.5, 2, 3, 4, 6, 8, MOST_SEEN_GAIN};
	double		step = 1;

	for (int i = 0; i < lengthof(steps) && steps[i] <= gain; i++)
		step = steps[i];
	return step;
}

/* As a device that is known at two depths. */
static const AnagoDevice *
seen_by_server(void)
{
	static AnagoDevice device;
	AnagoReadsSeen seen;
	double		one;

	anago_stats_seen(&seen);
	if (seen.alone < SEEN_ALONE || seen.together < SEEN_TOGETHER ||
		seen.alone_us <= 0 || seen.together_us <= 0)
		return NULL;
	one = seen.alone * 1e6 / seen.alone_us;
	memset(&device, 0, sizeof(device));
	device.n = 2;
	device.depth[0] = 1;
	device.depth[1] = Max((double) seen.in_flight / seen.together, 2);
	device.per_second[0] = one;
	device.per_second[1] = one * in_steps((double) seen.in_flight * 1e6 / seen.together_us / one);
	return &device;
}

/* Mean latency with so many in flight, in microseconds. */
static double
latency_at(const AnagoDevice *device, double depth)
{
	return depth * 1e6 / anago_device_rate(device, depth);
}

/* Can reads of that device, of which so many are in flight, take so long? */
static bool
is_contradicted(const AnagoDevice *device, double depth, double us)
{
	double		most = Max(depth, Min(anago_max_inflight_reads,
									  device->depth[device->n - 1]));

	return us > CONTRADICTION * latency_at(device, most) ||
		us * CONTRADICTION < latency_at(device, depth);
}

static void
say_contradicted(Tablespace *space, double us)
{
	if (!first_to_say(CONTRADICTED, (uint64) space->device.taken_at))
		return;
	ereport(LOG,
			(errmsg("reads of tablespace %u take %.0f us, which its calibration contradicts; it is ignored",
					space->oid, us),
			 errdetail("It was taken at %s.", timestamptz_to_str(space->device.taken_at)),
			 errhint("Run anago_calibrate() again.")));
}

void
anago_device_seen(Oid tablespace, const AnagoCounts *counts)
{
	Tablespace *space = find_space(OidIsValid(tablespace) ? tablespace : MyDatabaseTableSpace);
	int64		together = counts->together_reads;
	double		us;

	if (space == NULL || together < CONTRADICTION_READS ||
		space->contradicted >= CONTRADICTIONS)
		return;
	us = (double) counts->together_us / together;
	if (!is_contradicted(&space->device, (double) counts->together_inflight / together, us))
		space->contradicted = 0;
	else if (++space->contradicted == CONTRADICTIONS)
	{
		say_contradicted(space, us);
		ResetPlanCache();
	}
}

/* ---- figures ---- */

const AnagoDevice *
anago_device_of(Oid tablespace)
{
	Tablespace *space;

	be_current();
	space = find_space(OidIsValid(tablespace) ? tablespace : MyDatabaseTableSpace);
	if (space != NULL && space->contradicted < CONTRADICTIONS)
		return &space->device;
	return seen_by_server();
}

/* Between two depths that are known, a straight line over their logarithms. */
double
anago_device_rate(const AnagoDevice *device, double depth)
{
	int			i = 0;
	double		fraction;

	while (i < device->n - 1 && device->depth[i + 1] < depth)
		i++;
	if (depth <= device->depth[i] || i == device->n - 1)
		return device->per_second[i];
	if (depth >= device->depth[i + 1])
		return device->per_second[i + 1];
	fraction = log(depth / device->depth[i]) / log(device->depth[i + 1] / device->depth[i]);
	return device->per_second[i] + fraction * (device->per_second[i + 1] - device->per_second[i]);
}

double
anago_device_gain(const AnagoDevice *device, double depth)
{
	return within(anago_device_rate(device, depth) / device->per_second[0], 1, MOST_GAIN);
}

/* What planning would go by now, of one tablespace. */
Datum
anago_device(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_ARGISNULL(0) ? MyDatabaseTableSpace :
		get_tablespace_oid(NameStr(*PG_GETARG_NAME(0)), false);
	const AnagoDevice *device = anago_device_of(oid);
	TupleDesc	tupdesc;
	Datum		values[5] = {0};
	bool		nulls[5] = {false};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = CStringGetTextDatum(anago_io_gain > 0 ? "setting" :
									device == NULL ? "default" :
									device->measured ? "calibration" : "queries");
	nulls[1] = device == NULL || !device->measured;
	nulls[2] = nulls[3] = device == NULL;
	if (!nulls[1])
		values[1] = TimestampTzGetDatum(device->taken_at);
	if (device != NULL)
	{
		values[2] = Float8GetDatum(1e6 / device->per_second[0]);
		values[3] = Float8GetDatum(anago_device_rate(device, anago_max_inflight_reads));
	}
	values[4] = Float8GetDatum(anago_io_gain > 0 ? anago_io_gain :
							   device == NULL ? ANAGO_DEFAULT_GAIN :
							   anago_device_gain(device, anago_max_inflight_reads));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls)));
}
