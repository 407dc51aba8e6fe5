/*-------------------------------------------------------------------------
 *
 * mailbox.c
 *	  Rows handed from one process to another.  See mailbox.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "shared/mailbox.h"

StaticAssertDecl((ANAGO_MAILBOX_BYTES & (ANAGO_MAILBOX_BYTES - 1)) == 0,
				 "a mailbox is addressed by a mask");

typedef struct MessageHead
{
	int32		size;			/* of head and row, aligned; of what is skipped */
	int16		op;			/* SKIPPED: no message */
	int32		row_bytes;
} MessageHead;

#define SKIPPED		(-1)

/* Bytes that fit between a position and the end of the buffer. */
static inline uint32
to_the_end(uint32 position)
{
	return ANAGO_MAILBOX_BYTES - (position & (ANAGO_MAILBOX_BYTES - 1));
}

static inline char *
address(AnagoMailbox *box, uint32 position)
{
	return box->bytes + (position & (ANAGO_MAILBOX_BYTES - 1));
}

/* The participant's mailbox; NULL: it has none, and none is to be had. */
static AnagoMailbox *
mailbox_for(AnagoPool *pool, AnagoParticipant *participant)
{
	for (int i = 0; participant->mailbox == ANAGO_NO_MAILBOX && i < pool->nmailboxes; i++)
	{
		AnagoMailbox *box = anago_pool_mailbox(pool, i);
		uint32		taken = 0;

		if (pg_atomic_read_u32(&box->taken) == 0 &&
			pg_atomic_compare_exchange_u32(&box->taken, &taken, 1))
		{
			box->head = box->tail = 0;
			participant->mailbox = i;
		}
	}
	return participant->mailbox == ANAGO_NO_MAILBOX ? NULL :
		anago_pool_mailbox(pool, participant->mailbox);
}

void
anago_mailbox_drop(AnagoPool *pool, AnagoParticipant *participant)
{
	if (participant->mailbox == ANAGO_NO_MAILBOX)
		return;
	/* an exchange, as a mere write is no barrier for what was done before */
	pg_atomic_exchange_u32(&anago_pool_mailbox(pool, participant->mailbox)->taken, 0);
	participant->mailbox = ANAGO_NO_MAILBOX;
	pg_atomic_write_u32(&participant->messages, 0);
}

/* `messages` are in it already; false: there is no room. */
static bool
put(AnagoMailbox *box, uint32 messages, int op, const char *row,
	int row_bytes)
{
	MessageHead	head;
	uint32		skip;

	Assert(row_bytes <= ANAGO_MESSAGE_BYTES);
	head.size = MAXALIGN(sizeof(MessageHead) + row_bytes);
	head.op = op;
	head.row_bytes = row_bytes;

	skip = to_the_end(box->head);
	if (skip >= (uint32) head.size)
		skip = 0;
	if (messages >= ANAGO_MESSAGES_MAX ||
		box->head - box->tail + skip + head.size > ANAGO_MAILBOX_BYTES)
		return false;
	if (skip >= sizeof(MessageHead))
		((MessageHead *) address(box, box->head))->op = SKIPPED;
	box->head += skip;
	memcpy(address(box, box->head), &head, sizeof(MessageHead));
	memcpy(address(box, box->head) + sizeof(MessageHead), row, row_bytes);
	box->head += head.size;
	return true;
}

int
anago_mailbox_take(AnagoShare *share, int *op, char *row)
{
	AnagoParticipant *self = anago_share_self(share);
	AnagoMailbox *box;
	MessageHead	head;

	if (anago_mailbox_is_empty(self))
		return -1;
	LWLockAcquire(&self->lock, LW_EXCLUSIVE);
	Assert(self->mailbox != ANAGO_NO_MAILBOX);
	box = anago_pool_mailbox(share->pool, self->mailbox);
	if (to_the_end(box->tail) < sizeof(MessageHead) ||
		((MessageHead *) address(box, box->tail))->op == SKIPPED)
		box->tail += to_the_end(box->tail);
	Assert(box->tail != box->head);
	memcpy(&head, address(box, box->tail), sizeof(MessageHead));
	memcpy(row, address(box, box->tail) + sizeof(MessageHead), head.row_bytes);
	box->tail += head.size;
	if (pg_atomic_sub_fetch_u32(&self->messages, 1) == 0)
		anago_mailbox_drop(share->pool, self);
	LWLockRelease(&self->lock);
	*op = head.op;
	return head.row_bytes;
}

bool
anago_mailbox_send(AnagoShare *share, int to, int op, const char *row,
				  int row_bytes)
{
	AnagoParticipant *participant = &share->segment->participants[to];
	AnagoMailbox *box;
	bool		sent = false;
	uint32		presence;

	Assert(to != share->me);
	LWLockAcquire(&participant->lock, LW_EXCLUSIVE);
	presence = pg_atomic_read_u32(&participant->presence);
	if ((presence == ANAGO_ACTIVE || presence == ANAGO_WAITING) &&
		(box = mailbox_for(share->pool, participant)) != NULL)
		sent = put(box, pg_atomic_read_u32(&participant->messages), op, row,
				   row_bytes);
	if (sent)
		pg_atomic_fetch_add_u32(&participant->messages, 1);
	LWLockRelease(&participant->lock);
	if (sent && presence == ANAGO_WAITING)
		anago_segment_changed(share->segment);
	return sent;
}
