/*-------------------------------------------------------------------------
 *
 * actuators.c
 *	  What the balancer does with an assignment: which of the actuators are on, and that
 *	  of anago's own budgets.  See actuators.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/varlena.h"

#include "guc.h"
#include "resource/actuators.h"
#include "resource/budgets.h"

static const AnagoActuator *const actuators[] = {
	&anago_actuator_budgets,
	&anago_actuator_affinity
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

/* False: it is no list, or *wrong is not the name of one. */
static bool
read_actuators(const char *setting, bool *wanted, char **wrong)
{
	char	   *copy = pstrdup(setting);
	List	   *names;
	ListCell   *lc;

	memset(wanted, 0, lengthof(actuators));
	*wrong = NULL;
	if (!SplitGUCList(copy, ',', &names))
		return false;
	foreach(lc, names)
	{
		int			i = find_actuator(lfirst(lc));

		if (i < 0)
		{
			*wrong = lfirst(lc);
			return false;
		}
		wanted[i] = true;
	}
	list_free(names);
	pfree(copy);
	return true;
}

bool
anago_actuators_check(char **newval, void **extra, GucSource source)
{
	bool		wanted[lengthof(actuators)];
	char	   *wrong;

	if (read_actuators(*newval, wanted, &wrong))
		return true;
	if (wrong == NULL)
		GUC_check_errdetail("List syntax is invalid.");
	else
		GUC_check_errdetail("\"%s\" is not one of \"budgets\" and \"affinity\".", wrong);
	return false;
}

void
anago_actuators_act(const AnagoAssignment *assignment)
{
	bool		wanted[lengthof(actuators)];
	char	   *wrong;

	if (!read_actuators(anago_balancer_actuators, wanted, &wrong))
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
