/*
 * heap.h
 *	  Requests that are held back, the one due first on top.
 *
 * Invariant: no request is due before its parent, (i - 1) / 2.
 */
#ifndef HEAP_H
#define HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "request.h"

#define HEAP_MAX	16384		/* requests held back at once */

typedef struct Heap
{
	int			count;
	Request    *entries[HEAP_MAX];
} Heap;

extern bool heap_push(Heap *heap, Request *request);
extern Request *heap_pop(Heap *heap);

static inline Request *
heap_first(const Heap *heap)
{
	return heap->count > 0 ? heap->entries[0] : NULL;
}

#endif							/* HEAP_H */
