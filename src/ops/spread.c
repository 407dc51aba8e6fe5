/*-------------------------------------------------------------------------
 *
 * spread.c
 *	  How a query spreads over the processes of a parallel query.
 *
 * Every process runs the same pipeline, with tasks, reads and memory of its
 * own.  What goes from one to another:
 *
 *		combinations of the source		claimed in small runs		range.c
 *		children of wide ranges			taken one by one			span.c
 *		rows							given, where one process	here
 *										has far less to do than
 *										the others
 *
 * The first two are taken by whoever has room, so that work goes to where it
 * is done; rows are moved late and rarely, as each move costs two copies and
 * what the receiver's CPU caches do not hold.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "ops/probe.h"
#include "ops/row.h"
#include "ops/span.h"
#include "ops/spread.h"
#include "ops/static.h"
#include "shared/share.h"

/* --- take --- */

/*
 * May a task be spawned in any step, at that one of its depths?  Which step it
 * is for is known when it is taken.
 */
static bool
all_have_room(const AnagoQuery *query, int depth)
{
	for (int i = 0; i < query->nsteps; i++)
		if (!anago_sched_has_room(query->sched,
								  anago_query_op(query, i)->depth + depth))
			return false;
	return true;
}

static bool
read_letters(AnagoQuery *query)
{
	char		bytes[ANAGO_LETTER_BYTES];
	bool		some = false;
	int			step;

	while (all_have_room(query, 0) &&
		   anago_letter_take(query->share, &step, bytes) >= 0)
	{
		anago_probe_spawn(anago_query_step(query, step),
						  anago_row_unpack(query, step, bytes));
		some = true;
	}
	return some;
}

static bool
join_ranges(AnagoQuery *query)
{
	AnagoRangeName name;
	char		bytes[ANAGO_SHARED_ROW_BYTES];
	uint32		generation;
	bool		some = false;
	int			slot;

	while (all_have_room(query, 1) &&
		   (slot = anago_range_join(query->share, &name, bytes, &generation)) >= 0)
	{
		AnagoSpan  *span = anago_span_create(query, name.combo, name.combo_end);

		span->slot = slot;
		span->generation = generation;
		anago_probe_join(anago_query_step(query, name.step),
						 anago_row_unpack(query, name.step, bytes), span);
		some = true;
	}
	return some;
}

/* AnagoSchedPeers.feed */
static bool
feed(void *arg)
{
	AnagoQuery *query = arg;
	bool		letters;
	bool		ranges;

	if (query->parts != NULL)
		return anago_static_next(query);
	if (!anago_share_has_work(query->share))
		return false;
	letters = read_letters(query);
	ranges = join_ranges(query);
	return letters || ranges;
}

/* AnagoSchedPeers.tick */
static bool
tick(void *arg, int nlive)
{
	AnagoQuery *query = arg;

	if (anago_share_stopped(query->share))
		return false;
	query->give_to = -1;
	if (!query->in_parts)
		query->give_to = anago_share_balance(query->share, nlive, &query->give_n);
	anago_query_publish(query);
	return true;
}

void
anago_spread_peers(AnagoQuery *query, AnagoSchedPeers *peers)
{
	peers->budget = &query->share->segment->budget;
	peers->feed = feed;
	peers->tick = tick;
	peers->arg = query;
}

bool
anago_spread_more(AnagoQuery *query)
{
	AnagoShare *share = query->share;

	for (;;)
	{
		bool		stop = anago_share_stopped(share);

		if (!stop && feed(query))
			return true;
		if (!stop && !query->in_parts && anago_share_wait(share))
			continue;
		if (anago_share_leave(share, stop))
			return false;
	}
}

/* --- give --- */

bool
anago_spread_give(AnagoQuery *query, int step, AnagoRow *row)
{
	char		bytes[ANAGO_LETTER_BYTES];
	int			size = anago_row_pack(query, row, step, bytes,
									  ANAGO_LETTER_BYTES);

	if (size >= 0 &&
		anago_letter_send(query->share, query->give_to, step, bytes, size))
	{
		query->given++;
		if (--query->give_n <= 0)
			query->give_to = -1;
		return true;
	}
	query->give_to = -1;
	return false;
}
