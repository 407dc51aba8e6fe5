/*-------------------------------------------------------------------------
 *
 * pace.h
 *	  How far AnagoAhead runs ahead: judgements from recent history.
 *
 * A scan begins by passing rows on.  When core reads blocks between two of them,
 * looks are begun:
 *
 *		PASSING --- core has read blocks for recent rows -----------> AHEAD
 *		AHEAD ----- looks have hardly read any ---------------------> PASSING
 *		AHEAD ----- these were in the kernel's page cache ----------> RESTING
 *		RESTING --- so many rows have passed -----------------------> PASSING
 *
 * so that a query on cached data pays for a comparison with each row.  A rest that
 * was right is followed by one twice as long.  Where some looks are late, at what
 * core comes to when all rows have left, it is not to be seen that core reads.  Then
 * they begin on trial, at first and after as many rows as a rest would have.
 *
 * Rows that are held: few at first; twice as many whenever the process had to
 * sleep with all of them held.  No more than have left so far, so that a
 * query which stops early has read for at most twice the rows that it used, and
 * these few; nor more than are still wanted, where that is known.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PACE_H
#define ANAGO_PACE_H

#include "postgres.h"

#include "counts.h"

/* Rows that are held at first. */
#define ANAGO_PACE_START	4

typedef struct AnagoPace
{
	bool		has_late;		/* looks that are late */
	int			trial;			/* with these, PASSING: rows until looks begin */
	int			credit;			/* PASSING: grows with rows that had core read */
	int			needed;			/* this much has looks begin */
	int			rest;			/* RESTING: rows that are yet to pass */
	int			next_rest;		/* how long the next rest is to be */
	int64		blocks;			/* read by the process when the latest row left */

	int			target;			/* AHEAD: rows that are worth holding */
	int64		left;			/* rows of this scan that have left */
	int			since;			/* AHEAD: rows that left since reads were seen */
	int64		useful;			/* reads that were worth it, until then */
	int64		cached;			/* and others */
} AnagoPace;

extern void anago_pace_begin(AnagoPace *pace, bool has_late);

/* A scan begins anew; `ahead`: looks were at work. */
extern void anago_pace_rescan(AnagoPace *pace, bool ahead);

/* A row leaves to whoever is above. */
extern void anago_pace_row(AnagoPace *pace);

/* PASSING or RESTING: are looks to begin? */
extern bool anago_pace_wants_looks(AnagoPace *pace);

/* Looks begin. */
extern void anago_pace_ahead(AnagoPace *pace, const AnagoCounts *counts);

/* AHEAD: are they to end? */
extern bool anago_pace_has_enough(AnagoPace *pace, const AnagoCounts *counts);

/* The process had to sleep for the first row, with `held` rows held. */
extern void anago_pace_slept(AnagoPace *pace, int held, int most);

/* How many rows may be held, if the scan's `stop_at`th (0: not known) is the last? */
extern int	anago_pace_bound(const AnagoPace *pace, int64 stop_at);

#endif							/* ANAGO_PACE_H */
