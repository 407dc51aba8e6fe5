/*-------------------------------------------------------------------------
 *
 * old_kernel.c
 *	  Makes io_uring look as on Linux 5.10; built and preloaded into a server
 *	  by 014_old_kernel.pl.
 *
 * What that kernel lacks: a time-out for a wait (IORING_FEAT_EXT_ARG, 5.11),
 * in whose place liburing queues a request of its own, and flags for the ring
 * that save interrupts (5.19).  Says on stderr that it was there.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <stdio.h>

typedef int (*QueueInit) (unsigned entries, struct io_uring *ring,
						  struct io_uring_params *params);

int
io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
						   struct io_uring_params *params)
{
	QueueInit	real = (QueueInit) dlsym(RTLD_NEXT, "io_uring_queue_init_params");
	int			ret;

	if (real == NULL)
		return -ENOSYS;
	if (params->flags & (IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG))
		return -EINVAL;
	ret = real(entries, ring, params);
	if (ret == 0)
	{
		ring->features &= ~IORING_FEAT_EXT_ARG;
		params->features &= ~IORING_FEAT_EXT_ARG;
		fprintf(stderr, "old_kernel: a ring as of Linux 5.10\n");
	}
	return ret;
}
