/*-------------------------------------------------------------------------
 *
 * seek.h
 *	  The combination of IN-list elements that a leaf's tuple belongs to.
 *
 * List by list: the tuple's first column says which element of the first list,
 * its second column which of the second one, and so on.
 *
 *		index (a, b)		a IN (1, 7) AND b IN (3, 4, 9)
 *		combinations		0: 1 3   1: 1 4   2: 1 9   3: 7 3   4: 7 4   5: 7 9
 *		tuple				1 4: 1, equal    1 5: 2    2 1: 3    8 0: none
 *
 * Tuples of a leaf are asked for in their order, so each list is searched from
 * where the tuple before was found.  That takes about one comparison for each
 * column, where combos.c, which can do it for pivot tuples as well, compares
 * whole tuples.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SEEK_H
#define ANAGO_SEEK_H

#include "postgres.h"

#include "access/itup.h"

#include "ops/btree/keys.h"

typedef struct AnagoSeek
{
	int			valid;			/* of at[], the first; set to 0 before a leaf */
	int			at[INDEX_MAX_KEYS];	/* element of each list, or one past */
} AnagoSeek;

/* Columns that have an equality in the positions now. */
static inline int
anago_seek_columns(const AnagoKeys *keys, const AnagoKeyValues *values)
{
	return values->prefix >= 0 ? values->prefix : keys->nequal;
}

/* Do the positions go on behind these columns? */
static inline bool
anago_seek_is_open(const AnagoKeys *keys, const AnagoKeyValues *values)
{
	return values->prefix < 0 && (keys->start_keysz > keys->nequal ||
								  keys->end_keysz > keys->nequal);
}

/*
 * The first combination that a leaf's tuple is not behind; ncombos: it is
 * behind all.  *equal: it has that one's value in each column of the above.
 */
extern int	anago_seek(const AnagoKeys *keys, const AnagoKeyValues *values,
					   TupleDesc desc, IndexTuple itup, AnagoSeek *seek,
					   bool *equal);

#endif							/* ANAGO_SEEK_H */
