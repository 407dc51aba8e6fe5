/*-------------------------------------------------------------------------
 *
 * room.h
 *	  How many tasks live, and how many may: Bounds, Demand, Memory and Order in
 *	  sched.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ROOM_H
#define ANAGO_ROOM_H

#include "postgres.h"

#include "sched/demand.h"
#include "sched/memory.h"
#include "sched/places.h"
#include "sched/task.h"

/*
 * What a task takes itself, in bytes: its slot, and the read that it waits for
 * with that read's entry in the table of reads.
 */
#define ANAGO_TASK_BYTES	512

typedef struct AnagoRoom
{
	AnagoPages *pages;
	AnagoMemory *memory;
	AnagoOrder *order;			/* or NULL: rows leave in no order */
	int			ndepths;
	AnagoDemand demand;
	int			live[ANAGO_MAX_DEPTHS];
	Size		weight[ANAGO_MAX_DEPTHS];	/* bytes that a task there takes */
	Size		task_bytes;		/* sum over depths of live * weight */
} AnagoRoom;

/* Tasks that may live at any depth. */
static inline int
anago_window_bound(const AnagoRoom *bounds)
{
	return Max(2 * anago_pages_window(bounds->pages), 2);
}

/* As anago_sched_room(), asked by a task with that place or, NULL, by nobody. */
extern int	anago_room(const AnagoRoom *bounds, const AnagoPlace *place, int depth);

/* The same, asked by a task of the head. */
extern int	anago_room_at_head(const AnagoRoom *bounds, int depth);

/* As anago_sched_expect() and anago_sched_is_short(). */
extern void anago_room_expect(AnagoRoom *bounds, int depth, Size bytes);
extern bool anago_room_is_short(const AnagoRoom *bounds);

#endif							/* ANAGO_ROOM_H */
