/*-------------------------------------------------------------------------
 *
 * groups.c
 *	  Limits of roles and databases.  See groups.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "compat.h"
#include "guc.h"
#include "guclist.h"
#include "resource/groups.h"

static const char *const kind_names[ANAGO_GROUP_KINDS] = {"role", "database"};

/* A setting that is a list of limits. */
typedef struct Setting
{
	const char *unit;
	int			most;
	const AnagoGroupLimits *assigned;	/* the latest */
} Setting;

static Setting settings[ANAGO_GROUP_LIMITS] = {
	[ANAGO_LIMIT_INFLIGHT] = {"reads", ANAGO_MAX_SERVER_INFLIGHT},
	[ANAGO_LIMIT_READS_PER_S] = {"reads", ANAGO_MAX_SERVER_RATE},
	[ANAGO_LIMIT_MB_PER_S] = {"MB", ANAGO_MAX_SERVER_MB}
};

/* The latest name that was looked up, */
static Oid	known_user = InvalidOid;
static NameData known_role;

/* the role whose query runs, and the database; of what groups these were found when. */
static NameData known[ANAGO_GROUP_KINDS];
static uint32 known_turn;

/* ---- the settings ---- */

/* What is read of one of them. */
typedef struct Reading
{
	const Setting *setting;
	AnagoGroupLimits *limits;
} Reading;

static bool
read_kind(const char *element, const char *colon, AnagoGroupKind *kind)
{
	for (int i = 0; i < ANAGO_GROUP_KINDS; i++)
		if (strlen(kind_names[i]) == colon - element &&
			pg_strncasecmp(element, kind_names[i], colon - element) == 0)
		{
			*kind = i;
			return true;
		}
	return false;
}

static bool
read_limit(const Setting *setting, const char *digits, int *limit)
{
	return parse_int(digits, limit, 0, NULL) && *limit >= 1 && *limit <= setting->most;
}

/* kind:name=limit */
static bool
read_element(const Setting *setting, const char *element, AnagoGroupLimit *limit)
{
	const char *colon = strchr(element, ':');
	const char *equals = strrchr(element, '=');

	if (colon == NULL || equals == NULL || equals <= colon + 1 ||
		equals - colon > NAMEDATALEN)
	{
		GUC_check_errdetail("\"%s\" is not of the form \"role:name=%s\" or \"database:name=%s\".",
							element, setting->unit, setting->unit);
		return false;
	}
	if (!read_kind(element, colon, &limit->kind))
	{
		GUC_check_errdetail("Limits are of a \"role\" or a \"database\", not of a \"%.*s\".",
							(int) (colon - element), element);
		return false;
	}
	if (!read_limit(setting, equals + 1, &limit->limit))
	{
		GUC_check_errdetail("\"%s\" is no number of %s from 1 to %d.",
							equals + 1, setting->unit, setting->most);
		return false;
	}
	memset(limit->name, 0, NAMEDATALEN);
	memcpy(limit->name, colon + 1, equals - colon - 1);
	return true;
}

static bool
is_same(AnagoGroupKind kind, const char *name, const AnagoGroupLimit *limit)
{
	return kind == limit->kind && strcmp(name, limit->name) == 0;
}

static bool
add_element(void *to, const char *element)
{
	Reading    *reading = to;
	AnagoGroupLimits *limits = reading->limits;

	if (limits->n == ANAGO_MAX_GROUPS)
	{
		GUC_check_errdetail("There may be %d limits at most.", ANAGO_MAX_GROUPS);
		return false;
	}
	if (!read_element(reading->setting, element, &limits->limits[limits->n]))
		return false;
	for (int i = 0; i < limits->n; i++)
		if (is_same(limits->limits[i].kind, limits->limits[i].name,
					&limits->limits[limits->n]))
		{
			GUC_check_errdetail("\"%s\" is named twice.", limits->limits[i].name);
			return false;
		}
	limits->n++;
	return true;
}

static bool
check(AnagoLimit which, const char *newval, void **extra)
{
	AnagoGroupLimits *limits = ANAGO_GUC_MALLOC(sizeof(AnagoGroupLimits));

	if (limits == NULL)
		return false;
	limits->n = 0;
	if (!anago_guclist_read(newval, add_element, &(Reading) {&settings[which], limits}))
	{
		ANAGO_GUC_FREE(limits);
		return false;
	}
	*extra = limits;
	return true;
}

static void
assign(AnagoLimit which, void *extra)
{
	settings[which].assigned = extra;
	anago_budgets_groups_assigned();
}

bool
anago_group_inflight_reads_check(char **newval, void **extra, GucSource source)
{
	return check(ANAGO_LIMIT_INFLIGHT, *newval, extra);
}

bool
anago_group_reads_per_s_check(char **newval, void **extra, GucSource source)
{
	return check(ANAGO_LIMIT_READS_PER_S, *newval, extra);
}

bool
anago_group_mb_per_s_check(char **newval, void **extra, GucSource source)
{
	return check(ANAGO_LIMIT_MB_PER_S, *newval, extra);
}

void
anago_group_inflight_reads_assign(const char *newval, void *extra)
{
	assign(ANAGO_LIMIT_INFLIGHT, extra);
}

void
anago_group_reads_per_s_assign(const char *newval, void *extra)
{
	assign(ANAGO_LIMIT_READS_PER_S, extra);
}

void
anago_group_mb_per_s_assign(const char *newval, void *extra)
{
	assign(ANAGO_LIMIT_MB_PER_S, extra);
}

/* ---- the memory ---- */

void
anago_groups_fill(AnagoGroups *groups)
{
	SpinLockInit(&groups->mutex);
	pg_atomic_init_u32(&groups->n, 0);
	pg_atomic_init_u32(&groups->limited, 0);
	pg_atomic_init_u32(&groups->turn, 0);
	for (int i = 0; i < ANAGO_MAX_GROUPS; i++)
	{
		AnagoGroup *group = &groups->groups[i];

		memset(group, 0, sizeof(AnagoGroup));
		for (int which = 0; which < ANAGO_GROUP_LIMITS; which++)
			pg_atomic_init_u32(&group->limits[which], 0);
		pg_atomic_init_u32(&group->taken, 0);
		pg_atomic_init_u64(&group->due, 0);
		anago_division_init(&group->division, 0);
	}
	anago_groups_set(groups);
}

/* What a setting has of it; 0: nothing. */
static int
limit_of(AnagoGroup *group, AnagoLimit which)
{
	const AnagoGroupLimits *assigned = settings[which].assigned;

	for (int i = 0; assigned != NULL && i < assigned->n; i++)
		if (is_same(group->kind, group->name, &assigned->limits[i]))
			return assigned->limits[i].limit;
	return 0;
}

static AnagoGroup *
find_group(AnagoGroups *groups, AnagoGroupKind kind, const char *name)
{
	int			n = (int) pg_atomic_read_u32(&groups->n);

	pg_read_barrier();
	for (int i = 0; i < n; i++)
		if (groups->groups[i].kind == kind && strcmp(groups->groups[i].name, name) == 0)
			return &groups->groups[i];
	return NULL;
}

/* Has each name that a setting has a place? */
static bool
have_places(AnagoGroups *groups, const AnagoGroupLimits *assigned)
{
	for (int i = 0; assigned != NULL && i < assigned->n; i++)
		if (find_group(groups, assigned->limits[i].kind, assigned->limits[i].name) == NULL)
			return false;
	return true;
}

/* Every process of the server is told of new settings, most of them after others. */
static bool
is_set(AnagoGroups *groups)
{
	int			n = (int) pg_atomic_read_u32(&groups->n);

	pg_read_barrier();
	for (int which = 0; which < ANAGO_GROUP_LIMITS; which++)
	{
		for (int i = 0; i < n; i++)
			if (anago_group_limit(&groups->groups[i], which) !=
				limit_of(&groups->groups[i], which))
				return false;
		/* (those without a place are known) */
		if (n < ANAGO_MAX_GROUPS && !have_places(groups, settings[which].assigned))
			return false;
	}
	return true;
}

/* A place for a new one, or none. */
static AnagoGroup *
add_group(AnagoGroups *groups, const AnagoGroupLimit *limit)
{
	int			n = (int) pg_atomic_read_u32(&groups->n);
	AnagoGroup *group = &groups->groups[n];

	if (n == ANAGO_MAX_GROUPS)
		return NULL;
	group->kind = limit->kind;
	memcpy(group->name, limit->name, NAMEDATALEN);
	pg_write_barrier();
	pg_atomic_write_u32(&groups->n, n + 1);
	return group;
}

/* Returns how many have found no place. */
static int
make_places(AnagoGroups *groups, const AnagoGroupLimits *assigned)
{
	int			without = 0;

	for (int i = 0; assigned != NULL && i < assigned->n; i++)
	{
		const AnagoGroupLimit *limit = &assigned->limits[i];

		if (find_group(groups, limit->kind, limit->name) == NULL &&
			add_group(groups, limit) == NULL)
			without++;
	}
	return without;
}

static void
set_limit(AnagoGroup *group, AnagoLimit which)
{
	int			limit = limit_of(group, which);

	if (limit == anago_group_limit(group, which))
		return;
	/* what was taken ahead at a low rate is not to be waited for at a higher one */
	if (which == ANAGO_LIMIT_INFLIGHT)
		anago_division_init(&group->division, limit);
	else
		pg_atomic_write_u64(&group->due, 0);
	pg_atomic_write_u32(&group->limits[which], limit);
}

/* The same. */
static int
set_all(AnagoGroups *groups)
{
	int			without = 0;
	int			limited = 0;

	for (int which = 0; which < ANAGO_GROUP_LIMITS; which++)
		without += make_places(groups, settings[which].assigned);
	for (int i = 0; i < (int) pg_atomic_read_u32(&groups->n); i++)
	{
		for (int which = 0; which < ANAGO_GROUP_LIMITS; which++)
			set_limit(&groups->groups[i], which);
		limited += anago_group_is_limited(&groups->groups[i]);
	}
	pg_atomic_write_u32(&groups->limited, limited);
	pg_atomic_fetch_add_u32(&groups->turn, 1);
	return without;
}

void
anago_groups_set(AnagoGroups *groups)
{
	int			without;

	if (is_set(groups))
		return;
	SpinLockAcquire(&groups->mutex);
	without = is_set(groups) ? 0 : set_all(groups);
	SpinLockRelease(&groups->mutex);
	if (without > 0)
		ereport(LOG,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("%d of anago's limits of roles and databases are not in force", without),
				 errdetail("%d roles and databases have been named in settings since the server started.",
						   ANAGO_MAX_GROUPS),
				 errhint("Restart the server.")));
}

/* ---- of this process ---- */

static void
find_groups(void)
{
	AnagoGroups *groups = &anago_budgets->groups;

	known_turn = pg_atomic_read_u32(&groups->turn);
	pg_read_barrier();
	for (int kind = 0; kind < ANAGO_GROUP_KINDS; kind++)
	{
		AnagoGroup *group = find_group(groups, kind, NameStr(known[kind]));

		anago_slot_change_group(kind, group != NULL ? group - groups->groups + 1 : 0);
	}
}

static void
keep_name(NameData *to, char *name)
{
	namestrcpy(to, name != NULL ? name : "");
	if (name != NULL)
		pfree(name);
}

/* A role or a database may be renamed. */
static void
forget_names(Datum arg, int cacheid, uint32 hashvalue)
{
	known_user = InvalidOid;
}

static void
watch_names(void)
{
	static bool watched = false;

	if (watched)
		return;
	CacheRegisterSyscacheCallback(AUTHOID, forget_names, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, forget_names, (Datum) 0);
	watched = true;
}

void
anago_groups_name_role(Oid user, NameData *role)
{
	watch_names();
	if (known_user != user)
	{
		keep_name(&known_role, GetUserNameFromId(user, true));
		keep_name(&known[ANAGO_GROUP_DATABASE], get_database_name(MyDatabaseId));
		known_user = user;
	}
	*role = known_role;
}

void
anago_groups_begin(void)
{
	anago_groups_name_role(GetUserId(), &known[ANAGO_GROUP_ROLE]);
	find_groups();
}

/*
 * What it had of another role's limit is given back, also if that is the same limit, as
 * one role now has the name that the other one had.
 */
void
anago_groups_act_for(const NameData *role, int inflight)
{
	anago_slot_change_group(ANAGO_GROUP_ROLE, 0);
	known[ANAGO_GROUP_ROLE] = *role;
	find_groups();
	anago_slot->role_inflight = inflight;
}

void
anago_groups_keep(void)
{
	if (known_turn != pg_atomic_read_u32(&anago_budgets->groups.turn))
		find_groups();
}
