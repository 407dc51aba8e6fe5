/*
 * delayfs.c
 *	  A FUSE file system of one big file, whose reads are held back as long as
 *	  a slow and highly parallel device would take for them.
 *
 * Files:
 *	  delayfs.c	 the main loop: requests in, replies out when they are due
 *	  files.c	 what the kernel asks of the file system besides reading
 *	  model.c	 when a read is due
 *	  heap.c	 the reads that are held back
 *	  memory.c	 the image's contents in memory
 *	  workers.c	 threads for what may block
 *	  stats.c	 what was done, and how punctually
 *	  options.c	 the command line
 *
 * One thread does everything that must be in time, always on the same processor.
 * A read is given its due time when it arrives; its data are taken from the page
 * cache of the image at once, or by a worker if they are not there.  It then
 * waits in the heap.  So the image's own latency is part of the emulated one and
 * does not add to it.
 *
 *		kernel --> receive --> model --> page cache? --yes--> heap --> reply
 *		                                     |                 ^
 *		                                     no--> worker -----+
 *
 * Writes are handed to workers and replied as soon as they are in the image's
 * page cache; a flush is replied at once: the contents need not outlive a
 * crash of the machine.
 *
 * The loop ends when the file system is unmounted, or at SIGTERM or SIGINT.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "delayfs.h"
#include "heap.h"
#include "memory.h"
#include "workers.h"

#define NS_PER_S		1000000000ull
#define RECEIVE_BATCH	16		/* requests taken in before workers are looked at */
#define OVERSLEPT_MAX	20000	/* ns */
#define PRIORITY		10		/* above whatever else runs in real time here */
#define TOLERANCE_PART	10		/* a tenth of a read's time is not late */

static Options options;
static Model model;
static Heap heap;
static int	image_fd;
static int	socket_fd;
static uint64_t image_size;
static Stats stats;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t
disk_size(void)
{
	return image_size;
}

Stats *
disk_stats(void)
{
	return &stats;
}

/* --- requests ----------------------------------------------------------- */

/* Room for a request and its data; NULL after replying that there is none. */
static Request *
new_request(fuse_req_t fuse, RequestKind kind, off_t offset, size_t size,
			size_t data_size)
{
	Request    *request = malloc(sizeof(Request) + data_size);

	if (request == NULL)
	{
		fuse_reply_err(fuse, ENOMEM);
		return NULL;
	}
	*request = (Request) {
		.kind = kind, .fuse = fuse, .offset = offset, .size = size,
		.data = (char *) (request + 1)
	};
	return request;
}

static void
reply(Request *request)
{
	if (request->result < 0)
	{
		stats.failed++;
		stats.lost += request->kind == REQUEST_WRITE;
		fuse_reply_err(request->fuse, -request->result);
	}
	else if (request->kind == REQUEST_READ)
		fuse_reply_buf(request->fuse, request->data, request->result);
	else if (request->kind == REQUEST_WRITE)
		fuse_reply_write(request->fuse, request->result);
	else
		fuse_reply_err(request->fuse, 0);
	free(request);
}

/* A read has its data, or its error: from now on only time is missing. */
static void
hold(Request *request)
{
	if (!heap_push(&heap, request))
	{
		request->result = -EBUSY;
		reply(request);
		return;
	}
	if (heap.count > (int) stats.peak)
		stats.peak = heap.count;
}

/* Is all of it in the page cache?  Then it is read, without blocking. */
static bool
read_from_cache(Request *request)
{
	struct iovec to = {request->data, request->size};
	ssize_t		n = preadv2(image_fd, &to, 1, request->offset, RWF_NOWAIT);

	if (n != (ssize_t) request->size)
		return false;
	request->result = n;
	return true;
}

void
disk_read(fuse_req_t fuse, size_t size, off_t offset)
{
	uint64_t	arrived = now_ns();
	uint64_t	due = model_due(&model, arrived, offset, size);
	Request    *request = new_request(fuse, REQUEST_READ, offset, size, size);

	if (request == NULL)
		return;
	request->due = due > options.path ? due - options.path : due;
	/* To copy it is to pass it on, which may take as long as the model says. */
	request->late_after = request->due +
		larger(options.tolerance, (due - arrived) / TOLERANCE_PART) +
		model_transfer(&model, size);
	stats.reads++;
	stats.bytes += size;
	stats.model_ns += due - arrived;
	if (read_from_cache(request))
		hold(request);
	else
	{
		stats.missed++;
		workers_give(request);
	}
}

void
disk_write(fuse_req_t fuse, const char *data, size_t size, off_t offset)
{
	Request    *request = new_request(fuse, REQUEST_WRITE, offset, size, size);

	if (request == NULL)
		return;
	stats.writes++;
	memcpy(request->data, data, size);
	workers_give(request);
}

void
disk_fallocate(fuse_req_t fuse, int mode, off_t offset, size_t size)
{
	Request    *request = new_request(fuse, REQUEST_FALLOCATE, offset, size, 0);

	if (request == NULL)
		return;
	request->mode = mode;
	workers_give(request);
}

/* --- the loop ----------------------------------------------------------- */

static void
take_from_workers(void)
{
	Request    *request;

	while ((request = workers_take()) != NULL)
	{
		if (request->kind == REQUEST_READ)
			hold(request);
		else
			reply(request);
	}
}

/*
 * A reply completes a request of the loop device, and the kernel leaves the
 * rest of that to a softirq, which waits for the next interrupt or for a thread
 * that is less urgent than this one.  Unlocking a socket runs it here and now.
 */
static void
run_softirqs(void)
{
	int			off = 0;

	setsockopt(socket_fd, SOL_SOCKET, SO_KEEPALIVE, &off, sizeof(off));
}

/* Reply to what is due; returns how long nothing will be, in ns. */
static uint64_t
reply_due(void)
{
	Request    *first;
	uint64_t	now = now_ns();
	bool		replied = false;

	while ((first = heap_first(&heap)) != NULL && first->due <= now)
	{
		uint64_t	due = first->due;
		uint64_t	late_after = first->late_after;

		reply(heap_pop(&heap));
		now = now_ns();
		if (now > late_after)
			stats_count_late(&stats, now - due);
		replied = true;
	}
	if (replied)
		run_softirqs();
	return first != NULL ? first->due - now : NS_PER_S;
}

/* Take in what the kernel has; a reply that becomes due does not wait. */
static void
receive(struct fuse_session *session, struct fuse_buf *buffer)
{
	for (int i = 0; i < RECEIVE_BATCH; i++)
	{
		if (fuse_session_receive_buf(session, buffer) <= 0)
			break;
		fuse_session_process_buf(session, buffer);
		reply_due();
	}
}

/*
 * Sleep until there is something to do, `left` ns at most.  Virtual machines
 * wake up late: by how much is learnt, and that much is not slept but polled.
 */
static int
sleep_at_most(uint64_t left, struct pollfd *fds, int count)
{
	static uint64_t overslept = 0;	/* ns, a moving mean */
	uint64_t	asleep = left > overslept ? left - overslept : 0;
	struct timespec timeout = {asleep / NS_PER_S, asleep % NS_PER_S};
	uint64_t	begin = now_ns();
	int			ready = ppoll(fds, count, &timeout, NULL);

	if (ready == 0 && asleep > 0)
	{
		uint64_t	took = now_ns() - begin;
		uint64_t	over = took > asleep ? took - asleep : 0;

		overslept += ((int64_t) (over < OVERSLEPT_MAX ? over : OVERSLEPT_MAX)
					  - (int64_t) overslept) / 8;
	}
	return ready;
}

static void
serve(struct fuse_session *session)
{
	struct fuse_buf buffer = {0};
	struct pollfd fds[2] = {
		{.fd = fuse_session_fd(session), .events = POLLIN},
		{.fd = workers_fd(), .events = POLLIN}
	};

	while (!fuse_session_exited(session))
	{
		int			ready = sleep_at_most(reply_due(), fds, 2);

		if (ready < 0 && errno != EINTR)
			break;
		if (ready <= 0)
			continue;
		if (fds[1].revents != 0)
			take_from_workers();
		if (fds[0].revents != 0)
			receive(session, &buffer);
	}
	free(buffer.mem);
}

/*
 * Stay on one processor, the last one.  Moved to and fro between those of a busy
 * server, 45% of the replies were late in some runs; staying, 0.4% at most.
 */
static void
stay_on_one_processor(void)
{
	cpu_set_t	allowed;
	cpu_set_t	last;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (CPU_ISSET(cpu, &allowed))
		{
			CPU_ZERO(&last);
			CPU_SET(cpu, &last);
			sched_setaffinity(0, sizeof(last), &last);
			return;
		}
}

/*
 * A device does not wait for a processor.  Nor do its interrupts wait for one
 * to be woken, which takes tens of us in a virtual machine, several times for
 * each read: idle processors are kept awake for as long as the file is open.
 * Without the privilege replies may be late, which is counted.
 */
static void
be_punctual(void)
{
	struct sched_param priority = {.sched_priority = PRIORITY};
	int32_t		wake_up_us = 0;
	int			latency_fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);

	if (latency_fd >= 0 &&
		write(latency_fd, &wake_up_us, sizeof(wake_up_us)) < 0)
		fprintf(stderr, "delayfs: processors may sleep: %s\n",
				strerror(errno));

	stay_on_one_processor();
	prctl(PR_SET_TIMERSLACK, 1);
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &priority) != 0)
		setpriority(PRIO_PROCESS, 0, -20);
}

static int
open_image(void)
{
	struct stat status;

	image_fd = open(options.image, O_RDWR | O_CLOEXEC);
	if (image_fd < 0 || fstat(image_fd, &status) != 0)
	{
		fprintf(stderr, "delayfs: cannot open %s: %s\n", options.image,
				strerror(errno));
		return -1;
	}
	image_size = status.st_size;
	posix_fadvise(image_fd, 0, 0, POSIX_FADV_RANDOM);
	return 0;
}

int
main(int argc, char **argv)
{
	char	   *arguments[] = {argv[0], "-ofsname=delayfs,allow_other"};
	struct fuse_args args = FUSE_ARGS_INIT(2, arguments);
	struct fuse_session *session;
	int			rc;

	if (options_parse(argc, argv, &options, &model) != 0)
		return 2;
	if (open_image() != 0)
		return 1;
	memory_hold_image(image_fd, image_size);
	session = fuse_session_new(&args, &file_operations,
							   sizeof(file_operations), NULL);
	if (session == NULL || fuse_set_signal_handlers(session) != 0 ||
		fuse_session_mount(session, options.mountpoint) != 0)
	{
		fprintf(stderr, "delayfs: cannot mount %s\n", options.mountpoint);
		return 1;
	}
	fcntl(fuse_session_fd(session), F_SETFL, O_NONBLOCK);
	socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if ((rc = workers_start(image_fd)) != 0)
		fprintf(stderr, "delayfs: cannot start threads: %s\n", strerror(rc));
	else
	{
		be_punctual();
		serve(session);
	}
	fuse_session_unmount(session);
	fuse_remove_signal_handlers(session);
	fuse_session_destroy(session);
	return rc == 0 ? 0 : 1;
}
