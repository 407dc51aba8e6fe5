/*-------------------------------------------------------------------------
 *
 * combos.c
 *	  Combinations of IN-list elements, found by what is on a page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "storage/bufmgr.h"

#include "compat.h"
#include "ops/btree/btpage.h"
#include "ops/btree/combos.h"
#include "ops/btree/descend.h"
#include "ops/btree/root.h"
#include "ops/btree/skip.h"
#include "ops/btree/skippage.h"

/* Does the start or the end of a combination lie at or behind a tuple? */
static inline bool
reaches(AnagoProbe *probe, bool end, Page page, OffsetNumber off, int combo)
{
	AnagoKeys  *keys = &probe->step->keys;

	anago_keys_bind_combo(keys, &probe->keys, combo);
	return anago_bt_reaches(probe->step->indexrel,
							end ? &keys->end : &keys->start, page, off);
}

/*
 * The first of from .. to - 1 that reaches the tuple, or `to`.  It is often
 * near, so steps of growing length come before the binary search.
 */
static int
find(AnagoProbe *probe, bool end, Page page, OffsetNumber off, int from, int to)
{
	int			low = from;
	int			high = from;

	for (int64 length = 1; high < to && !reaches(probe, end, page, off, high);
		 length *= 2)
	{
		low = high + 1;
		high = (int) Min((int64) low + length - 1, (int64) to);
	}
	if (low >= high)
		return high;
	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (reaches(probe, end, page, off, mid))
			high = mid;
		else
			low = mid + 1;
	}
	if (high < to)
		anago_keys_bind_combo(&probe->step->keys, &probe->keys, high);
	return high;
}

int
anago_combo_reaching(AnagoProbe *probe, Page page, OffsetNumber off,
					 int from, int to)
{
	return find(probe, true, page, off, from, to);
}

/* The first one that begins right of the pivot tuple at `off`, or `to`. */
static int
combo_right_of(AnagoProbe *probe, Page page, OffsetNumber off, int from, int to)
{
	return find(probe, false, page, off, from, to);
}

bool
anago_combo_child(AnagoProbe *probe, Page page, OffsetNumber child,
				  int *from, int *to, OffsetNumber *next)
{
	AnagoStep  *step = probe->step;
	OffsetNumber upper = anago_bt_upper_pivot(page, child);
	int			end = *to;

	*next = OffsetNumberNext(child);
	*from = anago_combo_reaching(probe, page, child, *from, end);
	if (upper == InvalidOffsetNumber)
		return *from < end;
	*to = combo_right_of(probe, page, upper, *from, end);
	if (*to > *from && reaches(probe, true, page, upper, *to - 1))
		return true;

	/* none goes on into the next child: where the following one begins */
	if (*to < end && upper != P_HIKEY)
	{
		anago_keys_bind_combo(&step->keys, &probe->keys, *to);
		*next = Max(anago_bt_search(step->indexrel, &step->keys.start, page),
					*next);
	}
	return *to > *from;
}

/* --- runs --- */

void
anago_runs_begin(AnagoProbe *probe, AnagoNextRun *next, int from)
{
	AnagoStep  *step = probe->step;

	next->end = 0;
	next->blkno = next->first = InvalidBlockNumber;
	if (probe->keys.ncombos <= 1 && !anago_skips(&step->keys))
		return;
	anago_root_ensure(step);
	if (step->root == InvalidBlockNumber)
		return;
	if (anago_skips(&step->keys))
	{
		if (anago_skips_inner(step))
			anago_skip_begin(probe, next);
		return;
	}
	/* separators of an old index may not say where a run ends (range.c) */
	if (!step->heapkeyspace || step->range->by_combination)
		next->end = from + 1;
	else if (step->root_level >= 2)
		next->blkno = step->root;
}

void
anago_runs_end(AnagoPipeline *pipeline, AnagoNextRun *next)
{
	anago_bound_free(pipeline, next->lower);
	anago_bound_free(pipeline, next->upper);
	memset(next, 0, sizeof(AnagoNextRun));
}

/* How many combinations end below that child on level 2 and right of it? */
static int
last_ones(AnagoProbe *probe, Page page, OffsetNumber child, int from, int to)
{
	/* what begins where the page does may go on left of it */
	if (child == P_FIRSTDATAKEY(BTPageGetOpaque(page)))
		return 1;
	return to - anago_combo_reaching(probe, page, child, from, to - 1);
}

/* `page` is locked, or a copy, of level 2 or above. */
static void
descend_combos(AnagoProbe *probe, AnagoNextRun *next, Page page, int from, int to)
{
	AnagoStep  *step = probe->step;
	BTScanInsert position = step->backward ? &step->keys.end : &step->keys.start;
	OffsetNumber child;
	OffsetNumber upper;

	anago_keys_bind(&step->keys, &probe->keys, step->backward ? to - 1 : from, to);
	if (!anago_descend(step, position, page, &child, &next->blkno) ||
		BTPageGetOpaque(page)->btpo_level > 2)
		return;
	next->blkno = InvalidBlockNumber;
	if (step->backward)
	{
		next->end = last_ones(probe, page, child, from, to);
		return;
	}
	upper = anago_bt_upper_pivot(page, child);
	next->end = upper == InvalidOffsetNumber ? to :
		combo_right_of(probe, page, upper, from + 1, to);
}

static void
descend(AnagoProbe *probe, AnagoNextRun *next, Page page, int from, int to)
{
	if (anago_skips(&probe->step->keys))
		anago_skip_descend(probe, next, page);
	else
		descend_combos(probe, next, page, from, to);
}

bool
anago_runs_find(AnagoProbe *probe, AnagoNextRun *next, int from, int to)
{
	AnagoStep  *step = probe->step;
	Page		page;

	if (to - from <= 1 && !anago_skips(&step->keys))
		next->blkno = InvalidBlockNumber;
	if (next->blkno == InvalidBlockNumber && next->first == InvalidBlockNumber &&
		next->end == 0)
		next->end = step->backward ? to - from : to;
	while (next->blkno != InvalidBlockNumber &&
		   (page = anago_inner_find(step->inner, next->blkno)) != NULL)
		descend(probe, next, page, from, to);
	return next->blkno != InvalidBlockNumber;
}

void
anago_runs_see(AnagoProbe *probe, AnagoNextRun *next, Buffer buf,
			   int from, int to)
{
	AnagoStep  *step = probe->step;
	Page		page = anago_lock_page(step, buf);

	anago_inner_add(step->inner, next->blkno, page);
	descend(probe, next, page, from, to);
	UnlockReleaseBuffer(buf);
}
