/*-------------------------------------------------------------------------
 *
 * page.c
 *	  "Give me this block".  See page.h for the contract.
 *
 * The files of this folder:
 *
 *	page.h		the contract with the tasks
 *	waiter.h	who waits, and what is counted
 *	page.c		this file: requests, and the pump that issues and collects
 *	read.c		reads and their states
 *	inflight.c	reads by block
 *	adapt.h		when lookups and asynchronous reads are not worth it
 *	touch.c		cached blocks nearer to the CPU
 *
 * What a request meets, in this order:
 *
 *		the waiter was woken			its read is finished: answered
 *		everything is a hit (adapt.h)	ReadBuffer()
 *		the block has a read			waits for it
 *		in shared buffers				ReadBuffer()
 *		page cache is warm (adapt.h)	ReadBuffer()
 *		else							a new read is wanted, and waited for
 *
 * The I/O method and the table of reads are set up at the first miss, so that
 * a short query on cached data pays for neither.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

#include "compat.h"
#include "guc.h"
#include "page/page.h"
#include "page/read.h"
#include "page/touch.h"

/* Reads handed to the method, or taken from it, at a time. */
#define PAGE_BATCH			64

/* How the process's latest query went, for the next one to go on from. */
static AnagoHitRun latest_hit_run;

/* ---- begin, reset, end ---- */

/* At the first miss. */
static void
pages_begin_io(AnagoPages *pages)
{
	MemoryContext old;

	Assert(pages->io == NULL);
	pages->io_context = AllocSetContextCreate(pages->context, "anago reads",
											  ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(pages->io_context);
	pages->inflight = anago_inflight_create();
	pages->io = anago_io_begin(pages->max_inflight);
	pages->method = pages->io->ops->name;
	pages->capacity = pages->io->ops->capacity(pages->io);
	Assert(pages->capacity <= pages->max_inflight);
	if (pages->capacity == 0)
		pages->synchronous = true;
	pages->window = Max(Min(pages->window, pages->capacity), 1);
	MemoryContextSwitchTo(old);
}

static void
pages_end_io(AnagoPages *pages)
{
	if (pages->io == NULL)
		return;
	anago_io_end(pages->io);
	MemoryContextDelete(pages->io_context);
	pages->io = NULL;
	pages->io_context = NULL;
	pages->inflight = NULL;
	dlist_init(&pages->free);
}

/* Blocks that were read and used so far. */
static inline int64
blocks_used(const AnagoPages *pages)
{
	return pages->counts->collected + pages->counts->sync_reads;
}

AnagoPages *
anago_pages_begin(bool synchronous, int max_inflight, AnagoBudget *budget,
				  Oid user, AnagoCounts *counts)
{
	AnagoPages *pages = palloc0(sizeof(AnagoPages));

	Assert(max_inflight >= 1 && max_inflight <= ANAGO_MAX_INFLIGHT);
	pages->context = CurrentMemoryContext;
	pages->synchronous = synchronous;
	pages->method = synchronous ? anago_io_sync_ops.name : "";
	pages->counts = counts;
	anago_lease_begin(&pages->lease, budget, user, counts);
	pages->used_before = blocks_used(pages);
	pages->max_inflight = max_inflight;
	pages->window = synchronous ? 1 : Min(ANAGO_WINDOW_START, max_inflight);
	anago_cutoff_init(&pages->cutoff);

	/* The simulator has a say in hits, too, and starts from nothing. */
	if (anago_io_method == ANAGO_IO_SIM && !synchronous)
		pages_begin_io(pages);
	else
		pages->hit_run = latest_hit_run;
	return pages;
}

void
anago_pages_set_wake(AnagoPages *pages, AnagoWakeCallback wake, void *arg)
{
	pages->wake = wake;
	pages->wake_arg = arg;
}

/* Is the method one that also decides about hits? */
static inline bool
pages_simulated(const AnagoPages *pages)
{
	return pages->io != NULL && pages->io->ops->hide_hit != NULL;
}

/* The simulator stays: its history goes on. */
void
anago_pages_reset(AnagoPages *pages)
{
	anago_reads_free_all(pages);
	pages->used_before = blocks_used(pages);
	pages->window = Min(pages->window, ANAGO_WINDOW_START);
	if (!pages_simulated(pages))
		pages_end_io(pages);
}

void
anago_pages_end(AnagoPages *pages)
{
	anago_reads_free_all(pages);
	latest_hit_run = pages->hit_run;
	pages_end_io(pages);
	anago_lease_end(&pages->lease);
}

/* ---- requests ---- */

/*
 * Is the block in shared buffers?  A block that another process is just
 * reading in is not: ReadBuffer() would wait for that.
 */
static bool
block_is_resident(Relation rel, BlockNumber blkno)
{
	Buffer		buf = anago_touch_locate(rel, blkno);

	/* The answer may be outdated at once; it only chooses the way. */
	return BufferIsValid(buf) && anago_buffer_valid(buf - 1);
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

/* Answer at once; `reason` is why, if the block is not in shared buffers. */
static Buffer
page_read_now(AnagoPages *pages, Relation rel, BlockNumber blkno,
			  AnagoSyncReason reason)
{
	bool		hit;
	Buffer		buffer = read_buffer(rel, blkno, &hit);

	if (hit)
	{
		pages->counts->hits++;
		if (!pages_simulated(pages))
			anago_hit_run_hit(&pages->hit_run);
	}
	else
	{
		anago_count_sync(pages, reason);
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
	buffer = page_read_now(pages, rel, blkno, ANAGO_SYNC_CACHED);
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
		buffer = anago_read_finish(pages, read);
	else
	{
		bool		hit;

		Assert(read->state == READ_COLLECTED);
		buffer = read_buffer(read->io.rel, read->io.blkno, &hit);
		if (!hit)
			anago_count_sync(pages, ANAGO_SYNC_UNFORESEEN);
	}
	waiter->read = NULL;
	anago_read_leave(pages, read);
	return buffer;
}

/* The block has a read already. */
static Buffer
page_share(AnagoPages *pages, AnagoRead *read, AnagoWaiter *waiter)
{
	pages->counts->shared_reads++;
	if (read->state == READ_DONE)
		return anago_read_finish(pages, read);
	anago_waiter_add(pages, read, waiter);
	return InvalidBuffer;
}

/* Does the simulator want this hit to look like a miss? */
static inline bool
hit_is_hidden(AnagoPages *pages)
{
	return pages_simulated(pages) && pages->io->ops->hide_hit(pages->io);
}

/* A block not in shared buffers that nobody has asked for yet. */
static Buffer
page_miss(AnagoPages *pages, Relation rel, const AnagoBlockKey *key,
		  AnagoWaiter *waiter)
{
	AnagoRead  *read;

	if (pages->cutoff.sync)
		return page_read_timed(pages, rel, key->blkno);
	if (pages->io == NULL)
		pages_begin_io(pages);
	if (pages->synchronous)
		return page_read_now(pages, rel, key->blkno, ANAGO_SYNC_METHOD);

	anago_hit_run_miss(&pages->hit_run);
	read = anago_read_want(pages, rel, key, waiter->priority);
	anago_waiter_add(pages, read, waiter);
	return InvalidBuffer;
}

/* Requests that are answered without a look at what is resident, and why. */
static inline bool
is_answered_now(const AnagoPages *pages, Relation rel, AnagoSyncReason *why)
{
	*why = ANAGO_SYNC_METHOD;
	if (pages->synchronous || RelationUsesLocalBuffers(rel))
		return true;
	*why = ANAGO_SYNC_UNFORESEEN;
	return anago_hit_run_trusted(&pages->hit_run);
}

Buffer
anago_page_get(AnagoPages *pages, Relation rel, BlockNumber blkno,
			   AnagoWaiter *waiter)
{
	AnagoBlockKey key;
	AnagoRead  *read;
	AnagoSyncReason why;

	Assert(!waiter->waiting && waiter->priority < ANAGO_PRIORITIES);
	if (waiter->read != NULL)
	{
		Assert(waiter->read->io.blkno == blkno);
		return page_collect(pages, waiter);
	}
	if (is_answered_now(pages, rel, &why))
		return page_read_now(pages, rel, blkno, why);

	key.locator = ANAGO_REL_LOCATOR(rel);
	key.blkno = blkno;
	if (anago_reads_open(pages) > 0 &&
		(read = anago_inflight_find(pages->inflight, &key)) != NULL)
		return page_share(pages, read, waiter);

	if (block_is_resident(rel, blkno) && !hit_is_hidden(pages))
		return page_read_now(pages, rel, blkno, ANAGO_SYNC_UNFORESEEN);
	return page_miss(pages, rel, &key, waiter);
}

Buffer
anago_page_try(AnagoPages *pages, Relation rel, BlockNumber blkno)
{
	AnagoSyncReason why;

	if (anago_reads_open(pages) > 0)
		return InvalidBuffer;
	if (is_answered_now(pages, rel, &why))
		return page_read_now(pages, rel, blkno, why);
	if (block_is_resident(rel, blkno) && !hit_is_hidden(pages))
		return page_read_now(pages, rel, blkno, ANAGO_SYNC_UNFORESEEN);
	return pages->cutoff.sync ? page_read_timed(pages, rel, blkno) : InvalidBuffer;
}

bool
anago_page_may_be_near(const AnagoPages *pages, Relation rel)
{
	return !pages->synchronous && !pages_simulated(pages) && !RelationUsesLocalBuffers(rel);
}

/* As ReadBuffer(), which would look it up in the buffer table once more. */
Buffer
anago_page_again(AnagoPages *pages, Relation rel, BlockNumber blkno, Buffer hint)
{
	if (!BufferIsValid(hint) || pages_simulated(pages) || RelationUsesLocalBuffers(rel) ||
		!ReadRecentBuffer(ANAGO_REL_LOCATOR(rel), MAIN_FORKNUM, blkno, hint))
		return InvalidBuffer;
	anago_count_use(hint);
	anago_count_hit(rel);
	pages->counts->hits++;
	anago_hit_run_hit(&pages->hit_run);
	return hint;
}

/* ---- the pump ---- */

/* The window, or this process's share of what all may have, if that is less. */
static int
window_now(const AnagoPages *pages)
{
	int			share = anago_lease_share(&pages->lease);

	return Min(pages->window, share);
}

/* Reads that the window has room for; done reads count while they hold pins. */
static int
window_room(const AnagoPages *pages)
{
	int			used = pages->ninflight;

	if (pages->io->ops->holds_pins)
		used += pages->ndone;
	return Max(window_now(pages) - used, 0);
}

/* Issue up to `room` wanted reads; returns how many the method took. */
static int
issue_batch(AnagoPages *pages, int room)
{
	AnagoIoRead *batch[PAGE_BATCH];
	int			n = Min(Min(room, pages->nwanted), PAGE_BATCH);
	int			taken;
	instr_time	now;

	n = anago_lease_take(&pages->lease, n);
	if (n == 0)
		return 0;
	for (int i = 0; i < n; i++)
		batch[i] = &anago_read_dequeue(pages)->io;

	INSTR_TIME_SET_CURRENT(now);
	taken = pages->io->ops->issue(pages->io, batch, n);
	Assert(taken >= 0 && taken <= n);

	for (int i = 0; i < taken; i++)
		anago_read_issued(pages, (AnagoRead *) batch[i], now);
	for (int i = n - 1; i >= taken; i--)
		anago_read_requeue(pages, (AnagoRead *) batch[i]);
	anago_lease_issued(&pages->lease, n, taken);
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

/* Take finished reads and wake their waiters; returns how many. */
static int
reap(AnagoPages *pages)
{
	AnagoIoRead *done[PAGE_BATCH];
	int			total = 0;
	int			n = PAGE_BATCH;

	/* also with none of ours on its way: forgotten reads give back room here */
	while (n == PAGE_BATCH)
	{
		instr_time	now;

		n = pages->io->ops->poll(pages->io, done, PAGE_BATCH);
		Assert(n <= PAGE_BATCH);
		if (n == 0)
			break;
		INSTR_TIME_SET_CURRENT(now);
		for (int i = 0; i < n; i++)
			anago_read_done(pages, (AnagoRead *) done[i], now);
		total += n;
	}
	return total;
}

/* How wide the window may be by what reads have been of use for so far. */
static int
window_paid(const AnagoPages *pages)
{
	int64		used = blocks_used(pages) - pages->used_before;

	return (int) Max(Min(used, pages->capacity), ANAGO_WINDOW_UNPAID);
}

/*
 * The process has nothing to do and no page has come.  If the window is what
 * keeps reads from being issued, more of them would have paid; unless those
 * that are on their way already queue up at the device, or it is too early to
 * know whether so many are wanted at all.
 */
static void
grow_window(AnagoPages *pages)
{
	int			wider = Min(pages->window * 2, pages->capacity);

	if (pages->nwanted == 0 || window_room(pages) > 0 ||
		pages->window == pages->capacity ||
		wider > window_paid(pages) ||
		pages->window > window_now(pages) ||
		pages->latency_us > ANAGO_WINDOW_LATENCY_MS * 1000.0)
		return;
	pages->window = wider;
	issue_wanted(pages);
}

static void
sleep_until_done(AnagoPages *pages)
{
	int			done;

	pages->counts->blocked_waits++;
	do
	{
		Assert(pages->nwanted + pages->ninflight > 0);
		CHECK_FOR_INTERRUPTS();
		if (anago_lease_is_short(&pages->lease))
			anago_lease_nap(&pages->lease);
		else
			pages->io->ops->wait(pages->io);
		done = reap(pages);
		issue_wanted(pages);
	} while (done == 0);
}

/*
 * One block is wanted, nothing is on its way and there is nothing else to do:
 * then ReadBuffer() is the shortest way to it.
 */
static bool
only_one_wanted(const AnagoPages *pages)
{
	return pages->nwanted == 1 && pages->ninflight == 0 && pages->ndone == 0 &&
		!pages_simulated(pages);
}

/* Reads that would be in flight, if the window alone had a say. */
static int
reads_of_use(const AnagoPages *pages)
{
	int			most = pages->io != NULL ? Min(2 * pages->window, pages->capacity) : 0;

	return Min(pages->nwanted + pages->ninflight, most);
}

void
anago_pages_tell(AnagoPages *pages)
{
	anago_lease_tell(&pages->lease, reads_of_use(pages), anago_mean_us(&pages->latency));
}

void
anago_pages_pump(AnagoPages *pages, bool wait)
{
	int			done;

	anago_pages_tell(pages);
	if (wait && only_one_wanted(pages))
	{
		anago_read_alone(pages, anago_read_dequeue(pages));
		return;
	}

	done = reap(pages);
	issue_wanted(pages);
	if (!wait || done > 0)
		return;

	grow_window(pages);
	/* Some reads are complete as soon as they are issued. */
	if (reap(pages) == 0)
		sleep_until_done(pages);
}

void
anago_pages_collect(AnagoPages *pages)
{
	if (pages->ninflight > 0)
		(void) reap(pages);
}

/* Are there pages that have come, and are pinned until their waiters come back? */
static inline bool
holds_pages(const AnagoPages *pages)
{
	return pages->ndone > 0 && pages->io->ops->holds_pins;
}

bool
anago_pages_settle(AnagoPages *pages)
{
	while (pages->ninflight > 0 && !holds_pages(pages))
	{
		if (reap(pages) > 0)
			continue;
		CHECK_FOR_INTERRUPTS();
		pages->io->ops->wait(pages->io);
	}
	anago_lease_tell(&pages->lease, 0, anago_mean_us(&pages->latency));
	return holds_pages(pages);
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

const char *
anago_pages_method(const AnagoPages *pages)
{
	return pages->method;
}
