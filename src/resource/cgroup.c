/*-------------------------------------------------------------------------
 *
 * cgroup.c
 *	  Each class has a quota of CPU time, by control groups (version 2).  See actuators.h.
 *
 * anago.balancer_cgroup names a directory that is delegated to the server's account:
 *
 *		DIRECTORY/				cgroup.controllers has cpu
 *			oltp/	cpu.max, cgroup.procs
 *			olap/
 *			shipping/
 *
 * What is not there of the last three is made, also later.  A class with 1.75 cores has a quota of
 * 17500 of 10000 us.  The period is a tenth of the kernel's usual one: who is throttled may
 * hold a lock that others wait for.
 *
 * In the end quotas are `max`, and processes stay where they are: that is no limit.  A
 * server that starts anew begins outside of these groups.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/fd.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "guc.h"
#include "resource/actuators.h"
#include "resource/machine.h"

#define PERIOD_US		10000
#define LEAST_US		1000	/* what the kernel takes */

#define LINE_SIZE		1024

static const char *const folders[ANAGO_HTAL_CLASSES] = {
	[ANAGO_HTAL_OLTP] = "oltp",
	[ANAGO_HTAL_OLAP] = "olap",
	[ANAGO_HTAL_SHIPPING] = "shipping"
};

/* A process that was put into the group of a class. */
typedef struct Grouped
{
	int			pid;			/* must be first */
	int			class;
} Grouped;

static Grouped *grouped;		/* by pid */
static Grouped *next;			/* what it becomes */
static int	ngrouped;

static char directory[MAXPGPATH];	/* that is in use; empty: none */
static ino_t inodes[ANAGO_HTAL_CLASSES];	/* of its groups */
static char quotas[ANAGO_HTAL_CLASSES][32]; /* as they were written */
static bool refused;			/* the log has it */

bool
anago_cgroup_check(char **newval, void **extra, GucSource source)
{
	if (**newval == '\0' || (is_absolute_path(*newval) && strlen(*newval) < MAXPGPATH / 2))
		return true;
	GUC_check_errdetail("It is an absolute path, of less than %d bytes.", MAXPGPATH / 2);
	return false;
}

int
anago_cgroup_grouped(void)
{
	return ngrouped;
}

/* ---- files ---- */

static void
path_of(char *path, int class, const char *file)
{
	if (class < 0)
		snprintf(path, MAXPGPATH, "%s/%s", anago_balancer_cgroup, file);
	else
		snprintf(path, MAXPGPATH, "%s/%s/%s", directory, folders[class], file);
}

/* Once, until all has worked again. */
static void
say_refused(const char *path)
{
	if (!refused)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("anago's balancer could not use control group file \"%s\": %m", path),
				 errhint("anago.balancer_cgroup is to be a directory of control groups version 2, with controller \"cpu\" and without processes of its own, that is delegated to the server's account.")));
	refused = true;
}

/* False, and errno. */
static bool
put(const char *path, const char *text, int flags)
{
	int			fd = OpenTransientFile(path, O_WRONLY | flags);
	int			length = strlen(text);
	bool		done;
	int			error;

	if (fd < 0)
		return false;
	errno = 0;
	done = write(fd, text, length) == length;
	error = errno != 0 ? errno : EIO;
	CloseTransientFile(fd);
	errno = error;
	return done;
}

/* Does the file name that controller?  If not: false, and errno. */
static bool
names_cpu(const char *path)
{
	FILE	   *file = AllocateFile(path, "r");
	char		line[LINE_SIZE] = "";
	char	   *rest = line;
	char	   *word;

	if (file == NULL)
		return false;
	if (fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	FreeFile(file);
	while ((word = strsep(&rest, " \n")) != NULL)
		if (strcmp(word, "cpu") == 0)
			return true;
	errno = ENOTSUP;
	return false;
}

/* ---- the directory ---- */

/* Its groups have quotas from here on, if true. */
static bool
hand_down_cpu(void)
{
	char		path[MAXPGPATH];

	path_of(path, -1, "cgroup.controllers");
	if (names_cpu(path))
	{
		path_of(path, -1, "cgroup.subtree_control");
		if (names_cpu(path) || put(path, "+cpu", O_TRUNC))
			return true;
	}
	say_refused(path);
	return false;
}

static bool
make_folder(int class, const char *path)
{
	struct stat group;

	if ((mkdir(path, 0755) != 0 && errno != EEXIST) || stat(path, &group) != 0)
	{
		say_refused(path);
		return false;
	}
	inodes[class] = group.st_ino;
	return true;
}

/* Others may have removed it, and made it anew: without a quota and processes. */
static bool
is_still_there(int class, const char *path)
{
	struct stat group;

	return stat(path, &group) == 0 && group.st_ino == inodes[class];
}

/* Until it is false for one. */
static bool
for_all_folders(bool (*is_right) (int class, const char *path))
{
	char		path[MAXPGPATH];

	for (int class = 0; class < ANAGO_HTAL_CLASSES; class++)
	{
		if (folders[class] == NULL)
			continue;
		path_of(path, -1, folders[class]);
		if (!is_right(class, path))
			return false;
	}
	return true;
}

static void
end_cgroup(void)
{
	char		path[MAXPGPATH];

	for (int class = 0; class < ANAGO_HTAL_CLASSES && directory[0] != '\0'; class++)
	{
		if (folders[class] == NULL)
			continue;
		path_of(path, class, "cpu.max");
		if (!put(path, "max", O_TRUNC))
			say_refused(path);
	}
	memset(quotas, 0, sizeof(quotas));
	directory[0] = '\0';
	ngrouped = 0;
}

/* True: it is that of the setting, and in use. */
static bool
keep_directory(void)
{
	if (directory[0] != '\0' && strcmp(directory, anago_balancer_cgroup) == 0 &&
		for_all_folders(is_still_there))
		return true;
	end_cgroup();
	if (anago_balancer_cgroup[0] == '\0' || !hand_down_cpu() ||
		!for_all_folders(make_folder))
		return false;
	strlcpy(directory, anago_balancer_cgroup, sizeof(directory));
	return true;
}

/* ---- quotas and processes ---- */

/* False: it could not be set. */
static bool
set_quota(int class, double cores)
{
	char		path[MAXPGPATH];
	char		text[sizeof(quotas[0])];
	int			us = (int) (cores * PERIOD_US);

	if (cores == 0)
		snprintf(text, sizeof(text), "max %d", PERIOD_US);
	else
		snprintf(text, sizeof(text), "%d %d", Max(us, LEAST_US), PERIOD_US);
	if (strcmp(text, quotas[class]) == 0)
		return true;
	path_of(path, class, "cpu.max");
	if (!put(path, text, O_TRUNC))
	{
		say_refused(path);
		return false;
	}
	strlcpy(quotas[class], text, sizeof(text));
	return true;
}

/* A process that has ended meanwhile is no fault. */
static bool
group(const AnagoMember *member, Grouped *as)
{
	const Grouped *before = ngrouped == 0 ? NULL :
		bsearch(member, grouped, ngrouped, sizeof(Grouped), anago_compare_pids);
	char		path[MAXPGPATH];
	char		text[32];
	AnagoCpuTime time;

	*as = (Grouped) {member->pid, member->class};
	if (before != NULL && before->class == member->class)
		return true;
	if (!anago_machine_process(member->pid, &time))
		return false;
	path_of(path, member->class, "cgroup.procs");
	snprintf(text, sizeof(text), "%d\n", member->pid);
	if (put(path, text, O_APPEND))
		return true;
	if (errno != ESRCH)
		say_refused(path);
	return false;
}

static void
make_room(void)
{
	Size		size = sizeof(Grouped) * ProcGlobal->allProcCount;

	if (grouped == NULL)
		grouped = MemoryContextAlloc(TopMemoryContext, size);
	if (next == NULL)
		next = MemoryContextAlloc(TopMemoryContext, size);
}

/* Members are sorted by pid. */
static void
act_on_cgroup(const AnagoAssignment *assignment)
{
	Grouped    *old;
	int			n = 0;
	bool		done = true;

	make_room();
	if (!keep_directory())
		return;
	for (int class = 0; class < ANAGO_HTAL_CLASSES; class++)
		if (folders[class] != NULL)
			done &= set_quota(class, anago_balance_quota(assignment->balance, class));
	for (int i = 0; i < assignment->nmembers; i++)
		if (group(&assignment->members[i], &next[n]))
			n++;
	old = grouped;
	grouped = next;
	next = old;
	ngrouped = n;
	refused = refused && !(done && n > 0);
}

const AnagoActuator anago_actuator_cgroup = {
	.name = "cgroup",
	.act = act_on_cgroup,
	.end = end_cgroup
};
