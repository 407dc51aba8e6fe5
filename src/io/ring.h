/*-------------------------------------------------------------------------
 *
 * ring.h
 *	  The io_uring of this process, on which hint reads are made.
 *
 * A hint read brings a block into the kernel's page cache; the bytes
 * themselves go to one scratch area that nobody looks at.  All users in the
 * process share the ring.  A completion carries the user's id and slot; ids
 * are not used again, so a completion for a user that is gone is recognised
 * and dropped.
 *
 * Invariants
 *	- the ring and the scratch area live as long as the process;
 *	- outside anago_ring_read() .. anago_ring_submit() no prepared request is
 *	  left in the submission queue, so a file descriptor may be closed
 *	  (an error may leave some; who closes files calls submit before);
 *	- all requests in the queues are reads of ours, and only their completions
 *	  are counted;
 *	- reads on their way <= entries of the completion queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RING_H
#define ANAGO_RING_H

#include "postgres.h"

#include "lib/ilist.h"

/* Most requests between two calls of anago_ring_submit(). */
#define ANAGO_RING_BATCH	32

/* The largest request, and a multiple of what direct I/O wants. */
#define ANAGO_RING_MAX_BYTES	(128 * 1024)

typedef struct AnagoRingUser
{
	dlist_node	node;			/* all users of this process */
	uint32		id;
	void	   *owner;			/* the user's own */

	/* One read is over; `res` is its length in bytes or -errno. */
	void		(*complete) (struct AnagoRingUser *user, uint32 slot, int res);

	/* The ring broke: no read on its way will be heard of again. */
	void		(*lost) (struct AnagoRingUser *user);
} AnagoRingUser;

/* Create the ring unless it is there; see AnagoIoMethodOps.available. */
extern bool anago_ring_available(const char **why, const char **hint);

/*
 * A user is in place, or leaves.  Neither raises errors.
 */
extern void anago_ring_attach(AnagoRingUser *user);
extern void anago_ring_detach(AnagoRingUser *user);

/* Reads that the ring could take now; 0 also when it is broken. */
extern int	anago_ring_room(void);

/* Is there a ring?  False after it broke. */
extern bool anago_ring_usable(void);

/* Prepare a hint read of the block at `offset`; at most ANAGO_RING_BATCH before a submit. */
extern void anago_ring_read(AnagoRingUser *user, uint32 slot, int fd,
							off_t offset);

/* The same of so many bytes, at an aligned place, as direct I/O wants it. */
extern void anago_ring_read_bytes(AnagoRingUser *user, uint32 slot, int fd,
								  off_t offset, int bytes);
extern void anago_ring_submit(void);

/* Call `complete` of the users of all reads that are over; never waits. */
extern void anago_ring_reap(void);

/* Sleep until a read is over, a signal came or ANAGO_IO_WAIT_MS went by. */
extern void anago_ring_sleep(void);

#endif							/* ANAGO_RING_H */
