/*-------------------------------------------------------------------------
 *
 * held.c
 *	  Rows that a plan node holds back while looks read ahead for them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "pipeline/held.h"

/* Slots at first: a power of 2. */
#define SLOTS_FIRST		16

/* Rows that a late look is made for: a part of shared buffers' number. */
#define LATE_PROBES_OF_BUFFERS	8

AnagoHeld *
anago_held_create(PlanState *child, int size, Size limit)
{
	AnagoHeld  *held = palloc0(sizeof(AnagoHeld));

	held->child = child;
	held->size = size;
	held->limit = limit;
	held->slots = SLOTS_FIRST;
	held->most_pages = NBuffers / ANAGO_LOOKS_PART_OF_BUFFERS;
	held->late.probes = NBuffers / LATE_PROBES_OF_BUFFERS;
	held->late.pages = held->most_pages;
	held->rows = palloc0(sizeof(AnagoHeldRow) * held->slots);
	held->context = AllocSetContextCreate(CurrentMemoryContext, "anago held rows",
										  ALLOCSET_DEFAULT_SIZES);
	return held;
}

/* Rows that are held go to where they are among twice as many slots. */
static void
add_slots(AnagoHeld *held)
{
	AnagoHeldRow *old = held->rows;
	int			slots = held->slots;

	held->rows = MemoryContextAllocZero(GetMemoryChunkContext(old),
										sizeof(AnagoHeldRow) * slots * 2);
	held->slots = slots * 2;
	for (int64 number = held->first; number < held->end; number++)
		*anago_held_row(held, number) = old[number & (slots - 1)];
	pfree(old);
}

/* What the child takes is not the looks'. */
static TupleTableSlot *
ask_child(AnagoHeld *held)
{
	ResourceOwner of_looks = CurrentResourceOwner;
	ErrorContextCallback *callbacks = error_context_stack;
	TupleTableSlot *slot;

	CurrentResourceOwner = held->owner;
	error_context_stack = held->callbacks;
	held->in_child = true;
	slot = ExecProcNode(held->child);
	held->in_child = false;
	error_context_stack = callbacks;
	CurrentResourceOwner = of_looks;
	return slot;
}

TupleTableSlot *
anago_held_pull(AnagoHeld *held)
{
	TupleTableSlot *slot = held->afterwards != NULL ?
		held->afterwards(held->afterwards_arg) : ask_child(held);
	AnagoHeldRow *row;
	MemoryContext old;

	if (TupIsNull(slot))
	{
		held->child_ended = true;
		return NULL;
	}
	if (held->end - held->first == held->slots)
		add_slots(held);
	row = anago_held_row(held, held->end);
	old = MemoryContextSwitchTo(held->context);
	row->tuple = ExecCopySlotMinimalTuple(slot);
	row->done = false;
	row->append = 0;
	row->merged = NULL;
	MemoryContextSwitchTo(old);
	held->end++;
	held->bytes += row->tuple->t_len;

	if (held->afterwards == NULL)
	{
		held->pulled++;
		held->sum += held->end - held->first;
		held->peak = Max(held->peak, (int) (held->end - held->first));
	}
	return slot;
}

bool
anago_held_set_done(AnagoHeld *held, int label)
{
	AnagoHeldRow *row = anago_held_row(held, label);

	Assert(label >= 0 && row->tuple != NULL && !row->done);
	row->done = true;
	return label == anago_held_label(held->first);
}

MinimalTuple
anago_held_take(AnagoHeld *held)
{
	AnagoHeldRow *row = anago_held_row(held, held->first);
	MinimalTuple tuple = row->tuple;

	Assert(!anago_held_is_empty(held));
	row->tuple = NULL;
	held->bytes -= tuple->t_len;
	held->pages -= held->pages / (held->end - held->first);
	held->first++;
	return tuple;
}

void
anago_held_reset(AnagoHeld *held)
{
	MemoryContextReset(held->context);
	held->bytes = 0;
	held->pages = 0;
	held->first = held->end = 0;
	held->child_ended = held->closed = held->in_child = false;
}
