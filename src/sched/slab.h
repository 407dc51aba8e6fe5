/*-------------------------------------------------------------------------
 *
 * slab.h
 *	  The memory of tasks: slots of one size, taken and given back.
 *
 * They are allocated some at a time and go all at once, with the reset.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SLAB_H
#define ANAGO_SLAB_H

#include "postgres.h"

#include "utils/memutils.h"

#include "sched/task.h"

/* Tasks are allocated that many at a time. */
#define ANAGO_TASKS_PER_CHUNK	32

typedef struct AnagoSlab
{
	MemoryContext chunks;
	AnagoTask  *free;
} AnagoSlab;

/* Memory comes from CurrentMemoryContext. */
static inline void
anago_slab_init(AnagoSlab *slab)
{
	slab->chunks = AllocSetContextCreate(CurrentMemoryContext, "anago tasks",
										  ALLOCSET_DEFAULT_SIZES);
	slab->free = NULL;
}

static inline void
anago_slab_give(AnagoSlab *slab, AnagoTask *task)
{
	task->state = ANAGO_TASK_FREE;
	task->next = slab->free;
	slab->free = task;
}

/* A slot, zeroed. */
static inline AnagoTask *
anago_slab_take(AnagoSlab *slab)
{
	AnagoTask  *task;

	if (slab->free == NULL)
	{
		char	   *chunk = MemoryContextAlloc(slab->chunks,
											   ANAGO_TASK_SIZE * ANAGO_TASKS_PER_CHUNK);

		for (int i = 0; i < ANAGO_TASKS_PER_CHUNK; i++)
			anago_slab_give(slab, (AnagoTask *) (chunk + i * ANAGO_TASK_SIZE));
	}
	task = slab->free;
	slab->free = task->next;
	Assert(task->state == ANAGO_TASK_FREE);
	memset(task, 0, ANAGO_TASK_SIZE);
	return task;
}

/* All slots are free again. */
static inline void
anago_slab_reset(AnagoSlab *slab)
{
	MemoryContextReset(slab->chunks);
	slab->free = NULL;
}

#endif							/* ANAGO_SLAB_H */
