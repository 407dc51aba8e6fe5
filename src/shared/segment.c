/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  What stands in the memory that the processes of one parallel query share.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "shared/segment.h"

/* --- a node's segment --- */

static Size
counters_offset(int nparticipants)
{
	return MAXALIGN(add_size(offsetof(AnagoSegment, participants),
							 mul_size(sizeof(AnagoParticipant), nparticipants)));
}

static Size
source_offset(int nparticipants, Size counters_size)
{
	return add_size(counters_offset(nparticipants),
					mul_size(MAXALIGN(counters_size), nparticipants - 1));
}

static Size
source_size(const AnagoSegmentSpec *spec)
{
	return spec->source_item ? sizeof(AnagoSourceItem) : spec->source_size;
}

Size
anago_segment_size(const AnagoSegmentSpec *spec)
{
	return add_size(source_offset(spec->nparticipants, spec->counters_size),
					source_size(spec));
}

static void
init_participant(AnagoParticipant *participant)
{
	pg_atomic_init_u32(&participant->presence, ANAGO_ABSENT);
	pg_atomic_init_u32(&participant->crossings, 0);
	pg_atomic_init_u32(&participant->load, 0);
	/* any of core's: an extension's would be used up one for each query */
	LWLockInitialize(&participant->lock, LWTRANCHE_PARALLEL_QUERY_DSA);
	pg_atomic_init_u32(&participant->messages, 0);
	participant->mailbox = ANAGO_NO_MAILBOX;
}

/* With no piece, and in nobody's use. */
static void
init_item(AnagoSharedItem *item)
{
	LWLockInitialize(&item->lock, LWTRANCHE_PARALLEL_QUERY_DSA);
	item->generation = 0;
	item->batch.seq = 0;
	item->batch.piece = 1;
	item->batch.last = 0;
}

static void
init_source(AnagoSharedSource *source, int nparts)
{
	pg_atomic_init_u32(&source->claimed, 0);
	source->nparts = nparts;
	pg_atomic_init_u32(&source->busy, 0);
	ConditionVariableInit(&source->turn);
}

/* What its first batch is, whoever comes first finds out. */
static void
init_source_item(AnagoSegment *segment)
{
	AnagoSharedItem *item = anago_segment_source(segment);

	init_item(item);
	item->generation = ANAGO_SOURCE_GENERATION;
	item->batch.more = true;
}

void
anago_segment_reset(AnagoSegment *segment, const AnagoSegmentSpec *spec)
{
	pg_atomic_init_u32(&segment->stop, 0);
	pg_atomic_init_u32(&segment->nwaiting, 0);
	ConditionVariableInit(&segment->changed);
	anago_budget_init(&segment->budget, spec->max_inflight,
					  segment->nparticipants);
	anago_quota_init(&segment->quota, spec->may_stop, spec->wanted,
					 spec->together);
	init_source(&segment->source, spec->nparts);
	memset(anago_segment_source(segment), 0, segment->source_size);
	if (segment->source_item)
		init_source_item(segment);
	for (int i = 0; i < segment->nparticipants; i++)
		init_participant(&segment->participants[i]);
}

void
anago_segment_init(AnagoSegment *segment, const AnagoSegmentSpec *spec)
{
	segment->layout = ANAGO_LAYOUT;
	segment->node = spec->node;
	segment->nparticipants = spec->nparticipants;
	segment->counters_size = MAXALIGN(spec->counters_size);
	segment->source_size = source_size(spec);
	segment->in_parts = spec->in_parts;
	segment->in_order = spec->in_order;
	segment->source_item = spec->source_item;
	segment->of_server = spec->of_server;
	anago_segment_reset(segment, spec);
	memset((char *) segment + counters_offset(segment->nparticipants), 0,
		   segment->counters_size * (segment->nparticipants - 1));
}

void *
anago_segment_counters(AnagoSegment *segment, int worker)
{
	Assert(worker >= 0 && worker < segment->nparticipants - 1);
	return (char *) segment + counters_offset(segment->nparticipants) +
		segment->counters_size * worker;
}

void *
anago_segment_source(AnagoSegment *segment)
{
	return (char *) segment + source_offset(segment->nparticipants,
											segment->counters_size);
}

void
anago_segment_changed(AnagoSegment *segment)
{
	/* against the increment in anago_share_wait() */
	pg_memory_barrier();
	if (pg_atomic_read_u32(&segment->nwaiting) > 0)
		ConditionVariableBroadcast(&segment->changed);
}

/* --- the pool --- */

static int
mailboxes_for(int nparticipants)
{
	return Min(nparticipants, ANAGO_MAILBOXES_MAX);
}

Size
anago_pool_size(int nparticipants, bool empty)
{
	return offsetof(AnagoPool, items) + (empty ? 0 :
		sizeof(AnagoPoolItem) * ANAGO_ITEMS_MAX +
		sizeof(AnagoMailbox) * mailboxes_for(nparticipants));
}

void
anago_pool_init(AnagoPool *pool, int nparticipants, bool empty)
{
	pool->nitems = empty ? 0 : ANAGO_ITEMS_MAX;
	pool->nmailboxes = empty ? 0 : mailboxes_for(nparticipants);
	for (int i = 0; i < pool->nitems; i++)
		init_item(&pool->items[i].item);
	for (int i = 0; i < pool->nmailboxes; i++)
		pg_atomic_init_u32(&anago_pool_mailbox(pool, i)->taken, 0);
}
