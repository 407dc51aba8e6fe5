/*-------------------------------------------------------------------------
 *
 * keys.h
 *	  Index conditions: how they bound the walk of a B-tree, and their values.
 *
 * From the conditions of a step one range of the index is made for each
 * combination of its IN-list elements: everything between the positions
 * `start` and `end`, both given as insertion scan keys.  Combinations are
 * numbered in the order of the index, the last list fastest, so that a run of
 * them lies between the start of its first and the end of its last one.  Conditions that
 * these positions do not express, or not for sure (order.h), are rechecked
 * on every index tuple:
 *
 *		index (a, b, c)		a = 1 AND b IN (4, 7) AND c > 2 AND c <> 9
 *		positions			(1, 4, 2) .. (1, 4)		combination 0
 *							(1, 7, 2) .. (1, 7)		combination 1
 *		(<> is no index condition: it is in the step's filter)
 *
 * A position is "before the first tuple >= key" (nextkey false) or "before
 * the first tuple > key" (nextkey true), as in nbtree (README, nbtsearch.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_KEYS_H
#define ANAGO_KEYS_H

#include "postgres.h"

#include "ops/btree/key.h"

/*
 * Classify a step's conditions; `parent` compiles their value expressions.  Values
 * are skipped (skip.h) where they may be.
 */
extern void anago_keys_init(AnagoKeys *keys, Relation indexrel,
							const AnagoStepDesc *desc, PlanState *parent);

/* As the index is now: heapkeyspace and allequalimage of its metapage. */
extern void anago_keys_set_version(AnagoKeys *keys, bool heapkeyspace,
								   bool allequalimage);

/*
 * Evaluate all values into `out`, which has room for keys->n; memory that
 * must outlive the evaluation comes from `context`.
 */
extern void anago_keys_eval(const AnagoKeys *keys, ExprContext *econtext,
							MemoryContext context, AnagoKeyValues *out);

/* Values of which nothing matches. */
extern void anago_keys_eval_none(const AnagoKeys *keys, AnagoKeyValues *out);

extern void anago_keys_free(const AnagoKeys *keys, AnagoKeyValues *values);

/*
 * Make keys->start the start of combination `from`, and keys->end the end of
 * `to` - 1.
 */
extern void anago_keys_bind(AnagoKeys *keys, const AnagoKeyValues *values,
							int from, int to);

/* Both are to be those of one combination, after the above for these values. */
extern void anago_keys_bind_combo(AnagoKeys *keys, const AnagoKeyValues *values,
								  int combo);

/*
 * Whether an index tuple satisfies the conditions that need a recheck.  An IN
 * list that bounds the walk: whether it equals the element of the combination
 * that is bound, so that each tuple is found for one combination at most, in
 * whatever order the index is.
 */
extern bool anago_keys_recheck(AnagoKeys *keys, const AnagoKeyValues *values,
							   Relation indexrel, IndexTuple itup);

#endif							/* ANAGO_KEYS_H */
