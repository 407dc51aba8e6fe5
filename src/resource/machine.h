/*-------------------------------------------------------------------------
 *
 * machine.h
 *	  What processes take of the CPUs, and which CPUs wait for storage: what the kernel
 *	  tells in /proc.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MACHINE_H
#define ANAGO_MACHINE_H

#include "postgres.h"

#include <sched.h>

/* Of a process, since its start. */
typedef struct AnagoCpuTime
{
	double		used_ms;
	double		waited_ms;		/* ready to run, while others did; NaN: not known */
} AnagoCpuTime;

/* False: it is not known, or this is no process of this server (any more). */
extern bool anago_machine_process(int pid, AnagoCpuTime *time);

/* The CPUs that the postmaster may use, and so each of its processes from its start. */
extern bool anago_machine_usual(cpu_set_t *cpus);

/*
 * Look at all CPUs.  After that: the share of time, between the latest two looks, in
 * which some CPUs had nothing to do but to wait for storage; NaN: not known.
 */
extern void anago_machine_look(void);
extern double anago_machine_iowait(const cpu_set_t *cpus);

#endif							/* ANAGO_MACHINE_H */
