/*-------------------------------------------------------------------------
 *
 * affinity.c
 *	  Processes run on the CPUs of their class.  See actuators.h.
 *
 * A process that may run where the postmaster may, as it does from its start, is placed;
 * one that was placed somewhere by others (anago.pin_workers, anago.numa, taskset) is
 * not.  So what a process is to have back is what the postmaster has.  These may be
 * other CPUs by then: a process that was placed once is remembered, wherever it is left.
 *
 * Processes are remembered by pid and looked up by it.  Before one is touched its
 * parent is looked at, as the number might be another's by now.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <errno.h>

#include "storage/proc.h"
#include "utils/memutils.h"

#include "resource/actuators.h"
#include "resource/machine.h"

/* A process that was placed, and where it was left. */
typedef struct Placed
{
	int			pid;			/* must be first */
	bool		own;			/* these are CPUs of its class */
	cpu_set_t	cpus;
} Placed;

static Placed *placed;			/* by pid */
static Placed *next;			/* what it becomes */
static int	nplaced;
static bool refused;			/* the log has it */

int
anago_affinity_placed(void)
{
	int			n = 0;

	for (int i = 0; i < nplaced; i++)
		n += placed[i].own;
	return n;
}

static const Placed *
find_placed(int pid)
{
	Placed		key = {.pid = pid};

	return nplaced == 0 ? NULL :
		bsearch(&key, placed, nplaced, sizeof(Placed), anago_compare_pids);
}

static void
say_refused(int pid, int error)
{
	if (refused || error == ESRCH)
		return;
	refused = true;
	errno = error;
	ereport(LOG,
			(errmsg("anago's balancer could not set the CPUs of process %d: %m", pid),
			 errhint("Leave \"affinity\" out of anago.balancer_actuators, or allow the server sched_setaffinity().")));
}

/* Is it a process of this server still? */
static bool
is_there(int pid)
{
	AnagoCpuTime time;

	return anago_machine_process(pid, &time);
}

/*
 * Is it where the server lets it, or where we have left it, as far as the server may
 * still run there?
 */
static bool
is_ours(const cpu_set_t *now, const Placed *before, const cpu_set_t *usual)
{
	cpu_set_t	left;

	if (CPU_EQUAL(now, usual))
		return true;
	if (before == NULL)
		return false;
	CPU_AND(&left, &before->cpus, usual);
	return CPU_EQUAL(now, &before->cpus) || CPU_EQUAL(now, &left);
}

/* True: it is on these CPUs. */
static bool
put(int pid, const cpu_set_t *cpus)
{
	if (!is_there(pid))
		return false;
	if (sched_setaffinity(pid, sizeof(*cpus), cpus) == 0)
		return true;
	say_refused(pid, errno);
	return false;
}

/* False: it is not to be remembered. */
static bool
place(const AnagoAssignment *assignment, const AnagoMember *member,
	  const cpu_set_t *usual, Placed *as)
{
	const Placed *before = find_placed(member->pid);
	cpu_set_t	now;

	as->pid = member->pid;
	as->own = anago_assignment_cpus(assignment, member->class, &as->cpus);
	if (!as->own)
		as->cpus = *usual;
	if (before == NULL && !as->own)
		return false;
	if (sched_getaffinity(member->pid, sizeof(now), &now) != 0 ||
		!is_ours(&now, before, usual))
		return false;
	if (CPU_EQUAL(&now, &as->cpus) || put(member->pid, &as->cpus))
		return true;
	/* what was done before is to be undone some day */
	if (before != NULL)
		*as = *before;
	return before != NULL;
}

static void
make_room(void)
{
	Size		size = sizeof(Placed) * ProcGlobal->allProcCount;

	if (placed == NULL)
		placed = MemoryContextAlloc(TopMemoryContext, size);
	if (next == NULL)
		next = MemoryContextAlloc(TopMemoryContext, size);
}

/* Members are sorted by pid, and so are those who are placed. */
static void
act_on_affinity(const AnagoAssignment *assignment)
{
	cpu_set_t	usual;
	int			n = 0;
	Placed	   *old;

	make_room();
	if (!anago_machine_usual(&usual))
		return;
	for (int i = 0; i < assignment->nmembers; i++)
		if (place(assignment, &assignment->members[i], &usual, &next[n]))
			n++;
	old = placed;
	placed = next;
	next = old;
	nplaced = n;
}

static void
end_affinity(void)
{
	cpu_set_t	usual;
	cpu_set_t	now;

	if (nplaced > 0 && anago_machine_usual(&usual))
		for (int i = 0; i < nplaced; i++)
			if (sched_getaffinity(placed[i].pid, sizeof(now), &now) == 0 &&
				!CPU_EQUAL(&now, &usual) && is_ours(&now, &placed[i], &usual))
				(void) put(placed[i].pid, &usual);
	nplaced = 0;
}

const AnagoActuator anago_actuator_affinity = {
	.name = "affinity",
	.act = act_on_affinity,
	.end = end_affinity
};
