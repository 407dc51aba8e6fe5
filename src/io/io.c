/*-------------------------------------------------------------------------
 *
 * io.c
 *	  Picks the I/O method and owns the life of its users.
 *
 * The files of this folder (README.md says how the methods compare):
 *
 *	io.h		the contract between the page layer and the methods
 *	io.c		this file: choice, fallback, end at error
 *	sync.c		ReadBuffer(); nothing is ever on its way
 *	uring.c		our own io_uring warms the kernel's page cache
 *	ring.c		the ring of this process, under uring.c
 *	segfile.c	the process's file descriptors of relation segments, for uring.c
 *	pgaio.c		PostgreSQL's own asynchronous reads (18 and later)
 *	sim.c		seeded simulator of delays and faults, for tests
 *
 * `anago.io_method = auto` takes the first of these that can be had: pgaio
 * where the server reads past the page cache (debug_io_direct); uring; pgaio;
 * sync.  A method named by the user that
 * cannot be had gives way to the next one in the same order, with one LOG
 * line per process and method.  So does pgaio where it has room for one read at
 * a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "compat.h"
#include "guc.h"
#include "io/io.h"

#ifdef ANAGO_HAVE_AIO
#include "storage/aio.h"
#endif

#define ANAGO_IO_MAX_CHOICES	4

static int64 fallbacks = 0;

#ifdef ANAGO_HAVE_AIO
/*
 * Only where the page cache is of no use.  Through the page cache our own ring
 * was faster in all quiet runs, also with io_method = io_uring: it has no pin
 * limit and no handle to wait for (bench/).
 */
static bool
io_prefer_pgaio(void)
{
	return anago_direct_io();
}
#endif

/* Methods, in the order to be tried, for a value of anago.io_method. */
static int
io_choices(int method, const AnagoIoMethodOps **choices)
{
	int			n = 0;

	if (method == ANAGO_IO_SIM)
		choices[n++] = &anago_io_sim_ops;
#ifdef ANAGO_HAVE_AIO
	if (method == ANAGO_IO_PGAIO || (method == ANAGO_IO_AUTO && io_prefer_pgaio()))
		choices[n++] = &anago_io_pgaio_ops;
#endif
#ifdef HAVE_LIBURING
	if (method == ANAGO_IO_URING || method == ANAGO_IO_PGAIO ||
		method == ANAGO_IO_AUTO)
		choices[n++] = &anago_io_uring_ops;
#endif
#ifdef ANAGO_HAVE_AIO
	if (method == ANAGO_IO_URING || (method == ANAGO_IO_AUTO && !io_prefer_pgaio()))
		choices[n++] = &anago_io_pgaio_ops;
#endif
	choices[n++] = &anago_io_sync_ops;

	Assert(n <= ANAGO_IO_MAX_CHOICES);
	return n;
}

/*
 * One line per process and reason; `why` is in static storage.  Parallel
 * workers are silent: each is a new process, and their leader has spoken.
 */
static void
io_complain(const AnagoIoMethodOps *ops, const char *why, const char *hint)
{
	static const char *said[ANAGO_IO_MAX_CHOICES];

	if (IsParallelWorker())
		return;
	for (int i = 0; i < ANAGO_IO_MAX_CHOICES; i++)
	{
		if (said[i] == why)
			return;
		if (said[i] == NULL)
		{
			said[i] = why;
			ereport(LOG,
					(errmsg("anago cannot use I/O method \"%s\": %s", ops->name, why),
					 hint ? errhint("%s", hint) : 0));
			return;
		}
	}
}

/* The method that can be had; *refused: how many had to be passed over. */
static const AnagoIoMethodOps *
io_pick(int method, int *refused)
{
	const AnagoIoMethodOps *choices[ANAGO_IO_MAX_CHOICES];
	int			n = io_choices(method, choices);

	*refused = 0;
	for (int i = 0; i < n; i++)
	{
		const char *why = NULL;
		const char *hint = NULL;

		if (choices[i]->available(&why, &hint))
			return choices[i];
		if (why)
		{
			io_complain(choices[i], why, hint);
			(*refused)++;
		}
	}
	pg_unreachable();			/* sync is always available */
}

/* Memory context callback: an error took the query away. */
static void
io_reset_callback(void *arg)
{
	anago_io_end((AnagoIo *) arg);
}

AnagoIo *
anago_io_begin(int max_inflight)
{
	int			refused;
	const AnagoIoMethodOps *ops = io_pick(anago_io_method, &refused);
	AnagoIo    *io;

	Assert(max_inflight > 0 && max_inflight <= ANAGO_MAX_INFLIGHT);
	fallbacks += refused;

	/* Acquires nothing but memory, so that no error can leak anything. */
	io = ops->begin(max_inflight);
	io->ops = ops;
	io->max_inflight = max_inflight;
	io->ended = false;
	io->on_reset.func = io_reset_callback;
	io->on_reset.arg = io;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &io->on_reset);
	return io;
}

void
anago_io_end(AnagoIo *io)
{
	if (io->ended)
		return;
	io->ended = true;
	io->ops->end(io);
}

int
anago_io_expect(int max_inflight)
{
	int			refused;

	return io_pick(anago_io_method, &refused)->expect(max_inflight);
}

int64
anago_io_fallbacks(void)
{
	return fallbacks;
}

instr_time
anago_io_timing_start(void)
{
	instr_time	start;

	INSTR_TIME_SET_ZERO(start);
	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(start);
	return start;
}

void
anago_io_timing_end(instr_time start)
{
	if (!INSTR_TIME_IS_ZERO(start))
		anago_count_read_time(start);
}

uint32
anago_io_wait_event(void)
{
	static uint32 event = 0;

	return anago_wait_event(&event, "AnagoPageRead");
}
