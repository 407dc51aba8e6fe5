/*-------------------------------------------------------------------------
 *
 * static.c
 *	  anago.mode = static: the source is cut once, into equal parts.
 *
 * What databases with parallel scans usually do, and what the papers compare
 * out-of-order execution with: each process has its part of the source from
 * the beginning, and runs it in order, one read at a time.  A part with more
 * work in it than others then takes longer than all of them.
 *
 * Parts are equal by leaves of the index.  The first process counts them; then
 * each, by turns, takes copies of those pages of level 1 that have its part.
 * One walk along that level, whoever does it, sees every child once; so the
 * parts are right under concurrent splits and deletions for the same reasons
 * as the walk of one process is (range.c), however much the count may have
 * changed meanwhile: the last part is what is left.
 *
 * An IN list is cut by its combinations; a table or subquery below a join is
 * cut by core, as it sees fit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "ops/btree/descend.h"
#include "ops/btree/distribute.h"
#include "ops/btree/probe.h"
#include "ops/btree/range.h"
#include "ops/btree/span.h"
#include "shared/items.h"
#include "shared/share.h"

/* One page of this process's part. */
typedef struct Piece
{
	struct Piece *next;
	AnagoSpan  *span;
} Piece;

struct AnagoParts
{
	AnagoProbe *probe;			/* of the unit row */
	Piece	   *pieces;			/* not yet begun, in order */
};

static AnagoCut *
cut_of(AnagoStep *step)
{
	return anago_segment_source(step->op.pipeline->peers.segment);
}

static int
nparts_of(AnagoStep *step)
{
	return step->op.pipeline->peers.segment->source.nparts;
}

/* --- pages of level 1 --- */

static Buffer
read_page(AnagoStep *step, BlockNumber blkno)
{
	Buffer		buf;

	/* nothing is pinned or locked */
	CHECK_FOR_INTERRUPTS();
	buf = ReadBuffer(step->indexrel, blkno);
	(void) anago_lock_page(step, buf);
	return buf;
}

/*
 * The page `buf`, locked, or the first right of it that has part of the
 * range; from_start: the range's beginning.
 */
static Buffer
move_right(AnagoStep *step, Buffer buf, bool from_start)
{
	for (;;)
	{
		Page		page = BufferGetPage(buf);
		BlockNumber next = BTPageGetOpaque(page)->btpo_next;

		if (!anago_starts_right(step, page, from_start))
			return buf;
		UnlockReleaseBuffer(buf);
		buf = read_page(step, next);
	}
}

/* Describe the page in `buf`, which is given up. */
static void
take_page(AnagoStep *step, AnagoBatch *at, Buffer buf, bool from_start)
{
	Page		page = BufferGetPage(buf);

	anago_batch_fill(step, at, page,
					 anago_first_child(step, page, from_start), from_start);
	UnlockReleaseBuffer(buf);
}

static void
next_page(AnagoStep *step, AnagoBatch *at)
{
	take_page(step, at, move_right(step, read_page(step, anago_batch_page(at)->next), false), false);
}

/* Descend to where the range starts; false: the tree has no level 1. */
static bool
first_page(AnagoStep *step, AnagoBatch *at)
{
	Buffer		buf = anago_bt_getroot(step->indexrel, step->heap);

	while (BufferIsValid(buf))
	{
		Page		page;
		BTPageOpaque opaque;
		BlockNumber blkno;

		buf = move_right(step, buf, true);
		page = BufferGetPage(buf);
		opaque = BTPageGetOpaque(page);
		if (P_ISLEAF(opaque) || opaque->btpo_level == 1)
			break;
		blkno = anago_child_block(page, anago_first_child(step, page, true));
		UnlockReleaseBuffer(buf);
		buf = read_page(step, blkno);
	}
	if (!BufferIsValid(buf))
		return false;
	if (P_ISLEAF(BTPageGetOpaque(BufferGetPage(buf))))
	{
		UnlockReleaseBuffer(buf);
		return false;
	}
	take_page(step, at, buf, true);
	return true;
}

/* --- the cut; at this process's turn --- */

/*
 * Count the leaves of the whole range, then stand at its first one again.
 * False: there is nothing to be cut.
 */
static bool
open_source(AnagoStep *step, AnagoCut *cut)
{
	AnagoBatch *at = &cut->at;

	cut->opened = true;
	if (!step->heapkeyspace || !first_page(step, at))
	{
		cut->parts = nparts_of(step);
		return false;
	}
	cut->leaves = anago_pieces_left(at);
	while (at->more)
	{
		next_page(step, at);
		cut->leaves += anago_pieces_left(at);
	}
	return first_page(step, at);
}

/* Cut up to `n` children off the page at which the source stands. */
static int
cut_piece(AnagoStep *step, AnagoBatch *at, int64 n, Piece **tail)
{
	AnagoPipeline *pipeline = step->op.pipeline;
	Piece	   *piece = MemoryContextAlloc(pipeline->context, sizeof(Piece));
	AnagoSpan  *span = anago_span_create(pipeline, 0, 1);

	n = Min(n, anago_pieces_left(at));
	span->batch = *at;
	span->batch.seq = 1;
	span->batch.more = false;
	span->batch.last = at->piece + n - 1;
	anago_span_at(span)->ends = anago_batch_page(at)->ends && span->batch.last == at->last;
	at->piece += n;

	piece->span = span;
	piece->next = NULL;
	*tail = piece;
	return n;
}

/* The next part becomes this process's; false: there is none. */
static bool
cut_part(AnagoStep *step, AnagoCut *cut)
{
	AnagoBatch *at = &cut->at;
	Piece	  **tail = &step->parts->pieces;
	int			left = nparts_of(step) - cut->parts;
	int64		n;

	if (left <= 0)
		return false;
	cut->parts++;
	n = left == 1 ? PG_INT64_MAX :
		((int64) (cut->leaves - cut->done) + left - 1) / left;
	while (n > 0)
	{
		int			got;

		if (anago_pieces_left(at) == 0)
		{
			if (!at->more)
				break;
			next_page(step, at);
		}
		got = cut_piece(step, at, n, tail);
		tail = &(*tail)->next;
		cut->done += got;
		n -= got;
	}
	return step->parts->pieces != NULL;
}

/* --- the policy --- */

/*
 * What comes next in this process's part or, at the end of it, in one that no
 * other process has come for.
 */
static bool
static_more(AnagoStep *step)
{
	AnagoPipeline *pipeline = step->op.pipeline;
	AnagoParts *parts = step->parts;
	Piece	   *piece;

	if (parts == NULL)
		return false;
	if (parts->pieces == NULL)
	{
		bool		more;

		anago_range_prepare(parts->probe);
		anago_source_enter(pipeline->peers.share);
		more = cut_part(step, cut_of(step));
		anago_source_leave(pipeline->peers.share);
		if (!more)
			return false;
	}
	piece = parts->pieces;
	parts->pieces = piece->next;
	anago_range_spawn_span(parts->probe, piece->span);
	pfree(piece);
	return true;
}

static void
static_start(AnagoStep *step)
{
	AnagoPipeline *pipeline = step->op.pipeline;
	AnagoCut   *cut = cut_of(step);
	AnagoProbe *probe;
	bool		whole = false;

	probe = anago_probe_hold(step);
	if (probe->keys.ncombos != 1)
	{
		anago_range_spawn(probe);
		anago_probe_release(probe);
		return;
	}

	anago_range_prepare(probe);
	step->parts = MemoryContextAllocZero(pipeline->context, sizeof(AnagoParts));
	step->parts->probe = probe;
	anago_source_enter(pipeline->peers.share);
	if (!cut->opened)
	{
		step->op.counters.probes++;
		whole = !open_source(step, cut);
	}
	anago_source_leave(pipeline->peers.share);
	if (whole)
		anago_range_spawn(probe);
	else
		static_more(step);
}

static bool
static_claim(AnagoProbe *probe, int *from, int *to)
{
	return anago_claim(probe->step->op.pipeline->peers.share,
					   probe->keys.ncombos, ANAGO_CLAIM_PART, from, to);
}

const AnagoDistribution anago_static = {
	.name = "static",
	.shares = false,
	.start = static_start,
	.more = static_more,
	.claim = static_claim,
};
