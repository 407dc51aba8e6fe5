/*-------------------------------------------------------------------------
 *
 * peers.c
 *	  How a query spreads over the processes of a parallel query.
 *
 * Every process runs the same pipeline, with tasks, reads and memory of its
 * own.  What goes from one to another:
 *
 *		numbers of the source		claimed in small runs		by the step
 *		pieces of items				taken one by one			by the step
 *		rows						given, where one process	here
 *									has far less to do than
 *									the others
 *
 * The first two are taken by whoever has room, so that work goes to where it
 * is done; rows are moved late and rarely, as each move costs two copies and
 * what the receiver's CPU caches do not hold.
 *
 * Where each process is to give its rows in order, pieces of the source are all
 * that is taken, and nobody waits for anybody.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"

#include "pipeline/peers.h"
#include "pipeline/row.h"
#include "resource/elastic.h"
#include "shared/items.h"
#include "shared/mailbox.h"
#include "shared/share.h"

/* --- take --- */

/*
 * May a task be spawned in any step, at that one of its depths?  Which step it
 * is for is known when it is taken.
 */
static bool
all_have_room(const AnagoPipeline *pipeline, int depth)
{
	for (int i = 0; i < pipeline->nsteps; i++)
		if (!anago_sched_has_room(pipeline->sched,
								  anago_pipeline_op(pipeline, i)->depth + depth))
			return false;
	return true;
}

static bool
read_messages(AnagoPipeline *pipeline)
{
	char		bytes[ANAGO_MESSAGE_BYTES];
	bool		some = false;
	int			step;

	while (all_have_room(pipeline, 0) &&
		   anago_mailbox_take(pipeline->peers.share, &step, bytes) >= 0)
	{
		AnagoOp    *op = anago_pipeline_op(pipeline, step);

		op->kind->adopt(op, anago_row_unpack(pipeline, step, bytes));
		some = true;
	}
	return some;
}

static bool
enter_items(AnagoPipeline *pipeline)
{
	AnagoItem	item;
	char		bytes[ANAGO_ITEM_BYTES] pg_attribute_aligned(MAXIMUM_ALIGNOF);
	bool		some = false;
	int			step;

	while (all_have_room(pipeline, 1) &&
		   anago_item_enter(pipeline->peers.share, &item, &step, bytes))
	{
		AnagoOp    *op = anago_pipeline_op(pipeline, step);

		op->kind->enter(op, item, bytes);
		some = true;
	}
	return some;
}

/* AnagoSchedPeers.feed */
static bool
feed(void *arg)
{
	AnagoPipeline *pipeline = arg;
	bool		messages;
	bool		items;

	anago_elastic_keep();
	/* in parts, all that there is comes from the source */
	if (pipeline->peers.in_parts)
	{
		AnagoOp    *first = anago_pipeline_op(pipeline, 0);

		return first->kind->more(first);
	}
	if (pipeline->peers.in_order || !anago_share_has_work(pipeline->peers.share))
		return false;
	messages = read_messages(pipeline);
	items = enter_items(pipeline);
	return messages || items;
}

static int64
blocks_used(const AnagoPipeline *pipeline)
{
	const AnagoCounts *run = &pipeline->counters->run;

	return run->hits + run->collected + run->sync_reads;
}

/* Blocks that were used since the last time count for who would begin. */
static void
tell_used(AnagoPipeline *pipeline)
{
	int64		used = blocks_used(pipeline);

	if (pipeline->peers.segment->quota.may_stop)
		pg_atomic_fetch_add_u64(&pipeline->peers.segment->quota.used,
								used - pipeline->peers.used);
	pipeline->peers.used = used;
}

/* AnagoSchedPeers.tick */
static bool
tick(void *arg, int nlive)
{
	AnagoPipeline *pipeline = arg;
	AnagoPeers *peers = &pipeline->peers;

	if (anago_share_stopped(peers->share))
		return false;
	anago_elastic_keep();
	peers->give_to = -1;
	if (anago_peers_exchange(pipeline))
		peers->give_to = anago_share_balance(peers->share, nlive, &peers->give_n);
	tell_used(pipeline);
	anago_pipeline_publish(pipeline);
	return true;
}

void
anago_peers_cross(const AnagoPipeline *pipeline, bool inside)
{
	anago_share_cross(pipeline->peers.share);
	anago_elastic_phase(inside ? ANAGO_PHASE_INSIDE : ANAGO_PHASE_OUTSIDE);
}

/* AnagoSchedPeers.rest */
static bool
rest(void *arg)
{
	AnagoPipeline *pipeline = arg;
	AnagoShare *share = pipeline->peers.share;

	for (AnagoOp *op = pipeline->ops[0]; op != NULL; op = op->next)
		if (op->kind->unpin != NULL)
			op->kind->unpin(op);
	anago_pipeline_publish(pipeline);
	pipeline->peers.give_to = -1;
	anago_elastic_phase(ANAGO_PHASE_PARKED);
	anago_share_park(share, anago_elastic_is_parked, ANAGO_PARKED_MS);
	anago_elastic_phase(ANAGO_PHASE_INSIDE);
	return !anago_share_stopped(share);
}

void
anago_peers_meet(AnagoPipeline *pipeline, AnagoSchedPeers *peers)
{
	peers->feed = feed;
	peers->tick = tick;
	peers->rest = rest;
	peers->hold = &anago_slot->park;
	peers->arg = pipeline;
	pipeline->peers.used = blocks_used(pipeline);
}

static bool
wait_for_work(AnagoShare *share)
{
	bool		found;

	anago_elastic_phase(ANAGO_PHASE_WAITING);
	found = anago_share_wait(share);
	anago_elastic_phase(ANAGO_PHASE_INSIDE);
	return found;
}

bool
anago_peers_more(AnagoPipeline *pipeline)
{
	AnagoShare *share = pipeline->peers.share;

	for (;;)
	{
		bool		stop = anago_share_stopped(share);

		if (!stop && feed(pipeline))
			return true;
		if (!stop && anago_peers_exchange(pipeline) && wait_for_work(share))
			continue;
		if (anago_share_leave(share, stop))
			return false;
	}
}

/* --- give --- */

bool
anago_peers_give(AnagoPipeline *pipeline, int step, AnagoRow *row)
{
	AnagoPeers *peers = &pipeline->peers;
	char		bytes[ANAGO_MESSAGE_BYTES];
	int			size = anago_row_pack(pipeline, row, step, bytes,
									  ANAGO_MESSAGE_BYTES);

	if (size >= 0 &&
		anago_mailbox_send(peers->share, peers->give_to, step, bytes, size))
	{
		pipeline->counters->run.given++;
		if (--peers->give_n <= 0)
			peers->give_to = -1;
		return true;
	}
	peers->give_to = -1;
	return false;
}
