/*-------------------------------------------------------------------------
 *
 * page.c
 *	  "Give me this block".  See page.h for the contract.
 *
 * The files of this folder:
 *
 *	page.h		the contract with the tasks
 *	page.c		this file: requests, reads and their states, the pump
 *	inflight.c	reads by block
 *	adapt.h		when lookups and asynchronous reads are not worth it
 *
 * A read is one block on its way to one or more waiters:
 *
 *		(free) -- get --> WANTED -- issue --> INFLIGHT -- poll --> DONE
 *							|					|				 |
 *							+----- forget ------+----------------+--> (free)
 *																 |
 *		(free) <-- last waiter has come -- COLLECTED <-- finish -+
 *
 * WANTED to DONE it is in the table `inflight`.  WANTED reads are in one FIFO
 * queue for each priority, and `nonempty` has a bit for each queue with a read
 * in it:
 *
 *		nonempty	queues[6]:  block 17 -> block 4		issued first
 *		{6, 2}		queues[2]:  block 99
 *
 * The first of the woken waiters to come back finishes the read and has its
 * buffer; the others find the block in shared buffers, or read it themselves
 * should it be gone again.  A request for a block whose read is DONE finishes
 * it as well.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "storage/bufmgr.h"
#include "storage/lwlock.h"

#include "compat.h"
#include "io/io.h"
#include "page/adapt.h"
#include "page/inflight.h"
#include "page/page.h"

/* Reads handed to the method, or taken from it, at a time. */
#define PAGE_BATCH			64

/* Reads are allocated that many at a time. */
#define PAGE_READS_PER_CHUNK	32

#define PAGE_QUEUE_WORDS	(ANAGO_PRIORITIES / 64)

typedef enum AnagoReadState
{
	READ_FREE,
	READ_WANTED,
	READ_INFLIGHT,
	READ_DONE,
	READ_COLLECTED
} AnagoReadState;

struct AnagoRead
{
	AnagoIoRead io;				/* first, so that the method's is ours */
	AnagoBlockKey key;
	AnagoReadState state;
	uint8		priority;		/* highest of its waiters' */
	AnagoWaiter *waiters;		/* WANTED, INFLIGHT: who waits */
	int			nwaiters;		/* waiting, or woken and still to come */
	instr_time	issued;
	dlist_node	node;			/* FREE: free; WANTED: queues[priority]; else
								 * active */
};

struct AnagoPages
{
	AnagoIo    *io;
	bool		synchronous;	/* every request is answered at once */
	AnagoWakeCallback wake;
	void	   *wake_arg;
	MemoryContext context;

	int			window;			/* 1 <= window <= capacity */
	int			capacity;
	int			nwanted;		/* reads WANTED */
	int			ninflight;		/* reads INFLIGHT */
	int			ndone;			/* reads DONE */

	AnagoHitRun hit_run;
	AnagoCutoff cutoff;
	AnagoInflight *inflight;
	dlist_head	active;			/* reads INFLIGHT, DONE, COLLECTED */
	dlist_head	free;
	uint64		nonempty[PAGE_QUEUE_WORDS];
	dlist_head	queues[ANAGO_PRIORITIES];

	AnagoPageCounters counters;
};

/* ---- begin, reset, end ---- */

AnagoPages *
anago_pages_begin(bool synchronous, int max_inflight, AnagoWakeCallback wake,
				  void *wake_arg)
{
	AnagoPages *pages = palloc0(sizeof(AnagoPages));

	Assert(max_inflight >= 1 && max_inflight <= ANAGO_MAX_INFLIGHT);
	pages->context = CurrentMemoryContext;
	pages->wake = wake;
	pages->wake_arg = wake_arg;
	pages->inflight = anago_inflight_create();
	dlist_init(&pages->active);
	dlist_init(&pages->free);
	for (int i = 0; i < ANAGO_PRIORITIES; i++)
		dlist_init(&pages->queues[i]);
	anago_cutoff_init(&pages->cutoff);

	pages->io = anago_io_begin(max_inflight);
	pages->capacity = pages->io->ops->capacity(pages->io);
	Assert(pages->capacity <= max_inflight);
	pages->synchronous = synchronous || pages->capacity == 0;
	pages->window = Max(Min(ANAGO_WINDOW_START, pages->capacity), 1);
	return pages;
}

void
anago_pages_reset(AnagoPages *pages)
{
	while (!dlist_is_empty(&pages->active))
	{
		AnagoRead  *read = dlist_container(AnagoRead, node,
										   dlist_pop_head_node(&pages->active));

		if (read->state != READ_COLLECTED)
			pages->io->ops->forget(pages->io, &read->io);
		dlist_push_head(&pages->free, &read->node);
	}
	for (int i = 0; i < ANAGO_PRIORITIES; i++)
		while (!dlist_is_empty(&pages->queues[i]))
			dlist_push_head(&pages->free, dlist_pop_head_node(&pages->queues[i]));

	memset(pages->nonempty, 0, sizeof(pages->nonempty));
	pages->nwanted = pages->ninflight = pages->ndone = 0;
	anago_inflight_reset(pages->inflight);
}

void
anago_pages_end(AnagoPages *pages)
{
	anago_pages_reset(pages);
	anago_io_end(pages->io);
}

/* ---- reads: the only code that changes a read's state ---- */

static AnagoRead *
read_alloc(AnagoPages *pages)
{
	if (dlist_is_empty(&pages->free))
	{
		AnagoRead  *chunk = MemoryContextAlloc(pages->context,
											   sizeof(AnagoRead) * PAGE_READS_PER_CHUNK);

		for (int i = 0; i < PAGE_READS_PER_CHUNK; i++)
			dlist_push_tail(&pages->free, &chunk[i].node);
	}
	return dlist_container(AnagoRead, node, dlist_pop_head_node(&pages->free));
}

static void
queue_push(AnagoPages *pages, AnagoRead *read, bool first)
{
	int			priority = read->priority;

	Assert(read->state == READ_WANTED);
	if (first)
		dlist_push_head(&pages->queues[priority], &read->node);
	else
		dlist_push_tail(&pages->queues[priority], &read->node);
	pages->nonempty[priority / 64] |= UINT64CONST(1) << (priority % 64);
	pages->nwanted++;
}

static void
queue_remove(AnagoPages *pages, AnagoRead *read)
{
	int			priority = read->priority;

	Assert(read->state == READ_WANTED);
	dlist_delete(&read->node);
	if (dlist_is_empty(&pages->queues[priority]))
		pages->nonempty[priority / 64] &= ~(UINT64CONST(1) << (priority % 64));
	pages->nwanted--;
}

/* The wanted read to be issued next; there is one. */
static AnagoRead *
queue_first(AnagoPages *pages)
{
	int			word = PAGE_QUEUE_WORDS - 1;
	int			priority;

	while (pages->nonempty[word] == 0)
		word--;
	Assert(word >= 0);
	priority = word * 64 + pg_leftmost_one_pos64(pages->nonempty[word]);
	return dlist_head_element(AnagoRead, node, &pages->queues[priority]);
}

/* (free) -> WANTED */
static AnagoRead *
read_want(AnagoPages *pages, Relation rel, const AnagoBlockKey *key,
		  uint8 priority)
{
	AnagoRead  *read = read_alloc(pages);

	read->io.rel = rel;
	read->io.blkno = key->blkno;
	read->io.slot = -1;
	read->io.inlined = false;
	read->key = *key;
	read->state = READ_WANTED;
	read->priority = priority;
	read->waiters = NULL;
	read->nwaiters = 0;
	anago_inflight_insert(pages->inflight, key, read);
	queue_push(pages, read, false);
	return read;
}

/* WANTED -> INFLIGHT */
static void
read_issued(AnagoPages *pages, AnagoRead *read, instr_time now)
{
	AnagoPageCounters *counters = &pages->counters;

	Assert(read->state == READ_WANTED && read->nwaiters > 0);
	read->state = READ_INFLIGHT;
	read->issued = now;
	dlist_push_tail(&pages->active, &read->node);
	pages->ninflight++;

	counters->reads++;
	counters->inflight_sum += pages->ninflight;
	counters->inflight_peak = Max(counters->inflight_peak, pages->ninflight);
}

/* INFLIGHT -> DONE.  Wakes the waiters and returns their number. */
static int
read_done(AnagoPages *pages, AnagoRead *read, instr_time now)
{
	AnagoWaiter *waiter = read->waiters;

	Assert(read->state == READ_INFLIGHT && read->nwaiters > 0);
	read->state = READ_DONE;
	read->waiters = NULL;
	pages->ninflight--;
	pages->ndone++;

	INSTR_TIME_SUBTRACT(now, read->issued);
	pages->counters.latency_sum_us += INSTR_TIME_GET_MICROSEC(now);
	anago_cutoff_async_read(&pages->cutoff, read->io.inlined);

	while (waiter != NULL)
	{
		AnagoWaiter *next = waiter->next;

		Assert(waiter->waiting && waiter->read == read);
		waiter->waiting = false;
		waiter->next = NULL;
		pages->wake(pages->wake_arg, waiter);
		waiter = next;
	}
	return read->nwaiters;
}

/* DONE -> COLLECTED.  May raise the error of a failed read. */
static Buffer
read_finish(AnagoPages *pages, AnagoRead *read)
{
	Buffer		buffer;

	Assert(read->state == READ_DONE);
	buffer = pages->io->ops->finish(pages->io, &read->io);
	Assert(BufferIsValid(buffer));
	anago_inflight_remove(pages->inflight, &read->key);
	read->state = READ_COLLECTED;
	pages->ndone--;
	return buffer;
}

/* One waiter fewer; the last one leaves (any state) -> (free). */
static void
read_leave(AnagoPages *pages, AnagoRead *read)
{
	Assert(read->nwaiters > 0);
	if (--read->nwaiters > 0)
		return;

	if (read->state == READ_WANTED)
		queue_remove(pages, read);
	else
		dlist_delete(&read->node);
	if (read->state == READ_INFLIGHT || read->state == READ_DONE)
		pages->io->ops->forget(pages->io, &read->io);
	if (read->state != READ_COLLECTED)
		anago_inflight_remove(pages->inflight, &read->key);

	pages->ninflight -= (read->state == READ_INFLIGHT);
	pages->ndone -= (read->state == READ_DONE);
	read->state = READ_FREE;
	dlist_push_head(&pages->free, &read->node);
}

/* ---- waiters ---- */

static void
waiter_join(AnagoPages *pages, AnagoRead *read, AnagoWaiter *waiter)
{
	Assert(read->state == READ_WANTED || read->state == READ_INFLIGHT);
	Assert(!waiter->waiting && waiter->read == NULL);

	waiter->read = read;
	waiter->waiting = true;
	waiter->next = read->waiters;
	read->waiters = waiter;
	read->nwaiters++;

	if (read->state == READ_WANTED && waiter->priority > read->priority)
	{
		queue_remove(pages, read);
		read->priority = waiter->priority;
		queue_push(pages, read, false);
	}
}

/* Out of the list of those who wait. */
static void
waiter_unlink(AnagoWaiter *waiter)
{
	AnagoWaiter **link = &waiter->read->waiters;

	while (*link != waiter)
		link = &(*link)->next;
	*link = waiter->next;
	waiter->next = NULL;
	waiter->waiting = false;
}

void
anago_page_forget(AnagoPages *pages, AnagoWaiter *waiter)
{
	AnagoRead  *read = waiter->read;

	if (read == NULL)
		return;
	if (waiter->waiting)
		waiter_unlink(waiter);
	waiter->read = NULL;
	read_leave(pages, read);
}

/* ---- requests ---- */

/*
 * Is the block in shared buffers?  A block that another process is just
 * reading in is not: ReadBuffer() would wait for that.
 */
static bool
block_is_resident(const AnagoBlockKey *key)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			buf_id;

	anago_buffer_tag(&tag, &key->locator, key->blkno);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	buf_id = BufTableLookup(&tag, hash);
	LWLockRelease(lock);

	/* The answer may be outdated at once; it only chooses the way. */
	return buf_id >= 0 && anago_buffer_valid(buf_id);
}

/* ReadBuffer(), telling hits from reads. */
static Buffer
read_buffer(Relation rel, BlockNumber blkno, bool *hit)
{
	int64		before = pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
	Buffer		buffer = ReadBuffer(rel, blkno);

	*hit = before == pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
	return buffer;
}

/* Answer at once. */
static Buffer
page_read_now(AnagoPages *pages, Relation rel, BlockNumber blkno)
{
	bool		hit;
	Buffer		buffer = read_buffer(rel, blkno, &hit);

	if (hit)
	{
		pages->counters.hits++;
		anago_hit_run_hit(&pages->hit_run);
	}
	else
	{
		pages->counters.sync_reads++;
		anago_hit_run_miss(&pages->hit_run);
	}
	return buffer;
}

/* Answer at once, as the kernel probably has the block; see adapt.h. */
static Buffer
page_read_timed(AnagoPages *pages, Relation rel, BlockNumber blkno)
{
	instr_time	start;
	instr_time	end;
	Buffer		buffer;

	INSTR_TIME_SET_CURRENT(start);
	buffer = page_read_now(pages, rel, blkno);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	anago_cutoff_sync_read(&pages->cutoff, INSTR_TIME_GET_MICROSEC(end));
	return buffer;
}

/* The waiter was woken and has come. */
static Buffer
page_collect(AnagoPages *pages, AnagoWaiter *waiter)
{
	AnagoRead  *read = waiter->read;
	Buffer		buffer;

	if (read->state == READ_DONE)
		buffer = read_finish(pages, read);
	else
	{
		bool		hit;

		Assert(read->state == READ_COLLECTED);
		buffer = read_buffer(read->io.rel, read->io.blkno, &hit);
		if (!hit)
			pages->counters.sync_reads++;
	}
	waiter->read = NULL;
	read_leave(pages, read);
	return buffer;
}

/* The block has a read already. */
static Buffer
page_share(AnagoPages *pages, AnagoRead *read, AnagoWaiter *waiter)
{
	pages->counters.shared_reads++;
	if (read->state == READ_DONE)
		return read_finish(pages, read);
	waiter_join(pages, read, waiter);
	return InvalidBuffer;
}

Buffer
anago_page_get(AnagoPages *pages, Relation rel, BlockNumber blkno,
			   AnagoWaiter *waiter)
{
	AnagoBlockKey key;
	AnagoRead  *read;

	Assert(!waiter->waiting && waiter->priority < ANAGO_PRIORITIES);
	if (waiter->read != NULL)
	{
		Assert(waiter->read->io.blkno == blkno);
		return page_collect(pages, waiter);
	}
	if (pages->synchronous || anago_hit_run_trusted(&pages->hit_run) ||
		RelationUsesLocalBuffers(rel))
		return page_read_now(pages, rel, blkno);

	key.locator = ANAGO_REL_LOCATOR(rel);
	key.blkno = blkno;
	if (pages->nwanted + pages->ninflight + pages->ndone > 0 &&
		(read = anago_inflight_find(pages->inflight, &key)) != NULL)
		return page_share(pages, read, waiter);

	if (block_is_resident(&key))
	{
		if (pages->io->ops->hide_hit == NULL)
			return page_read_now(pages, rel, blkno);
		if (!pages->io->ops->hide_hit(pages->io))
			return page_read_now(pages, rel, blkno);
	}
	else if (pages->cutoff.sync)
		return page_read_timed(pages, rel, blkno);

	anago_hit_run_miss(&pages->hit_run);
	read = read_want(pages, rel, &key, waiter->priority);
	waiter_join(pages, read, waiter);
	return InvalidBuffer;
}

/* ---- the pump ---- */

/* Reads that the window has room for; done reads count while they hold pins. */
static int
window_room(const AnagoPages *pages)
{
	int			used = pages->ninflight;

	if (pages->io->ops->holds_pins)
		used += pages->ndone;
	return Max(pages->window - used, 0);
}

/* Issue up to `room` wanted reads; returns how many the method took. */
static int
issue_batch(AnagoPages *pages, int room)
{
	AnagoRead  *batch[PAGE_BATCH];
	AnagoIoRead *ios[PAGE_BATCH];
	int			n = Min(Min(room, pages->nwanted), PAGE_BATCH);
	int			taken;
	instr_time	now;

	for (int i = 0; i < n; i++)
	{
		batch[i] = queue_first(pages);
		queue_remove(pages, batch[i]);
		ios[i] = &batch[i]->io;
	}

	INSTR_TIME_SET_CURRENT(now);
	taken = pages->io->ops->issue(pages->io, ios, n);
	Assert(taken >= 0 && taken <= n);

	for (int i = 0; i < taken; i++)
		read_issued(pages, batch[i], now);
	for (int i = n - 1; i >= taken; i--)
		queue_push(pages, batch[i], true);
	return taken;
}

static void
issue_wanted(AnagoPages *pages)
{
	int			room;

	while (pages->nwanted > 0 && (room = window_room(pages)) > 0)
		if (issue_batch(pages, room) == 0)
			break;
	Assert(pages->ninflight <= pages->window);
}

/* Take finished reads; returns the number of waiters woken. */
static int
reap(AnagoPages *pages)
{
	AnagoIoRead *done[PAGE_BATCH];
	int			woken = 0;
	int			n = PAGE_BATCH;

	while (n == PAGE_BATCH && pages->ninflight > 0)
	{
		instr_time	now;

		n = pages->io->ops->poll(pages->io, done, PAGE_BATCH);
		if (n == 0)
			break;
		INSTR_TIME_SET_CURRENT(now);
		for (int i = 0; i < n; i++)
			woken += read_done(pages, (AnagoRead *) done[i], now);
	}
	return woken;
}

/*
 * The process has nothing to do and no page has come.  If the window is what
 * keeps reads from being issued, more of them would have paid.
 */
static void
grow_window(AnagoPages *pages)
{
	if (pages->nwanted == 0 || window_room(pages) > 0 ||
		pages->window == pages->capacity)
		return;
	pages->window = Min(pages->window * 2, pages->capacity);
	issue_wanted(pages);
}

static void
sleep_until_woken(AnagoPages *pages)
{
	int			woken;

	pages->counters.blocked_waits++;
	do
	{
		Assert(pages->nwanted + pages->ninflight > 0);
		CHECK_FOR_INTERRUPTS();
		pages->io->ops->wait(pages->io);
		woken = reap(pages);
		issue_wanted(pages);
	} while (woken == 0);
}

void
anago_pages_pump(AnagoPages *pages, bool wait)
{
	int			woken = reap(pages);

	issue_wanted(pages);
	if (!wait || woken > 0)
		return;

	grow_window(pages);
	/* Some reads are complete as soon as they are issued. */
	if (reap(pages) == 0)
		sleep_until_woken(pages);
}

/* ---- what the run loop and EXPLAIN look at ---- */

int
anago_pages_wanted(const AnagoPages *pages)
{
	return pages->nwanted;
}

int
anago_pages_inflight(const AnagoPages *pages)
{
	return pages->ninflight;
}

int
anago_pages_window(const AnagoPages *pages)
{
	return pages->window;
}

const AnagoPageCounters *
anago_pages_counters(const AnagoPages *pages)
{
	return &pages->counters;
}

const char *
anago_pages_method(const AnagoPages *pages)
{
	return pages->io->ops->name;
}
