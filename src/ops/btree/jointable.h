/*-------------------------------------------------------------------------
 *
 * jointable.h
 *	  A hash table of a step's table: what its probes would find, by key.
 *
 * It holds each row of the table that the snapshot sees and that can match at
 * all: the columns that the step fills, and those that index conditions
 * compare.  Rows are found by the hash of all equalities with values of
 * the outer row, and tested by the conditions themselves.
 *
 * Conditions are of two kinds.  Those whose values are the same for every outer row are
 * evaluated while the table is read, and after them the step's filter, if the
 * plan says that it may be.  All others are evaluated for each candidate, so
 * that nothing in the table depends on a row or a parameter: it may be
 * kept as long as the query runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_JOINTABLE_H
#define ANAGO_JOINTABLE_H

#include "postgres.h"

#include "ops/btree/btree.h"

typedef struct AnagoJoinTable AnagoJoinTable;
typedef struct AnagoJoinEntry AnagoJoinEntry;

/*
 * A table of that step which is yet to be built; NULL if there can be none: no
 * equality with the outer row whose operator can be hashed, an index on expressions
 * or a part of the rows, a row comparison, system columns.
 */
extern AnagoJoinTable *anago_jointable_prepare(AnagoStep *step);

/*
 * Read the step's table by a scan.  `values` are those of any probe that could have
 * matches.  The columns of the wide slot that the step fills are overwritten.  False: it
 * does not fit into `limit` bytes, and is to be freed.
 */
extern bool anago_jointable_build(AnagoJoinTable *table, const AnagoKeyValues *values,
								  Size limit);

extern void anago_jointable_free(AnagoJoinTable *table);

extern int64 anago_jointable_rows(const AnagoJoinTable *table);
extern Size anago_jointable_size(const AnagoJoinTable *table);

/*
 * The first entry that may match the values of that probe; NULL if there is none.  The
 * next one of the same hash.
 */
extern AnagoJoinEntry *anago_jointable_find(AnagoJoinTable *table, const AnagoProbe *probe);
extern AnagoJoinEntry *anago_jointable_next(const AnagoJoinEntry *entry);

/*
 * Do the index conditions hold for that entry?  Then the wide slot has its columns,
 * which point into the table.
 */
extern bool anago_jointable_match(AnagoJoinTable *table, const AnagoJoinEntry *entry,
								  const AnagoProbe *probe);

#endif							/* ANAGO_JOINTABLE_H */
