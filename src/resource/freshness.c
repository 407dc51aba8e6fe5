/*-------------------------------------------------------------------------
 *
 * freshness.c
 *	  How fresh a standby is: the share of what the primary has lately written
 *	  to its WAL that is applied here.  SQL function anago_freshness().
 *
 * The end of the primary's WAL is what its messages to the WAL receiver say,
 * which come with the WAL and, without any, as keepalives.  It is remembered
 * once in a second in which somebody asks:
 *
 *		primary's end	 |----------|-----------------|
 *						since	 replayed			 end	now
 *
 *		freshness = (replayed - since) / (end - since)
 *
 * where `since` is the end in the sample that is nearest to so long ago as is
 * asked for.  WAL bytes stand for row changes: both are in the same order, and
 * what is not applied of one is not applied of the other.
 *
 * Samples are the server's where it has memory for them (shared/server.h), else
 * the session's.  Without a lock: a slot belongs to a second (modulo the number of slots), the
 * first who has something for that second takes it, and a reader looks at its
 * second before and after.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "port/atomics.h"
#include "replication/walreceiver.h"
#include "storage/spin.h"
#include "utils/float.h"
#include "utils/timestamp.h"

#include "layout.h"
#include "resource/freshness.h"
#include "shared/server.h"

#define SAMPLES_SEGMENT_NAME	"anago_samples_" CppAsString2(ANAGO_LAYOUT_VERSION)

/* Seconds, and so slots.  What may be asked for is well within. */
#define NSAMPLES		512
#define LEAST_WINDOW	1
#define MOST_WINDOW		300

/* Of a slot that is being written; no second is so early. */
#define WRITING			1

typedef struct Sample
{
	pg_atomic_uint64 second;	/* 0: none yet */
	pg_atomic_uint64 end;
} Sample;

typedef struct Samples
{
	uint32		layout;			/* ANAGO_LAYOUT */
	Sample		of[NSAMPLES];
} Samples;

PG_FUNCTION_INFO_V1(anago_freshness);

static Size
samples_size(void)
{
	return sizeof(Samples);
}

static void
samples_create(ANAGO_DSM_INIT_ARGS(memory))
{
	Samples    *samples = memory;

	samples->layout = ANAGO_LAYOUT;
	for (int i = 0; i < NSAMPLES; i++)
	{
		pg_atomic_init_u64(&samples->of[i].second, 0);
		pg_atomic_init_u64(&samples->of[i].end, 0);
	}
}

static AnagoServerPiece piece = {
	.name = SAMPLES_SEGMENT_NAME,
	.what = "samples of the primary",
	.size = samples_size,
	.create = samples_create
};

static Samples of_session;

void
anago_freshness_init(void)
{
	ANAGO_DSM_INIT(samples_create, &of_session);
	anago_server_piece(&piece);
}

static Samples *
samples_attach(void)
{
	Samples    *of_server = anago_server_attach(&piece);

	return of_server ? of_server : &of_session;
}

/* Remember the first end that is known of in a second. */
static void
samples_add(Samples *samples, uint64 now, XLogRecPtr end)
{
	Sample	   *sample = &samples->of[now % NSAMPLES];
	uint64		second = pg_atomic_read_u64(&sample->second);

	if (second == now || second == WRITING)
		return;
	if (!pg_atomic_compare_exchange_u64(&sample->second, &second, WRITING))
		return;
	pg_atomic_write_u64(&sample->end, end);
	pg_write_barrier();
	pg_atomic_write_u64(&sample->second, now);
}

/* The sample of a second; false if there is none. */
static bool
samples_get(Samples *samples, uint64 second, XLogRecPtr *end)
{
	Sample	   *sample = &samples->of[second % NSAMPLES];

	if (pg_atomic_read_u64(&sample->second) != second)
		return false;
	pg_read_barrier();
	*end = pg_atomic_read_u64(&sample->end);
	pg_read_barrier();
	return pg_atomic_read_u64(&sample->second) == second;
}

/*
 * The sample whose age is nearest to that, or InvalidXLogRecPtr.  One beyond
 * `end` is of another primary.
 */
static XLogRecPtr
samples_nearest(Samples *samples, uint64 now, int window, XLogRecPtr end)
{
	XLogRecPtr	since = InvalidXLogRecPtr;
	int			nearest = NSAMPLES;

	for (int age = 1; age < NSAMPLES; age++)
	{
		XLogRecPtr	lsn;

		if (abs(age - window) >= nearest ||
			!samples_get(samples, now - age, &lsn) || lsn > end)
			continue;
		nearest = abs(age - window);
		since = lsn;
	}
	return since;
}

/* Where the primary's WAL ends, as far as it has told; false if it does not. */
static bool
primary_end(XLogRecPtr *end)
{
	bool		streaming;

	SpinLockAcquire(&WalRcv->mutex);
	streaming = WalRcv->pid != 0 && WalRcv->walRcvState == WALRCV_STREAMING;
	*end = WalRcv->latestWalEnd;
	SpinLockRelease(&WalRcv->mutex);
	return streaming && !XLogRecPtrIsInvalid(*end);
}

static int
window_of(const Interval *interval)
{
	double		seconds = (double) interval->time / USECS_PER_SEC +
		(double) interval->day * SECS_PER_DAY;

	if (interval->month != 0 ||
		!(seconds >= LEAST_WINDOW && seconds <= MOST_WINDOW))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("freshness is of changes of %d second to %d seconds",
						LEAST_WINDOW, MOST_WINDOW)));
	return (int) rint(seconds);
}

double
anago_freshness_now(int window)
{
	uint64		now = (uint64) (GetCurrentTimestamp() / USECS_PER_SEC);
	Samples    *samples;
	XLogRecPtr	replayed;
	XLogRecPtr	end;
	XLogRecPtr	since;

	if (!RecoveryInProgress() || !primary_end(&end))
		return get_float8_nan();
	samples = samples_attach();
	since = samples_nearest(samples, now, window, end);
	samples_add(samples, now, end);

	replayed = GetXLogReplayRecPtr(NULL);
	if (replayed >= end)
		return 1.0;
	if (XLogRecPtrIsInvalid(since))
		return get_float8_nan();
	if (replayed <= since)
		return 0.0;
	return (double) (replayed - since) / (double) (end - since);
}

Datum
anago_freshness(PG_FUNCTION_ARGS)
{
	double		freshness = anago_freshness_now(window_of(PG_GETARG_INTERVAL_P(0)));

	if (isnan(freshness))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(freshness);
}
