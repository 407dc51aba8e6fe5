/*-------------------------------------------------------------------------
 *
 * table.c
 *	  The table anago_calibration of the extension.  See table.h.
 *
 * Rows are read without SPI, as that would plan a query while one is planned.
 * Any change of rows has the table's entry in the relation cache invalidated, by a
 * trigger, so that all sessions read it again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "device/table.h"
#include "extension.h"

#define TABLE_NAME		"anago_calibration"

PG_FUNCTION_INFO_V1(anago_calibration_changed);

/* Columns, in the order of the extension's script. */
typedef enum Column
{
	TABLESPACE,
	TAKEN_AT,
	TAKEN_BY,
	SERVER_VERSION,
	METHOD,
	DIRECT,
	DATA_BYTES,
	IN_FLIGHT,
	READS_PER_SECOND,
	LATENCY_US,
	SEQUENTIAL_MB_PER_SECOND,
	KERNEL_PAGE_US,
	BUFFER_PAGE_US,
	COLUMNS
} Column;

static const struct
{
	const char *name;
	Oid			type;
}			columns[COLUMNS] = {
	[TABLESPACE] = {"tablespace", NAMEOID},
	[TAKEN_AT] = {"taken_at", TIMESTAMPTZOID},
	[TAKEN_BY] = {"taken_by", NAMEOID},
	[SERVER_VERSION] = {"server_version", TEXTOID},
	[METHOD] = {"method", TEXTOID},
	[DIRECT] = {"direct", BOOLOID},
	[DATA_BYTES] = {"data_bytes", INT8OID},
	[IN_FLIGHT] = {"in_flight", INT4ARRAYOID},
	[READS_PER_SECOND] = {"reads_per_second", FLOAT8ARRAYOID},
	[LATENCY_US] = {"latency_us", FLOAT8ARRAYOID},
	[SEQUENTIAL_MB_PER_SECOND] = {"sequential_mb_per_second", FLOAT8OID},
	[KERNEL_PAGE_US] = {"kernel_page_us", FLOAT8OID},
	[BUFFER_PAGE_US] = {"buffer_page_us", FLOAT8OID},
};

static bool
is_the_table(Oid relid)
{
	char	   *name = get_rel_name(relid);

	return name != NULL && strcmp(name, TABLE_NAME) == 0 &&
		get_rel_relkind(relid) == RELKIND_RELATION;
}

/* ---- reading ---- */

static bool
find_columns(TupleDesc desc, AttrNumber *attnos)
{
	for (int c = 0; c < COLUMNS; c++)
	{
		attnos[c] = InvalidAttrNumber;
		for (int i = 0; i < desc->natts; i++)
		{
			Form_pg_attribute attribute = TupleDescAttr(desc, i);

			if (!attribute->attisdropped &&
				attribute->atttypid == columns[c].type &&
				strcmp(NameStr(attribute->attname), columns[c].name) == 0)
				attnos[c] = attribute->attnum;
		}
		if (attnos[c] == InvalidAttrNumber)
			return false;
	}
	return true;
}

/* The elements of an array, or NULL if it is not a list of values. */
static const void *
elements(Datum datum, int *n)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);

	if (ARR_NDIM(array) != 1 || ARR_HASNULL(array))
		return NULL;
	*n = ARR_DIMS(array)[0];
	return ARR_DATA_PTR(array);
}

static double
number(HeapTuple tuple, TupleDesc desc, AttrNumber attno)
{
	bool		isnull;
	Datum		value = heap_getattr(tuple, attno, desc, &isnull);

	return isnull ? NAN : DatumGetFloat8(value);
}

static void
read_row(HeapTuple tuple, TupleDesc desc, const AttrNumber *attnos,
		 AnagoTableRow *row)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
	int			rates = 0;

	for (int c = 0; c < COLUMNS; c++)
		values[c] = heap_getattr(tuple, attnos[c], desc, &nulls[c]);
	row->tablespace = nulls[TABLESPACE] ? "" : NameStr(*DatumGetName(values[TABLESPACE]));
	row->taken_at = nulls[TAKEN_AT] ? DT_NOBEGIN : DatumGetTimestampTz(values[TAKEN_AT]);
	row->in_order = number(tuple, desc, attnos[SEQUENTIAL_MB_PER_SECOND]);
	row->kernel_page_us = number(tuple, desc, attnos[KERNEL_PAGE_US]);
	row->buffer_page_us = number(tuple, desc, attnos[BUFFER_PAGE_US]);
	row->n = -1;
	if (nulls[IN_FLIGHT] || nulls[READS_PER_SECOND])
		return;
	row->in_flight = elements(values[IN_FLIGHT], &row->n);
	row->per_second = elements(values[READS_PER_SECOND], &rates);
	if (row->in_flight == NULL || row->per_second == NULL || row->n != rates)
		row->n = -1;
}

AnagoTableState
anago_table_read(void (*row) (const AnagoTableRow *row), Oid *relid)
{
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;
	AttrNumber	attnos[COLUMNS];
	bool		complete;

	*relid = anago_extension_member(RelationRelationId, is_the_table);
	if (!OidIsValid(*relid))
		return ANAGO_TABLE_MISSING;
	if (!ConditionalLockRelationOid(*relid, AccessShareLock))
		return ANAGO_TABLE_LOCKED;
	rel = try_table_open(*relid, NoLock);
	if (rel == NULL)
		return ANAGO_TABLE_MISSING;

	complete = find_columns(RelationGetDescr(rel), attnos);
	if (complete)
	{
		scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
		while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			AnagoTableRow one;

			read_row(tuple, RelationGetDescr(rel), attnos, &one);
			row(&one);
		}
		systable_endscan(scan);
	}
	table_close(rel, AccessShareLock);
	return complete ? ANAGO_TABLE_READ : ANAGO_TABLE_CHANGED;
}

/* ---- writing ---- */

static void
pass_by(const AnagoTableRow *row)
{
}

void
anago_table_require(void)
{
	Oid			relid;
	AnagoTableState state = anago_table_read(pass_by, &relid);

	if (state == ANAGO_TABLE_READ || state == ANAGO_TABLE_LOCKED)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 state == ANAGO_TABLE_MISSING ?
			 errmsg("anago's table \"%s\" is missing", TABLE_NAME) :
			 errmsg("anago's table \"%s\" lacks columns", TABLE_NAME),
			 errhint("Drop the extension and create it again to have it as it was.")));
}

static void
fill_values(const AnagoCalibration *c, Datum *values)
{
	Datum		depths[ANAGO_DEVICE_DEPTHS];
	Datum		rates[ANAGO_DEVICE_DEPTHS];
	Datum		latencies[ANAGO_DEVICE_DEPTHS];

	Assert(c->n <= ANAGO_DEVICE_DEPTHS);
	for (int i = 0; i < c->n; i++)
	{
		depths[i] = Int32GetDatum(c->in_flight[i]);
		rates[i] = Float8GetDatum(c->per_second[i]);
		latencies[i] = Float8GetDatum(c->latency_us[i]);
	}
	values[TABLESPACE] = DirectFunctionCall1(namein, CStringGetDatum(c->tablespace));
	values[TAKEN_AT] = TimestampTzGetDatum(GetCurrentTimestamp());
	values[TAKEN_BY] = DirectFunctionCall1(namein,
										   CStringGetDatum(GetUserNameFromId(GetUserId(), false)));
	values[SERVER_VERSION] = CStringGetTextDatum(PG_VERSION);
	values[METHOD] = CStringGetTextDatum(c->method);
	values[DIRECT] = BoolGetDatum(c->direct);
	values[DATA_BYTES] = Int64GetDatum(c->data_bytes);
	values[IN_FLIGHT] = PointerGetDatum(construct_array(depths, c->n, INT4OID, 4,
														true, TYPALIGN_INT));
	values[READS_PER_SECOND] = PointerGetDatum(construct_array(rates, c->n, FLOAT8OID, 8,
															   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	values[LATENCY_US] = PointerGetDatum(construct_array(latencies, c->n, FLOAT8OID, 8,
														 FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	values[SEQUENTIAL_MB_PER_SECOND] = Float8GetDatum(c->in_order);
	values[KERNEL_PAGE_US] = Float8GetDatum(c->kernel_page_us);
	values[BUFFER_PAGE_US] = Float8GetDatum(c->buffer_page_us);
}

static char *
insert_of(Oid relid)
{
	StringInfoData sql;
	StringInfoData params;

	initStringInfo(&sql);
	initStringInfo(&params);
	appendStringInfo(&sql, "INSERT INTO %s (",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
												TABLE_NAME));
	for (int c = 0; c < COLUMNS; c++)
	{
		appendStringInfo(&sql, "%s%s", c ? ", " : "", quote_identifier(columns[c].name));
		appendStringInfo(&params, "%s$%d", c ? ", " : "", c + 1);
	}
	appendStringInfo(&sql, ") VALUES (%s) RETURNING *", params.data);
	return sql.data;
}

/* As the owner: who calls need not be allowed to write to the table. */
static void
insert_row(Oid relid, Datum *values)
{
	Oid			types[COLUMNS];
	Oid			user;
	Oid			owner;
	int			context;
	Relation	rel = table_open(relid, AccessShareLock);

	owner = rel->rd_rel->relowner;
	table_close(rel, NoLock);
	for (int c = 0; c < COLUMNS; c++)
		types[c] = columns[c].type;
	/* an error gives the user back when it ends the transaction */
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE);
	if (SPI_execute_with_args(insert_of(relid), COLUMNS, types, values, NULL,
							  false, 0) != SPI_OK_INSERT_RETURNING ||
		SPI_processed != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" did not take the result", TABLE_NAME)));
	SetUserIdAndSecContext(user, context);
}

Datum
anago_table_add(const AnagoCalibration *calibration)
{
	Oid			relid = anago_extension_member(RelationRelationId, is_the_table);
	Datum		values[COLUMNS];

	fill_values(calibration, values);
	insert_row(relid, values);
	return PointerGetDatum(SPI_returntuple(SPI_tuptable->vals[0], SPI_tuptable->tupdesc));
}

/* Trigger, for each statement. */
Datum
anago_calibration_changed(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"anago_calibration_changed\" must be called as a trigger")));
	CacheInvalidateRelcache(((TriggerData *) fcinfo->context)->tg_relation);
	return PointerGetDatum(NULL);
}
