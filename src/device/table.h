/*-------------------------------------------------------------------------
 *
 * table.h
 *	  The table anago_calibration of the extension.
 *
 * Users may do with it what they like.  Nothing here believes that it is there,
 * has the columns, or that its figures are such.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TABLE_H
#define ANAGO_TABLE_H

#include "postgres.h"

#include "access/htup.h"
#include "access/tupdesc.h"
#include "datatype/timestamp.h"

/* Depths of a calibration at most: 1, 2, 4 ... */
#define ANAGO_DEVICE_DEPTHS		16

/* What a calibration has found. */
typedef struct AnagoCalibration
{
	const char *tablespace;
	const char *method;
	bool		direct;
	int64		data_bytes;
	int			n;
	const int  *in_flight;
	const double *per_second;
	const double *latency_us;
	double		in_order;		/* MB/s */
	double		kernel_page_us;
	double		buffer_page_us;
} AnagoCalibration;

/* Raise an error unless it is there with its columns. */
extern void anago_table_require(void);

/*
 * Add a row, as the table's owner; the row is in the caller's SPI connection, and
 * returned as a composite value.
 */
extern Datum anago_table_add(const AnagoCalibration *calibration);

/* One row, as it stands there. */
typedef struct AnagoTableRow
{
	const char *tablespace;
	TimestampTz taken_at;
	int			n;				/* of both arrays; -1: they can't be used */
	const int  *in_flight;
	const double *per_second;
	double		in_order;		/* MB/s */
	double		kernel_page_us;
	double		buffer_page_us;
} AnagoTableRow;

typedef enum AnagoTableState
{
	ANAGO_TABLE_READ,
	ANAGO_TABLE_LOCKED,			/* by somebody else: ask again */
	ANAGO_TABLE_MISSING,
	ANAGO_TABLE_CHANGED			/* it lacks columns */
} AnagoTableState;

/*
 * Call `row` for all rows that are committed, or the transaction's own.  *relid is
 * the table's; InvalidOid if there is none.
 */
extern AnagoTableState anago_table_read(void (*row) (const AnagoTableRow *row),
										Oid *relid);

#endif							/* ANAGO_TABLE_H */
