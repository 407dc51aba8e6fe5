/*-------------------------------------------------------------------------
 *
 * letters.h
 *	  Rows handed from one process to another.
 *
 * Each participant has a letter box, into which others put rows that it is to
 * go on with: a letter is the number of the step to be probed, and the row's
 * bytes.  Only its owner takes letters out.
 *
 *		head: bytes put in since the beginning		tail: bytes taken out
 *		|<----------- in use: head - tail ---------->|
 *
 * A letter stands in one piece, so that what is left at the end of the buffer
 * may be skipped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_LETTERS_H
#define ANAGO_LETTERS_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/lwlock.h"

/* Bytes of a letter box, a power of two, and of the largest letter in it. */
#define ANAGO_LETTER_BOX_BYTES	16384
#define ANAGO_LETTER_BYTES		1024

/* Letters that may wait in one box. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_LETTERS_MAX		1
#else
#define ANAGO_LETTERS_MAX		64
#endif

typedef struct AnagoLetterBox
{
	LWLock		lock;			/* of all the following; */
	pg_atomic_uint32 count;		/* letters in it: may be looked at without */
	uint32		head;
	uint32		tail;
	char		bytes[ANAGO_LETTER_BOX_BYTES] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoLetterBox;

extern void anago_letters_init(AnagoLetterBox *box);

/* The box's lock must be held, exclusively.  False: there is no room. */
extern bool anago_letter_put(AnagoLetterBox *box, int step, const char *row,
							 int row_bytes);

/*
 * Take the oldest letter out: returns the bytes of its row, which are copied
 * to `row` (ANAGO_LETTER_BYTES), or -1 if there is no letter.
 */
extern int	anago_letter_take(AnagoLetterBox *box, int *step, char *row);

static inline bool
anago_letters_empty(AnagoLetterBox *box)
{
	return pg_atomic_read_u32(&box->count) == 0;
}

struct AnagoShare;

/* Put a letter into another's box; false: no room there, or it has left. */
extern bool anago_letter_send(struct AnagoShare *share, int to, int step,
							  const char *row, int row_bytes);

#endif							/* ANAGO_LETTERS_H */
