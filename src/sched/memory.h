/*-------------------------------------------------------------------------
 *
 * memory.h
 *	  The memory of one query in one process: what it takes, and its limit.
 *
 * Whoever allocates or frees something whose number or size depends on rows
 * says so here.  The scheduler admits no work while that is too much:
 *
 *		0          half                                limit - fixed
 *		|-----------|----|----|----|----|----|----|----|
 *		  room for   none  none                         none anywhere but for
 *		  all        for   for					        the deepest task alone
 *		             d = 0 d = 1 ...
 *
 * so that rows stop to enter first, and what is deeper has room left to end.
 *
 * Invariant: `used` is the sum of what is charged and not yet discharged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MEMORY_H
#define ANAGO_MEMORY_H

#include "postgres.h"

#include "nodes/memnodes.h"
#include "utils/memutils.h"

/*
 * Chunks greater than an eighth of a block are blocks of their own, and so go
 * back to malloc() when they are freed; smaller ones are used again by chunks
 * of their size, rounded up to a power of two.  With small blocks, rows of
 * changing widths can't leave much behind.
 */
#define ANAGO_ROW_BLOCKS	0, 8 * 1024, 8 * 1024

typedef struct AnagoMemory
{
	MemoryContext context;		/* where all that is charged comes from */
	Size		limit;			/* bytes: work_mem * hash_mem_multiplier */
	Size		used;			/* bytes charged now */
	Size		fixed;			/* bytes that stay until the query ends */
	Size		half;			/* (limit - fixed) / 2 */
	Size		peak;			/* most bytes that `context` had, used or not */
} AnagoMemory;

/* More (or less, if negative) is taken that does not come and go with rows. */
static inline void
anago_memory_fix(AnagoMemory *memory, ssize_t bytes)
{
	memory->fixed += bytes;
	memory->half = memory->limit > memory->fixed ?
		(memory->limit - memory->fixed) / 2 : 0;
}

static inline void
anago_memory_begin(AnagoMemory *memory, MemoryContext context, Size limit)
{
	memory->context = context;
	memory->limit = limit;
	memory->used = memory->fixed = memory->peak = 0;
	anago_memory_fix(memory, 0);
}

/* After an allocation in the context. */
static inline void
anago_memory_charge(AnagoMemory *memory, Size bytes)
{
	memory->used += bytes;
	if (memory->context->mem_allocated > memory->peak)
		memory->peak = memory->context->mem_allocated;
}

static inline void
anago_memory_discharge(AnagoMemory *memory, Size bytes)
{
	Assert(memory->used >= bytes);
	memory->used -= bytes;
}

#endif							/* ANAGO_MEMORY_H */
