/*-------------------------------------------------------------------------
 *
 * probe_ring.c
 *	  Reads in flight by the io_uring of this process.
 *
 * The ring gives up where the kernel does; reads that were on their way are over
 * then with an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef HAVE_LIBURING

#include <fcntl.h>
#include <unistd.h>

#include "device/probe.h"
#include "io/ring.h"

static struct
{
	AnagoRingUser user;
	int			prepared;
	int			ndone;
	int			done[ANAGO_PROBE_MAX_DEPTH];
	int			error;			/* errno of a read that failed */
}			probe;

StaticAssertDecl(ANAGO_PROBE_MAX_BYTES <= ANAGO_RING_MAX_BYTES,
				 "the ring takes the largest read");

static void
complete(AnagoRingUser *user, uint32 slot, int res)
{
	if (res < 0)
		probe.error = -res;
	Assert(probe.ndone < ANAGO_PROBE_MAX_DEPTH);
	probe.done[probe.ndone++] = (int) slot;
}

static void
lost(AnagoRingUser *user)
{
	probe.error = EIO;
}

static bool
ring_available(void)
{
	const char *why;
	const char *hint;

	return anago_ring_available(&why, &hint);
}

static void
ring_begin(void)
{
	memset(&probe, 0, sizeof(probe));
	probe.user.complete = complete;
	probe.user.lost = lost;
	anago_ring_attach(&probe.user);
}

static void
ring_end(void)
{
	anago_ring_detach(&probe.user);
}

static void
ring_submit(void)
{
	probe.prepared = 0;
	anago_ring_submit();
}

static void
ring_issue(int slot, const AnagoProbeRead *read)
{
	if (anago_ring_room() == 0)
	{
		probe.error = anago_ring_usable() ? EAGAIN : EIO;
		return;
	}
#ifdef POSIX_FADV_DONTNEED
	if (!read->direct)
		(void) posix_fadvise(read->fd, read->offset, read->bytes, POSIX_FADV_DONTNEED);
#endif
	anago_ring_read_bytes(&probe.user, slot, read->fd, read->offset, read->bytes);
	if (++probe.prepared == ANAGO_RING_BATCH)
		ring_submit();
}

static int
ring_wait(int *slots, int max)
{
	int			n;

	anago_ring_reap();
	if (probe.ndone == 0 && probe.error == 0)
	{
		anago_ring_sleep();
		anago_ring_reap();
	}
	if (probe.error != 0)
		return -probe.error;
	n = Min(probe.ndone, max);
	probe.ndone -= n;
	memcpy(slots, probe.done + probe.ndone, sizeof(int) * n);
	return n;
}

const AnagoProbeOps anago_probe_ring = {
	.name = "uring",
	.available = ring_available,
	.begin = ring_begin,
	.end = ring_end,
	.issue = ring_issue,
	.submit = ring_submit,
	.wait = ring_wait,
	.now = anago_probe_clock,
};

#endif							/* HAVE_LIBURING */
