/*
 * workers.c
 *	  Threads that do what may block.
 *
 * Two lists under one lock.  Their length is bounded by the requests that the
 * kernel lets be under way at once.  The threads end with the process: whatever
 * the kernel has seen replied is in the page cache by then.
 */
#define _GNU_SOURCE
#include "workers.h"

#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct List
{
	Request    *first;
	Request   **end;
} List;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given = PTHREAD_COND_INITIALIZER;
static List pending = {NULL, &pending.first};
static List done = {NULL, &done.first};
static int	image_fd;
static int	event_fd;

static void
append(List *list, Request *request)
{
	request->next = NULL;
	*list->end = request;
	list->end = &request->next;
}

static Request *
remove_first(List *list)
{
	Request    *first = list->first;

	list->first = first->next;
	if (list->first == NULL)
		list->end = &list->first;
	return first;
}

/* Read or write all of it; a hole at the image's end reads as zeros. */
static ssize_t
transfer(const Request *request)
{
	size_t		so_far = 0;

	while (so_far < request->size)
	{
		char	   *data = request->data + so_far;
		size_t		left = request->size - so_far;
		off_t		offset = request->offset + so_far;
		ssize_t		n = request->kind == REQUEST_READ
			? pread(image_fd, data, left, offset)
			: pwrite(image_fd, data, left, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		so_far += n;
	}
	return so_far;
}

static void
perform(Request *request)
{
	if (request->kind != REQUEST_FALLOCATE)
	{
		request->result = transfer(request);
		if (request->result > 0)
			memory_hold(request->offset, request->result);
	}
	else
		request->result = fallocate(image_fd, request->mode, request->offset,
									request->size) == 0 ? 0 : -errno;
}

static void *
worker_main(void *unused)
{
	uint64_t	one = 1;

	(void) unused;
	pthread_mutex_lock(&lock);
	for (;;)
	{
		Request    *request;

		while (pending.first == NULL)
			pthread_cond_wait(&given, &lock);
		request = remove_first(&pending);
		pthread_mutex_unlock(&lock);
		perform(request);
		pthread_mutex_lock(&lock);
		append(&done, request);
		if (write(event_fd, &one, sizeof(one)) < 0)
			_exit(1);			/* an eventfd does not fail */
	}
	return NULL;
}

/* Returns 0, or an errno. */
int
workers_start(int image)
{
	image_fd = image;
	event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (event_fd < 0)
		return errno;
	for (int i = 0; i < WORKERS; i++)
	{
		pthread_t	thread;
		int			rc = pthread_create(&thread, NULL, worker_main, NULL);

		if (rc != 0)
			return rc;
		pthread_detach(thread);
	}
	return 0;
}

int
workers_fd(void)
{
	return event_fd;
}

void
workers_give(Request *request)
{
	pthread_mutex_lock(&lock);
	append(&pending, request);
	pthread_cond_signal(&given);
	pthread_mutex_unlock(&lock);
}

/* One request that is done, or NULL. */
Request *
workers_take(void)
{
	Request    *request = NULL;
	uint64_t	count;

	pthread_mutex_lock(&lock);
	if (done.first != NULL)
		request = remove_first(&done);
	else if (read(event_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		_exit(1);
	pthread_mutex_unlock(&lock);
	return request;
}
