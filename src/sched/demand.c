/*-------------------------------------------------------------------------
 *
 * demand.c
 *	  How many rows may yet be wanted, and what work that is worth.  See
 *	  demand.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "sched/demand.h"

/* Tasks that may live at a depth where none has ended yet. */
#define BOUND_START		1

/* Places that may wait where the turn has been of none. */
#define PLACES_START	4

/*
 * After so many rows what a task gives is known well enough that a task which is
 * needed twice over is begun for so many that have ended.
 */
#define KNOWN_ROWS		16
#define KNOWN_PATIENCE	2

/*
 * Tasks that end without a row, as a multiple of what a row has taken so far,
 * after which these alone count: where the rows were is not where they are.
 */
#define DRY_FACTOR		4

void
anago_demand_begin(AnagoDemand *demand, int patience, int64 wanted,
				   AnagoQuota *quota)
{
	memset(demand, 0, sizeof(AnagoDemand));
	demand->patience = patience;
	demand->wanted = wanted;
	demand->quota = quota;
}

void
anago_demand_row(AnagoDemand *demand, int ndepths)
{
	demand->given++;
	if (demand->quota != NULL)
		pg_atomic_fetch_add_u64(&demand->quota->given, 1);
	if (demand->wanted > 0)
		memcpy(demand->ended_then, demand->ended, sizeof(int64) * ndepths);
}

/* Rows that a task of that depth gives; 0: none has, as far as one can tell. */
static double
yield_of(const AnagoDemand *demand, int depth)
{
	int64		ended = demand->ended[depth];
	int64		dry = ended - demand->ended_then[depth];
	double		tasks_of_row;

	if (ended == 0)
		return 0;
	tasks_of_row = (double) ended / demand->given;
	if (dry > DRY_FACTOR * (tasks_of_row + 1))
		tasks_of_row = dry;
	return 1.0 / tasks_of_row;
}

/* Rows to be expected of all that lives as deep or deeper. */
static double
expected(const AnagoDemand *demand, const int *live, int ndepths, int depth)
{
	double		rows = 0;

	for (int d = depth; d < ndepths; d++)
		if (live[d] > 0)
			rows += live[d] * yield_of(demand, d);
	return rows;
}

/* Rows that this process may yet be wanted to give; 0: not known. */
static int64
rows_left(const AnagoDemand *demand)
{
	if (demand->quota != NULL)
		return anago_quota_left(demand->quota);
	return Max(demand->wanted - demand->given, 0);
}

int
anago_demand_bound(const AnagoDemand *demand, const int *live, int ndepths,
				   int depth, int most)
{
	int64		ended = demand->ended[depth];
	int64		paid;
	int64		left;
	double		yield;
	double		needed;

	paid = Max(ended / demand->patience, BOUND_START);
	if (demand->wanted == 0 || demand->given == 0 ||
		(left = rows_left(demand)) == 0 ||
		(yield = yield_of(demand, depth)) == 0)
		return (int) Min(paid, most);

	needed = live[depth] +
		(left - expected(demand, live, ndepths, depth)) / yield;
	if (needed >= most)
		needed = most;
	else
		needed = Max(ceil(needed), 0);
	if (demand->given >= KNOWN_ROWS)
		paid = Max(paid, Min(ended / KNOWN_PATIENCE, (int64) needed / 2));
	return (int) Min(Min(paid, (int64) needed), most);
}

int
anago_demand_places(const AnagoDemand *demand, int64 retired, int most)
{
	int64		paid = Max(retired / demand->patience, PLACES_START);
	int64		left;
	double		needed;

	if (demand->wanted > 0 && demand->given >= KNOWN_ROWS &&
		(left = rows_left(demand)) > 0)
	{
		needed = Min((double) left * retired / demand->given, most);
		paid = Max(paid, Min(retired / KNOWN_PATIENCE, (int64) needed / 2));
		paid = Min(paid, Max((int64) ceil(needed), 1));
	}
	return (int) Min(paid, most);
}
