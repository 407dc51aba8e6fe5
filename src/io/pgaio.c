/*-------------------------------------------------------------------------
 *
 * pgaio.c
 *	  I/O method `pgaio`: PostgreSQL's own asynchronous reads (18 and later).
 *
 * StartReadBuffer() pins a buffer and starts the read into it; the method
 * then looks at the wait reference, and WaitReadBuffers() in finish() reports
 * what became of it.  Pins and I/O handles bound what can be on its way: on a
 * default server, 64 reads or fewer.
 *
 * The operations outlive their query.  Until PostgreSQL has seen a read
 * complete it may write the result to ReadBuffersOperation.io_return, also
 * when nobody wants the block any more.  Operations are therefore kept in
 * TopMemoryContext, and one given up early is set aside until it is over:
 *
 *		idle -> on its way -> done -> idle
 *				   |
 *				   +-> zombie -> idle
 *
 * Zombies are bounded by io_max_concurrency, as each has an I/O handle.
 *
 * With io_method = io_uring, pgaio_wref_check_done() does not look at the
 * server's ring: completions are only taken off it when somebody waits.  So
 * that a look costs no wait, we ring a doorbell: an empty read of /dev/null
 * through the same ring, complete at once, and waiting for it takes off the
 * ring everything else that is complete.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"

#ifdef ANAGO_HAVE_AIO

#include <fcntl.h>
#include <sys/uio.h>

#include "lib/ilist.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "storage/aio.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "io/io.h"

/*
 * A wait in the kernel's ring cannot be interrupted.  A device whose reads
 * take longer than this is looked at in naps instead.
 */
#define PGAIO_SLOW_US		5000
#define PGAIO_NAP_US		1000

/* A read seen complete within so few naps was not so slow after all. */
#define PGAIO_FAST_NAPS		2

typedef struct PgaioOp
{
	dlist_node	node;			/* in one of the lists below */
	ReadBuffersOperation op;
	Buffer		buffer;			/* pinned by us */
	bool		done;			/* in `done`, not in `inflight` */
	AnagoIoRead *read;
} PgaioOp;

typedef struct PgaioIo
{
	AnagoIo		base;
	dlist_head	inflight;		/* oldest first */
	dlist_head	done;			/* returned by poll(), to be finished */
	int			ninflight;
	int			nheld;			/* pins held: on their way or done */
	PgaioOp   **slots;			/* by AnagoIoRead.slot; NULL: free */
	int			nslots;
	int			next_slot;		/* where to look for a free one */
} PgaioIo;

/* Of the process. */
static dlist_head idle_ops = DLIST_STATIC_INIT(idle_ops);
static dlist_head zombie_ops = DLIST_STATIC_INIT(zombie_ops);
static bool slow_device = false;

static inline bool
pgaio_server_uring(void)
{
#ifdef IOMETHOD_IO_URING_ENABLED
	return io_method == IOMETHOD_IO_URING;
#else
	return false;
#endif
}

/* ---- operations ---- */

/* Did StartReadBuffer() start something that WaitReadBuffers() must end? */
static inline bool
pgaio_op_started(PgaioOp *op)
{
	return pgaio_wref_valid(&op->op.io_wref);
}

static inline bool
pgaio_op_over(PgaioOp *op)
{
	return !pgaio_op_started(op) || pgaio_wref_check_done(&op->op.io_wref);
}

static void
pgaio_revive_zombies(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &zombie_ops)
	{
		PgaioOp    *op = dlist_container(PgaioOp, node, iter.cur);

		if (pgaio_op_over(op))
		{
			dlist_delete(&op->node);
			dlist_push_head(&idle_ops, &op->node);
		}
	}
}

static PgaioOp *
pgaio_new_op(void)
{
	if (!dlist_is_empty(&idle_ops))
		return dlist_container(PgaioOp, node, dlist_pop_head_node(&idle_ops));
	return MemoryContextAlloc(TopMemoryContext, sizeof(PgaioOp));
}

/* The op is in no list and its pin is no longer ours. */
static void
pgaio_give_up_op(PgaioOp *op)
{
	dlist_push_tail(pgaio_op_started(op) ? &zombie_ops : &idle_ops, &op->node);
}

/* ---- the method ---- */

/* Pins that this process may take in addition to what it has. */
static inline int
pgaio_free_pins(void)
{
	return (int) Min(GetAdditionalPinLimit(), (uint32) INT_MAX);
}

/*
 * With less than this nothing overlaps, and a read takes more CPU time than by
 * ReadBuffer().  shared_buffers of 128 MB are little for 2,000 connections.
 */
#define PGAIO_MIN_ROOM		2

static bool
pgaio_available(const char **why, const char **hint)
{
	if (io_method == IOMETHOD_SYNC)
	{
		*why = "the server runs with io_method = sync";
		return false;
	}
	if (pgaio_free_pins() < PGAIO_MIN_ROOM)
	{
		*why = "too few buffers for each connection to read more than one block at a time";
		*hint = "Raise shared_buffers or lower max_connections.";
		return false;
	}
	if (io_max_concurrency - 1 < PGAIO_MIN_ROOM)
	{
		*why = "the server lets a process read no more than one block at a time";
		*hint = "Raise io_max_concurrency.";
		return false;
	}
	return true;
}

/* One I/O handle stays free for the doorbell. */
static int
pgaio_limit(int max_inflight)
{
	int			limit = Min(max_inflight, io_max_concurrency - 1);

	limit = Min(limit, (int) Min(GetPinLimit(), (uint32) INT_MAX));
	return Max(limit, 1);
}

/* I/O workers each read one block at a time. */
static int
pgaio_expect(int max_inflight)
{
	int			limit = Min(pgaio_limit(max_inflight), pgaio_free_pins());

	if (io_method == IOMETHOD_WORKER)
		limit = Min(limit, anago_io_workers());
	return limit;
}

static AnagoIo *
pgaio_begin(int max_inflight)
{
	PgaioIo    *io = palloc0(sizeof(PgaioIo));

	io->nslots = pgaio_limit(max_inflight);
	io->slots = palloc0(sizeof(PgaioOp *) * io->nslots);
	dlist_init(&io->inflight);
	dlist_init(&io->done);
	return &io->base;
}

/* Reached with reads left only when an error is under way: it took our pins. */
static void
pgaio_end(AnagoIo *base)
{
	PgaioIo    *io = (PgaioIo *) base;

	while (!dlist_is_empty(&io->inflight))
		pgaio_give_up_op(dlist_container(PgaioOp, node,
										 dlist_pop_head_node(&io->inflight)));
	while (!dlist_is_empty(&io->done))
		pgaio_give_up_op(dlist_container(PgaioOp, node,
										 dlist_pop_head_node(&io->done)));
}

static int
pgaio_capacity(const AnagoIo *base)
{
	return ((const PgaioIo *) base)->nslots;
}

/* Reads that may be started now.  One is always allowed. */
static int
pgaio_room(const PgaioIo *io)
{
	int			pins = pgaio_free_pins();

	if (io->nheld == 0)
		pins = Max(pins, 1);
	return Min(io->nslots - io->nheld, pins);
}

static int
pgaio_take_slot(PgaioIo *io)
{
	Assert(io->nheld < io->nslots);
	while (io->slots[io->next_slot] != NULL)
		io->next_slot = (io->next_slot + 1) % io->nslots;
	return io->next_slot;
}

/*
 * Start one read.  The operation is in its list before anything can raise an
 * error, so that pgaio_end() finds it.
 */
static void
pgaio_start(PgaioIo *io, AnagoIoRead *read)
{
	PgaioOp    *op = pgaio_new_op();

	op->read = read;
	op->done = false;
	op->buffer = InvalidBuffer;
	op->op.rel = read->rel;
	op->op.smgr = RelationGetSmgr(read->rel);
	op->op.persistence = read->rel->rd_rel->relpersistence;
	op->op.forknum = MAIN_FORKNUM;
	op->op.strategy = NULL;
	pgaio_wref_clear(&op->op.io_wref);

	read->slot = pgaio_take_slot(io);
	read->inlined = false;
	io->slots[read->slot] = op;
	io->ninflight++;
	io->nheld++;
	dlist_push_tail(&io->inflight, &op->node);

	/* False if another process has just read it: then it is done. */
	if (!StartReadBuffer(&op->op, &op->buffer, read->blkno, 0))
		pgaio_wref_clear(&op->op.io_wref);
}

static int
pgaio_issue(AnagoIo *base, AnagoIoRead **reads, int n)
{
	PgaioIo    *io = (PgaioIo *) base;

	n = Min(n, pgaio_room(io));
	if (n <= 0)
		return 0;

	if (!dlist_is_empty(&zombie_ops))
		pgaio_revive_zombies();
	pgaio_enter_batchmode();
	for (int i = 0; i < n; i++)
		pgaio_start(io, reads[i]);
	pgaio_exit_batchmode();
	return n;
}

/* See the top.  False if it cannot be done now. */
static bool
pgaio_ring_doorbell(void)
{
	static int	null_fd = -1;
	static char nothing[1];
	PgAioHandle *handle;
	PgAioWaitRef wref;
	struct iovec *iov;

	if (null_fd < 0)
	{
		null_fd = BasicOpenFile("/dev/null", O_RDONLY | O_CLOEXEC);
		if (null_fd < 0)
			return false;
		ReserveExternalFD();
	}
	handle = pgaio_io_acquire_nb(CurrentResourceOwner, NULL);
	if (handle == NULL)
		return false;

	HOLD_INTERRUPTS();
	pgaio_io_set_target(handle, PGAIO_TID_SMGR);
	pgaio_io_set_flag(handle, PGAIO_HF_REFERENCES_LOCAL);
	pgaio_io_get_wref(handle, &wref);
	pgaio_io_get_iovec(handle, &iov);
	iov[0].iov_base = nothing;
	iov[0].iov_len = sizeof(nothing);
	pgaio_io_start_readv(handle, null_fd, 1, 0);
	pgaio_wref_wait(&wref);
	RESUME_INTERRUPTS();
	return true;
}

/* Move what is over to `done`, oldest first. */
static int
pgaio_collect(PgaioIo *io, AnagoIoRead **done, int max)
{
	dlist_mutable_iter iter;
	int			n = 0;

	dlist_foreach_modify(iter, &io->inflight)
	{
		PgaioOp    *op = dlist_container(PgaioOp, node, iter.cur);

		if (n == max)
			break;
		if (!pgaio_op_over(op))
			continue;
		dlist_delete(&op->node);
		dlist_push_tail(&io->done, &op->node);
		op->done = true;
		io->ninflight--;
		done[n++] = op->read;
	}
	return n;
}

static int
pgaio_poll(AnagoIo *base, AnagoIoRead **done, int max)
{
	PgaioIo    *io = (PgaioIo *) base;
	int			n;

	if (io->ninflight == 0)
		return 0;
	n = pgaio_collect(io, done, max);
	if (n == 0 && pgaio_server_uring() && pgaio_ring_doorbell())
		n = pgaio_collect(io, done, max);
	return n;
}

/* Sleep in the kernel until the oldest read is over; time it. */
static void
pgaio_wait_oldest(PgaioOp *op)
{
	instr_time	start;
	instr_time	end;

	INSTR_TIME_SET_CURRENT(start);
	pgaio_wref_wait(&op->op.io_wref);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	slow_device = INSTR_TIME_GET_MICROSEC(end) > PGAIO_SLOW_US;
}

static void
pgaio_nap(PgaioOp *op)
{
	int			naps = 0;

	pgstat_report_wait_start(anago_io_wait_event());
	while (!pgaio_op_over(op) && naps < ANAGO_IO_WAIT_MS * 1000 / PGAIO_NAP_US)
	{
		pg_usleep(PGAIO_NAP_US);
		naps++;
		if (!pgaio_ring_doorbell())
			break;
	}
	pgstat_report_wait_end();
	if (naps <= PGAIO_FAST_NAPS)
		slow_device = false;
}

/*
 * With I/O workers the wait is on a condition variable and hears interrupts
 * by itself; on the server's ring it does not, see PGAIO_SLOW_US.
 */
static void
pgaio_wait(AnagoIo *base)
{
	PgaioIo    *io = (PgaioIo *) base;
	PgaioOp    *oldest;
	instr_time	start;

	if (io->ninflight == 0)
		return;
	oldest = dlist_head_element(PgaioOp, node, &io->inflight);
	if (pgaio_op_over(oldest))
		return;
	/* WaitReadBuffers() will find it done, and counts no time then. */
	start = anago_io_timing_start();
	if (pgaio_server_uring() && slow_device)
		pgaio_nap(oldest);
	else
		pgaio_wait_oldest(oldest);
	anago_io_timing_end(start);
}

/* Take the operation out of its list and slot.  The pin is the caller's. */
static void
pgaio_unlink(PgaioIo *io, AnagoIoRead *read, PgaioOp *op)
{
	Assert(io->slots[read->slot] == op && op->read == read);
	io->slots[read->slot] = NULL;
	read->slot = -1;
	io->nheld--;
	if (!op->done)
		io->ninflight--;
	dlist_delete(&op->node);
}

static Buffer
pgaio_finish(AnagoIo *base, AnagoIoRead *read)
{
	PgaioIo    *io = (PgaioIo *) base;
	PgaioOp    *op = io->slots[read->slot];
	Buffer		buffer = op->buffer;

	if (pgaio_op_started(op))
		WaitReadBuffers(&op->op);
	pgaio_unlink(io, read, op);
	dlist_push_head(&idle_ops, &op->node);
	return buffer;
}

/* The read itself goes on: PostgreSQL holds a pin of its own for it. */
static void
pgaio_forget(AnagoIo *base, AnagoIoRead *read)
{
	PgaioIo    *io = (PgaioIo *) base;
	PgaioOp    *op = io->slots[read->slot];

	pgaio_unlink(io, read, op);
	ReleaseBuffer(op->buffer);
	pgaio_give_up_op(op);
}

const AnagoIoMethodOps anago_io_pgaio_ops = {
	.name = "pgaio",
	.holds_pins = true,
	.available = pgaio_available,
	.begin = pgaio_begin,
	.end = pgaio_end,
	.capacity = pgaio_capacity,
	.expect = pgaio_expect,
	.issue = pgaio_issue,
	.poll = pgaio_poll,
	.wait = pgaio_wait,
	.finish = pgaio_finish,
	.forget = pgaio_forget,
};

#endif							/* ANAGO_HAVE_AIO */
