/*-------------------------------------------------------------------------
 *
 * measure.h
 *	  What a device does: reads per second at a depth, and pages in order.
 *
 * All of it may be cancelled at any moment, and raises the error of a read that
 * fails.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MEASURE_H
#define ANAGO_MEASURE_H

#include "postgres.h"

#include "device/files.h"
#include "device/probe.h"

typedef struct AnagoMeasured
{
	double		per_second;		/* reads */
	double		latency_us;		/* mean, from issue to seen complete */
} AnagoMeasured;

/* Blocks at random places, so many in flight, for so long. */
extern AnagoMeasured anago_measure_random(const AnagoProbeOps *probe,
										  const AnagoFiles *files, int depth,
										  double us);

/* Large reads in order, some in flight: bytes per microsecond, or MB/s. */
extern double anago_measure_in_order(const AnagoProbeOps *probe,
									 const AnagoFiles *files, double us);

/* Microseconds for a page that the kernel has, and for one in shared buffers. */
extern double anago_measure_kernel_page(const AnagoFiles *files);
extern double anago_measure_buffer_page(const AnagoFiles *files);

#endif							/* ANAGO_MEASURE_H */
