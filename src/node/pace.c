/*-------------------------------------------------------------------------
 *
 * pace.c
 *	  How far AnagoAhead runs ahead.  See pace.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"

#include "guc.h"
#include "node/pace.h"

/*
 * A row for which core read blocks is worth as much credit as so many for which
 * it did not take away.
 */
#define CREDIT_OF_READ		16

/*
 * So much credit has looks begin: at first, and after they were of no use.  At first it
 * takes two rows that are near each other: where keys follow each other, the first row
 * has core read what the next ones find.
 */
#define NEEDED_AT_FIRST		(2 * CREDIT_OF_READ - 1)
#define NEEDED_AFTERWARDS	(4 * CREDIT_OF_READ)

/* AHEAD: rows after which reads are looked at, and reads that are enough. */
#define LOOKED_AT_AFTER		64
#define READS_ENOUGH		2

/* Rows of a rest: the first one, and at most. */
#define REST_FIRST			256
#define REST_MOST			16384

static inline int64
blocks_read(void)
{
	return pgBufferUsage.shared_blks_read;
}

/* Reads that overlapped, or would have, had there been more of them. */
static inline int64
useful_reads(const AnagoCounts *counts)
{
	return counts->reads + counts->sync_alone;
}

static inline int64
other_reads(const AnagoCounts *counts)
{
	return counts->sync_reads - counts->sync_alone;
}

void
anago_pace_begin(AnagoPace *pace, bool has_late)
{
	memset(pace, 0, sizeof(AnagoPace));
	pace->has_late = has_late;
	pace->needed = NEEDED_AT_FIRST;
	pace->next_rest = REST_FIRST;
	pace->blocks = blocks_read();
}

void
anago_pace_rescan(AnagoPace *pace, bool ahead)
{
	if (ahead)
		pace->credit = pace->needed;
	pace->left = 0;
	pace->blocks = blocks_read();
}

void
anago_pace_row(AnagoPace *pace)
{
	pace->left++;
	pace->since++;
	pace->blocks = blocks_read();
}

bool
anago_pace_wants_looks(AnagoPace *pace)
{
	if (anago_debug_force)
		return true;
	if (pace->rest > 0)
	{
		pace->rest--;
		return false;
	}
	if (pace->has_late && pace->trial-- <= 0)
		return true;
	if (blocks_read() != pace->blocks)
		pace->credit += CREDIT_OF_READ;
	else if (pace->credit > 0)
		pace->credit--;
	return pace->credit >= pace->needed;
}

static void
see_reads(AnagoPace *pace, const AnagoCounts *counts)
{
	pace->since = 0;
	pace->useful = useful_reads(counts);
	pace->cached = other_reads(counts);
}

void
anago_pace_ahead(AnagoPace *pace, const AnagoCounts *counts)
{
	pace->credit = 0;
	pace->target = ANAGO_PACE_START;
	see_reads(pace, counts);
}

/* Looks were of no use; `cached`: as the kernel had the blocks that they read. */
static void
have_break(AnagoPace *pace, bool cached)
{
	pace->trial = 0;
	if (cached)
		pace->rest = pace->next_rest;
	else
	{
		pace->needed = NEEDED_AFTERWARDS;
		pace->trial = pace->next_rest;
	}
	if (cached || pace->has_late)
		pace->next_rest = Min(pace->next_rest * 2, REST_MOST);
}

/*
 * Late looks are made for all rows that are held, and then for none until these have
 * left: that is seen of twice as many.
 */
static int
looked_at_after(const AnagoPace *pace)
{
	return pace->has_late ? Max(LOOKED_AT_AFTER, 2 * pace->target) : LOOKED_AT_AFTER;
}

bool
anago_pace_has_enough(AnagoPace *pace, const AnagoCounts *counts)
{
	bool		useful;

	if (pace->since < looked_at_after(pace) || anago_debug_force)
		return false;
	useful = useful_reads(counts) - pace->useful >= READS_ENOUGH;
	if (useful)
		pace->next_rest = REST_FIRST;
	else
		have_break(pace, other_reads(counts) - pace->cached >= READS_ENOUGH);
	see_reads(pace, counts);
	return !useful;
}

void
anago_pace_slept(AnagoPace *pace, int held, int most)
{
	if (held >= pace->target)
		pace->target = Min(pace->target * 2, most);
}

int
anago_pace_bound(const AnagoPace *pace, int64 stop_at)
{
	int64		bound = Min(pace->target, Max(pace->left, ANAGO_PACE_START));

	if (stop_at > 0)
		bound = Min(bound, stop_at - pace->left);
	return (int) Max(bound, 1);
}
