/*-------------------------------------------------------------------------
 *
 * placement.h
 *	  Where the workers of a parallel query run: which memory node, which CPU.
 *
 * Deciding and doing are apart.  placement.c decides: pure functions of a
 * topology, which need no server (t/placement_test.c has invented ones).
 * worker_node.c reads this machine's topology and does what was decided.
 * Neither this header nor placement.c includes postgres.h.
 *
 * The CPUs of all nodes are dealt out in one fixed order, the slots.  Example
 * with node 0 = {0, 1, 2, 3} and node 1 = {4, 5}:
 *
 *		slot	0	1	2	3	4	5
 *		node	0	1	0	0	1	0
 *		cpu		0	4	1	2	5	3
 *
 * Query q with n participants gives participant p slot q * n + p, wrapping
 * around, so that queries which run at the same time begin at different slots.
 * Participants are those of share.h: number 0 is the leader, which has a slot,
 * too, although it is left where it is.
 *
 * Invariants
 *	- each CPU is in one slot, so none is used twice before all are used once;
 *	- after any number k of slots, a node was given k * (its CPUs / all CPUs)
 *	  of them, rounded up or down.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PLACEMENT_H
#define ANAGO_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>

/* Nodes and CPUs beyond these are not used. */
#define ANAGO_MAX_NODES		64
#define ANAGO_MAX_CPUS		CPU_SETSIZE

#define ANAGO_NOWHERE		(-1)	/* no node, no CPU: leave it as it is */

/* A memory node with at least one CPU that this process may use. */
typedef struct AnagoNode
{
	int			id;				/* the system's number of it */
	int			first;			/* its CPUs are cpus[first .. first + ncpus - 1] */
	int			ncpus;
} AnagoNode;

typedef struct AnagoTopology
{
	int			nnodes;
	int			ncpus;			/* of all nodes */
	AnagoNode	nodes[ANAGO_MAX_NODES];
	short		cpus[ANAGO_MAX_CPUS];	/* node by node, ascending */
} AnagoTopology;

typedef struct AnagoPlacement
{
	int			node;			/* run there and prefer its memory, or
								 * ANAGO_NOWHERE */
	int			cpu;			/* run on this one only, or ANAGO_NOWHERE */
} AnagoPlacement;

/* placement.c */

/*
 * Add a node to a topology, which begins as zeros, with those of its CPUs that
 * are allowed.  Without any it is left out.
 */
extern void anago_topology_add_node(AnagoTopology *topology, int id,
									const cpu_set_t *cpus,
									const cpu_set_t *allowed);

/*
 * The place of a participant, 0 .. nparticipants - 1, of a query.  No node is
 * named if there is only one, no CPU if workers are not pinned.
 */
extern AnagoPlacement anago_place(const AnagoTopology *topology, bool pin,
								  unsigned query, int participant,
								  int nparticipants);

/* The CPUs on which to run there; false if all that are allowed. */
extern bool anago_placement_cpus(const AnagoTopology *topology,
								 AnagoPlacement placement, cpu_set_t *cpus);

/* worker_node.c */

/*
 * Called by each parallel worker of a query, before it allocates what
 * it will work with.  The first call of a process counts, whichever part of
 * the plan it comes from.  Outside of parallel workers nothing happens, as a
 * user's own backend is never moved.
 */
extern void anago_placement_apply(int participant, int nparticipants);

#endif							/* ANAGO_PLACEMENT_H */
