/*-------------------------------------------------------------------------
 *
 * skip.h
 *	  Skip scans: conditions on columns behind one without an equality.
 *
 *		index (a, b)		b = 5					each a there is, and 5
 *							a BETWEEN 2 AND 9 AND b = 5
 *							a > 7 AND b IN (5, 8)
 *
 * PostgreSQL 18 looks for the first a, then for (a, 5), then for the next a, and
 * so on: one descent after the other, each told by the one before where to go.
 * Here separators tell it.  Between two of them lies one page, and they say
 * whether anything on it can satisfy the conditions:
 *
 *		page of level 1		| 3 2 |  3 7 |  3 9 |  4 6 |  7 1 |
 *		b = 5				  yes	 no		yes	  yes	 yes	the child right of it
 *
 * (3, 7) .. (3, 9): no b is 5.  (3, 9) .. (4, 6) has (4, 5).  (4, 6) .. (7, 1)
 * may have 5 and 6, whatever b.  So all pages that may have matches are known at
 * once, and read at once, on each level of the tree: a page of level 1 is left
 * out by the separators of level 2.  Where the values are many this comes to all
 * leaves of the range, and no descent more.
 *
 * The question is always the same: at this key, or else where behind it, can
 * there be a match?  If the key has a value that its column must not have, the
 * answer is the next value that the column may have, with the first ones that
 * the columns behind may have; where there is none, the column before must have
 * another value:
 *
 *		(3, 2): (3, 5)		(3, 5): here		(3, 7): behind all (3, ...), or
 *														from (4, 5) on
 *
 * The latter if the operator class knows the successor of 3 (skip support, 18
 * and later).  Several conditions on one column are each asked; what the one
 * leads to is the next question to the others.  IN lists are sets of values like
 * any other, so that there is one combination.
 *
 * Each entry on a leaf is asked about by itself, so that no order of the index
 * but that of separators is relied upon; conditions that are not sure (order.h)
 * are rechecked as ever.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SKIP_H
#define ANAGO_SKIP_H

#include "postgres.h"

#include "ops/btree/key.h"

/* The answer, of which anago_skip_fits() has found a part. */
typedef struct AnagoSkipPlace
{
	int			column;			/* the first that decides, */
	int			cond;			/* and its condition, or -1, */
	int			cond_at;		/* with the element of its list that is next */
	bool		behind;			/* its values before this key can't do */
	Datum		values[INDEX_MAX_KEYS];	/* of the key, */
	bool		nulls[INDEX_MAX_KEYS];
	bool		last[INDEX_MAX_KEYS];	/* the column may have none behind it */
	int			list[INDEX_MAX_KEYS];	/* an IN list of the column, or -1, */
	int			list_at[INDEX_MAX_KEYS];	/* and its element that is equal */
} AnagoSkipPlace;

/* Are values to be skipped?  Then fill keys->skip, and not the positions. */
extern bool anago_skip_init(AnagoKeys *keys, Relation indexrel);

/* Make keys->start and keys->end the ends of all. */
extern void anago_skip_bind(AnagoKeys *keys, const AnagoKeyValues *values);

/*
 * Can a match be at this key, or before the next value of its last column?
 * `itup` is of a leaf, or a separator, which has only some columns.
 */
extern bool anago_skip_fits(const AnagoKeys *keys, const AnagoKeyValues *values,
							Relation indexrel, IndexTuple itup, int natts,
							AnagoSkipPlace *place);

/*
 * If not: make keys->seek the position behind it from which on there can be
 * one; false: there is none.  It is good for as long as `itup` is.
 */
extern bool anago_skip_seek(AnagoKeys *keys, const AnagoKeyValues *values,
							Relation indexrel, const AnagoSkipPlace *place);

static inline bool
anago_skips(const AnagoKeys *keys)
{
	return keys->nskip > 0;
}

#endif							/* ANAGO_SKIP_H */
