/*-------------------------------------------------------------------------
 *
 * actuators.c
 *	  What the balancer does with an assignment: which of the actuators are on, and that
 *	  of anago's own budgets.  See actuators.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "guc.h"
#include "guclist.h"
#include "resource/actuators.h"
#include "resource/budgets.h"

static const AnagoActuator *const actuators[] = {
	&anago_actuator_budgets,
	&anago_actuator_affinity,
	&anago_actuator_cgroup
};

static bool is_on[lengthof(actuators)];

/* ---- which are on ---- */

static int
find_actuator(const char *name)
{
	for (int i = 0; i < lengthof(actuators); i++)
		if (strcmp(actuators[i]->name, name) == 0)
			return i;
	return -1;
}

static bool
want_actuator(void *wanted, const char *name)
{
	int			i = find_actuator(name);

	if (i < 0)
	{
		GUC_check_errdetail("\"%s\" is not one of \"budgets\", \"affinity\" and \"cgroup\".", name);
		return false;
	}
	((bool *) wanted)[i] = true;
	return true;
}

bool
anago_actuators_check(char **newval, void **extra, GucSource source)
{
	bool		wanted[lengthof(actuators)];

	return anago_guclist_read(*newval, want_actuator, wanted);
}

void
anago_actuators_act(const AnagoAssignment *assignment)
{
	bool		wanted[lengthof(actuators)] = {false};

	if (!anago_guclist_read(anago_balancer_actuators, want_actuator, wanted))
		memset(wanted, 0, sizeof(wanted));
	for (int i = 0; i < lengthof(actuators); i++)
	{
		if (wanted[i])
			actuators[i]->act(assignment);
		else if (is_on[i])
			actuators[i]->end();
		is_on[i] = wanted[i];
	}
}

void
anago_actuators_end(void)
{
	for (int i = 0; i < lengthof(actuators); i++)
	{
		if (is_on[i])
			actuators[i]->end();
		is_on[i] = false;
	}
}

bool
anago_assignment_cpus(const AnagoAssignment *assignment, int class, cpu_set_t *cpus)
{
	const AnagoBalance *balance = assignment->balance;

	CPU_ZERO(cpus);
	for (int i = 0; i < balance->ncpus; i++)
		if (balance->owner[i] == class)
			CPU_SET(assignment->cpus[i], cpus);
	return CPU_COUNT(cpus) > 0;
}

/* ---- budgets ---- */

static void
set_budgets(AnagoBalanceLimits limits)
{
	AnagoGovernor *governor = &anago_budgets->governors[ANAGO_BALANCER];

	pg_atomic_write_u32(&governor->processes, limits.processes);
	pg_atomic_write_u32(&governor->reads, limits.reads);
}

static void
act_on_budgets(const AnagoAssignment *assignment)
{
	set_budgets(anago_balance_limits(assignment->balance, anago_max_inflight_reads));
}

static void
end_budgets(void)
{
	set_budgets((AnagoBalanceLimits) {0, 0});
}

const AnagoActuator anago_actuator_budgets = {
	.name = "budgets",
	.act = act_on_budgets,
	.end = end_budgets
};
