/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between PostgreSQL versions.  This file and compat_plan.h
 *	  alone look at PG_VERSION_NUM.
 *
 * Everything else is written against one set of names, those of the newest
 * version where that is possible.  A block for each group of folders.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_COMPAT_H
#define ANAGO_COMPAT_H

#include "postgres.h"

/* ------------------------------------------------------------------------
 * io, page and stats
 * ------------------------------------------------------------------------
 */

#include "common/relpath.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "replication/walreceiver.h"
#include "storage/buf_internals.h"
#include "storage/fd.h"
#include "utils/backend_status.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

/* 18: StartReadBuffer() is asynchronous; storage/aio.h exists. */
#if PG_VERSION_NUM >= 180000
#define ANAGO_HAVE_AIO 1
#include "storage/aio.h"
#include "storage/aio_subsys.h"
#include "storage/io_worker.h"

/* 19: as many I/O workers as are needed, up to a limit. */
static inline int
anago_io_workers(void)
{
#if PG_VERSION_NUM >= 190000
	return io_max_workers;
#else
	return io_workers;
#endif
}
#endif

/* 17: shared memory without shared_preload_libraries. */
#if PG_VERSION_NUM >= 170000
#define ANAGO_HAVE_DSM_REGISTRY 1
#endif

/* 16: RelFileNode was renamed. */
#if PG_VERSION_NUM >= 160000
typedef RelFileLocator AnagoLocator;
#define ANAGO_REL_LOCATOR(rel)	((rel)->rd_locator)
#define ANAGO_LOCATOR_EQUALS(a, b)	RelFileLocatorEquals(a, b)
#define ANAGO_LOCATOR_NUMBER(l)	((l).relNumber)
#else
typedef RelFileNode AnagoLocator;
#define ANAGO_REL_LOCATOR(rel)	((rel)->rd_node)
#define ANAGO_LOCATOR_EQUALS(a, b)	RelFileNodeEquals(a, b)
#define ANAGO_LOCATOR_NUMBER(l)	((l).relNode)
#endif

static inline void
anago_buffer_tag(BufferTag *tag, const AnagoLocator *locator, BlockNumber blkno)
{
#if PG_VERSION_NUM >= 160000
	InitBufferTag(tag, locator, MAIN_FORKNUM, blkno);
#else
	INIT_BUFFERTAG(*tag, *locator, MAIN_FORKNUM, blkno);
#endif
}

/* Does a buffer, by its index, hold a block that has been read in? */
static inline bool
anago_buffer_valid(int buf_id)
{
#if PG_VERSION_NUM >= 190000
	return (pg_atomic_read_u64(&GetBufferDescriptor(buf_id)->state) & BM_VALID) != 0;
#else
	return (pg_atomic_read_u32(&GetBufferDescriptor(buf_id)->state) & BM_VALID) != 0;
#endif
}

/* Path of one segment file of a permanent or unlogged relation's main fork. */
static inline void
anago_segment_path(char *path, Size size, AnagoLocator locator, BlockNumber segno)
{
#if PG_VERSION_NUM >= 180000
	RelPathStr	base = relpathperm(locator, MAIN_FORKNUM);
	const char *name = base.str;
#else
	char	   *name = relpathperm(locator, MAIN_FORKNUM);
#endif

	if (segno == 0)
		snprintf(path, size, "%s", name);
	else
		snprintf(path, size, "%s.%u", name, segno);
#if PG_VERSION_NUM < 180000
	pfree(name);
#endif
}

/*
 * What an error leaves of reads that were being started, as a subtransaction's
 * abort cleans it up: 18, asynchronous ones; 15, that of ReadBuffer(), which is a
 * resource since.
 */
static inline void
anago_abort_io(void)
{
#if PG_VERSION_NUM >= 180000
	pgaio_error_cleanup();
#elif PG_VERSION_NUM < 160000
	AbortBufferIO();
#endif
}

/*
 * 17: a name for our wait event, which *event keeps (0: not known yet); before, all
 * extensions share one.
 */
static inline uint32
anago_wait_event(uint32 *event, const char *name pg_attribute_unused())
{
#if PG_VERSION_NUM >= 170000
	if (*event == 0)
		*event = WaitEventExtensionNew(name);
	return *event;
#else
	return PG_WAIT_EXTENSION;
#endif
}

#if PG_VERSION_NUM < 160000
#define INDEX_ATTR_BITMAP_HOT_BLOCKING	INDEX_ATTR_BITMAP_ALL
#endif

/* 16: what a check hook hands on is of the settings' own memory. */
#if PG_VERSION_NUM >= 160000
#define ANAGO_GUC_MALLOC(size)	guc_malloc(LOG, size)
#define ANAGO_GUC_FREE(at)		guc_free(at)
#else
#define ANAGO_GUC_MALLOC(size)	malloc(size)
#define ANAGO_GUC_FREE(at)		free(at)
#endif

/* 16: debug_io_direct, so that the kernel's page cache is not used at all. */
static inline bool
anago_direct_io(void)
{
#if PG_VERSION_NUM >= 160000
	return (io_direct_flags & IO_DIRECT_DATA) != 0;
#else
	return false;
#endif
}

/* A wait for reads that has begun then: as core counts that of its own. */
static inline void
anago_count_read_time(instr_time start)
{
#if PG_VERSION_NUM >= 180000
	pgstat_count_io_op_time(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_READ,
							start, 0, 0);
#elif PG_VERSION_NUM >= 160000
	pgstat_count_io_op_time(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_READ,
							start, 0);
#else
	instr_time	time;

	INSTR_TIME_SET_CURRENT(time);
	INSTR_TIME_SUBTRACT(time, start);
	pgstat_count_buffer_read_time(INSTR_TIME_GET_MICROSEC(time));
	INSTR_TIME_ADD(pgBufferUsage.blk_read_time, time);
#endif
}

/* One block was read for us, not by core: for pg_stat_io (16). */
static inline void
anago_count_read_op(void)
{
#if PG_VERSION_NUM >= 180000
	pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_READ, 1, BLCKSZ);
#elif PG_VERSION_NUM >= 160000
	pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_READ);
#endif
}

/*
 * It has been used, for who looks for a victim.  Before 19 ReadRecentBuffer() says so of
 * nothing that it pins.  As PinBuffer() does, but for a header that is locked just now.
 */
static inline void
anago_count_use(Buffer buf pg_attribute_unused())
{
#if PG_VERSION_NUM < 190000
	BufferDesc *desc = GetBufferDescriptor(buf - 1);
	uint32		state = pg_atomic_read_u32(&desc->state);

	while ((state & BM_LOCKED) == 0 &&
		   BUF_STATE_GET_USAGECOUNT(state) < BM_MAX_USAGE_COUNT &&
		   !pg_atomic_compare_exchange_u32(&desc->state, &state,
										   state + BUF_USAGECOUNT_ONE))
		;
#endif
}

/* A block was found by ReadRecentBuffer(), which counts it in the query's BUFFERS alone. */
static inline void
anago_count_hit(Relation rel)
{
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);
#if PG_VERSION_NUM >= 180000
	pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_HIT, 1, 0);
#elif PG_VERSION_NUM >= 160000
	pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_HIT);
#endif
}

/* 17: md.c's words for a failed read of one block. */
#if PG_VERSION_NUM >= 170000
#define ANAGO_ERRMSG_COULD_NOT_READ(blkno, path) \
	errmsg("could not read blocks %u..%u in file \"%s\": %m", blkno, blkno, path)
#else
#define ANAGO_ERRMSG_COULD_NOT_READ(blkno, path) \
	errmsg("could not read block %u in file \"%s\": %m", blkno, path)
#endif

/* This process's number among all; that of a process's transaction.  17: moved. */
#if PG_VERSION_NUM >= 170000
#define ANAGO_PROC_NUMBER	MyProcNumber
#define ANAGO_PROC_LXID(proc)	((proc)->vxid.lxid)
#else
#define ANAGO_PROC_NUMBER	MyProc->pgprocno
#define ANAGO_PROC_LXID(proc)	((proc)->lxid)
#endif

/* A worker's rows wait for room in its leader's queue.  17: renamed. */
#if PG_VERSION_NUM >= 170000
#define ANAGO_WAIT_FOR_QUEUE	WAIT_EVENT_MESSAGE_QUEUE_SEND
#else
#define ANAGO_WAIT_FOR_QUEUE	WAIT_EVENT_MQ_SEND
#endif

/* One of pgstat_fetch_stat_numbackends() processes, from 1.  16: renamed. */
static inline const PgBackendStatus *
anago_backend_status(int number)
{
#if PG_VERSION_NUM >= 160000
	return &pgstat_get_local_beentry_by_index(number)->backendStatus;
#else
	return &pgstat_fetch_stat_local_beentry(number)->backendStatus;
#endif
}

/*
 * A connection to another server, for queries; NULL: *error says why.  17: before, it
 * has to be one of a role with REPLICATION.
 */
static inline WalReceiverConn *
anago_connect(const char *conninfo, const char *name, char **error)
{
#if PG_VERSION_NUM >= 170000
	return walrcv_connect(conninfo, false, false, false, name, error);
#elif PG_VERSION_NUM >= 160000
	return walrcv_connect(conninfo, true, false, name, error);
#else
	return walrcv_connect(conninfo, true, name, error);
#endif
}

/* 19: the callback of GetNamedDSMSegment() takes an argument. */
#if PG_VERSION_NUM >= 190000
#define ANAGO_DSM_INIT_ARGS(ptr)	void *ptr, void *arg pg_attribute_unused()
#define ANAGO_DSM_INIT(init, ptr)	init(ptr, NULL)
#define ANAGO_NAMED_DSM(name, size, init, found) \
	GetNamedDSMSegment(name, size, init, found, NULL)
#else
#define ANAGO_DSM_INIT_ARGS(ptr)	void *ptr
#define ANAGO_DSM_INIT(init, ptr)	init(ptr)
#define ANAGO_NAMED_DSM(name, size, init, found) \
	GetNamedDSMSegment(name, size, init, found)
#endif

/* ------------------------------------------------------------------------
 * ops and node
 * ------------------------------------------------------------------------
 */

#include "access/heapam.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/proc.h"
#if PG_VERSION_NUM >= 170000
#include "utils/injection_point.h"
#endif
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* 19: a descriptor that was put together says so; a scan has flags. */
static inline void
anago_tupdesc_finalize(TupleDesc desc)
{
#if PG_VERSION_NUM >= 190000
	TupleDescFinalize(desc);
#endif
}

static inline TableScanDesc
anago_table_beginscan(Relation rel, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(rel, snapshot, 0, NULL, 0);
#else
	return table_beginscan(rel, snapshot, 0, NULL);
#endif
}

/* 17: where a test can stop us; 18: with an argument. */
#if PG_VERSION_NUM >= 180000
#define ANAGO_INJECTION_POINT(name)	INJECTION_POINT(name, NULL)
#elif PG_VERSION_NUM >= 170000
#define ANAGO_INJECTION_POINT(name)	INJECTION_POINT(name)
#else
#define ANAGO_INJECTION_POINT(name)	((void) (name))
#endif

/* 18: ExecutorRun() no longer asks whether it is called once. */
#if PG_VERSION_NUM >= 180000
#define ANAGO_RUN_PARAMS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count
#define ANAGO_RUN_ARGS \
	queryDesc, direction, count
#else
#define ANAGO_RUN_PARAMS \
	QueryDesc *queryDesc, ScanDirection direction, uint64 count, \
	bool execute_once
#define ANAGO_RUN_ARGS \
	queryDesc, direction, count, execute_once
#endif

/* The root of a B-tree, pinned and share-locked; InvalidBuffer if empty. */
static inline Buffer
anago_bt_getroot(Relation indexrel, Relation heaprel pg_attribute_unused())
{
#if PG_VERSION_NUM >= 160000
	return _bt_getroot(indexrel, heaprel, BT_READ);
#else
	return _bt_getroot(indexrel, BT_READ);
#endif
}

/* 19: on-access pruning may look at the visibility map, through *vmbuffer. */
static inline void
anago_heap_prune_opt(Relation heap, Buffer buf,
					 Buffer *vmbuffer pg_attribute_unused())
{
#if PG_VERSION_NUM >= 190000
	heap_page_prune_opt(heap, buf, vmbuffer, false);
#else
	heap_page_prune_opt(heap, buf);
#endif
}

/* 19: permission to set hint bits with a share lock; false: leave them. */
static inline bool
anago_begin_hints(Buffer buf pg_attribute_unused())
{
#if PG_VERSION_NUM >= 190000
	return BufferBeginSetHintBits(buf);
#else
	return true;
#endif
}

static inline void
anago_finish_hints(Buffer buf, bool dirty)
{
#if PG_VERSION_NUM >= 190000
	BufferFinishSetHintBits(buf, dirty, true);
#else
	if (dirty)
		MarkBufferDirtyHint(buf, true);
#endif
}

/*
 * Up to 16, old_snapshot_threshold lets VACUUM remove what an old snapshot
 * sees; whoever looks at a page has to ask, and gets the error for it.
 */
static inline void
anago_check_snapshot_age(Snapshot snapshot pg_attribute_unused(),
						 Relation rel pg_attribute_unused(),
						 Page page pg_attribute_unused())
{
#if PG_VERSION_NUM < 170000
	TestForOldSnapshot(snapshot, rel, page);
#endif
}

/* A table of the range table, opened and locked as the plan says. */
static inline Relation
anago_open_range_table_relation(EState *estate, Index rti)
{
#if PG_VERSION_NUM >= 180000
	return ExecGetRangeTableRelation(estate, rti, false);
#else
	return ExecGetRangeTableRelation(estate, rti);
#endif
}

/* Has this session locked that table or index so?  17: or more than that. */
static inline bool
anago_is_locked(Oid relid, LOCKMODE mode)
{
	LOCKTAG		tag;

	SET_LOCKTAG_RELATION(tag, MyDatabaseId, relid);
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(&tag, mode, true);
#else
	return LockHeldByMe(&tag, mode);
#endif
}

/* As a commit does that need not wait for its record.  18: known by its number. */
static inline void
anago_wake_wal_writer(void)
{
#if PG_VERSION_NUM >= 180000
	ProcNumber	number = ProcGlobal->walwriterProc;

	if (number != INVALID_PROC_NUMBER)
		SetLatch(&GetPGProcByNumber(number)->procLatch);
#else
	if (ProcGlobal->walwriterLatch != NULL)
		SetLatch(ProcGlobal->walwriterLatch);
#endif
}

/* 18: tables that are found not to be needed when a query starts are not locked. */
static inline bool
anago_may_open(const EState *estate pg_attribute_unused(),
			   Index rti pg_attribute_unused())
{
#if PG_VERSION_NUM >= 180000
	return bms_is_member(rti, estate->es_unpruned_relids);
#else
	return true;
#endif
}

/*
 * 18: skip support, by which an operator class can say what value comes next
 * in the order of an index column.
 */
#if PG_VERSION_NUM >= 180000
#include "utils/skipsupport.h"

typedef struct SkipSupportData AnagoSuccessor;
#else
typedef struct AnagoSuccessor AnagoSuccessor;
#endif

/* Of column `col` (from 0), or NULL. */
static inline AnagoSuccessor *
anago_successor_of(Relation indexrel pg_attribute_unused(),
				   int col pg_attribute_unused())
{
#if PG_VERSION_NUM >= 180000
	return PrepareSkipSupportFromOpclass(indexrel->rd_opfamily[col],
										 indexrel->rd_opcintype[col],
										 (indexrel->rd_indoption[col] & INDOPTION_DESC) != 0);
#else
	return NULL;
#endif
}

/* In the current memory context; false: nobody knows it. */
static inline bool
anago_successor(AnagoSuccessor *successor, Relation indexrel pg_attribute_unused(),
				Datum value pg_attribute_unused(),
				Datum *next pg_attribute_unused())
{
#if PG_VERSION_NUM >= 180000
	bool		overflow = false;

	if (successor == NULL)
		return false;
	*next = successor->increment(indexrel, value, &overflow);
	return !overflow;
#else
	Assert(successor == NULL);
	return false;
#endif
}

#endif							/* ANAGO_COMPAT_H */
