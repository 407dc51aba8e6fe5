/*-------------------------------------------------------------------------
 *
 * sim.c
 *	  I/O method `sim`: made-up delays and faults from a seed, for tests.
 *
 * Even a block in shared buffers is made to wait (anago.sim_hit_rate), its
 * read completes after 0..anago.sim_delay polls, and reads that complete at
 * the same poll do so in random order.  A read may also be lost as a hint
 * (anago.sim_hint_fault_rate: it completes, but nothing was brought in), which
 * must change no result, or fail (anago.sim_fault_rate: the error that md.c
 * raises for that block).
 *
 * No clock is looked at: the same seed and the same requests give the same
 * history.  Unless anago.sim_latency is set: a read then takes so long at least,
 * as on a device that serves any number of reads at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "storage/bufmgr.h"

#include "compat.h"
#include "guc.h"
#include "io/io.h"

typedef struct SimRead
{
	AnagoIoRead *read;			/* NULL: forgotten */
	int			polls_left;
	instr_time	issued;			/* with a latency only */
} SimRead;

typedef struct SimIo
{
	AnagoIo		base;
	pg_prng_state prng;
	int			nreads;
	SimRead    *reads;			/* on their way, in no order */
} SimIo;

/* How long a wait sleeps where reads take their time: part of that. */
#define SIM_NAPS			8

/* Faults that the dice chose, kept in AnagoIoRead.slot. */
#define SIM_SLOT_OK			0
#define SIM_SLOT_LOST		1
#define SIM_SLOT_FAILED		2

static bool
sim_dice(SimIo *io, double probability)
{
	return pg_prng_double(&io->prng) < probability;
}

static bool
sim_available(const char **why, const char **hint)
{
	return true;
}

static AnagoIo *
sim_begin(int max_inflight)
{
	SimIo	   *io = palloc0(sizeof(SimIo));

	pg_prng_seed(&io->prng, (uint64) anago_sim_seed);
	io->reads = palloc(sizeof(SimRead) * max_inflight);
	return &io->base;
}

static void
sim_end(AnagoIo *base)
{
}

static int
sim_capacity(const AnagoIo *base)
{
	return base->max_inflight;
}

static int
sim_expect(int max_inflight)
{
	return max_inflight;
}

static int
sim_choose_fate(SimIo *io)
{
	/* Always the same number of draws, so that rates do not shift history. */
	bool		failed = sim_dice(io, anago_sim_fault_rate);
	bool		lost = sim_dice(io, anago_sim_hint_fault_rate);

	return failed ? SIM_SLOT_FAILED : lost ? SIM_SLOT_LOST : SIM_SLOT_OK;
}

static int
sim_issue(AnagoIo *base, AnagoIoRead **reads, int n)
{
	SimIo	   *io = (SimIo *) base;
	int			accepted = 0;

	while (accepted < n && io->nreads < base->max_inflight)
	{
		SimRead    *sim = &io->reads[io->nreads++];

		sim->read = reads[accepted++];
		sim->read->slot = sim_choose_fate(io);
		sim->read->inlined = false;
		if (anago_sim_latency > 0)
			INSTR_TIME_SET_CURRENT(sim->issued);
		sim->polls_left = (int) pg_prng_uint64_range(&io->prng, 0, anago_sim_delay);
	}
	return accepted;
}

/* A new random order, by Fisher and Yates. */
static void
sim_shuffle(SimIo *io, AnagoIoRead **done, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		int			j = (int) pg_prng_uint64_range(&io->prng, 0, i);
		AnagoIoRead *swap = done[i];

		done[i] = done[j];
		done[j] = swap;
	}
}

/* Is its latency over? */
static bool
sim_is_due(const SimRead *sim, instr_time now)
{
	if (anago_sim_latency == 0)
		return true;
	INSTR_TIME_SUBTRACT(now, sim->issued);
	return INSTR_TIME_GET_MICROSEC(now) >= anago_sim_latency;
}

static int
sim_poll(AnagoIo *base, AnagoIoRead **done, int max)
{
	SimIo	   *io = (SimIo *) base;
	int			n = 0;
	int			i = 0;
	instr_time	now;

	INSTR_TIME_SET_ZERO(now);
	if (anago_sim_latency > 0)
		INSTR_TIME_SET_CURRENT(now);
	while (i < io->nreads)
	{
		SimRead    *sim = &io->reads[i];

		if (sim->polls_left > 0)
			sim->polls_left--;
		if (sim->polls_left > 0 || n == max || !sim_is_due(sim, now))
		{
			i++;
			continue;
		}
		done[n++] = sim->read;
		*sim = io->reads[--io->nreads];
	}
	sim_shuffle(io, done, n);

	for (i = 0; i < n; i++)
		if (done[i]->slot == SIM_SLOT_OK)
			(void) PrefetchBuffer(done[i]->rel, MAIN_FORKNUM, done[i]->blkno);
	return n;
}

/* The next poll comes at once, where made-up time passes by polls alone. */
static void
sim_wait(AnagoIo *base)
{
	if (anago_sim_latency > 0)
		pg_usleep(Min(anago_sim_latency / SIM_NAPS + 1, ANAGO_IO_WAIT_MS * 1000));
}

static void
sim_raise(const AnagoIoRead *read)
{
	char		path[MAXPGPATH];

	anago_segment_path(path, sizeof(path), ANAGO_REL_LOCATOR(read->rel),
					   read->blkno / ((BlockNumber) RELSEG_SIZE));
	errno = EIO;
	ereport(ERROR,
			(errcode_for_file_access(),
			 ANAGO_ERRMSG_COULD_NOT_READ(read->blkno, path)));
}

static Buffer
sim_finish(AnagoIo *base, AnagoIoRead *read)
{
	if (read->slot == SIM_SLOT_FAILED)
		sim_raise(read);
	return ReadBuffer(read->rel, read->blkno);
}

static void
sim_forget(AnagoIo *base, AnagoIoRead *read)
{
	SimIo	   *io = (SimIo *) base;

	for (int i = 0; i < io->nreads; i++)
		if (io->reads[i].read == read)
		{
			io->reads[i] = io->reads[--io->nreads];
			return;
		}
}

static bool
sim_hide_hit(AnagoIo *base)
{
	return !sim_dice((SimIo *) base, anago_sim_hit_rate);
}

const AnagoIoMethodOps anago_io_sim_ops = {
	.name = "sim",
	.simulated = true,
	.available = sim_available,
	.begin = sim_begin,
	.end = sim_end,
	.capacity = sim_capacity,
	.expect = sim_expect,
	.issue = sim_issue,
	.poll = sim_poll,
	.wait = sim_wait,
	.finish = sim_finish,
	.forget = sim_forget,
	.hide_hit = sim_hide_hit,
};
