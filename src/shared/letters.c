/*-------------------------------------------------------------------------
 *
 * letters.c
 *	  Rows handed from one process to another.  See letters.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "shared/share.h"

StaticAssertDecl((ANAGO_LETTER_BOX_BYTES & (ANAGO_LETTER_BOX_BYTES - 1)) == 0,
				 "a box is addressed by a mask");

typedef struct LetterHead
{
	int32		size;			/* of head and row, aligned; of what is skipped */
	int16		step;			/* SKIPPED: no letter */
	int32		row_bytes;
} LetterHead;

#define SKIPPED		(-1)

/* Bytes that fit between a position and the end of the buffer. */
static inline uint32
to_the_end(uint32 position)
{
	return ANAGO_LETTER_BOX_BYTES - (position & (ANAGO_LETTER_BOX_BYTES - 1));
}

static inline char *
address(AnagoLetterBox *box, uint32 position)
{
	return box->bytes + (position & (ANAGO_LETTER_BOX_BYTES - 1));
}

/* The participant's box; NULL: it has none, and none is to be had. */
static AnagoLetterBox *
box_for(AnagoPool *pool, AnagoParticipant *participant)
{
	for (int i = 0; participant->box == ANAGO_NO_BOX && i < pool->nboxes; i++)
	{
		AnagoLetterBox *box = anago_pool_box(pool, i);
		uint32		taken = 0;

		if (pg_atomic_read_u32(&box->taken) == 0 &&
			pg_atomic_compare_exchange_u32(&box->taken, &taken, 1))
		{
			box->head = box->tail = 0;
			participant->box = i;
		}
	}
	return participant->box == ANAGO_NO_BOX ? NULL :
		anago_pool_box(pool, participant->box);
}

void
anago_letters_drop(AnagoPool *pool, AnagoParticipant *participant)
{
	if (participant->box == ANAGO_NO_BOX)
		return;
	/* an exchange, as a mere write is no barrier for what was done before */
	pg_atomic_exchange_u32(&anago_pool_box(pool, participant->box)->taken, 0);
	participant->box = ANAGO_NO_BOX;
	pg_atomic_write_u32(&participant->letters, 0);
}

/* `letters` are in it already; false: there is no room. */
static bool
put(AnagoLetterBox *box, uint32 letters, int step, const char *row,
	int row_bytes)
{
	LetterHead	head;
	uint32		skip;

	Assert(row_bytes <= ANAGO_LETTER_BYTES);
	head.size = MAXALIGN(sizeof(LetterHead) + row_bytes);
	head.step = step;
	head.row_bytes = row_bytes;

	skip = to_the_end(box->head);
	if (skip >= (uint32) head.size)
		skip = 0;
	if (letters >= ANAGO_LETTERS_MAX ||
		box->head - box->tail + skip + head.size > ANAGO_LETTER_BOX_BYTES)
		return false;
	if (skip >= sizeof(LetterHead))
		((LetterHead *) address(box, box->head))->step = SKIPPED;
	box->head += skip;
	memcpy(address(box, box->head), &head, sizeof(LetterHead));
	memcpy(address(box, box->head) + sizeof(LetterHead), row, row_bytes);
	box->head += head.size;
	return true;
}

int
anago_letter_take(AnagoShare *share, int *step, char *row)
{
	AnagoParticipant *self = anago_share_self(share);
	AnagoLetterBox *box;
	LetterHead	head;

	if (anago_letters_empty(self))
		return -1;
	LWLockAcquire(&self->lock, LW_EXCLUSIVE);
	Assert(self->box != ANAGO_NO_BOX);
	box = anago_pool_box(share->pool, self->box);
	if (to_the_end(box->tail) < sizeof(LetterHead) ||
		((LetterHead *) address(box, box->tail))->step == SKIPPED)
		box->tail += to_the_end(box->tail);
	Assert(box->tail != box->head);
	memcpy(&head, address(box, box->tail), sizeof(LetterHead));
	memcpy(row, address(box, box->tail) + sizeof(LetterHead), head.row_bytes);
	box->tail += head.size;
	if (pg_atomic_sub_fetch_u32(&self->letters, 1) == 0)
		anago_letters_drop(share->pool, self);
	LWLockRelease(&self->lock);
	*step = head.step;
	return head.row_bytes;
}

bool
anago_letter_send(AnagoShare *share, int to, int step, const char *row,
				  int row_bytes)
{
	AnagoParticipant *participant = &share->segment->participants[to];
	AnagoLetterBox *box;
	bool		sent = false;
	uint32		presence;

	Assert(to != share->me);
	LWLockAcquire(&participant->lock, LW_EXCLUSIVE);
	presence = pg_atomic_read_u32(&participant->presence);
	if ((presence == ANAGO_ACTIVE || presence == ANAGO_WAITING) &&
		(box = box_for(share->pool, participant)) != NULL)
		sent = put(box, pg_atomic_read_u32(&participant->letters), step, row,
				   row_bytes);
	if (sent)
		pg_atomic_fetch_add_u32(&participant->letters, 1);
	LWLockRelease(&participant->lock);
	if (sent && presence == ANAGO_WAITING)
		anago_share_changed(share->segment);
	return sent;
}
