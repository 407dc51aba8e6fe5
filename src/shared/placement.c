/*-------------------------------------------------------------------------
 *
 * placement.c
 *	  Where the workers of a parallel query run: the decision.  See
 *	  placement.h.
 *
 * Nodes get slots in proportion to their CPUs by the quota method of Balinski
 * and Young (The Quota Method of Apportionment, 1975): the next slot goes to
 * the node with the most CPUs per slot, among those that would not exceed
 * their exact share rounded up.  Unlike a plain highest-average method it
 * stays within one slot of the exact share at every length; unlike largest
 * remainders, a longer run of slots only appends to a shorter one, so that it
 * does not matter if fewer workers start than were planned.
 *
 *-------------------------------------------------------------------------
 */
#include "shared/placement.h"

void
anago_topology_add_node(AnagoTopology *topology, int id,
						const cpu_set_t *cpus, const cpu_set_t *allowed)
{
	AnagoNode  *node;
	int			cpu;

	if (topology->nnodes == ANAGO_MAX_NODES)
		return;
	node = &topology->nodes[topology->nnodes];
	node->id = id;
	node->first = topology->ncpus;
	node->ncpus = 0;
	for (cpu = 0; cpu < ANAGO_MAX_CPUS; cpu++)
	{
		if (!CPU_ISSET(cpu, cpus) || !CPU_ISSET(cpu, allowed))
			continue;
		if (topology->ncpus == ANAGO_MAX_CPUS)
			break;
		topology->cpus[topology->ncpus++] = (short) cpu;
		node->ncpus++;
	}
	if (node->ncpus > 0)
		topology->nnodes++;
}

/* Does node a, with so many slots given to it, come before b? */
static bool
comes_before(const AnagoNode *a, int given_a, const AnagoNode *b, int given_b)
{
	int			share_a = a->ncpus * (given_b + 1);
	int			share_b = b->ncpus * (given_a + 1);

	return share_a != share_b ? share_a > share_b : given_a < given_b;
}

/* The index of the node that gets a slot, and which of its CPUs that is. */
static int
node_of_slot(const AnagoTopology *topology, int slot, int *nth)
{
	int			given[ANAGO_MAX_NODES] = {0};
	int			next = -1;
	int			nslots;

	for (nslots = 1; nslots <= slot + 1; nslots++)
	{
		int			i;

		next = -1;
		for (i = 0; i < topology->nnodes; i++)
		{
			const AnagoNode *node = &topology->nodes[i];

			if (given[i] * topology->ncpus >= nslots * node->ncpus)
				continue;		/* has its share, rounded up */
			if (next < 0 ||
				comes_before(node, given[i], &topology->nodes[next], given[next]))
				next = i;
		}
		given[next]++;
	}
	*nth = given[next] - 1;
	return next;
}

AnagoPlacement
anago_place(const AnagoTopology *topology, bool pin, unsigned query,
			int participant, int nparticipants)
{
	AnagoPlacement placement = {ANAGO_NOWHERE, ANAGO_NOWHERE};
	const AnagoNode *node;
	unsigned long long position;
	int			nth;

	if (topology->ncpus == 0 || participant < 0 || nparticipants < 1)
		return placement;
	if (topology->nnodes == 1 && !pin)
		return placement;

	position = (unsigned long long) query * (unsigned) nparticipants +
		(unsigned) participant;
	node = &topology->nodes[node_of_slot(topology,
										 (int) (position % (unsigned) topology->ncpus),
										 &nth)];
	if (topology->nnodes > 1)
		placement.node = node->id;
	if (pin)
		placement.cpu = topology->cpus[node->first + nth];
	return placement;
}

bool
anago_placement_cpus(const AnagoTopology *topology, AnagoPlacement placement,
					 cpu_set_t *cpus)
{
	int			i;
	int			n;

	CPU_ZERO(cpus);
	if (placement.cpu != ANAGO_NOWHERE)
	{
		CPU_SET(placement.cpu, cpus);
		return true;
	}
	for (i = 0; i < topology->nnodes; i++)
	{
		const AnagoNode *node = &topology->nodes[i];

		for (n = 0; node->id == placement.node && n < node->ncpus; n++)
			CPU_SET(topology->cpus[node->first + n], cpus);
	}
	return CPU_COUNT(cpus) > 0;
}
