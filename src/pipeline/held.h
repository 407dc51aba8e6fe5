/*-------------------------------------------------------------------------
 *
 * held.h
 *	  Rows that a plan node holds back while looks read ahead for them.
 *
 * Rows of a child plan, in its order.  Each is done when all that its looks
 * want has been read, in whatever order that happens; a row leaves when it is
 * done and the first:
 *
 *		first				   end
 *		| 17 | 18 | 19 | 20 | 21		a ring: row 17 is at 17 modulo its slots
 *				   done	done
 *
 * Row 19 waits for 18, and that for 17.  The ring begins with few slots, and has twice
 * as many whenever they do not do.  The rows themselves are here, whole; the
 * pipeline of the looks has no more of them than the columns of its keys, so
 * that whatever becomes of it, no row is lost.
 *
 * Invariants
 *	- end - first <= bound <= size, end - first <= slots, and the bytes of rows are within the limit,
 *	  but for a single row;
 *	- the child is not asked for a row after it has said that there is none;
 *	- looks that have come to most_pages for the rows that are held read no more
 *	  for these.  Who comes after would push out of shared buffers what the first
 *	  has read, before the executor has come to it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_HELD_H
#define ANAGO_HELD_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/resowner.h"

/* Of shared buffers, what looks of a node may fill ahead of the executor. */
#define ANAGO_LOOKS_PART_OF_BUFFERS		4

typedef struct AnagoHeldRow
{
	MinimalTuple tuple;
	bool		done;
	int			append;			/* AnagoFirstsDesc.append that looks have come to last, */
	int			wanted;			/* and rows that are still wanted of its tables */
	struct AnagoMerged *merged; /* entries that are to be merged, or NULL */
} AnagoHeldRow;

/* The column of the wide row that has the row's label, of type int4. */
#define ANAGO_HELD_LABEL_COLUMN		0

/*
 * Late looks (ops/btree/late.h) have bounds of their own, each look for itself, in
 * each round: rows ahead of their change are the first one, those of each batch whose
 * looks are made afterwards are another.
 */
typedef struct AnagoLateBounds
{
	int			round;
	int64		probes;			/* rows that a look is made for, */
	int64		pages;			/* and what it comes to */
	bool		reached;		/* one of them, by some look */
} AnagoLateBounds;

typedef struct AnagoHeld
{
	PlanState  *child;
	ResourceOwner owner;		/* of what the child takes, */
	ErrorContextCallback *callbacks;	/* and those of its errors */
	bool		in_child;		/* an error that is raised now is the child's */
	bool		child_ended;
	bool		closed;			/* no row is to be pulled */
	MemoryContext context;		/* of rows */
	Size		bytes;			/* that these take */
	Size		limit;
	int64		first;
	int64		end;			/* number of the row to be pulled next */
	int			bound;			/* rows that may be held now */
	int			size;			/* rows that may ever be held */
	int			slots;			/* a power of 2 */
	int64		pages;			/* that looks have come to for rows that are held, as
								 * if these had all come to the same number */
	int64		most_pages;
	AnagoHeldRow *rows;			/* so many */

	AnagoLateBounds late;

	/*
	 * Late looks afterwards: where rows come from in place of the child.  None is
	 * asked for anything else than those.  NULL: rows come from the child.
	 */
	TupleTableSlot *(*afterwards) (void *arg);
	void	   *afterwards_arg;

	/* for EXPLAIN */
	int64		pulled;			/* rows */
	int64		sum;			/* of rows that were held, whenever one was pulled */
	int			peak;
} AnagoHeld;

/* No row; memory comes from CurrentMemoryContext. */
extern AnagoHeld *anago_held_create(PlanState *child, int size, Size limit);

/* A look has come to one more page; false: it is the last. */
static inline bool
anago_held_add_page(AnagoHeld *held)
{
	return ++held->pages < held->most_pages;
}

/* May another row be held? */
static inline bool
anago_held_has_room(const AnagoHeld *held)
{
	return !held->closed && !held->child_ended &&
		held->end - held->first < held->bound &&
		((held->bytes < held->limit && held->pages < held->most_pages) ||
		 held->end == held->first);
}

static inline bool
anago_held_is_empty(const AnagoHeld *held)
{
	return held->end == held->first;
}

static inline AnagoHeldRow *
anago_held_row(const AnagoHeld *held, int64 number)
{
	return &held->rows[number & (held->slots - 1)];
}

/* What tells a row from all others that may be held at the same time. */
static inline int
anago_held_label(int64 number)
{
	return (int) (number & PG_INT32_MAX);
}

/* Is the first row done? */
static inline bool
anago_held_may_leave(const AnagoHeld *held)
{
	return !anago_held_is_empty(held) &&
		anago_held_row(held, held->first)->done;
}

/*
 * Hold the child's next row, number end - 1 from now on.  Its slot, as the child
 * gave it; NULL: there is none.
 */
extern TupleTableSlot *anago_held_pull(AnagoHeld *held);

/* The row of that label is done.  Is it the first? */
extern bool anago_held_set_done(AnagoHeld *held, int label);

/* Take the first row, done or not; its memory is the caller's. */
extern MinimalTuple anago_held_take(AnagoHeld *held);

/* All rows go, and the child begins anew. */
extern void anago_held_reset(AnagoHeld *held);

#endif							/* ANAGO_HELD_H */
