/*-------------------------------------------------------------------------
 *
 * machine.c
 *	  What processes take of the CPUs.  See machine.h, and proc(5).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/float.h"

#include "resource/machine.h"

#define LINE_SIZE		1024

typedef struct CpuTime
{
	uint64		iowait;			/* ticks */
	uint64		all;
} CpuTime;

/* Of each CPU: up to the latest look, and between the latest two. */
static CpuTime until[CPU_SETSIZE];
static CpuTime between[CPU_SETSIZE];
static int	looks;

static double
tick_ms(void)
{
	long		per_second = sysconf(_SC_CLK_TCK);

	return 1000.0 / (per_second > 0 ? per_second : 100);
}

/* The first line of a file; its end may be missing. */
static bool
first_line(const char *path, char *line)
{
	FILE	   *file = AllocateFile(path, "r");
	bool		read;

	if (file == NULL)
		return false;
	read = fgets(line, LINE_SIZE, file) != NULL;
	FreeFile(file);
	return read;
}

/* /proc/PID/schedstat: ns on a CPU, ns in its queue, times. */
static double
waited_ms(int pid)
{
	char		path[64];
	char		line[LINE_SIZE];
	unsigned long long used;
	unsigned long long waited;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	if (!first_line(path, line) || sscanf(line, "%llu %llu", &used, &waited) != 2 ||
		used == 0)
		return get_float8_nan();
	return waited / 1e6;
}

bool
anago_machine_process(int pid, AnagoCpuTime *time)
{
	char		path[64];
	char		line[LINE_SIZE];
	char	   *fields;
	int			parent;
	unsigned long user;
	unsigned long system;

	/* first, so that of a process that ends meanwhile nothing is known, and not a part */
	time->waited_ms = waited_ms(pid);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!first_line(path, line))
		return false;
	/* its name stands in parentheses, and may have some */
	fields = strrchr(line, ')');
	if (fields == NULL ||
		sscanf(fields + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
			   &parent, &user, &system) != 3 ||
		parent != PostmasterPid)
		return false;
	time->used_ms = (user + system) * tick_ms();
	return true;
}

bool
anago_machine_usual(cpu_set_t *cpus)
{
	return sched_getaffinity(PostmasterPid, sizeof(*cpus), cpus) == 0;
}

/* "cpu3 user nice system idle iowait irq softirq steal ..."; "cpu " is the sum of all */
static void
look_at(const char *line)
{
	unsigned	cpu;
	unsigned long long t[8] = {0};
	CpuTime		now = {0};

	if (line[3] == ' ' ||
		sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu,
			   &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 6 ||
		cpu >= CPU_SETSIZE)
		return;
	now.iowait = t[4];
	for (int i = 0; i < 8; i++)
		now.all += t[i];
	/* the kernel's figure may go back by a little */
	between[cpu].iowait = now.iowait > until[cpu].iowait ? now.iowait - until[cpu].iowait : 0;
	between[cpu].all = now.all > until[cpu].all ? now.all - until[cpu].all : 0;
	until[cpu] = now;
}

void
anago_machine_look(void)
{
	FILE	   *file = AllocateFile("/proc/stat", "r");
	char		line[LINE_SIZE];

	memset(between, 0, sizeof(between));
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL && strncmp(line, "cpu", 3) == 0)
		look_at(line);
	FreeFile(file);
	looks++;
}

double
anago_machine_iowait(const cpu_set_t *cpus)
{
	CpuTime		sum = {0};

	for (int i = 0; i < CPU_SETSIZE; i++)
	{
		if (!CPU_ISSET(i, cpus))
			continue;
		sum.iowait += between[i].iowait;
		sum.all += between[i].all;
	}
	return looks > 1 && sum.all > 0 ? (double) sum.iowait / sum.all : get_float8_nan();
}
