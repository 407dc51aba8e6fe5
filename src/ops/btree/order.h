/*-------------------------------------------------------------------------
 *
 * order.h
 *	  What may be concluded from the order of an index.
 *
 * A walk looks for its two ends by binary search.  Where the entries are in
 * another order than the comparison says today, what is between the ends may
 * fail the conditions that the ends stand for:
 *
 *	- a collation has changed since the index was built;
 *	- the comparison of two types is not monotonic: the clock times of a
 *	  spring-forward gap, each compared with a timestamptz;
 *	- the functions of an operator class are not what they promise.
 *
 * So, as in nbtree (_bt_checkkeys), a condition that bounds the walk is
 * rechecked on each entry, unless its order is sure: column and value of types
 * whose order no setting, library or user-defined function has a say in, and
 * functions that are PostgreSQL's own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ORDER_H
#define ANAGO_ORDER_H

#include "postgres.h"

#include "utils/rel.h"

/*
 * Is the order of index column `col` (from 0), compared with values of a type
 * by the comparison function `procid`, sure to be that of the operator's
 * function `opfuncid`?
 */
extern bool anago_order_is_sure(Relation indexrel, int col, Oid righttype,
								Oid procid, Oid opfuncid);

/*
 * Do comparisons between these three types allow conclusions from two to the
 * third?  That is what an operator family promises, but a timestamptz and a
 * local time compare by way of the time zone, in which one moment can have
 * two names, and a name can be of no moment.
 */
extern bool anago_order_is_transitive(Oid a, Oid b, Oid c);

#endif							/* ANAGO_ORDER_H */
