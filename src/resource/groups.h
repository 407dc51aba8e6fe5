/*-------------------------------------------------------------------------
 *
 * groups.h
 *	  Limits of roles and databases: anago.group_inflight_reads, and the same with
 *	  reads_per_s and mb_per_s.
 *
 *		role:reports=32, database:dwh=64
 *
 * Each is a cap of what all queries of that role, or in that database, have in flight
 * or read per second together, within the server's own limit, and is divided among them
 * as that is.  A
 * query is of two groups at most, its role's and its database's.  A process that has
 * open queries of several roles is of the group of the one that it runs; what others
 * have in flight counts for nobody's role meanwhile.
 *
 * Groups are found by name, so that a limit can be there before the role is, and the
 * setting means the same in every process.  A group that was once named keeps its place,
 * without a limit if it is named no more: there is no moment at which a process could
 * count in another group's place.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_GROUPS_H
#define ANAGO_GROUPS_H

#include "postgres.h"

#include "utils/guc.h"

#include "resource/budgets.h"

/* What the setting says: a check hook's extra. */
typedef struct AnagoGroupLimit
{
	AnagoGroupKind kind;
	char		name[NAMEDATALEN];
	int			limit;			/* at least 1 */
} AnagoGroupLimit;

typedef struct AnagoGroupLimits
{
	int			n;
	AnagoGroupLimit limits[ANAGO_MAX_GROUPS];
} AnagoGroupLimits;

extern bool anago_group_inflight_reads_check(char **newval, void **extra, GucSource source);
extern bool anago_group_reads_per_s_check(char **newval, void **extra, GucSource source);
extern bool anago_group_mb_per_s_check(char **newval, void **extra, GucSource source);
extern void anago_group_inflight_reads_assign(const char *newval, void *extra);
extern void anago_group_reads_per_s_assign(const char *newval, void *extra);
extern void anago_group_mb_per_s_assign(const char *newval, void *extra);

/* What a role is called.  May look up catalogs. */
extern void anago_groups_name_role(Oid user, NameData *role);

/* From now on it reads for that role, of which it has so many in flight. */
extern void anago_groups_act_for(const NameData *role, int inflight);

/* Before it reads: are the groups still those that this process was found to be of? */
extern void anago_groups_keep(void);

/* That of this process and kind; NULL: it has no limit. */
static inline AnagoGroup *
anago_group(AnagoGroupKind kind)
{
	uint32		number = pg_atomic_read_u32(&anago_slot->group[kind]);

	return number > 0 ? &anago_budgets->groups.groups[number - 1] : NULL;
}

/* 0: none */
static inline int
anago_group_limit(AnagoGroup *group, AnagoLimit which)
{
	return group != NULL ? (int) pg_atomic_read_u32(&group->limits[which]) : 0;
}

static inline int
anago_group_inflight(AnagoGroup *group)
{
	return anago_group_limit(group, ANAGO_LIMIT_INFLIGHT);
}

static inline bool
anago_group_is_limited(AnagoGroup *group)
{
	for (int which = 0; which < ANAGO_GROUP_LIMITS; which++)
		if (anago_group_limit(group, which) > 0)
			return true;
	return false;
}

#endif							/* ANAGO_GROUPS_H */
