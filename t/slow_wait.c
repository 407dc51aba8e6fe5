/*-------------------------------------------------------------------------
 *
 * slow_wait.c
 *	  The first wait of each process for its ring takes half a second; built
 *	  and preloaded into a server by 016_accounting.pl.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <liburing.h>
#include <unistd.h>

typedef int (*Wait) (struct io_uring *ring, struct io_uring_cqe **cqe,
					 unsigned n, struct __kernel_timespec *timeout,
					 sigset_t *signals);

int
io_uring_submit_and_wait_timeout(struct io_uring *ring, struct io_uring_cqe **cqe,
								 unsigned n, struct __kernel_timespec *timeout,
								 sigset_t *signals)
{
	static Wait real = NULL;

	if (real == NULL)
	{
		real = (Wait) dlsym(RTLD_NEXT, "io_uring_submit_and_wait_timeout");
		usleep(500000);
	}
	return real(ring, cqe, n, timeout, signals);
}
