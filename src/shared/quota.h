/*-------------------------------------------------------------------------
 *
 * quota.h
 *	  How many rows the processes of one query are wanted to give together.
 *
 * A query that may stop early is begun by one process.  Another one begins when
 * what the others have read is so much that what it reads to begin with does
 * not matter beside that; the leader, who has to be there for the others' rows
 * anyway, begins at once.
 *
 * Where the number of rows is known, and all that are given are wanted in
 * whatever order they come, each process counts those that it gives, and all
 * stop when there are enough.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_QUOTA_H
#define ANAGO_QUOTA_H

#include "postgres.h"

#include "port/atomics.h"

/* Blocks that were used for each process that works, before one more begins. */
#define ANAGO_BLOCKS_TO_BEGIN	32

typedef struct AnagoQuota
{
	bool		may_stop;		/* not all rows may come to be wanted */
	bool		together;		/* `wanted` is of all processes, else of each */
	int64		wanted;			/* rows at most, or 0: not known */
	pg_atomic_uint32 begun;		/* processes */
	pg_atomic_uint64 used;		/* blocks, by all */
	pg_atomic_uint64 given;		/* rows, if `together` */
} AnagoQuota;

static inline void
anago_quota_init(AnagoQuota *quota, bool may_stop, int64 wanted, bool together)
{
	quota->may_stop = may_stop;
	quota->together = together && wanted > 0;
	quota->wanted = wanted;
	pg_atomic_init_u32(&quota->begun, 0);
	pg_atomic_init_u64(&quota->used, 0);
	pg_atomic_init_u64(&quota->given, 0);
}

/* Have enough rows been given? */
static inline bool
anago_quota_is_met(AnagoQuota *quota)
{
	return quota->together &&
		pg_atomic_read_u64(&quota->given) >= (uint64) quota->wanted;
}

/* One process's share of the rows that are still to be given; at least one. */
static inline int64
anago_quota_left(AnagoQuota *quota)
{
	int64		left = quota->wanted - (int64) pg_atomic_read_u64(&quota->given);
	uint32		begun = pg_atomic_read_u32(&quota->begun);

	left /= Max(begun, 1);
	return Max(left, 1);
}

/* May one more process begin?  If so, it has. */
static inline bool
anago_quota_begin(AnagoQuota *quota, bool at_once)
{
	uint32		begun = pg_atomic_read_u32(&quota->begun);

	do
	{
		if (quota->may_stop && !at_once &&
			pg_atomic_read_u64(&quota->used) <
			(uint64) begun * ANAGO_BLOCKS_TO_BEGIN)
			return false;
	} while (!pg_atomic_compare_exchange_u32(&quota->begun, &begun,
											 begun + 1));
	return true;
}

#endif							/* ANAGO_QUOTA_H */
