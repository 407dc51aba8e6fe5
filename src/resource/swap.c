/*-------------------------------------------------------------------------
 *
 * swap.c
 *	  When two standbys change places.  See swap.h.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <string.h>

#include "resource/swap.h"

#define Max(a, b)	((a) > (b) ? (a) : (b))

/* ---- states ---- */

bool
anago_swap_pauses(AnagoSwapState state)
{
	return state == ANAGO_SWAP_TAKING || state == ANAGO_SWAP_ANSWERING ||
		state == ANAGO_SWAP_DRAINING;
}

bool
anago_swap_sends_away(AnagoSwapState state)
{
	return state == ANAGO_SWAP_APPLYING || state == ANAGO_SWAP_DRAINING;
}

static bool
answers(AnagoSwapState state)
{
	return state == ANAGO_SWAP_ANSWERING || state == ANAGO_SWAP_ALONE;
}

/* Answers, or is about to. */
static bool
leads(AnagoSwapState state)
{
	return answers(state) || state == ANAGO_SWAP_TAKING;
}

/* ---- the other one ---- */

/* It is there, but has said that it has no part in this. */
static bool
abstains(const AnagoSwapInputs *in)
{
	return in->other.state == ANAGO_SWAP_OFF || in->other.state == ANAGO_SWAP_PRIMARY;
}

static bool
is_heard(const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	return in->heard <= by->patience;
}

/* What was heard before this one began may be long over. */
static bool
is_heard_since(const AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	return is_heard(by, in) && in->heard <= in->now - swap->since;
}

static bool
is_there(const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	return is_heard(by, in) && !abstains(in);
}

/* Of two that answer: does the other one stay? */
static bool
outranks(const AnagoSwapInputs *in, const AnagoSwap *swap)
{
	return in->other.term > swap->term ||
		(in->other.term == swap->term && in->other.id > swap->id);
}

/* ---- how old the data is ---- */

static double
behind(const AnagoSwapInputs *in)
{
	return in->received > in->replayed ? (double) (in->received - in->replayed) : 0;
}

/*
 * Where freshness is not known, as the primary is gone: all is applied that has come.  All is
 * fresh, whatever is asked for.
 */
static bool
is_fresh(const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	if (isnan(in->freshness))
		return behind(in) == 0;
	return in->freshness > by->freshness || in->freshness >= 1;
}

/* Is there something to apply, here or with the other one? */
static bool
is_old(const AnagoSwapInputs *in)
{
	return behind(in) > 0 || in->other.replayed > in->replayed;
}

/* WAL has ceased to come here, so that freshness is not known, and comes to the other one. */
static bool
is_cut_off(const AnagoSwapInputs *in)
{
	return !in->receives && isnan(in->freshness) && !isnan(in->other.freshness) &&
		in->other.replayed > in->received;
}

static bool
wishes_by_freshness(const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	return by->freshness > 0 &&
		((in->freshness <= by->freshness && in->freshness < 1) || is_cut_off(in));
}

static bool
is_out_of_bounds(const AnagoSwap *swap, const AnagoSwapSettings *by,
				 const AnagoSwapInputs *in)
{
	return behind(in) > by->max_wal ||
		((is_old(in) || !in->receives) && in->now - swap->paused > by->max_pause);
}

static AnagoSwapWish
wish_of(const AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	bool		paused = swap->state == ANAGO_SWAP_ANSWERING;

	if (!answers(swap->state))
		return ANAGO_SWAP_NO_WISH;
	if (paused && is_out_of_bounds(swap, by, in))
		return ANAGO_SWAP_BY_BOUND;
	if (wishes_by_freshness(by, in))
		return ANAGO_SWAP_BY_FRESHNESS;
	if (paused && by->interval > 0 && is_old(in) &&
		in->now - swap->since >= by->interval)
		return ANAGO_SWAP_BY_CLOCK;
	return ANAGO_SWAP_NO_WISH;
}

/* Would queries find newer data here than with the other one, which wishes a swap? */
static bool
is_ready(const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	if (in->other.wish == ANAGO_SWAP_NO_WISH || in->replayed <= in->other.replayed)
		return false;
	return in->other.wish == ANAGO_SWAP_BY_BOUND || is_fresh(by, in);
}

/* ---- changes ---- */

static bool
become(AnagoSwap *swap, const AnagoSwapInputs *in, AnagoSwapState state,
	   AnagoSwapReason reason)
{
	if (!anago_swap_pauses(swap->state))
		swap->paused = in->now;
	if (answers(state))
		swap->term = Max(swap->term, in->other.term) + 1;
	swap->state = state;
	swap->reason = reason;
	swap->since = in->now;
	swap->quiet = in->now;
	return true;
}

static bool
when_starting(AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	if (!is_heard_since(swap, by, in))
		return in->now - swap->since > by->patience &&
			become(swap, in, ANAGO_SWAP_ALONE, ANAGO_SWAP_OTHER_GONE);
	if (abstains(in))
		return become(swap, in, ANAGO_SWAP_ALONE, ANAGO_SWAP_OTHER_GONE);
	if (leads(in->other.state))
		return become(swap, in, ANAGO_SWAP_APPLYING, ANAGO_SWAP_OTHER_ANSWERS);
	/* of two that start, one */
	if (in->other.state == ANAGO_SWAP_STARTING && in->other.id > swap->id)
		return false;
	return become(swap, in, ANAGO_SWAP_ALONE, ANAGO_SWAP_NOBODY_ANSWERS);
}

static bool
when_applying(AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	static const AnagoSwapReason reasons[] = {
		[ANAGO_SWAP_BY_FRESHNESS] = ANAGO_SWAP_OTHER_IS_OLD,
		[ANAGO_SWAP_BY_CLOCK] = ANAGO_SWAP_OTHERS_TIME,
		[ANAGO_SWAP_BY_BOUND] = ANAGO_SWAP_OTHERS_BOUND,
	};

	if (!is_there(by, in))
		return become(swap, in, ANAGO_SWAP_ALONE, ANAGO_SWAP_OTHER_GONE);
	if (answers(in->other.state) && is_ready(by, in))
		return become(swap, in, ANAGO_SWAP_TAKING, reasons[in->other.wish]);
	if (in->other.state == ANAGO_SWAP_APPLYING && in->other.id < swap->id)
		return become(swap, in, ANAGO_SWAP_ALONE, ANAGO_SWAP_NOBODY_ANSWERS);
	return false;
}

static bool
when_taking(AnagoSwap *swap, const AnagoSwapInputs *in)
{
	return in->stands_still &&
		become(swap, in, ANAGO_SWAP_ANSWERING, ANAGO_SWAP_STANDS_STILL);
}

static bool
when_answering(AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	bool		there = is_there(by, in);

	if (there && answers(in->other.state) && outranks(in, swap))
		return become(swap, in, ANAGO_SWAP_DRAINING, ANAGO_SWAP_OTHER_ANSWERS);
	/* who could answer in its place has some time to do so */
	return swap->wish == ANAGO_SWAP_BY_BOUND &&
		(!there || in->now - swap->wished > by->patience) &&
		become(swap, in, ANAGO_SWAP_ALONE, ANAGO_SWAP_OUT_OF_BOUNDS);
}

static bool
when_draining(AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	if (!is_there(by, in))
		return become(swap, in, ANAGO_SWAP_ANSWERING, ANAGO_SWAP_OTHER_GONE);
	if (anago_swap_sends_away(in->other.state))
		return become(swap, in, ANAGO_SWAP_ANSWERING, ANAGO_SWAP_NOBODY_ANSWERS);
	if (in->transactions > 0)
		swap->quiet = in->now;
	if (in->now - swap->quiet >= ANAGO_SWAP_QUIET)
		return become(swap, in, ANAGO_SWAP_APPLYING, ANAGO_SWAP_DRAINED);
	if (in->now - swap->since > by->drain)
		return become(swap, in, ANAGO_SWAP_APPLYING, ANAGO_SWAP_DRAIN_OVER);
	return is_out_of_bounds(swap, by, in) &&
		become(swap, in, ANAGO_SWAP_APPLYING, ANAGO_SWAP_OUT_OF_BOUNDS);
}

static bool
when_alone(AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	if (!is_there(by, in))
		return false;
	if (answers(in->other.state) && outranks(in, swap))
		return become(swap, in, ANAGO_SWAP_APPLYING, ANAGO_SWAP_OTHER_ANSWERS);
	return !leads(in->other.state) && is_fresh(by, in) &&
		become(swap, in, ANAGO_SWAP_TAKING, ANAGO_SWAP_OTHER_IS_BACK);
}

static bool
change(AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	switch (swap->state)
	{
		case ANAGO_SWAP_OFF:
		case ANAGO_SWAP_PRIMARY:
			return become(swap, in, ANAGO_SWAP_STARTING, ANAGO_SWAP_BEGUN);
		case ANAGO_SWAP_STARTING:
			return when_starting(swap, by, in);
		case ANAGO_SWAP_APPLYING:
			return when_applying(swap, by, in);
		case ANAGO_SWAP_TAKING:
			return when_taking(swap, in);
		case ANAGO_SWAP_ANSWERING:
			return when_answering(swap, by, in);
		case ANAGO_SWAP_DRAINING:
			return when_draining(swap, by, in);
		case ANAGO_SWAP_ALONE:
			return when_alone(swap, by, in);
		case ANAGO_SWAP_STATES:
			break;
	}
	return false;
}

static void
update_wish(AnagoSwap *swap, const AnagoSwapSettings *by, const AnagoSwapInputs *in)
{
	AnagoSwapWish wish = wish_of(swap, by, in);

	if (wish != swap->wish)
		swap->wished = in->now;
	swap->wish = wish;
}

bool
anago_swap_step(AnagoSwap *swap, const AnagoSwapSettings *settings,
				const AnagoSwapInputs *inputs)
{
	bool		changed;

	if (!inputs->standby)
	{
		swap->wish = ANAGO_SWAP_NO_WISH;
		return swap->state != ANAGO_SWAP_PRIMARY &&
			become(swap, inputs, ANAGO_SWAP_PRIMARY, ANAGO_SWAP_NO_STANDBY);
	}
	update_wish(swap, settings, inputs);
	changed = change(swap, settings, inputs);
	if (changed)
		update_wish(swap, settings, inputs);
	return changed;
}

/* ---- time ---- */

double
anago_swap_age(uint64_t now, uint64_t at)
{
	return now > at ? (double) (now - at) / 1e9 : 0;
}

/* ---- words ---- */

static const char *const states[ANAGO_SWAP_STATES] = {
	"off", "primary", "starting", "applying", "taking over", "answering", "draining",
	"answering alone"
};

static const char *const wishes[ANAGO_SWAP_WISHES] = {
	"none", "freshness", "clock", "bound"
};

static const char *const reasons[ANAGO_SWAP_REASONS] = {
	[ANAGO_SWAP_BEGUN] = "it is not known yet what the other one does",
	[ANAGO_SWAP_NO_STANDBY] = "it is no standby",
	[ANAGO_SWAP_OTHER_ANSWERS] = "the other one answers",
	[ANAGO_SWAP_OTHER_GONE] = "the other one is not there",
	[ANAGO_SWAP_NOBODY_ANSWERS] = "the other one does not answer either",
	[ANAGO_SWAP_OTHER_IS_OLD] = "the other one's data is no longer fresh",
	[ANAGO_SWAP_OTHERS_TIME] = "the other one's time is over",
	[ANAGO_SWAP_OTHERS_BOUND] = "the other one's replay has to go on",
	[ANAGO_SWAP_OTHER_IS_BACK] = "there is another one, and data is fresh",
	[ANAGO_SWAP_STANDS_STILL] = "replay stands still",
	[ANAGO_SWAP_DRAINED] = "no transaction is left",
	[ANAGO_SWAP_DRAIN_OVER] = "transactions had as much time as anago.swap_drain says",
	[ANAGO_SWAP_OUT_OF_BOUNDS] = "replay stood still for as long as anago.swap_max_pause and anago.swap_max_wal let it",
};

const char *
anago_swap_state_name(AnagoSwapState state)
{
	return state < ANAGO_SWAP_STATES ? states[state] : "";
}

const char *
anago_swap_wish_name(AnagoSwapWish wish)
{
	return wish < ANAGO_SWAP_WISHES ? wishes[wish] : "";
}

const char *
anago_swap_reason_name(AnagoSwapReason reason)
{
	return reason < ANAGO_SWAP_REASONS ? reasons[reason] : "";
}

static int
find(const char *const *names, int n, const char *name)
{
	int			i = 0;

	while (i < n && strcmp(names[i], name) != 0)
		i++;
	return i;
}

AnagoSwapState
anago_swap_state_of(const char *name)
{
	return (AnagoSwapState) find(states, ANAGO_SWAP_STATES, name);
}

AnagoSwapWish
anago_swap_wish_of(const char *name)
{
	return (AnagoSwapWish) find(wishes, ANAGO_SWAP_WISHES, name);
}
