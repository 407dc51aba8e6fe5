/*-------------------------------------------------------------------------
 *
 * key.h
 *	  Index conditions of a step and the values of one probe; see keys.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_KEY_H
#define ANAGO_KEY_H

#include "postgres.h"

#include "access/nbtree.h"
#include "nodes/execnodes.h"

#include "compat.h"
#include "pipeline/desc.h"

/*
 * Not-null elements of one IN list; distinct and in the order of the index
 * column if searchable.
 */
typedef struct AnagoArray
{
	int			n;
	Datum	   *elems;
} AnagoArray;

/* Bound on combinations, so that they can be numbered. */
#define ANAGO_MAX_COMBOS	(1 << 30)

/*
 * The values that one probe looks for.  For an IN list, values[] holds the
 * array datum and arrays[] its elements.
 *
 * IN lists on several columns multiply.  Where they would make more than
 * ANAGO_MAX_COMBOS combinations, the positions end before the list that is too
 * much, and all conditions are rechecked.
 */
typedef struct AnagoKeyValues
{
	int			ncombos;		/* combinations; 0: nothing can match */
	int			narrays;		/* lists that they combine */
	int			prefix;			/* columns that bound the walk, or -1: all */
	int			start_which;	/* the tightest condition for the last entry of */
	int			end_which;		/* a position, or -1: that of start_key, end_key */
	AnagoArray *arrays;			/* one for each key; NULL if no key needs it */
	bool	   *nulls;			/* further members of rows, and columns of an entry,
								 * that are NULL, one for each key; NULL if none is */
	BlockNumber target;			/* of an entry: the page that its row will probably go
								 * to, or InvalidBlockNumber */
	Datum		values[FLEXIBLE_ARRAY_MEMBER];
} AnagoKeyValues;

typedef struct AnagoKey
{
	const AnagoKeyDesc *desc;
	StrategyNumber strategy;	/* of desc->opno in the column's opfamily */
	Oid			righttype;
	FmgrInfo	opfn;			/* desc->opfuncid, for rechecks */
	ExprState  *expr;			/* value */
	bool		copy;			/* value must be copied to outlive the slot */
	int16		typlen;			/* of the value */
	bool		typbyval;
	bool		positional;		/* a position can have an entry for it, */
	FmgrInfo	colcmp;			/* by this order of column and value */
	bool		bounds;			/* positions express it, */
	bool		combines;		/* by one element of it at a time, */
	bool		sure;			/* which what is between is sure to satisfy */
	bool		searchable;		/* IN lists: elements are sorted and distinct, */
	FmgrInfo	elemcmp;		/* by this order, */
	bool		reverse;		/* or the other way round */
	Oid			elemcollation;
} AnagoKey;

/* Conditions on one column whose values can be compared (tighten.h). */
typedef struct AnagoKeyGroup
{
	int			n;
	int		   *which;			/* indexes into key[] */
	FmgrInfo   *cmp;			/* [i * n + j]: value of i with value of j */
	Oid			collation;
	bool		desc;			/* of a descending column */
} AnagoKeyGroup;

/* What a condition says of its column's values, in the order of the index. */
typedef enum AnagoSkipRole
{
	ANAGO_SKIP_EQUAL,
	ANAGO_SKIP_NULL,
	ANAGO_SKIP_LIST,
	ANAGO_SKIP_LOWER,			/* those before its value are out, */
	ANAGO_SKIP_UPPER,			/* those behind it are */
	ANAGO_SKIP_NOT_NULL
} AnagoSkipRole;

typedef struct AnagoSkipCond
{
	AnagoSkipRole role;
	bool		inclusive;		/* LOWER, UPPER */
	int			which;			/* index into key[] */
	ScanKeyData entry;			/* of a position, but for the argument */
} AnagoSkipCond;

/* The conditions on one column (skip.h). */
typedef struct AnagoSkipColumn
{
	bool		nulls_first;
	int			n;
	AnagoSkipCond *conds;
	int			begin;			/* of these, where values begin, or -1 */
	int			end;			/* and where they end, or -1 */
	ScanKeyData own;			/* an entry with a value of the column itself */
	AnagoSuccessor *successor;	/* of a value, or NULL */
} AnagoSkipColumn;

/* What fills an entry of a position. */
#define ANAGO_EDGE_NULL		(-1)	/* the NULL end of the column */

typedef struct AnagoKeys
{
	int			n;
	AnagoKey   *key;
	BTScanInsertData start;		/* keysz and nextkey are set by bind */
	BTScanInsertData end;
	int			nequal;			/* entries of both, the first, of equalities */
	int			start_keysz;
	int			end_keysz;
	int			start_row_keysz;	/* up to the first member of a row */
	int			end_row_keysz;	/* comparison; 0 where there is none */
	bool		start_nextkey;
	bool		end_nextkey;
	int			start_key[INDEX_MAX_KEYS];	/* index into key[], or EDGE_NULL */
	int			end_key[INDEX_MAX_KEYS];
	bool		allocates;		/* values of some take memory beside the probe */
	bool		never;			/* whatever the values, nothing can match */
	bool		of_entry;		/* `start` is where an entry is to go, */
	bool		by_target;		/* among those of the same key by its row's page: */
	ItemPointerData target;		/* the bound one's */
	int			ngroups;
	AnagoKeyGroup **groups;
	AnagoKeyGroup *bounds;		/* that of the column which ends positions, or NULL */
	int			narrays;		/* IN lists that bound the walk */
	int			array[INDEX_MAX_KEYS];	/* these, indexes into key[], */
	int			array_entry[INDEX_MAX_KEYS];	/* and their entries in positions */
	int			bound[INDEX_MAX_KEYS];	/* number of the combination of all lists
										 * before that one, bound last, or -1 */
	int			nskip;			/* 0, or columns of which values are skipped */
	AnagoSkipColumn *skip;		/* (skip.h), */
	BTScanInsertData seek;		/* and where to */
	int			nrecheck;
	int		   *recheck;		/* conditions rechecked on index tuples */
} AnagoKeys;

#endif							/* ANAGO_KEY_H */
