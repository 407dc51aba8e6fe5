/*-------------------------------------------------------------------------
 *
 * uring.c
 *	  I/O method `uring`: warm the kernel's page cache, then ReadBuffer().
 *
 * A read holds neither a pin nor one of PostgreSQL's I/O handles while it is
 * on its way, so thousands of them are possible under the default limits of
 * a server, in any version.  The price is a second, short system call per
 * block, in finish().
 *
 * Every read on its way has a slot.  A slot is free again when its read was
 * handed over by poll(), or, if the read was forgotten meanwhile, when its
 * completion arrives:
 *
 *		free -> issued -> done (queued) -> free
 *				  |			 |
 *				  +-> orphan +-> orphan -> free
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef HAVE_LIBURING

#include "access/xact.h"
#include "storage/bufmgr.h"

#include "compat.h"
#include "io/io.h"
#include "io/ring.h"
#include "io/segfile.h"

typedef enum UringSlotState
{
	URING_FREE,
	URING_ISSUED,
	URING_DONE					/* in the queue of done slots */
} UringSlotState;

typedef struct UringSlot
{
	AnagoIoRead *read;			/* NULL: free or orphan */
	UringSlotState state;
	uint32		batch;			/* issued with this batch */
} UringSlot;

typedef struct UringIo
{
	AnagoIo		base;
	AnagoRingUser user;

	int			nslots;			/* size of the arrays */
	int			nused;			/* slots [nused, nslots) were never used */
	int			nfree;
	int		   *free;			/* stack of free slots below nused */
	UringSlot  *slots;

	/* Done slots, a circular queue. */
	int		   *done;
	int			done_head;
	int			ndone;

	uint32		batch;			/* number of the latest batch */
	bool		submitting;		/* reaping right after its submission */
} UringIo;

/* ---- slots ---- */

/* A slot for this read, or -1. */
static int
uring_take_slot(UringIo *io, AnagoIoRead *read)
{
	int			slot;

	if (io->nfree > 0)
		slot = io->free[--io->nfree];
	else if (io->nused < io->nslots)
		slot = io->nused++;
	else
		return -1;

	io->slots[slot].read = read;
	io->slots[slot].state = URING_ISSUED;
	io->slots[slot].batch = io->batch;
	read->slot = slot;
	read->issue = ANAGO_IO_ISSUED;
	read->inlined = false;
	return slot;
}

static void
uring_free_slot(UringIo *io, int slot)
{
	Assert(io->nfree < io->nused);
	Assert(io->slots[slot].state != URING_FREE);
	io->slots[slot].read = NULL;
	io->slots[slot].state = URING_FREE;
	io->free[io->nfree++] = slot;
}

static void
uring_slot_done(UringIo *io, int slot)
{
	UringSlot  *s = &io->slots[slot];

	Assert(s->state == URING_ISSUED);
	if (s->read == NULL)
	{
		uring_free_slot(io, slot);
		return;
	}
	Assert(io->ndone < io->nslots);
	s->state = URING_DONE;
	io->done[(io->done_head + io->ndone++) % io->nslots] = slot;
}

static int
uring_pop_done(UringIo *io)
{
	int			slot = io->done[io->done_head];

	Assert(io->ndone > 0 && io->slots[slot].state == URING_DONE);
	io->done_head = (io->done_head + 1) % io->nslots;
	io->ndone--;
	return slot;
}

/* ---- called by the ring ---- */

/*
 * A failed or short read is no error: perhaps the block was truncated away
 * just now.  The ReadBuffer() to come decides.
 */
static void
uring_complete(AnagoRingUser *user, uint32 slot, int res)
{
	UringIo    *io = user->owner;
	UringSlot  *s;

	Assert(slot < (uint32) io->nused);
	s = &io->slots[slot];
	if (s->read != NULL)
		s->read->inlined = io->submitting && s->batch == io->batch && res > 0;
	uring_slot_done(io, slot);
}

/* What was on its way counts as done: finish() will really read. */
static void
uring_lost(AnagoRingUser *user)
{
	UringIo    *io = user->owner;

	for (int slot = 0; slot < io->nused; slot++)
		if (io->slots[slot].state == URING_ISSUED)
			uring_slot_done(io, slot);
}

/* ---- the method ---- */

static bool
uring_available(const char **why, const char **hint)
{
	if (anago_direct_io())
	{
		*why = "the server reads past the page cache (debug_io_direct)";
		return false;
	}
	return anago_ring_available(why, hint);
}

/*
 * Descriptors do not outlive the transaction, so that the space of files that
 * were dropped is not kept.  What a subtransaction made and takes back, too.
 */
static void
uring_close_files(void)
{
	anago_ring_submit();
	anago_segfiles_close();
}

static void
uring_xact_callback(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_PRE_COMMIT &&
		event != XACT_EVENT_PARALLEL_PRE_COMMIT &&
		event != XACT_EVENT_PRE_PREPARE)
		uring_close_files();
}

static void
uring_subxact_callback(SubXactEvent event, SubTransactionId mine,
					   SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		uring_close_files();
}

static void
uring_watch_transactions(void)
{
	static bool watching = false;

	if (watching)
		return;
	RegisterXactCallback(uring_xact_callback, NULL);
	RegisterSubXactCallback(uring_subxact_callback, NULL);
	watching = true;
}

static AnagoIo *
uring_begin(int max_inflight)
{
	UringIo    *io = palloc0(sizeof(UringIo));

	uring_watch_transactions();
	io->nslots = max_inflight;
	io->free = palloc(sizeof(int) * max_inflight);
	io->done = palloc(sizeof(int) * max_inflight);
	io->slots = palloc(sizeof(UringSlot) * max_inflight);
	io->user.owner = io;
	io->user.complete = uring_complete;
	io->user.lost = uring_lost;
	anago_ring_attach(&io->user);
	return &io->base;
}

static void
uring_end(AnagoIo *base)
{
	anago_ring_detach(&((UringIo *) base)->user);
}

static int
uring_capacity(const AnagoIo *base)
{
	return base->max_inflight;
}

static int
uring_expect(int max_inflight)
{
	return max_inflight;
}

/* Prepare one read.  False if it has to wait for the next batch or longer. */
static bool
uring_prepare(UringIo *io, AnagoIoRead *read)
{
	BlockNumber segno = read->blkno / ((BlockNumber) RELSEG_SIZE);
	BlockNumber segblk = read->blkno % ((BlockNumber) RELSEG_SIZE);
	int			fd = ANAGO_SEGFILE_NONE;
	int			slot;

	if (anago_ring_usable())
	{
		if (anago_ring_room() == 0)
			return false;
		fd = anago_segfile_get(ANAGO_REL_LOCATOR(read->rel), segno);
		if (fd == ANAGO_SEGFILE_BUSY)
			return false;
	}

	slot = uring_take_slot(io, read);
	if (slot < 0)
		return false;
	if (fd >= 0)
	{
		anago_ring_read(&io->user, slot, fd, (off_t) segblk * BLCKSZ);
		pgBufferUsage.shared_blks_read++;
		return true;
	}
	read->issue = anago_ring_usable() ? ANAGO_IO_NO_DESCRIPTOR : ANAGO_IO_NO_RING;
	uring_slot_done(io, slot);
	return true;
}

/*
 * Issue one batch.  What the kernel has in its page cache is read during the
 * submission; the batch is short enough for a device not to be that fast.
 */
static int
uring_issue_batch(UringIo *io, AnagoIoRead **reads, int n)
{
	int			accepted = 0;

	/* What an error left prepared has descriptors of the batch before. */
	anago_ring_submit();
	anago_segfiles_new_batch();
	io->batch++;
	while (accepted < n && uring_prepare(io, reads[accepted]))
		accepted++;
	anago_ring_submit();

	io->submitting = true;
	anago_ring_reap();
	io->submitting = false;
	return accepted;
}

static int
uring_issue(AnagoIo *base, AnagoIoRead **reads, int n)
{
	int			accepted = 0;

	while (accepted < n)
	{
		int			batch = Min(n - accepted, ANAGO_RING_BATCH);
		int			got = uring_issue_batch((UringIo *) base, reads + accepted, batch);

		accepted += got;
		if (got == 0)
			break;
	}
	return accepted;
}

static int
uring_poll(AnagoIo *base, AnagoIoRead **done, int max)
{
	UringIo    *io = (UringIo *) base;
	int			n = 0;

	if (io->ndone == 0)
		anago_ring_reap();
	while (io->ndone > 0 && n < max)
	{
		int			slot = uring_pop_done(io);
		AnagoIoRead *read = io->slots[slot].read;

		if (read != NULL)
		{
			read->slot = -1;
			done[n++] = read;
		}
		uring_free_slot(io, slot);
	}
	return n;
}

static void
uring_wait(AnagoIo *base)
{
	if (((UringIo *) base)->ndone == 0)
		anago_ring_sleep();
}

/*
 * The device has read the block, or will, and no ReadBuffer() counts that.  In
 * BUFFERS it was counted when it was issued.
 */
static void
uring_count_read(const AnagoIoRead *read)
{
	pgstat_count_buffer_read(read->rel);
	anago_count_read_op();
}

/*
 * It is ReadBuffer() now that counts the block as read; unless another process
 * has brought it in meanwhile, and it counts a hit.
 */
static Buffer
uring_finish(AnagoIo *base, AnagoIoRead *read)
{
	int64		others;
	Buffer		buffer;

	if (read->issue != ANAGO_IO_ISSUED)
		return ReadBuffer(read->rel, read->blkno);

	others = --pgBufferUsage.shared_blks_read;
	buffer = ReadBuffer(read->rel, read->blkno);
	if (pgBufferUsage.shared_blks_read == others)
	{
		pgBufferUsage.shared_blks_read++;
		uring_count_read(read);
	}
	return buffer;
}

static void
uring_forget(AnagoIo *base, AnagoIoRead *read)
{
	UringIo    *io = (UringIo *) base;

	if (read->slot >= 0)
	{
		Assert(io->slots[read->slot].read == read);
		io->slots[read->slot].read = NULL;
		read->slot = -1;
	}
	if (read->issue == ANAGO_IO_ISSUED)
		uring_count_read(read);
}

const AnagoIoMethodOps anago_io_uring_ops = {
	.name = "uring",
	.available = uring_available,
	.begin = uring_begin,
	.end = uring_end,
	.capacity = uring_capacity,
	.expect = uring_expect,
	.issue = uring_issue,
	.poll = uring_poll,
	.wait = uring_wait,
	.finish = uring_finish,
	.forget = uring_forget,
};

#endif							/* HAVE_LIBURING */
