/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  Which way to have reads in flight is taken.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "portability/instr_time.h"

#include "guc.h"
#include "device/probe.h"

const AnagoProbeOps *
anago_probe_pick(void)
{
	if (anago_io_method == ANAGO_IO_SIM)
		return &anago_probe_sim;
#ifdef HAVE_LIBURING
	if (anago_probe_ring.available())
		return &anago_probe_ring;
#endif
	return &anago_probe_advice;
}

double
anago_probe_clock(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	return INSTR_TIME_GET_DOUBLE(now) * 1e6;
}
