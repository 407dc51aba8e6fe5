/*-------------------------------------------------------------------------
 *
 * placement_test.c
 *	  Placement of workers on invented topologies.  Prints TAP; built and run
 *	  by 020_placement.pl, needs no server.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>

#include "claim.h"
#include "shared/placement.h"

#define NQUERIES	9			/* query numbers tried: 0 .. */
#define ROUNDS		3			/* participants per CPU, at most */

/* A machine: CPUs of each node, numbered on, and those that are allowed. */
typedef struct Machine
{
	const char *name;
	int			nnodes;
	int			ids[8];
	int			ncpus[8];
	int			forbidden[16];	/* CPUs, ended by -1; all zeros: none */
} Machine;

static const Machine machines[] = {
	{"1 node of 1 CPU", 1, {0}, {1}},
	{"1 node of 4 CPUs", 1, {0}, {4}},
	{"2 nodes of 4 CPUs", 2, {0, 1}, {4, 4}},
	{"2 nodes of 1 CPU", 2, {0, 1}, {1, 1}},
	{"4 uneven nodes", 4, {0, 1, 2, 3}, {8, 1, 3, 4}},
	{"7 very uneven nodes", 7, {0, 1, 2, 3, 4, 5, 6}, {60, 1, 1, 1, 1, 13, 7}},
	{"nodes whose numbers have gaps", 3, {0, 8, 250}, {4, 2, 4}},
	{"a node with memory only", 3, {0, 1, 2}, {4, 0, 4}},
	{"the first node with memory only", 2, {0, 1}, {0, 4}},
	{"half of a node forbidden", 2, {0, 1}, {4, 4}, {5, 6, -1}},
	{"all but one CPU forbidden", 2, {0, 1}, {2, 2}, {0, 1, 3, -1}},
	{"a node forbidden", 3, {0, 1, 2}, {2, 2, 2}, {2, 3, -1}},
	{"every other CPU forbidden", 2, {0, 1}, {6, 6}, {1, 3, 5, 7, 9, 11, -1}},
};

static bool
forbidden(const Machine *machine, int cpu)
{
	int			i;

	if (machine->forbidden[0] == 0 && machine->forbidden[1] == 0)
		return false;
	for (i = 0; machine->forbidden[i] >= 0; i++)
	{
		if (machine->forbidden[i] == cpu)
			return true;
	}
	return false;
}

static AnagoTopology
topology_of(const Machine *machine)
{
	AnagoTopology topology = {0};
	cpu_set_t	allowed;
	int			next = 0;
	int			i;

	CPU_ZERO(&allowed);
	for (i = 0; i < ANAGO_MAX_CPUS; i++)
	{
		if (!forbidden(machine, i))
			CPU_SET(i, &allowed);
	}
	for (i = 0; i < machine->nnodes; i++)
	{
		cpu_set_t	cpus;
		int			n;

		CPU_ZERO(&cpus);
		for (n = 0; n < machine->ncpus[i]; n++)
			CPU_SET(next++, &cpus);
		anago_topology_add_node(&topology, machine->ids[i], &cpus, &allowed);
	}
	return topology;
}

/* The node that a CPU belongs to, by the machine's description. */
static int
id_of_cpu(const Machine *machine, int cpu)
{
	int			i;

	for (i = 0; i < machine->nnodes; i++)
	{
		if (cpu < machine->ncpus[i])
			return machine->ids[i];
		cpu -= machine->ncpus[i];
	}
	return ANAGO_NOWHERE;
}

static bool
same_place(AnagoPlacement a, AnagoPlacement b)
{
	return a.node == b.node && a.cpu == b.cpu;
}

/*
 * What must hold of the topology itself: nodes with allowed CPUs, in order,
 * and no others.
 */
static void
check_topology(const Machine *machine)
{
	AnagoTopology topology = topology_of(machine);
	int			expected = 0;
	int			ncpus = 0;
	bool		right = true;
	int			cpu;
	int			i;
	int			last = ANAGO_NOWHERE;

	for (i = 0, cpu = 0; i < machine->nnodes; i++)
		cpu += machine->ncpus[i];
	for (i = 0; i < cpu; i++)
	{
		if (forbidden(machine, i))
			continue;
		right = right && topology.cpus[ncpus] == i;
		ncpus++;
		if (id_of_cpu(machine, i) != last)
		{
			last = id_of_cpu(machine, i);
			right = right && topology.nodes[expected].id == last;
			expected++;
		}
	}
	claim(right && topology.nnodes == expected && topology.ncpus == ncpus,
		  "%s: the nodes with allowed CPUs and no others", machine->name);
}

/*
 * How far the participants of one query are from their nodes' exact shares,
 * in participants, the worst over all numbers of them.
 */
static double
worst_deviation(const AnagoTopology *topology, unsigned query, int nparticipants)
{
	int			given[ANAGO_MAX_NODES] = {0};
	double		worst = 0;
	int			p;
	int			i;

	for (p = 0; p < nparticipants; p++)
	{
		AnagoPlacement placement = anago_place(topology, false, query, p,
											   nparticipants);

		for (i = 0; i < topology->nnodes; i++)
		{
			double		share = (double) (p + 1) * topology->nodes[i].ncpus /
				topology->ncpus;
			double		off;

			if (topology->nnodes == 1 || topology->nodes[i].id == placement.node)
				given[i]++;
			off = given[i] > share ? given[i] - share : share - given[i];
			if (off > worst)
				worst = off;
		}
	}
	return worst;
}

static void
check_spread(const Machine *machine)
{
	AnagoTopology topology = topology_of(machine);
	double		first = 0;
	double		any = 0;
	int			n;
	unsigned	query;

	for (n = 1; n <= ROUNDS * topology.ncpus; n++)
	{
		for (query = 0; query < NQUERIES; query++)
		{
			double		worst = worst_deviation(&topology, query, n);

			if (query == 0 && worst > first)
				first = worst;
			if (worst > any)
				any = worst;
		}
	}
	claim(first < 1, "%s: the spread over nodes is within one of exact (%.2f)",
		  machine->name, first);
	claim(any < 2, "%s: within two wherever a query begins (%.2f)",
		  machine->name, any);
}

/* Pinned: no CPU again before all; each an allowed one, of the named node. */
static void
check_pinned(const Machine *machine)
{
	AnagoTopology topology = topology_of(machine);
	bool		even = true;
	bool		right = true;
	int			n;
	unsigned	query;

	for (n = 1; n <= ROUNDS * topology.ncpus; n++)
	{
		for (query = 0; query < NQUERIES; query++)
		{
			int			used[ANAGO_MAX_CPUS] = {0};
			int			p;

			for (p = 0; p < n; p++)
			{
				AnagoPlacement placement = anago_place(&topology, true, query, p, n);
				int			cpu = placement.cpu;

				if (cpu < 0 || cpu >= ANAGO_MAX_CPUS)
				{
					right = false;
					continue;
				}
				even = even && used[cpu]++ == p / topology.ncpus;
				right = right && !forbidden(machine, cpu) &&
					placement.node == (topology.nnodes > 1 ?
									   id_of_cpu(machine, cpu) : ANAGO_NOWHERE);
			}
		}
	}
	claim(even, "%s: no CPU is used again before all are", machine->name);
	claim(right, "%s: each CPU is allowed and of the node named", machine->name);
}

/* The same arguments, the same answer, and the topology is left as it was. */
static void
check_pure(const Machine *machine)
{
	AnagoTopology topology = topology_of(machine);
	AnagoTopology before = topology;
	bool		same = true;
	int			n;
	int			p;

	for (n = 1; n <= topology.ncpus + 1; n++)
	{
		for (p = n - 1; p >= 0; p--)
		{
			AnagoPlacement first = anago_place(&topology, true, 5, p, n);
			AnagoPlacement free_run = anago_place(&topology, false, 5, p, n);

			(void) anago_place(&topology, true, 77, 0, 3);
			same = same && same_place(first, anago_place(&topology, true, 5, p, n));
			same = same && free_run.node == first.node &&
				free_run.cpu == ANAGO_NOWHERE;
		}
	}
	claim(same, "%s: the same answer each time, with and without pinning the same node",
		  machine->name);
	claim(memcmp(&before, &topology, sizeof(topology)) == 0,
		  "%s: the topology is only read", machine->name);
}

/* The CPUs to run on: of the node, or the one, or as they are. */
static void
check_cpus(const Machine *machine)
{
	AnagoTopology topology = topology_of(machine);
	bool		right = true;
	int			p;
	int			cpu;

	for (p = 0; p < topology.ncpus; p++)
	{
		AnagoPlacement placement = anago_place(&topology, false, 0, p,
											   topology.ncpus);
		cpu_set_t	cpus;
		bool		some = anago_placement_cpus(&topology, placement, &cpus);

		right = right && some == (topology.nnodes > 1);
		for (cpu = 0; some && cpu < ANAGO_MAX_CPUS; cpu++)
		{
			bool		expected = id_of_cpu(machine, cpu) == placement.node &&
				!forbidden(machine, cpu);

			right = right && !CPU_ISSET(cpu, &cpus) == !expected;
		}
		placement = anago_place(&topology, true, 0, p, topology.ncpus);
		right = right && anago_placement_cpus(&topology, placement, &cpus) &&
			CPU_COUNT(&cpus) == 1 && CPU_ISSET(placement.cpu, &cpus);
	}
	claim(right, "%s: a worker may run on all allowed CPUs of its node, or on its own",
		  machine->name);
}

/* Arguments and sizes at the edge of what there may be. */
static void
check_edges(void)
{
	static AnagoTopology topology;
	AnagoTopology none = {0};
	AnagoPlacement nowhere = {ANAGO_NOWHERE, ANAGO_NOWHERE};
	AnagoPlacement placement;
	cpu_set_t	cpus;
	cpu_set_t	all;
	int			i;

	claim(same_place(anago_place(&none, true, 1, 0, 1), nowhere),
		  "without any CPU: nowhere");
	claim(!anago_placement_cpus(&none, nowhere, &cpus),
		  "nowhere: all allowed CPUs");

	CPU_ZERO(&all);
	for (i = 0; i < ANAGO_MAX_CPUS; i++)
		CPU_SET(i, &all);
	for (i = 0; i < ANAGO_MAX_NODES + 3; i++)
	{
		CPU_ZERO(&cpus);
		CPU_SET(2 * i, &cpus);
		CPU_SET(2 * i + 1, &cpus);
		anago_topology_add_node(&topology, i, &cpus, &all);
	}
	claim(topology.nnodes == ANAGO_MAX_NODES &&
		  topology.ncpus == 2 * ANAGO_MAX_NODES,
		  "more nodes than there is room for: the first ones");

	placement = anago_place(&topology, true, ~0U, 1 << 30, (1 << 30) + 1);
	claim(placement.cpu >= 0 && placement.cpu < topology.ncpus &&
		  placement.node == placement.cpu / 2,
		  "very many participants of a query with a very high number");
	claim(same_place(anago_place(&topology, true, 0, -1, 4), nowhere) &&
		  same_place(anago_place(&topology, true, 0, 0, 0), nowhere),
		  "who is no participant goes nowhere");

	memset(&topology, 0, sizeof(topology));
	for (i = 0; i < 3; i++)
		anago_topology_add_node(&topology, i, &all, &all);
	claim(topology.ncpus == ANAGO_MAX_CPUS && topology.nnodes == 1,
		  "CPUs told of twice: no more than there is room for");
}

/* The example of placement.h. */
static void
check_example(void)
{
	static const Machine machine = {"", 2, {0, 1}, {4, 2}};
	static const int nodes[] = {0, 1, 0, 0, 1, 0};
	static const int cpus[] = {0, 4, 1, 2, 5, 3};
	AnagoTopology topology = topology_of(&machine);
	bool		right = true;
	int			p;

	for (p = 0; p < 6; p++)
	{
		AnagoPlacement placement = anago_place(&topology, true, 0, p, 6);

		right = right && placement.node == nodes[p] && placement.cpu == cpus[p];
	}
	claim(right, "the example of placement.h");
	claim(anago_place(&topology, true, 1, 0, 2).cpu == 1 &&
		  anago_place(&topology, true, 1, 1, 2).cpu == 2,
		  "the second query of two workers begins at the third slot");
}

int
main(void)
{
	size_t		i;

	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
	{
		check_topology(&machines[i]);
		check_spread(&machines[i]);
		check_pinned(&machines[i]);
		check_pure(&machines[i]);
		check_cpus(&machines[i]);
	}
	check_edges();
	check_example();
	printf("1..%d\n", ntests);
	return nfailed > 0;
}
