/*-------------------------------------------------------------------------
 *
 * ring.c
 *	  The io_uring of this process.  See ring.h.
 *
 * The submission queue is short, as requests are submitted in groups of
 * ANAGO_RING_BATCH; the completion queue is as long as reads may be on their
 * way together.
 *
 * Only the page cache matters, so a request asks for the least that makes the
 * kernel read the whole block in one go: from the last byte of its first 4 KiB
 * page to the first byte of its last one, 2 bytes of 8 KiB.  Any number of
 * requests may write to the scratch area at once.
 *
 * All requests in the ring are ours.  Where the kernel knows no time-out for a
 * wait (before Linux 5.11), the library would queue one of its own, with a
 * place in both queues and a completion that looks like one of ours; there we
 * sleep in poll() instead.  A completion that is not ours after all is dropped
 * without being counted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef HAVE_LIBURING

#include <liburing.h>
#include <poll.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"

#include "compat.h"
#include "guc.h"
#include "io/io.h"
#include "io/ring.h"

#define RING_SQ_ENTRIES		(2 * ANAGO_RING_BATCH)
#define RING_CQ_ENTRIES		ANAGO_MAX_INFLIGHT	/* tried first */
#define RING_CQ_ENTRIES_MIN	256 /* smaller ones are not worth having */

/* Times that a submission refused for lack of resources is repeated. */
#define RING_SUBMIT_TRIES	8

#define RING_HINT_PAGE		4096
#define RING_HINT_OFFSET	(Min(BLCKSZ, RING_HINT_PAGE) - 1)
#define RING_HINT_BYTES		(BLCKSZ > RING_HINT_PAGE ? BLCKSZ - 2 * RING_HINT_PAGE + 2 : 1)

/* Flags that save interrupts; Linux 5.19.  2.3 of liburing knows them. */
#define RING_FAST_FLAGS		(IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG)

StaticAssertDecl(RING_HINT_BYTES <= ANAGO_RING_MAX_BYTES, "hint reads fit");
StaticAssertDecl((RING_CQ_ENTRIES & (RING_CQ_ENTRIES - 1)) == 0 &&
				 RING_CQ_ENTRIES <= 65536,
				 "the kernel takes a completion queue of that size as it is");

static struct
{
	struct io_uring uring;
	bool		open;
	int			refused;		/* errno of a failure: not tried again */
	int			capacity;		/* entries of the completion queue */
	int			inflight;		/* submitted and not yet reaped */
	int			prepared;		/* in the submission queue */
	uint32		last_id;
	dlist_head	users;
	pg_attribute_aligned(RING_HINT_PAGE) char scratch[ANAGO_RING_MAX_BYTES];
}			ring = {.users = DLIST_STATIC_INIT(ring.users)};

/* ---- set-up ---- */

/* 0 or -errno */
static int
ring_init(unsigned flags, unsigned cq_entries)
{
	struct io_uring_params params = {0};
	int			ret;

	params.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
	params.cq_entries = cq_entries;
	ret = io_uring_queue_init_params(RING_SQ_ENTRIES, &ring.uring, &params);
	if (ret == 0)
		ring.capacity = Min(params.cq_entries, RING_CQ_ENTRIES);
	return ret;
}

/* Older kernels know fewer flags; a low limit on locked memory, less space. */
static int
ring_init_any(void)
{
	unsigned	flags = RING_FAST_FLAGS;
	unsigned	cq_entries = RING_CQ_ENTRIES;

	for (;;)
	{
		int			ret = ring_init(flags, cq_entries);

		if (ret == -EINVAL && flags != 0)
			flags = 0;
		else if (ret == -ENOMEM && cq_entries > RING_CQ_ENTRIES_MIN)
			cq_entries /= 2;
		else if (ret != -EINTR)
			return ret;
	}
}

static void
ring_open(void)
{
	int			ret;

	/* The ring belongs to one process; postmaster's children make their own. */
	Assert(IsUnderPostmaster || !IsPostmasterEnvironment);
	Assert(!ring.open && ring.inflight == 0 && ring.prepared == 0);

	ret = ring_init_any();
	if (ret < 0)
	{
		ring.refused = -ret;
		return;
	}
	ReserveExternalFD();
	/* A program run by this backend must not see the ring.  Best effort. */
	(void) io_uring_ring_dontfork(&ring.uring);
	ring.open = true;
}

/*
 * Submission failed for good.  The kernel completes what is on its way, into
 * the scratch area; later queries take another method.
 */
static void
ring_break(int err)
{
	dlist_iter	iter;

	ring.refused = err != 0 ? err : EIO;

	io_uring_queue_exit(&ring.uring);
	ReleaseExternalFD();
	ring.open = false;
	ring.inflight = ring.prepared = 0;
	dlist_foreach(iter, &ring.users)
	{
		AnagoRingUser *user = dlist_container(AnagoRingUser, node, iter.cur);

		user->lost(user);
	}
}

static const char *
ring_hint(int err)
{
	switch (err)
	{
		case ENOSYS:
			return "The kernel does not support io_uring.";
		case EPERM:
		case EACCES:
			return "Check the kernel setting kernel.io_uring_disabled and the seccomp profile of the container or service.";
		case ENOMEM:
			return "Raise the limit on locked memory of the server (ulimit -l).";
		case EMFILE:
		case ENFILE:
			return "Raise the limit on open files of the server (ulimit -n).";
		default:
			return "Set anago.io_method to sync or pgaio to keep it from being tried.";
	}
}

bool
anago_ring_available(const char **why, const char **hint)
{
	static char message[128];

	if (!ring.open && ring.refused == 0)
		ring_open();
	if (ring.open)
		return true;

	snprintf(message, sizeof(message), "io_uring failed: %s",
			 strerror(ring.refused));
	*why = message;
	*hint = ring_hint(ring.refused);
	return false;
}

/* ---- users ---- */

void
anago_ring_attach(AnagoRingUser *user)
{
	user->id = ++ring.last_id;
	dlist_push_head(&ring.users, &user->node);
}

void
anago_ring_detach(AnagoRingUser *user)
{
	/* Something is left if an error came while a batch was prepared. */
	anago_ring_submit();
	dlist_delete(&user->node);
}

/* The latest user is first in the list, and most often the one. */
static AnagoRingUser *
ring_find_user(uint32 id)
{
	dlist_iter	iter;

	dlist_foreach(iter, &ring.users)
	{
		AnagoRingUser *user = dlist_container(AnagoRingUser, node, iter.cur);

		if (user->id == id)
			return user;
	}
	return NULL;
}

/* ---- reads ---- */

bool
anago_ring_usable(void)
{
	return ring.open;
}

int
anago_ring_room(void)
{
	if (!ring.open)
		return 0;
	Assert(ring.inflight + ring.prepared <= ring.capacity);
	return ring.capacity - ring.inflight - ring.prepared;
}

void
anago_ring_read(AnagoRingUser *user, uint32 slot, int fd, off_t offset)
{
	anago_ring_read_bytes(user, slot, fd, offset + RING_HINT_OFFSET, RING_HINT_BYTES);
}

void
anago_ring_read_bytes(AnagoRingUser *user, uint32 slot, int fd, off_t offset,
					  int bytes)
{
	struct io_uring_sqe *sqe;

	Assert(bytes <= ANAGO_RING_MAX_BYTES);
	Assert(anago_ring_room() > 0);
	Assert(ring.prepared < ANAGO_RING_BATCH);

	sqe = io_uring_get_sqe(&ring.uring);
	Assert(sqe != NULL);		/* the queue has twice the room of a batch */
	io_uring_prep_read(sqe, fd, ring.scratch, bytes, offset);
	io_uring_sqe_set_data64(sqe, ((uint64) user->id << 32) | slot);
	ring.prepared++;
}

/*
 * Hand all prepared requests to the kernel.  It may take them in pieces, or
 * be short of something for a moment; a ring that still refuses is given up.
 */
void
anago_ring_submit(void)
{
	int			tries = 0;
	instr_time	start;

	if (!ring.open || ring.prepared == 0)
		return;
	start = anago_io_timing_start();
	while (ring.open && ring.prepared > 0)
	{
		int			ret = io_uring_submit(&ring.uring);

		if (ret > 0)
		{
			Assert(ret <= ring.prepared);
			ring.prepared -= ret;
			ring.inflight += ret;
		}
		else if (ret != -EINTR && ++tries >= RING_SUBMIT_TRIES)
			ring_break(-ret);
		else
			anago_ring_reap();
	}
	anago_io_timing_end(start);
}

/* One completion; is it of one of our reads? */
static bool
ring_complete(const struct io_uring_cqe *cqe)
{
	uint64		data = io_uring_cqe_get_data64(cqe);
	AnagoRingUser *user;

	if (data == LIBURING_UDATA_TIMEOUT)
		return false;
	user = ring_find_user((uint32) (data >> 32));
	if (user != NULL)
		user->complete(user, (uint32) data, cqe->res);
	return true;
}

void
anago_ring_reap(void)
{
	struct io_uring_cqe *cqes[ANAGO_RING_BATCH];
	unsigned	n;

	while (ring.open && ring.inflight > 0 &&
		   (n = io_uring_peek_batch_cqe(&ring.uring, cqes, lengthof(cqes))) > 0)
	{
		int			ours = 0;

		for (unsigned i = 0; i < n; i++)
			ours += ring_complete(cqes[i]);
		io_uring_cq_advance(&ring.uring, n);
		Assert(ours <= ring.inflight);
		ring.inflight -= ours;
	}
}

/* Until a completion is there.  Queues nothing, whatever the kernel's age. */
static void
ring_wait(void)
{
	if (ring.uring.features & IORING_FEAT_EXT_ARG)
	{
		struct __kernel_timespec timeout = {.tv_nsec = ANAGO_IO_WAIT_MS * 1000000L};
		struct io_uring_cqe *cqe;

		(void) io_uring_submit_and_wait_timeout(&ring.uring, &cqe, 1, &timeout, NULL);
	}
	else
	{
		struct pollfd pollfd = {.fd = ring.uring.ring_fd, .events = POLLIN};

		(void) poll(&pollfd, 1, ANAGO_IO_WAIT_MS);
	}
}

void
anago_ring_sleep(void)
{
	instr_time	start;

	Assert(ring.prepared == 0);
	if (!ring.open || ring.inflight == 0)
		return;

	/* Time-out and signals look the same to us: the caller looks again. */
	start = anago_io_timing_start();
	pgstat_report_wait_start(anago_io_wait_event());
	ring_wait();
	pgstat_report_wait_end();
	anago_io_timing_end(start);
}

#endif							/* HAVE_LIBURING */
