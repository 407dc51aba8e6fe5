/*-------------------------------------------------------------------------
 *
 * adapt.h
 *	  Judgements from recent history, so that cached data is not slower than
 *	  with stock PostgreSQL, and a slow device is not swamped.
 *
 * AnagoHitRun: is everything in shared buffers?  After a long run of hits the
 * lookup before ReadBuffer() is left out: it answers the question a second
 * time that ReadBuffer() answers anyway.  The first miss is then read
 * synchronously, and the run starts again from zero.  It outlives a query, as
 * short ones have no long runs.
 *
 * AnagoCutoff: is everything else in the kernel's page cache?  Then a read is
 * over before it could overlap with anything, and ReadBuffer() alone costs
 * less than the way through the I/O method.
 *
 *		ASYNC --- `needed` reads in a row complete at submission ---> SYNC
 *		SYNC ---- two of a few ReadBuffer() take as long as a ------> ASYNC
 *				  device does
 *
 * One slow read alone tells nothing: an interrupt, or another process on the
 * CPU.  A change to SYNC that is taken back soon doubles `needed`, so that a
 * device about as fast as a system call does not make it swing.
 *
 * AnagoMean: how long do reads last of late?  It decides nothing here: shares of reads
 * are divided by it (resource/level.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ADAPT_H
#define ANAGO_ADAPT_H

#include "postgres.h"

/*
 * A window whose reads take longer is not made wider, in milliseconds: they
 * queue up at the device, and whoever reads next, perhaps after a cancel,
 * waits behind all of them.
 */
#define ANAGO_WINDOW_LATENCY_MS	50

/* Hits in a row after which the lookup is left out. */
#define ANAGO_HIT_RUN			1024

/* Reads in a row that complete at submission, before the change to SYNC... */
#define ANAGO_CUTOFF_RUN		32
#define ANAGO_CUTOFF_RUN_MAX	4096

/* ...which was right if so many synchronous reads were fast. */
#define ANAGO_CUTOFF_PROVEN		128

/*
 * A synchronous read that takes longer, in microseconds, was from a device.
 * Copying one block out of the page cache takes 1 to 5.
 */
#define ANAGO_CUTOFF_DEVICE_US	25

/* The second slow read comes within so many. */
#define ANAGO_CUTOFF_SUSPECT	16

typedef struct AnagoHitRun
{
	int			hits;			/* in a row; stays at ANAGO_HIT_RUN */
} AnagoHitRun;

static inline bool
anago_hit_run_trusted(const AnagoHitRun *run)
{
	return run->hits >= ANAGO_HIT_RUN;
}

static inline void
anago_hit_run_hit(AnagoHitRun *run)
{
	if (run->hits < ANAGO_HIT_RUN)
		run->hits++;
}

static inline void
anago_hit_run_miss(AnagoHitRun *run)
{
	run->hits = 0;
}

typedef struct AnagoCutoff
{
	bool		sync;			/* SYNC, else ASYNC */
	int			needed;			/* between RUN and RUN_MAX */
	int			run;			/* reads in a row that speak for SYNC */
	int			suspect;		/* SYNC: reads during which another slow one
								 * counts */
} AnagoCutoff;

static inline void
anago_cutoff_init(AnagoCutoff *cutoff)
{
	cutoff->sync = false;
	cutoff->needed = ANAGO_CUTOFF_RUN;
	cutoff->run = 0;
	cutoff->suspect = 0;
}

/* An asynchronous read was over. */
static inline void
anago_cutoff_async_read(AnagoCutoff *cutoff, bool inlined)
{
	if (cutoff->sync)
		return;
	cutoff->run = inlined ? cutoff->run + 1 : 0;
	if (cutoff->run >= cutoff->needed)
	{
		cutoff->sync = true;
		cutoff->run = 0;
	}
}

/* A block was read synchronously, in state SYNC. */
static inline void
anago_cutoff_sync_read(AnagoCutoff *cutoff, double us)
{
	bool		slow = us > ANAGO_CUTOFF_DEVICE_US;

	if (slow && cutoff->suspect > 0)
	{
		if (cutoff->run < ANAGO_CUTOFF_PROVEN)
			cutoff->needed = Min(cutoff->needed * 2, ANAGO_CUTOFF_RUN_MAX);
		cutoff->sync = false;
		cutoff->run = 0;
		cutoff->suspect = 0;
		return;
	}

	if (slow)
		cutoff->suspect = ANAGO_CUTOFF_SUSPECT;
	else if (cutoff->suspect > 0)
		cutoff->suspect--;
	if (cutoff->run < ANAGO_CUTOFF_PROVEN && ++cutoff->run == ANAGO_CUTOFF_PROVEN)
		cutoff->needed = ANAGO_CUTOFF_RUN;
}

/* Of a read's latency: the mean of all, or with more the later ones count most. */
#define ANAGO_MEAN_OF			64
#define ANAGO_MEAN_LEAST		16	/* fewer tell nothing */

typedef struct AnagoMean
{
	int			n;				/* stays at ANAGO_MEAN_OF */
	double		us;
} AnagoMean;

static inline void
anago_mean_add(AnagoMean *mean, double us)
{
	mean->n += mean->n < ANAGO_MEAN_OF;
	mean->us += (us - mean->us) / mean->n;
}

/* 0: not known */
static inline double
anago_mean_us(const AnagoMean *mean)
{
	return mean->n < ANAGO_MEAN_LEAST ? 0 : mean->us;
}

#endif							/* ANAGO_ADAPT_H */
