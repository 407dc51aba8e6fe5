/*-------------------------------------------------------------------------
 *
 * survey.h
 *	  What planning may look up in tables and indexes themselves.
 *
 * Statistics are as old as the last ANALYZE, and a sample of rows says little
 * of how many distinct values a clustered column has.  A B-tree has its entries
 * in order: a few of its pages say how many entries a value has, and two
 * descents how many there are between two values.
 *
 * Everything here is bounded, may say that it does not know, and raises no
 * error but that of a query that was cancelled.  Pages are read through shared
 * buffers and count in EXPLAIN's planning buffers.  The caller has locked the
 * table and its indexes, as the planner does.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SURVEY_H
#define ANAGO_SURVEY_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "storage/block.h"

/*
 * Entries of an index that agree in its first columns, as a probe with
 * equality conditions on these finds them.
 */
typedef struct AnagoGroups
{
	double		entries;		/* in a group, mean of all groups */
	double		low;			/* two standard errors below it, */
	double		high;			/* and above it; may be infinite */
	double		blocks;			/* of the heap that a group leads to, mean */
	int			leaves;			/* that this was seen in */
} AnagoGroups;

/* One end of a range of one column. */
typedef struct AnagoBound
{
	bool		given;
	bool		strict;			/* the value itself is outside */
	Oid			type;			/* the operator's right type */
	int16		typlen;			/* of the value, */
	bool		typbyval;
	Datum		value;			/* not NULL */
} AnagoBound;

/* Equalities on the first columns, then perhaps bounds of the next one. */
typedef struct AnagoIndexRange
{
	int			nequal;
	AnagoBound	equal[INDEX_MAX_KEYS];
	AnagoBound	lower;			/* by the operators, whatever the index's */
	AnagoBound	upper;			/* direction */
} AnagoIndexRange;

/*
 * The groups of an index by its first `ncolumns` columns.  Looked up in at most
 * anago.dive_pages leaves, and kept for a while.  `nblocks` is the size of the
 * index as the planner knows it.
 */
extern bool anago_survey_groups(Oid indexoid, BlockNumber nblocks,
								int ncolumns, AnagoGroups *groups);

/*
 * How many entries are in a range: exact where both ends are on one leaf, else
 * by their places in the pages above.  `per_leaf` is what a leaf holds on average,
 * `nblocks` the size of the index as the planner knows it; kept for a few seconds.
 */
extern bool anago_survey_range(Oid indexoid, BlockNumber nblocks,
							   const AnagoIndexRange *range,
							   double per_leaf, double *entries);

/*
 * Of the first entries of a range, so many, or of the last ones: the share whose
 * heap blocks are in shared buffers, as far as a few leaves tell; kept as long.
 */
extern bool anago_survey_head(Oid indexoid, BlockNumber nblocks,
							  const AnagoIndexRange *range, bool backward,
							  double entries, double per_leaf, double *share);

/*
 * What share of a relation's blocks is in shared buffers or the kernel's page
 * cache, 0 to 1; kept for a few seconds.  0 where that is not known; 1 of temporary
 * tables, whose reads never overlap.
 */
extern double anago_survey_resident(Oid relid, BlockNumber pages);

/* The same, if it has been looked up lately; false: not. */
extern bool anago_survey_kept(Oid relid, double *share);

/* Of the same blocks, the share that is in shared buffers. */
extern double anago_survey_in_buffers(Oid relid, BlockNumber pages);

/*
 * The age of what is kept is taken at one moment for all that is asked while a query
 * is planned, as to ask for the time takes longer than to find an answer.  Each
 * planning begins with another one.
 */
extern void anago_survey_begin(void);
extern TimestampTz anago_survey_now(void);

#endif							/* ANAGO_SURVEY_H */
