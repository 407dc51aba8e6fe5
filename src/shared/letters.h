/*-------------------------------------------------------------------------
 *
 * letters.h
 *	  Rows handed from one process to another.
 *
 * A participant is given a letter box, into which others put rows that it is
 * to go on with: a letter is the number of the step to be probed, and the
 * row's bytes.  Only its owner takes letters out.
 *
 * Boxes are of the pool (share.h), for all nodes of the query: the first
 * letter takes one, the last that is taken out gives it back.
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

/* Bytes of a letter box, a power of two, and of the largest letter in it. */
#define ANAGO_LETTER_BOX_BYTES	16384
#define ANAGO_LETTER_BYTES		1024

/* Letters that may wait in one box, and boxes of one pool. */
#ifdef ANAGO_TINY_BOUNDS
#define ANAGO_LETTERS_MAX		1
#define ANAGO_LETTER_BOXES		1
#else
#define ANAGO_LETTERS_MAX		64
#define ANAGO_LETTER_BOXES		8
#endif

#define ANAGO_NO_BOX			(-1)

typedef struct AnagoLetterBox
{
	pg_atomic_uint32 taken;		/* is some participant's; */
	uint32		head;			/* the rest is guarded by that one's lock */
	uint32		tail;
	char		bytes[ANAGO_LETTER_BOX_BYTES] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} AnagoLetterBox;

struct AnagoParticipant;
struct AnagoPool;
struct AnagoShare;

/*
 * Take the oldest of one's letters out: returns the bytes of its row, which
 * are copied to `row` (ANAGO_LETTER_BYTES), or -1 if there is none.
 */
extern int	anago_letter_take(struct AnagoShare *share, int *step, char *row);

/*
 * Put a letter into another's box; false: no room there, no box to be had, or
 * it has left.
 */
extern bool anago_letter_send(struct AnagoShare *share, int to, int step,
							  const char *row, int row_bytes);

/*
 * Give a participant's box back, if it has one, with what is in it.  Its lock
 * is held exclusively, or nobody else is there.
 */
extern void anago_letters_drop(struct AnagoPool *pool,
							   struct AnagoParticipant *participant);

#endif							/* ANAGO_LETTERS_H */
