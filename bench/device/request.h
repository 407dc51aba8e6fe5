/*
 * request.h
 *	  One request to the emulated device, from its arrival to its reply.
 *
 * READ:	arrives -> has its data -> is held until due -> replied
 * others:	arrives -> done by a worker -> replied at once
 *
 * The thread of the main loop owns a request except between workers_give() and
 * workers_take(), when a worker does.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdint.h>
#include <sys/types.h>

#include "fuse_api.h"

typedef enum RequestKind
{
	REQUEST_READ,
	REQUEST_WRITE,
	REQUEST_FALLOCATE
} RequestKind;

typedef struct Request
{
	RequestKind kind;
	fuse_req_t	fuse;
	uint64_t	due;			/* READ: when to reply; ns, CLOCK_MONOTONIC */
	uint64_t	late_after;		/* READ: replied after this it is late */
	off_t		offset;
	size_t		size;
	int			mode;			/* FALLOCATE */
	ssize_t		result;			/* bytes, or -errno */
	char	   *data;			/* READ, WRITE: `size` bytes */
	struct Request *next;		/* in a list of workers.c */
} Request;

#endif							/* REQUEST_H */
