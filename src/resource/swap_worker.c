/*-------------------------------------------------------------------------
 *
 * swap_worker.c
 *	  The process that has a standby change places with another one.  See swap.h for what
 *	  it decides.
 *
 * A background worker, twice in a second: it sees how far replay is and who runs here, takes
 * what the other standby has told another process (swap_other.c), so that it never waits
 * for a network, makes one decision, and has replay pause or go on.  What it can do to replay
 * is what pg_wal_replay_pause() and pg_wal_replay_resume() do.  A pause that somebody else has asked
 * for it does not end: that may be for a reason, and after parameters of the primary have
 * grown, recovery that is paused for them would end the server.
 *
 * When it ends, in whatever way, replay goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "replication/walreceiver.h"
#include "storage/ipc.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "resource/background.h"
#include "resource/budgets.h"
#include "resource/freshness.h"
#include "resource/swap_memory.h"
#include "resource/swap_worker.h"
#include "resource/transactions.h"

#define BYTES_OF_MB		(1024.0 * 1024.0)

static AnagoSwap swap;
static TimestampTz since;
static bool is_ours = false;	/* the pause of replay */

/* ---- replay ---- */

/* (a promotion goes on whether replay is paused or not) */
static void
pause_replay(void)
{
	if (GetRecoveryPauseState() != RECOVERY_NOT_PAUSED || PromoteIsTriggered())
		return;
	is_ours = true;
	SetRecoveryPause(true);
	WakeupRecovery();
}

static void
resume_replay(void)
{
	if (!is_ours)
		return;
	is_ours = false;
	SetRecoveryPause(false);
}

static void
act(void)
{
	if (anago_swap_pauses(swap.state))
		pause_replay();
	else
		resume_replay();
}

/* ---- what is seen ---- */

static AnagoSwapSettings
settings(void)
{
	return (AnagoSwapSettings) {
		.freshness = anago_swap_freshness,
		.interval = anago_swap_interval,
		.drain = anago_swap_drain,
		.max_pause = anago_swap_max_pause,
		.max_wal = anago_swap_max_wal * BYTES_OF_MB,
		.patience = anago_swap_patience
	};
}

static void
see_other(AnagoSwapInputs *in, uint64 now)
{
	AnagoSwapOther other = anago_swap_other();

	in->other = other.server;
	in->heard = other.at == 0 ? INFINITY : anago_swap_age(now, other.heard);
}

static AnagoSwapInputs
see(void)
{
	uint64		now = anago_budgets_now();
	AnagoSwapInputs in = {.now = now / 1e9,.standby = RecoveryInProgress()};

	see_other(&in, now);
	if (!in.standby)
		return in;
	in.stands_still = GetRecoveryPauseState() == RECOVERY_PAUSED;
	in.receives = WalRcvStreaming();
	in.transactions = anago_transactions_running();
	in.freshness = anago_freshness_now(ANAGO_FRESHNESS_WINDOW);
	in.replayed = GetXLogReplayRecPtr(NULL);
	in.received = Max(GetWalRcvFlushRecPtr(NULL, NULL), in.replayed);
	return in;
}

/* ---- what is told ---- */

static void
report(const AnagoSwapInputs *in)
{
	AnagoSwapReport report = {
		.pid = MyProcPid,
		.server = {
			.id = swap.id,
			.state = swap.state,
			.term = swap.term,
			.wish = swap.wish,
			.replayed = in->replayed,
			.received = in->received,
			.freshness = in->freshness
		},
		.reason = swap.reason,
		.since = since,
		.stands_still = in->stands_still,
		.transactions = in->transactions
	};

	anago_swap_set_report(&report);
}

static void
report_off(void)
{
	AnagoSwapReport report = {.pid = MyProcPid,.server.id = swap.id};

	anago_swap_set_report(&report);
}

static void
say(const AnagoSwapInputs *in, AnagoSwapState before)
{
	ereport(LOG,
			(errmsg("anago's swap: %s, was %s", anago_swap_state_name(swap.state),
					anago_swap_state_name(before)),
			 errdetail_internal("Reason: %s. Transactions that run here: %d. WAL that waits for replay: %.0f kB.",
								anago_swap_reason_name(swap.reason), in->transactions,
								(double) (in->received - in->replayed) / 1024)));
}

/* ---- the process ---- */

static void
swap_sleep(long ms)
{
	static uint32 event = 0;

	anago_background_sleep(ms, anago_wait_event(&event, "AnagoSwap"));
}

static void
step(void)
{
	AnagoSwapSettings by = settings();
	AnagoSwapInputs in = see();
	AnagoSwapState before = swap.state;
	bool		changed = anago_swap_step(&swap, &by, &in);

	act();
	if (changed)
		since = GetCurrentTimestamp();
	report(&in);
	if (changed)
		say(&in, before);
}

static void
be_off(void)
{
	resume_replay();
	swap.state = ANAGO_SWAP_OFF;
	swap.wish = ANAGO_SWAP_NO_WISH;
	report_off();
}

/* before_shmem_exit callback */
static void
end_everything(int code, Datum arg)
{
	AnagoSwapReport nothing = {0};

	resume_replay();
	anago_swap_other_end();
	anago_swap_set_report(&nothing);
}

void
anago_swap_main(Datum arg)
{
	anago_background_begin(false, NULL);
	before_shmem_exit(end_everything, (Datum) 0);
	if (!pg_strong_random(&swap.id, sizeof(swap.id)))
		swap.id = (int64) anago_budgets_now();
	for (;;)
	{
		if (anago_swap_on)
		{
			anago_swap_other_keep();
			step();
		}
		else
			be_off();
		swap_sleep(anago_swap_on && swap.state != ANAGO_SWAP_PRIMARY ?
				   ANAGO_SWAP_PERIOD_MS : ANAGO_BACKGROUND_OFF_MS);
	}
}

/* A server without another one to ask has no such process. */
void
anago_swap_init(void)
{
	anago_swap_memory_init();
	anago_swap_gate_init();
	if (anago_swap_other_conninfo[0] != '\0')
		anago_background_register("anago swap", "anago_swap_main", false);
}
