/*-------------------------------------------------------------------------
 *
 * division.c
 *	  How the limits of reads are divided just now.  See budgets.h.
 *
 * Whoever is about to read and finds the level too old looks at all slots, and leaves
 * what follows for all.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/transam.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "resource/budgets.h"
#include "resource/groups.h"
#include "resource/level.h"

/* A part of a read counts as one. */
#define ROUND_UP	0.999

/* How long a fraction is rounded one way; steps that are spread evenly. */
#define ROUNDED_NS	16000000
#define GOLDEN		2654435769U

double
anago_slot_share(const AnagoSlot *slot)
{
	AnagoSlot  *of = (AnagoSlot *) slot;

	return (double) anago_read_positive(&of->share) / anago_read_positive(&of->processes);
}

/* Among those that a limit is divided among. */
static double
weight_in(AnagoDivision *division, AnagoSlot *slot)
{
	return anago_level_weight(anago_slot_share(slot), pg_atomic_read_u32(&slot->latency_us),
							  anago_read_double(&division->latency));
}

/* ---- of all ---- */

typedef struct Claims
{
	AnagoClaim *claims;
	int			n;
	double		latency;		/* of their reads, mean */
	double		shares;			/* of all of them */
	uint32		uncounted;		/* reads of others */
} Claims;

/* Whose claims are gathered, and where those have their count. */
typedef struct Among
{
	bool		governed;		/* not of those that are no affair of the governors */
	const AnagoGroup *group;	/* of these only; NULL: of all */
	int			within;			/* kinds of groups that are divided already */
} Among;

static bool
is_among(const Among *among, AnagoSlot *slot)
{
	const AnagoGroup *group = among->group;

	return group == NULL || pg_atomic_read_u32(&slot->group[group->kind]) ==
		group - anago_budgets->groups.groups + 1;
}

static uint32
charged_among(const Among *among, AnagoSlot *slot)
{
	return pg_atomic_read_u32(among->group != NULL ?
							  &slot->group_charged[among->group->kind] : &slot->charged);
}

/* What it has use for, within what its groups allow it. */
static int
wants_within(AnagoSlot *slot, int kinds)
{
	int			wants = (int) pg_atomic_read_u32(&slot->wants);

	for (int kind = 0; kind < kinds; kind++)
	{
		uint32		number = pg_atomic_read_u32(&slot->group[kind]);
		AnagoGroup *group = number > 0 ? &anago_budgets->groups.groups[number - 1] : NULL;
		double		level;
		double		weight;

		if (anago_group_inflight(group) == 0)
			continue;
		level = anago_read_double(&group->division.level);
		weight = weight_in(&group->division, slot);
		if (level * weight < wants)
			wants = anago_level_allows(level, weight, ROUND_UP);
	}
	return wants;
}

/* Reads that nobody counts on are nobody's in particular. */
static void
gather_claims(const Among *among, Claims *all)
{
	all->n = 0;
	all->shares = 0;
	all->uncounted = 0;
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];
		AnagoClaim *claim = &all->claims[all->n];

		if (!is_among(among, slot))
			continue;
		if (anago_slot_stands(i) || (among->governed && anago_slot_exempt(i)))
		{
			all->uncounted += charged_among(among, slot);
			continue;
		}
		claim->weight = anago_slot_share(slot);
		claim->latency = pg_atomic_read_u32(&slot->latency_us);
		claim->wants = wants_within(slot, among->within);
		if (claim->wants == 0)
			continue;
		all->shares += claim->weight;
		all->n++;
	}
	all->latency = anago_level_weigh(all->claims, all->n);
}

static void
divide(AnagoDivision *division, int limit, const Claims *all)
{
	anago_write_double(&division->level,
					   limit > 0 ? anago_level(all->claims, all->n, limit) : ANAGO_NO_LEVEL);
	anago_write_double(&division->latency, all->latency);
	anago_write_double(&division->shares, all->shares);
	pg_atomic_write_u32(&division->uncounted, all->uncounted);
	pg_atomic_write_u32(&division->bound, limit > 0 ? Max(limit, all->n) : INT_MAX / 2);
}

/* The governors', or that of all if it is less. */
static int
governed_limit(int limit)
{
	return (int) anago_lesser_limit(anago_governed_reads(), limit);
}

static AnagoClaim *
claims_room(void)
{
	static AnagoClaim *claims = NULL;
	static int	nclaims = 0;

	if (nclaims < anago_budgets->nslots)
	{
		if (claims != NULL)
			pfree(claims);
		nclaims = 0;
		claims = MemoryContextAlloc(TopMemoryContext,
									sizeof(AnagoClaim) * anago_budgets->nslots);
		nclaims = anago_budgets->nslots;
	}
	return claims;
}

static void
divide_groups(AnagoGroupKind kind, Claims *all)
{
	int			n = (int) pg_atomic_read_u32(&anago_budgets->groups.n);

	for (int i = 0; i < n; i++)
	{
		AnagoGroup *group = &anago_budgets->groups.groups[i];

		if (group->kind != kind || !anago_group_is_limited(group))
			continue;
		gather_claims(&(Among) {.group = group, .within = kind}, all);
		divide(&group->division, anago_group_inflight(group), all);
	}
}

/*
 * Groups first: what a query's role does not let it have of the database's limit, or
 * of the server's, others have.
 */
static void
divide_anew(void)
{
	int			limit = (int) anago_budgets_limit(ANAGO_LIMIT_INFLIGHT);
	int			kinds = pg_atomic_read_u32(&anago_budgets->groups.limited) != 0 ?
		ANAGO_GROUP_KINDS : 0;
	Claims		all = {.claims = claims_room()};

	for (int kind = 0; kind < kinds; kind++)
		divide_groups(kind, &all);
	gather_claims(&(Among) {.within = kinds}, &all);
	divide(&anago_budgets->all, limit, &all);
	if (anago_governed_reads() == 0)
		return;
	gather_claims(&(Among) {.governed = true, .within = kinds}, &all);
	divide(&anago_budgets->governed, governed_limit(limit), &all);
}

/* ---- of this process ---- */

bool
anago_slot_governed(void)
{
	return anago_governed_reads() != 0 &&
		!TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/* Whoever comes first when it is too old. */
AnagoDivision *
anago_division(uint64 now, int *limit)
{
	uint64		then = pg_atomic_read_u64(&anago_budgets->computed);
	bool		governed = anago_slot_governed();

	if (now - then >= ANAGO_LEVEL_US * UINT64CONST(1000) &&
		pg_atomic_compare_exchange_u64(&anago_budgets->computed, &then, now))
		divide_anew();
	*limit = (int) anago_budgets_limit(ANAGO_LIMIT_INFLIGHT);
	if (!governed)
		return &anago_budgets->all;
	*limit = governed_limit(*limit);
	return &anago_budgets->governed;
}

/*
 * Fractions are rounded up as often as they are great: by a number that changes
 * now and then, and is another for each process.  (Not with each level: what one has
 * over then is another's that cannot have it before the read has come.)
 */
int
anago_division_allows(AnagoDivision *division)
{
	uint32		turn = pg_atomic_read_u64(&anago_budgets->computed) / ROUNDED_NS;
	uint32		dice = murmurhash32((uint32) MyProcPid) + turn * GOLDEN;

	return anago_level_allows(anago_read_double(&division->level),
							  weight_in(division, anago_slot),
							  (double) dice / ((double) PG_UINT32_MAX + 1));
}
