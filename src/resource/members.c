/*-------------------------------------------------------------------------
 *
 * members.c
 *	  Which class of work each process of the server belongs to.  See members.h.
 *
 * What a process is called, and what kind of process it is, is in pg_stat_activity;
 * what it does just now, in its PGPROC.  The pid leads from one to the other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"

#include "compat.h"
#include "guc.h"
#include "guclist.h"
#include "resource/budgets.h"
#include "resource/members.h"

/* Names in the setting; those beyond are an error. */
#define MOST_NAMES		64

#define ROLE_PREFIX		"role:"
#define APPLICATION_PREFIX	"application_name:"

typedef struct Names
{
	int			nroles;
	int			napplications;
	char		roles[MOST_NAMES][NAMEDATALEN];
	char		applications[MOST_NAMES][NAMEDATALEN];
} Names;

static Names names;
static Oid	roles[MOST_NAMES];

/* ---- who is named ---- */

static const char *
after_prefix(const char *item, const char *prefix)
{
	size_t		length = strlen(prefix);

	return strncmp(item, prefix, length) == 0 && item[length] != '\0' ? item + length : NULL;
}

static bool
add_name(void *arg, const char *item)
{
	Names	   *to = arg;
	const char *role = after_prefix(item, ROLE_PREFIX);
	const char *application = after_prefix(item, APPLICATION_PREFIX);

	if (role != NULL && to->nroles < MOST_NAMES)
		strlcpy(to->roles[to->nroles++], role, NAMEDATALEN);
	else if (application != NULL && to->napplications < MOST_NAMES)
		strlcpy(to->applications[to->napplications++], application, NAMEDATALEN);
	else
	{
		GUC_check_errdetail("\"%s\" is not role:NAME or application_name:NAME, or there are more than %d.",
							item, MOST_NAMES);
		return false;
	}
	return true;
}

static bool
read_names(const char *list, Names *to)
{
	memset(to, 0, sizeof(Names));
	return anago_guclist_read(list, add_name, to);
}

bool
anago_members_check(char **newval, void **extra, GucSource source)
{
	Names		read;

	return read_names(*newval, &read);
}

/* (looking up a name might wait for that lock, for as long as somebody likes) */
static bool
may_look_up(const Names *some)
{
	return some->nroles == 0 ||
		ConditionalLockRelationOid(AuthIdRelationId, AccessShareLock);
}

bool
anago_members_prepare(void)
{
	static Names now;
	static bool known = false;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	if (!read_names(anago_balancer_oltp, &now))
		memset(&now, 0, sizeof(now));
	if (may_look_up(&now))
	{
		names = now;
		for (int i = 0; i < names.nroles; i++)
			roles[i] = get_role_oid(names.roles[i], true);
		known = true;
	}
	CommitTransactionCommand();
	return known;
}

static bool
is_named(const PgBackendStatus *status)
{
	for (int i = 0; i < names.nroles; i++)
		if (OidIsValid(roles[i]) && roles[i] == status->st_userid)
			return true;
	for (int i = 0; i < names.napplications; i++)
		if (strcmp(names.applications[i], status->st_appname) == 0)
			return true;
	return names.nroles + names.napplications == 0;
}

/* ---- pids and slots ---- */

int
anago_compare_pids(const void *a, const void *b)
{
	int			x = *(const int *) a;
	int			y = *(const int *) b;

	return x < y ? -1 : x > y;
}

/* All processes that there are, by pid; no class yet. */
static AnagoMember *
list_processes(int *n)
{
	static AnagoMember *processes = NULL;
	int			most = (int) ProcGlobal->allProcCount;

	if (processes == NULL)
		processes = MemoryContextAlloc(TopMemoryContext, sizeof(AnagoMember) * most);
	*n = 0;
	for (int i = 0; i < most; i++)
	{
		int			pid = *(volatile int *) &ProcGlobal->allProcs[i].pid;

		if (pid != 0)
			processes[(*n)++] = (AnagoMember) {.pid = pid,.slot = i};
	}
	qsort(processes, *n, sizeof(AnagoMember), anago_compare_pids);
	return processes;
}

/* ---- the classes ---- */

static inline bool
runs_ours(int slot)
{
	return anago_budgets_next(anago_budgets, slot) == slot && !anago_slot_exempt(slot);
}

/* False: of no class. */
static bool
class_of(const PgBackendStatus *status, AnagoMember *member)
{
	PGPROC	   *proc = GetPGProcByNumber(member->slot);
	PGPROC	   *leader = *(PGPROC *volatile *) &proc->lockGroupLeader;

	switch (status->st_backendType)
	{
		case B_WAL_SENDER:
		case B_WAL_RECEIVER:
		case B_STARTUP:
			member->class = ANAGO_HTAL_SHIPPING;
			return true;
		case B_BG_WORKER:
			if (leader == NULL)
				return false;
			break;
		case B_BACKEND:
			break;
		default:
			return false;
	}
	member->class = runs_ours(member->slot) ||
		(leader != NULL && runs_ours(anago_slot_of(leader))) ||
		!is_named(status) ? ANAGO_HTAL_OLAP : ANAGO_HTAL_OLTP;
	return true;
}

/* What pg_stat_activity says of the process, if it is a member. */
static AnagoMember *
find_member(const PgBackendStatus *status, AnagoMember *processes, int n)
{
	AnagoMember key = {.pid = status->st_procpid};
	AnagoMember *member;

	if (status->st_procpid <= 0)
		return NULL;
	member = bsearch(&key, processes, n, sizeof(AnagoMember), anago_compare_pids);
	return member != NULL && class_of(status, member) ? member : NULL;
}

const AnagoMember *
anago_members_look(int *n)
{
	static AnagoMember *members = NULL;
	int			nprocesses;
	AnagoMember *processes = list_processes(&nprocesses);

	if (members == NULL)
		members = MemoryContextAlloc(TopMemoryContext,
									 sizeof(AnagoMember) * ProcGlobal->allProcCount);
	*n = 0;
	pgstat_clear_backend_activity_snapshot();
	for (int i = 1; i <= pgstat_fetch_stat_numbackends(); i++)
	{
		AnagoMember *member = find_member(anago_backend_status(i), processes, nprocesses);

		if (member != NULL && *n < (int) ProcGlobal->allProcCount)
			members[(*n)++] = *member;
	}
	pgstat_clear_backend_activity_snapshot();
	qsort(members, *n, sizeof(AnagoMember), anago_compare_pids);
	return members;
}

bool
anago_member_waits(const AnagoMember *member)
{
	PGPROC	   *proc = GetPGProcByNumber(member->slot);

	return *(volatile LocalTransactionId *) &ANAGO_PROC_LXID(proc) != InvalidLocalTransactionId &&
		anago_slot_wait_class(member->slot) != 0 && !anago_slot_stands(member->slot);
}
