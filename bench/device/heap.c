/*
 * heap.c
 *	  Requests that are held back, the one due first on top.
 */
#include "heap.h"

/* Returns false if the heap is full. */
bool
heap_push(Heap *heap, Request *request)
{
	int			at = heap->count;

	if (heap->count == HEAP_MAX)
		return false;
	heap->count++;
	while (at > 0 && heap->entries[(at - 1) / 2]->due > request->due)
	{
		heap->entries[at] = heap->entries[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->entries[at] = request;
	return true;
}

/* The heap must not be empty. */
Request *
heap_pop(Heap *heap)
{
	Request    *first = heap->entries[0];
	Request    *moved = heap->entries[--heap->count];
	int			at = 0;

	for (;;)
	{
		int			child = 2 * at + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
			heap->entries[child + 1]->due < heap->entries[child]->due)
			child++;
		if (heap->entries[child]->due >= moved->due)
			break;
		heap->entries[at] = heap->entries[child];
		at = child;
	}
	heap->entries[at] = moved;
	return first;
}
