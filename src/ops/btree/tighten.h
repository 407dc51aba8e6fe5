/*-------------------------------------------------------------------------
 *
 * tighten.h
 *	  Several conditions on one column: the tightest, by their values.
 *
 *		a > 5 AND a > 9 AND a <= 30		start behind 9, end behind 30
 *		a = 7 AND a < 9					a = 7
 *		a IN (1, 5, 7) AND a > 4		a IN (5, 7)
 *		a IN (1, 5, 7) AND a IN (5, 6)	a IN (5)
 *		a > 10 AND a < 5				nothing can match: no descent at all
 *
 * The values may be known at run time only (parameters, columns of an outer
 * row), so they are compared for each probe.  Conditions form a group if their
 * values can be compared with each other, by comparison functions of the
 * column's operator family; what a group does not take is rechecked on each
 * entry.  nbtree does the same (_bt_preprocess_keys).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TIGHTEN_H
#define ANAGO_TIGHTEN_H

#include "postgres.h"

#include "ops/btree/key.h"

/*
 * Make the group of the conditions on column `col` (from 0), if there is more
 * than one; NULL if not.
 */
extern AnagoKeyGroup *anago_group_make(const AnagoKeys *keys,
									   Relation indexrel, int col);

/*
 * Compare the values of all groups, and keep the tightest: arrays lose
 * elements, out->start_which and end_which are set.  False: nothing can match.
 */
extern bool anago_groups_tighten(const AnagoKeys *keys, AnagoKeyValues *out);

#endif							/* ANAGO_TIGHTEN_H */
