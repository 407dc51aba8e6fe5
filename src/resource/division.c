/*-------------------------------------------------------------------------
 *
 * division.c
 *	  How the limits of reads in flight are divided just now.  See budgets.h.
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
#include "resource/level.h"

double
anago_slot_weight(const AnagoSlot *slot)
{
	AnagoSlot  *of = (AnagoSlot *) slot;

	return (double) anago_read_positive(&of->share) / anago_read_positive(&of->processes);
}

/* ---- of all ---- */

typedef struct Claims
{
	AnagoClaim *claims;
	int			n;
	double		weights;		/* of all of them */
	uint32		uncounted;		/* reads of others */
} Claims;

/* Reads that nobody counts on are nobody's in particular. */
static void
gather_claims(bool guarded, Claims *all)
{
	all->n = 0;
	all->weights = 0;
	all->uncounted = 0;
	for (int i = anago_budgets_next(anago_budgets, 0); i >= 0;
		 i = anago_budgets_next(anago_budgets, i + 1))
	{
		AnagoSlot  *slot = &anago_budgets->slots[i];
		AnagoClaim *claim = &all->claims[all->n];

		if (anago_slot_stands(i) || (guarded && anago_slot_exempt(i)))
		{
			all->uncounted += pg_atomic_read_u32(&slot->charged);
			continue;
		}
		claim->weight = anago_slot_weight(slot);
		claim->wants = (int) pg_atomic_read_u32(&slot->wants);
		if (claim->wants == 0)
			continue;
		all->weights += claim->weight;
		all->n++;
	}
}

static void
divide(AnagoDivision *division, int limit, const Claims *all)
{
	anago_write_double(&division->level,
					   limit > 0 ? anago_level(all->claims, all->n, limit) : ANAGO_NO_LEVEL);
	anago_write_double(&division->weights, all->weights);
	pg_atomic_write_u32(&division->uncounted, all->uncounted);
	pg_atomic_write_u32(&division->bound, limit > 0 ? Max(limit, all->n) : INT_MAX / 2);
}

/* The guard's, or that of all if it is less. */
static int
guarded_limit(int limit)
{
	int			guard = (int) pg_atomic_read_u32(&anago_budgets->guard_limit);

	return guard > 0 && (limit == 0 || guard < limit) ? guard : limit;
}

static void
divide_anew(void)
{
	static AnagoClaim *claims = NULL;
	static int	nclaims = 0;
	int			limit = (int) pg_atomic_read_u32(&anago_budgets->limit);
	Claims		all;

	if (nclaims < anago_budgets->nslots)
	{
		if (claims != NULL)
			pfree(claims);
		nclaims = 0;
		claims = MemoryContextAlloc(TopMemoryContext,
									sizeof(AnagoClaim) * anago_budgets->nslots);
		nclaims = anago_budgets->nslots;
	}
	all.claims = claims;
	gather_claims(false, &all);
	divide(&anago_budgets->all, limit, &all);
	if (pg_atomic_read_u32(&anago_budgets->guard_limit) == 0)
		return;
	gather_claims(true, &all);
	divide(&anago_budgets->guarded, guarded_limit(limit), &all);
}

/* ---- of this process ---- */

bool
anago_slot_guarded(void)
{
	return pg_atomic_read_u32(&anago_budgets->guard_limit) != 0 &&
		!TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/* Whoever comes first when it is too old. */
AnagoDivision *
anago_division(uint64 now, int *limit)
{
	uint64		then = pg_atomic_read_u64(&anago_budgets->computed);
	bool		guarded = anago_slot_guarded();

	if (now - then >= ANAGO_LEVEL_US * UINT64CONST(1000) &&
		pg_atomic_compare_exchange_u64(&anago_budgets->computed, &then, now))
		divide_anew();
	*limit = (int) pg_atomic_read_u32(&anago_budgets->limit);
	if (!guarded)
		return &anago_budgets->all;
	*limit = guarded_limit(*limit);
	return &anago_budgets->guarded;
}

/*
 * Fractions are rounded up as often as they are great: by a number that changes
 * with the level, and is another for each process.
 */
int
anago_division_allows(AnagoDivision *division)
{
	uint64		turn = pg_atomic_read_u64(&anago_budgets->computed);
	uint32		dice = hash_combine(murmurhash32((uint32) (turn >> 10)),
									murmurhash32((uint32) MyProcPid));

	return anago_level_allows(anago_read_double(&division->level),
							  anago_slot_weight(anago_slot),
							  (double) dice / ((double) PG_UINT32_MAX + 1));
}
