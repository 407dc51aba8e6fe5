/*-------------------------------------------------------------------------
 *
 * probe_advice.c
 *	  Reads in flight without a ring: the kernel is told what will be read.
 *
 * A read that is alone is a plain one, which waits.  Others are begun by
 * posix_fadvise(), as core's bitmap scans do before PostgreSQL 18, and read in the
 * order in which they were begun; these pass through the page cache, out of which
 * they are put first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "utils/wait_event.h"

#include "device/probe.h"
#include "io/io.h"

/* What direct I/O wants. */
#define ALIGNMENT	4096

static struct
{
	AnagoProbeRead reads[ANAGO_PROBE_MAX_DEPTH];	/* by slot */
	int			queue[ANAGO_PROBE_MAX_DEPTH];	/* slots, a circular queue */
	int			head;
	int			count;
	pg_attribute_aligned(ALIGNMENT) char scratch[ANAGO_PROBE_MAX_BYTES];
}			probe;

static bool
advice_available(void)
{
	return true;
}

static void
advice_begin(void)
{
	probe.head = probe.count = 0;
}

static void
advice_end(void)
{
}

static void
advise(const AnagoProbeRead *read)
{
#if defined(POSIX_FADV_DONTNEED) && defined(POSIX_FADV_WILLNEED)
	if (read->direct)
		return;
	(void) posix_fadvise(read->fd, read->offset, read->bytes, POSIX_FADV_DONTNEED);
	(void) posix_fadvise(read->fd, read->offset, read->bytes, POSIX_FADV_WILLNEED);
#endif
}

static void
advice_issue(int slot, const AnagoProbeRead *read)
{
	Assert(probe.count < ANAGO_PROBE_MAX_DEPTH);
	probe.reads[slot] = *read;
	probe.queue[(probe.head + probe.count++) % ANAGO_PROBE_MAX_DEPTH] = slot;
	advise(read);
}

static void
advice_submit(void)
{
}

static int
advice_wait(int *slots, int max)
{
	int			slot = probe.queue[probe.head];
	const AnagoProbeRead *read = &probe.reads[slot];
	ssize_t		ret;

	if (probe.count == 0)
		return 0;
	pgstat_report_wait_start(anago_io_wait_event());
	ret = pread(read->fd, probe.scratch, read->bytes, read->offset);
	pgstat_report_wait_end();
	if (ret < 0)
		return errno == EINTR ? 0 : -errno;
	probe.head = (probe.head + 1) % ANAGO_PROBE_MAX_DEPTH;
	probe.count--;
	slots[0] = slot;
	return 1;
}

const AnagoProbeOps anago_probe_advice = {
	.name = "posix_fadvise",
	.available = advice_available,
	.through_cache = true,
	.begin = advice_begin,
	.end = advice_end,
	.issue = advice_issue,
	.submit = advice_submit,
	.wait = advice_wait,
	.now = anago_probe_clock,
};
