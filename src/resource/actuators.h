/*-------------------------------------------------------------------------
 *
 * actuators.h
 *	  What the balancer does with an assignment of cores.
 *
 *		budgets		anago's queries have as many processes at work as OLAP has
 *					cores, and as great a part of their reads in flight
 *		affinity	processes run on the CPUs of their class
 *		cgroup		and have a quota of CPU time, of their class's control group
 *
 * Each can end at any time what it has brought about, and does at the end of the
 * balancer's process.  (Where that is killed the server starts anew, with processes
 * that may run anywhere and are in no group of its, and budgets without a limit.)
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ACTUATORS_H
#define ANAGO_ACTUATORS_H

#include "postgres.h"

#include <sched.h>

#include "utils/guc.h"

#include "resource/balance.h"
#include "resource/members.h"

/* What an actuator goes by. */
typedef struct AnagoAssignment
{
	const AnagoBalance *balance;
	const AnagoMember *members;
	int			nmembers;
	const short *cpus;			/* of the server: the system's number of each CPU of
								 * the balance */
} AnagoAssignment;

typedef struct AnagoActuator
{
	const char *name;
	void		(*act) (const AnagoAssignment *assignment);
	void		(*end) (void);
} AnagoActuator;

extern const AnagoActuator anago_actuator_budgets;	/* actuators.c */
extern const AnagoActuator anago_actuator_affinity; /* affinity.c */
extern const AnagoActuator anago_actuator_cgroup;	/* cgroup.c */

/* Processes that are on the CPUs of their class. */
extern int	anago_affinity_placed(void);

/* And in its control group. */
extern int	anago_cgroup_grouped(void);

/* The checks of anago.balancer_actuators and anago.balancer_cgroup. */
extern bool anago_actuators_check(char **newval, void **extra, GucSource source);
extern bool anago_cgroup_check(char **newval, void **extra, GucSource source);

/* Those of the setting act; others have ended. */
extern void anago_actuators_act(const AnagoAssignment *assignment);
extern void anago_actuators_end(void);

/* The CPUs of a class; false: all. */
extern bool anago_assignment_cpus(const AnagoAssignment *assignment, int class,
								  cpu_set_t *cpus);

#endif							/* ANAGO_ACTUATORS_H */
