/*-------------------------------------------------------------------------
 *
 * probe_sim.c
 *	  A simulated device with a clock of its own, for tests.
 *
 * It serves anago.sim_device_parallel reads at a time, each of which takes
 * anago.sim_device_latency; a read of more than one block takes as long as
 * anago.sim_device_sequential says of so many bytes, one after the other.  Time
 * goes by as somebody waits, and no other, so that what is measured is known:
 *
 *		reads per second at depth n = min(n, parallel) / latency
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "guc.h"
#include "device/probe.h"

#define KERNEL_PAGE_US	2.0
#define BUFFER_PAGE_US	0.25

static struct
{
	double		now;
	double		free[ANAGO_MAX_SIM_PARALLEL];	/* when each server is free */
	double		in_order;		/* when the last read in order is over */
	double		due[ANAGO_PROBE_MAX_DEPTH]; /* by slot; < 0: not issued */
}			probe;

static bool
sim_available(void)
{
	return true;
}

static void
sim_begin(void)
{
	memset(&probe, 0, sizeof(probe));
	for (int i = 0; i < ANAGO_PROBE_MAX_DEPTH; i++)
		probe.due[i] = -1;
}

static void
sim_end(void)
{
}

/* Which server is free first. */
static double *
first_server(void)
{
	double	   *first = &probe.free[0];

	for (int i = 1; i < anago_sim_device_parallel; i++)
		if (probe.free[i] < *first)
			first = &probe.free[i];
	return first;
}

static void
sim_issue(int slot, const AnagoProbeRead *read)
{
	double	   *until = read->bytes > BLCKSZ ? &probe.in_order : first_server();
	double		takes = read->bytes > BLCKSZ ?
		read->bytes / (double) anago_sim_device_sequential : anago_sim_device_latency;

	*until = Max(*until, probe.now) + takes;
	probe.due[slot] = *until;
}

static void
sim_submit(void)
{
}

/* Until the next one is over. */
static int
sim_wait(int *slots, int max)
{
	int			next = -1;

	for (int i = 0; i < ANAGO_PROBE_MAX_DEPTH; i++)
		if (probe.due[i] >= 0 && (next < 0 || probe.due[i] < probe.due[next]))
			next = i;
	if (next < 0)
		return 0;
	probe.now = probe.due[next];
	probe.due[next] = -1;
	slots[0] = next;
	return 1;
}

static double
sim_now(void)
{
	return probe.now;
}

static double
sim_kernel_page_us(void)
{
	return KERNEL_PAGE_US;
}

static double
sim_buffer_page_us(void)
{
	return BUFFER_PAGE_US;
}

const AnagoProbeOps anago_probe_sim = {
	.name = "sim",
	.available = sim_available,
	.begin = sim_begin,
	.end = sim_end,
	.issue = sim_issue,
	.submit = sim_submit,
	.wait = sim_wait,
	.now = sim_now,
	.kernel_page_us = sim_kernel_page_us,
	.buffer_page_us = sim_buffer_page_us,
};
