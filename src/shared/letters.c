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

void
anago_letters_init(AnagoLetterBox *box)
{
	/* any of core's: an extension's would be used up one for each query */
	LWLockInitialize(&box->lock, LWTRANCHE_PARALLEL_QUERY_DSA);
	pg_atomic_init_u32(&box->count, 0);
	box->head = box->tail = 0;
}

bool
anago_letter_put(AnagoLetterBox *box, int step, const char *row, int row_bytes)
{
	LetterHead	head;
	uint32		skip;

	Assert(LWLockHeldByMeInMode(&box->lock, LW_EXCLUSIVE));
	Assert(row_bytes <= ANAGO_LETTER_BYTES);
	head.size = MAXALIGN(sizeof(LetterHead) + row_bytes);
	head.step = step;
	head.row_bytes = row_bytes;

	skip = to_the_end(box->head);
	if (skip >= (uint32) head.size)
		skip = 0;
	if (pg_atomic_read_u32(&box->count) >= ANAGO_LETTERS_MAX ||
		box->head - box->tail + skip + head.size > ANAGO_LETTER_BOX_BYTES)
		return false;
	if (skip >= sizeof(LetterHead))
		((LetterHead *) address(box, box->head))->step = SKIPPED;
	box->head += skip;
	memcpy(address(box, box->head), &head, sizeof(LetterHead));
	memcpy(address(box, box->head) + sizeof(LetterHead), row, row_bytes);
	box->head += head.size;
	pg_atomic_fetch_add_u32(&box->count, 1);
	return true;
}

int
anago_letter_take(AnagoLetterBox *box, int *step, char *row)
{
	LetterHead	head;

	if (anago_letters_empty(box))
		return -1;
	LWLockAcquire(&box->lock, LW_EXCLUSIVE);
	if (to_the_end(box->tail) < sizeof(LetterHead) ||
		((LetterHead *) address(box, box->tail))->step == SKIPPED)
		box->tail += to_the_end(box->tail);
	Assert(box->tail != box->head);
	memcpy(&head, address(box, box->tail), sizeof(LetterHead));
	memcpy(row, address(box, box->tail) + sizeof(LetterHead), head.row_bytes);
	box->tail += head.size;
	pg_atomic_fetch_sub_u32(&box->count, 1);
	LWLockRelease(&box->lock);
	*step = head.step;
	return head.row_bytes;
}

bool
anago_letter_send(AnagoShare *share, int to, int step, const char *row,
				  int row_bytes)
{
	AnagoParticipant *participant = &share->segment->participants[to];
	bool		sent = false;
	uint32		presence;

	Assert(to != share->me);
	LWLockAcquire(&participant->letters.lock, LW_EXCLUSIVE);
	presence = pg_atomic_read_u32(&participant->presence);
	if (presence == ANAGO_ACTIVE || presence == ANAGO_WAITING)
		sent = anago_letter_put(&participant->letters, step, row, row_bytes);
	LWLockRelease(&participant->letters.lock);
	if (sent && presence == ANAGO_WAITING)
		anago_share_changed(share->segment);
	return sent;
}
