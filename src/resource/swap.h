/*-------------------------------------------------------------------------
 *
 * swap.h
 *	  Two standbys, of which one answers queries while its replay stands still, and the
 *	  other one applies: when they change places.
 *
 * Deciding and doing are apart, as in htal.h: swap.c is pure functions, tested on invented
 * standbys (t/swap_test.c).  Neither this header nor swap.c includes postgres.h.
 *
 * Each standby decides about itself alone, from what it sees and what the other one has
 * told.  Nobody gives orders, so there is nobody to lose:
 *
 *		A				B
 *		ANSWERING		APPLYING
 *		wishes a swap				A's data is old, or its time is over
 *						TAKING		B has heard that, is fresh, and asks its replay to pause
 *						ANSWERING	it stands still; from now on both answer
 *		DRAINING					A has heard that; its queries go on, new ones go to B
 *		APPLYING					none is left, or drain time is over
 *
 * Others: STARTING, who does not know yet what the other one does; ALONE, who answers and
 * applies, as a single standby does, since there is no other one.
 *
 * Invariants
 *	- who answers goes on until the other one says that it does: both may answer for a
 *	  while, nobody for no longer than it takes to notice that one is gone;
 *	- of two that answer the one with the greater term stays, and of equal terms that with
 *	  the greater id; a term is greater than all that one has heard of;
 *	- replay stands still in TAKING, ANSWERING and DRAINING alone; the first ends when it
 *	  does, the others are bounded by time and by WAL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SWAP_H
#define ANAGO_SWAP_H

#include <stdbool.h>
#include <stdint.h>

typedef enum AnagoSwapState
{
	ANAGO_SWAP_OFF,
	ANAGO_SWAP_PRIMARY,			/* no standby, (or no longer) */
	ANAGO_SWAP_STARTING,
	ANAGO_SWAP_APPLYING,
	ANAGO_SWAP_TAKING,
	ANAGO_SWAP_ANSWERING,
	ANAGO_SWAP_DRAINING,
	ANAGO_SWAP_ALONE,
	ANAGO_SWAP_STATES
} AnagoSwapState;

/* Why who answers would rather not. */
typedef enum AnagoSwapWish
{
	ANAGO_SWAP_NO_WISH,
	ANAGO_SWAP_BY_FRESHNESS,
	ANAGO_SWAP_BY_CLOCK,
	ANAGO_SWAP_BY_BOUND,		/* replay has to go on: here, or the other one answers */
	ANAGO_SWAP_WISHES
} AnagoSwapWish;

/* Why the state is what it is: the latest change's reason. */
typedef enum AnagoSwapReason
{
	ANAGO_SWAP_BEGUN,
	ANAGO_SWAP_NO_STANDBY,
	ANAGO_SWAP_OTHER_ANSWERS,
	ANAGO_SWAP_OTHER_GONE,		/* not heard, or has no part in it */
	ANAGO_SWAP_NOBODY_ANSWERS,
	ANAGO_SWAP_OTHER_IS_OLD,
	ANAGO_SWAP_OTHERS_TIME,
	ANAGO_SWAP_OTHERS_BOUND,
	ANAGO_SWAP_OTHER_IS_BACK,
	ANAGO_SWAP_STANDS_STILL,
	ANAGO_SWAP_DRAINED,
	ANAGO_SWAP_DRAIN_OVER,
	ANAGO_SWAP_OUT_OF_BOUNDS,
	ANAGO_SWAP_REASONS
} AnagoSwapReason;

/* What a standby tells the other one. */
typedef struct AnagoSwapServer
{
	int64_t		id;				/* random, by the process */
	AnagoSwapState state;
	int64_t		term;			/* 0: has not answered yet */
	AnagoSwapWish wish;
	uint64_t	replayed;		/* positions in WAL */
	uint64_t	received;
	double		freshness;		/* share of row changes that are applied; NaN: not known */
} AnagoSwapServer;

typedef struct AnagoSwapInputs
{
	double		now;			/* s, of a clock that only goes forward */
	bool		standby;
	bool		stands_still;	/* replay, whoever asked for that */
	bool		receives;		/* WAL comes: what starts that again does not while replay stands still */
	int			transactions;	/* of clients, that run here */
	uint64_t	replayed;
	uint64_t	received;
	double		freshness;
	double		heard;			/* s since the other one has told; infinite: never */
	AnagoSwapServer other;
} AnagoSwapInputs;

typedef struct AnagoSwapSettings
{
	double		freshness;		/* a swap is wished at that share or less (beta); 0: not by
								 * freshness */
	double		interval;		/* s of answering; 0: not by the clock */
	double		drain;			/* s */
	double		max_pause;		/* s for which replay may stand still */
	double		max_wal;		/* bytes that may wait for it */
	double		patience;		/* s without a word: the other one is gone */
} AnagoSwapSettings;

/* A standby; begins as {.id = ...}, with the rest 0. */
typedef struct AnagoSwap
{
	int64_t		id;
	AnagoSwapState state;
	AnagoSwapReason reason;
	int64_t		term;
	AnagoSwapWish wish;
	double		since;			/* of the state, */
	double		wished;			/* of the wish, */
	double		paused;			/* of the pause, */
	double		quiet;			/* of the latest transaction that was seen */
} AnagoSwap;

/* For so long no transaction is seen: then queries have gone elsewhere (s). */
#define ANAGO_SWAP_QUIET	2.0

/* s since then, by two readings of a clock (ns); `at` may be the later one. */
extern double anago_swap_age(uint64_t now, uint64_t at);

/* True: the state is another one than before. */
extern bool anago_swap_step(AnagoSwap *swap, const AnagoSwapSettings *settings,
							const AnagoSwapInputs *inputs);

/* Is replay to stand still? */
extern bool anago_swap_pauses(AnagoSwapState state);

/* Does the other one answer for sure, so that clients should go there? */
extern bool anago_swap_sends_away(AnagoSwapState state);

/* Words for log and view; the state of a name, or ANAGO_SWAP_STATES. */
extern const char *anago_swap_state_name(AnagoSwapState state);
extern const char *anago_swap_wish_name(AnagoSwapWish wish);
extern const char *anago_swap_reason_name(AnagoSwapReason reason);
extern AnagoSwapState anago_swap_state_of(const char *name);
extern AnagoSwapWish anago_swap_wish_of(const char *name);

#endif							/* ANAGO_SWAP_H */
