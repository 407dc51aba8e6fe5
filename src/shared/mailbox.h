/*-------------------------------------------------------------------------
 *
 * mailbox.h
 *	  Rows handed from one process to another.
 *
 * A participant is given a mailbox, into which others put rows that it is to go
 * on with: a message is the number of the operator that is to accept the row,
 * and the row's bytes.  Only its owner takes messages out.
 *
 * Mailboxes are of the pool (segment.h), for all nodes of the query: the first
 * message takes one, the last that is taken out gives it back.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MAILBOX_H
#define ANAGO_MAILBOX_H

#include "postgres.h"

#include "shared/segment.h"

static inline bool
anago_mailbox_is_empty(AnagoParticipant *participant)
{
	return pg_atomic_read_u32(&participant->messages) == 0;
}

/*
 * Take the oldest of one's messages out: returns the bytes of its row, which
 * are copied to `row` (ANAGO_MESSAGE_BYTES), or -1 if there is none.
 */
extern int	anago_mailbox_take(AnagoShare *share, int *op, char *row);

/*
 * Put a message into another's mailbox; false: no room there, no mailbox to be
 * had, or it has left.
 */
extern bool anago_mailbox_send(AnagoShare *share, int to, int op,
							   const char *row, int row_bytes);

/*
 * Give a participant's mailbox back, if it has one, with what is in it.  Its
 * lock is held exclusively, or nobody else is there.
 */
extern void anago_mailbox_drop(AnagoPool *pool, AnagoParticipant *participant);

#endif							/* ANAGO_MAILBOX_H */
