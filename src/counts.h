/*-------------------------------------------------------------------------
 *
 * counts.h
 *	  Everything that is counted of a query: one line for each counter.
 *
 * A line makes the counter: a field, by which whoever has something to count
 * counts it; how it sums over processes; and where it is shown.  A column of the
 * view anago_stats is a line of the extension's script besides.
 *
 * There are two lists, of a query in one process and of one of its steps.  Their
 * order is that of EXPLAIN.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_COUNTS_H
#define ANAGO_COUNTS_H

#include "postgres.h"

/* How the counters of processes, or of one process's scans, are put together. */
typedef enum AnagoCountSum
{
	ANAGO_SUM,
	ANAGO_PEAK,					/* the greatest is kept */
	ANAGO_MEAN,					/* a sum that is shown for each read */
	ANAGO_MEAN_TOGETHER			/* the same; what the processes have at the same
								 * time adds up */
} AnagoCountSum;

/* What is counted, and how that is shown. */
typedef enum AnagoCountUnit
{
	ANAGO_UNIT_ONE,				/* things */
	ANAGO_UNIT_BYTES,
	ANAGO_UNIT_KB,				/* bytes; shown in kB */
	ANAGO_UNIT_MS				/* microseconds; shown in ms */
} AnagoCountUnit;

/* Lines of EXPLAIN in text format. */
typedef enum AnagoCountLine
{
	ANAGO_LINE_NONE,			/* not shown for the query as a whole */
	ANAGO_LINE_TASKS,
	ANAGO_LINE_READS,
	ANAGO_LINE_SYNC,
	ANAGO_LINE_INFLIGHT,
	ANAGO_LINES
} AnagoCountLine;

typedef struct AnagoCountDesc
{
	const char *name;			/* of the field */
	Size		offset;			/* where it is */
	AnagoCountSum sum;
	AnagoCountUnit unit;
	const char *column;			/* of view anago_stats; NULL: none */

	/* EXPLAIN */
	const char *property;		/* its name in structured formats */
	const char *group;			/* which has it there, or NULL: none */
	AnagoCountLine line;		/* of text */
	const char *text;			/* what stands there before it */
	const char *each;			/* before it in a process's line; NULL: it is not
								 * there */
	bool		quiet;			/* left out of text if it is zero */
	bool		late;			/* behind others of its line */
	bool		timing;			/* with TIMING only */
} AnagoCountDesc;

/* Of a query, in one process.  The short forms are those of counts.c. */
#define ANAGO_COUNTS(COUNT) \
	COUNT(queries, COLUMN("queries")) \
	COUNT(step_rows, COLUMN("rows")) \
	COUNT(rows, .property = "Rows", EACH("  Rows: ")) \
	COUNT(tasks, COLUMN("tasks"), SHOWN("Tasks", TASKS, "Tasks: "), EACH("  Tasks: ")) \
	COUNT(stalls) \
	COUNT(live_peak, .sum = ANAGO_PEAK, SHOWN("Peak Tasks", TASKS, "  Peak: ")) \
	COUNT(task_size, .sum = ANAGO_PEAK, .unit = ANAGO_UNIT_BYTES, SHOWN("Task Size", TASKS, " of ")) \
	COUNT(memory, .unit = ANAGO_UNIT_KB, SHOWN("Memory", TASKS, "  Memory: ")) \
	COUNT(kept_peak, .sum = ANAGO_PEAK, SHOWN("Peak Rows Kept", TASKS, "  Kept: "), .quiet = true) \
	COUNT(reads, COLUMN("reads"), SHOWN("Reads Issued", READS, " issued="), EACH("  Reads: issued=")) \
	COUNT(shared_reads, COLUMN("shared_reads"), SHOWN("Shared Reads", READS, " shared=")) \
	COUNT(collected) \
	COUNT(given_up, COLUMN("given_up"), SHOWN("Reads Given Up", READS, " given_up="), .quiet = true, .late = true) \
	COUNT(sync_reads, COLUMN("sync_reads"), SHOWN("Synchronous Reads", READS, " synchronous=")) \
	COUNT(sync_method, REASON("Method", " method=")) \
	COUNT(sync_alone, REASON("Alone", " alone=")) \
	COUNT(sync_cached, REASON("Cached", " cached=")) \
	COUNT(sync_unforeseen, REASON("Unforeseen", " unforeseen=")) \
	COUNT(sync_no_descriptor, COLUMN("no_descriptor"), REASON("No Descriptor", " no_descriptor=")) \
	COUNT(sync_no_ring, REASON("No Ring", " no_ring=")) \
	COUNT(hits, COLUMN("hits"), SHOWN("Hits", READS, " hits="), EACH(" hits=")) \
	COUNT(inflight_peak, .sum = ANAGO_PEAK, SHOWN("Peak Reads in Flight", INFLIGHT, " peak="), EACH("  In Flight: peak="), .quiet = true) \
	COUNT(inflight_sum, .sum = ANAGO_MEAN_TOGETHER, SHOWN("Mean Reads in Flight", INFLIGHT, " mean="), EACH(" mean="), .quiet = true) \
	COUNT(latency_us, .sum = ANAGO_MEAN, .unit = ANAGO_UNIT_MS, COLUMN("latency_us"), SHOWN("Read Latency", INFLIGHT, "  Latency: "), .quiet = true, .timing = true) \
	COUNT(alone_reads, COLUMN("alone_reads")) \
	COUNT(alone_us, COLUMN("alone_us")) \
	COUNT(together_reads, COLUMN("together_reads")) \
	COUNT(together_us, COLUMN("together_us")) \
	COUNT(together_inflight, COLUMN("together_inflight")) \
	COUNT(blocked_waits) \
	COUNT(given, .property = "Rows Given", EACH("  Rows Given: ")) \
	COUNT(fallbacks, COLUMN("fallbacks"))

/* Of one step, or whatever operator; which of them mean something is its affair. */
#define ANAGO_STEP_COUNTS(COUNT) \
	COUNT(probes, IN_STEP("Probes", "Probes: ")) \
	COUNT(descents, .property = "Index Descents") \
	COUNT(tids, IN_STEP("Index Entries", "  Entries: ")) \
	COUNT(fetched, .property = "Heap Tuples") \
	COUNT(filtered, IN_STEP("Rows Removed by Filter", "  Removed by Filter: "), .quiet = true, .late = true) \
	COUNT(index_only) \
	COUNT(heap_fetches, IN_STEP("Heap Fetches", "  Heap Fetches: "), .late = true) \
	COUNT(pruned, IN_STEP("Tables Pruned", "  Tables Pruned: "), .late = true) \
	COUNT(rows, IN_STEP("Rows", "  Rows: ")) \
	COUNT(turns, .property = "Turns into Hash") \
	COUNT(turned_after, .property = "Probes before Hash") \
	COUNT(hash_rows, .property = "Hash Rows") \
	COUNT(hash_kb, .unit = ANAGO_UNIT_KB, .property = "Hash Memory") \
	COUNT(turns_failed, .property = "Hashes Too Large") \
	COUNT(turns_back, .property = "Turns back into Probes") \
	COUNT(turned_back_after, .property = "Lookups before Probes")

#define ANAGO_COUNT_FIELD(name, ...)	int64 name;

/*
 *		queries				1 in the process that counts the query
 *		step_rows, rows		rows that left steps; that left the last one
 *		tasks, stalls		tasks spawned; times that one had to wait for room
 *		live_peak			most tasks alive together, each of task_size bytes
 *		memory				bytes, at the peak
 *		kept_peak			most rows that waited for their turn, of an order
 *		reads, collected	reads issued; those that a task came for, while
 *		given_up			nobody came for these: a LIMIT was reached...
 *		shared_reads		waiters that joined another's read
 *		sync_reads			blocks read by ReadBuffer() alone, and the reasons
 *							(page/waiter.h)
 *		hits				blocks found in shared buffers
 *		inflight_sum		sum over issued reads of reads in flight then
 *		latency_us			from issue to seen complete, all reads
 *		alone_*, together_*	of reads that a device was waited for: those that
 *							were alone in flight, and those that were not
 *		blocked_waits		times that the process slept for a read
 *		given				rows handed to other processes
 *		fallbacks			I/O methods refused, see anago_io_fallbacks()
 */
typedef struct AnagoCounts
{
	ANAGO_COUNTS(ANAGO_COUNT_FIELD)
} AnagoCounts;

/*
 *		probes				rows that came in
 *		descents, tids		index descents; index entries that matched
 *		fetched				tuples visible in the heap
 *		index_only			tuples answered from the index alone, and
 *		heap_fetches		those not; < 0: does not apply
 *		pruned				of several tables, those that rows were not probed
 *							for in; < 0: there is one table
 *		filtered, rows		rows removed by filters; rows that went on
 *		turns				processes in which the step has turned into a hash join
 *							(ops/btree/turn.h),
 *		turned_after		after so many rows, that were probed for,
 *		hash_rows, hash_kb	with tables of so many rows, and their size in kB;
 *		turns_failed		in which a table was too large for that;
 *		turns_back			in which lookups took longer than probes had,
 *		turned_back_after	after so many of them.  Any of these < 0: not to be shown
 */
typedef struct AnagoStepCounts
{
	ANAGO_STEP_COUNTS(ANAGO_COUNT_FIELD)
} AnagoStepCounts;

#define ANAGO_NCOUNTS		((int) (sizeof(AnagoCounts) / sizeof(int64)))
#define ANAGO_NSTEP_COUNTS	((int) (sizeof(AnagoStepCounts) / sizeof(int64)))

/* In the order of the fields. */
extern PGDLLIMPORT const AnagoCountDesc anago_counts[];
extern PGDLLIMPORT const AnagoCountDesc anago_step_counts[];

static inline int64
anago_count_of(const AnagoCountDesc *desc, const void *counts)
{
	return *(const int64 *) ((const char *) counts + desc->offset);
}

/* Add `from` to `to`. */
extern void anago_counts_add(AnagoCounts *to, const AnagoCounts *from);
extern void anago_step_counts_add(AnagoStepCounts *to, const AnagoStepCounts *from);

#endif							/* ANAGO_COUNTS_H */
