/*-------------------------------------------------------------------------
 *
 * device.h
 *	  How fast a tablespace's storage is, as far as that is known.
 *
 * Figures are those of the latest calibration, unless what queries have seen since
 * contradicts them; or what this server's queries have seen; or there are none.
 *
 * Invariants of an AnagoDevice
 *	- 1 <= n; depth[0] is 1 and depths ascend;
 *	- every figure is finite and within the bounds that device.c has for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_DEVICE_H
#define ANAGO_DEVICE_H

#include "postgres.h"

#include "datatype/timestamp.h"

#include "counts.h"
#include "device/table.h"

typedef struct AnagoDevice
{
	bool		measured;		/* by a calibration; else seen by queries */
	TimestampTz taken_at;		/* of a calibration: when */
	int			n;
	double		depth[ANAGO_DEVICE_DEPTHS]; /* reads in flight */
	double		per_second[ANAGO_DEVICE_DEPTHS];	/* reads, then */

	/* What a page takes, in microseconds; 0: not known. */
	double		in_order_us;	/* of the device, one behind the other */
	double		kernel_page_us; /* in the kernel's page cache */
	double		buffer_page_us; /* in shared buffers */
} AnagoDevice;

extern void anago_device_init(void);

/*
 * What is known, or NULL; the struct is valid until the next call.  InvalidOid is
 * the database's tablespace.  May read catalogs; waits for no lock.
 */
extern const AnagoDevice *anago_device_of(Oid tablespace);

/* Reads per second with so many in flight, 1 or more. */
extern double anago_device_rate(const AnagoDevice *device, double depth);

/* How many times as many that is as with one in flight; 1 or more. */
extern double anago_device_gain(const AnagoDevice *device, double depth);

/* What a query has seen of its only tablespace; raises no error. */
extern void anago_device_seen(Oid tablespace, const AnagoCounts *counts);

#endif							/* ANAGO_DEVICE_H */
