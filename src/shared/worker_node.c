/*-------------------------------------------------------------------------
 *
 * worker_node.c
 *	  A parallel worker moves to its memory node, and to its CPU.  See
 *	  placement.h for who goes where.
 *
 * What is set here ends with the worker's process.  It is an optimization:
 * whatever the system refuses (containers often refuse memory policies) is
 * told at DEBUG1 and otherwise ignored.  For the same reason system calls are
 * preferred to those functions of libnuma that print to standard error or
 * exit, and the node's memory is preferred, not demanded: where it has none
 * left, memory comes from elsewhere.
 *
 * libnuma reads files of /proc and /sys as soon as it is loaded, 0.2 ms for each
 * connection if anago.so were linked with it.  So it is loaded by workers alone,
 * and only where the kernel says that there are several nodes: on a machine with one
 * the cost is that of reading a file of the kernel's, once in each worker.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sched.h>
#ifdef HAVE_LIBNUMA
#include <dlfcn.h>
#include <fcntl.h>
#include <numa.h>
#include <numaif.h>
#include <unistd.h>
#endif

#include "access/parallel.h"
#include "storage/proc.h"

#include "guc.h"
#include "shared/placement.h"

/* ---- this machine ---- */

#ifdef HAVE_LIBNUMA

#define LONG_BITS			(8 * (int) sizeof(unsigned long))
#define MAX_NODE_ID			1023	/* the kernel has no greater one */

/* What is wanted of libnuma, under the names that it has there. */
#define NUMA_SYMBOLS(SYMBOL) \
	SYMBOL(numa_available) \
	SYMBOL(numa_num_configured_nodes) \
	SYMBOL(numa_max_node) \
	SYMBOL(numa_node_to_cpus) \
	SYMBOL(numa_bitmask_isbitset) \
	SYMBOL(numa_nodes_ptr) \
	SYMBOL(set_mempolicy)

#define AS_MEMBER(name)		__typeof__(name) *name;
#define FIND(name)			(numa.name = dlsym(library, #name)) != NULL &&

static struct
{
	NUMA_SYMBOLS(AS_MEMBER)
}			numa;

/* "0" says the kernel of one node, "0-1" or "0,2" of several, nothing if it knows none. */
static bool
kernel_has_several(void)
{
	char		nodes[64];
	int			fd = open("/sys/devices/system/node/online", O_RDONLY | O_CLOEXEC);
	ssize_t		length;

	if (fd < 0)
		return false;
	length = read(fd, nodes, sizeof(nodes));
	close(fd);
	return length > 0 &&
		(memchr(nodes, '-', length) != NULL || memchr(nodes, ',', length) != NULL);
}

/* Is libnuma there, with all that is wanted of it?  It stays until the process ends. */
static bool
load_numa(void)
{
	void	   *library = dlopen("libnuma.so.1", RTLD_NOW | RTLD_LOCAL);

	if (library != NULL && NUMA_SYMBOLS(FIND) true)
		return true;
	ereport(DEBUG1,
			(errmsg_internal("could not load libnuma: %s", dlerror())));
	return false;
}

static bool
several_nodes(void)
{
	static bool asked = false;
	static bool several = false;

	if (!asked)
	{
		asked = true;
		several = kernel_has_several() && load_numa() &&
			numa.numa_available() >= 0 && numa.numa_num_configured_nodes() > 1;
	}
	return several;
}

/* The CPUs of a node; false if libnuma does not tell. */
static bool
cpus_of_node(int id, cpu_set_t *cpus)
{
	unsigned long words[CPU_SETSIZE / LONG_BITS] = {0};
	struct bitmask mask = {.size = CPU_SETSIZE,.maskp = words};
	int			cpu;

	if (numa.numa_node_to_cpus(id, &mask) != 0)
	{
		ereport(DEBUG1,
				(errmsg_internal("could not get the CPUs of memory node %d: %m", id)));
		return false;
	}
	CPU_ZERO(cpus);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
	{
		if (numa.numa_bitmask_isbitset(&mask, cpu))
			CPU_SET(cpu, cpus);
	}
	return true;
}

static void
read_nodes(AnagoTopology *topology, const cpu_set_t *allowed)
{
	int			id;

	/* Numbers of nodes may have gaps. */
	for (id = 0; id <= Min(numa.numa_max_node(), MAX_NODE_ID); id++)
	{
		cpu_set_t	cpus;

		if (numa.numa_bitmask_isbitset(*numa.numa_nodes_ptr, id) &&
			cpus_of_node(id, &cpus))
			anago_topology_add_node(topology, id, &cpus, allowed);
	}
}

static void
prefer_memory_of(int id)
{
	unsigned long nodes[(MAX_NODE_ID + 1) / LONG_BITS] = {0};

	/* The kernel takes one bit less than it is told of. */
	nodes[id / LONG_BITS] |= 1UL << (id % LONG_BITS);
	if (numa.set_mempolicy(MPOL_PREFERRED, nodes, MAX_NODE_ID + 2) != 0)
		ereport(DEBUG1,
				(errmsg_internal("could not prefer the memory of node %d: %m", id)));
}

#else							/* !HAVE_LIBNUMA: one node */

static bool
several_nodes(void)
{
	return false;
}

static void
read_nodes(AnagoTopology *topology, const cpu_set_t *allowed)
{
}

static void
prefer_memory_of(int id)
{
}

#endif							/* HAVE_LIBNUMA */

/* The nodes, or one node with all CPUs; false if not even these are known. */
static bool
read_topology(AnagoTopology *topology)
{
	cpu_set_t	allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
	{
		ereport(DEBUG1,
				(errmsg_internal("could not get the CPUs of this process: %m")));
		return false;
	}
	if (several_nodes())
		read_nodes(topology, &allowed);
	if (topology->ncpus == 0)
		anago_topology_add_node(topology, 0, &allowed, &allowed);
	return true;
}

/* ---- this worker ---- */

/* Small numbers, different for all that run at the same time. */
static unsigned
query_number(void)
{
	PGPROC	   *leader = MyProc->lockGroupLeader;

	return leader ? (unsigned) (leader - ProcGlobal->allProcs) : 0;
}

static void
run_on(const cpu_set_t *cpus)
{
	if (sched_setaffinity(0, sizeof(*cpus), cpus) != 0)
		ereport(DEBUG1,
				(errmsg_internal("could not choose the CPUs of this process: %m")));
}

void
anago_placement_apply(int participant, int nparticipants)
{
	static bool placed = false;
	bool		on_node;
	AnagoTopology topology = {0};
	AnagoPlacement placement;
	cpu_set_t	cpus;

	/* What we set narrows what a second call would take for the machine. */
	if (placed || !IsParallelWorker())
		return;
	placed = true;

	on_node = anago_numa == ANAGO_NUMA_AUTO && several_nodes();
	if ((!on_node && !anago_pin_workers) || !read_topology(&topology))
		return;

	placement = anago_place(&topology, anago_pin_workers, query_number(),
							participant, nparticipants);
	if (anago_placement_cpus(&topology, placement, &cpus))
		run_on(&cpus);
	if (on_node && placement.node != ANAGO_NOWHERE)
		prefer_memory_of(placement.node);
	ereport(DEBUG1,
			(errmsg_internal("parallel worker %d of %d: memory node %d, CPU %d",
							 participant, nparticipants,
							 placement.node, placement.cpu)));
}
