/*-------------------------------------------------------------------------
 *
 * near.c
 *	  A page in shared buffers, brought nearer to the CPU while other tasks run.
 *	  See near.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/btree/near.h"
#include "page/touch.h"

/*
 * The size in blocks below which a table or index is taken to be in the CPU's caches:
 * twice what one core has of its own nowadays.
 */
#ifdef ANAGO_TINY_BOUNDS
#define NEAR_MIN_PAGES	0
#else
#define NEAR_MIN_PAGES	512
#endif

/* Look up where the page is, if a nap may pay; false: it does not, or is not known. */
static bool
locate(AnagoWalk *walk, AnagoRecent **recent, Relation rel, BlockNumber blkno)
{
	AnagoStep  *step = walk->probe->step;

	walk->u.near = rel->rd_rel->relpages < NEAR_MIN_PAGES ||
		!anago_sched_may_nap(step->op.pipeline->sched) ||
		!anago_page_may_be_near(step->op.pipeline->pages, rel) ? InvalidBuffer :
		anago_recent_find(recent, rel, blkno);
	return BufferIsValid(walk->u.near);
}

bool
anago_near_leaf(AnagoWalk *walk)
{
	AnagoStep  *step = walk->probe->step;

	if (!locate(walk, &step->recent_leaves, step->indexrel, walk->blkno))
		return false;
	anago_touch_leaf(walk->u.near, step->middle);
	return true;
}

/* A leaf with many matches has them touched along the way (matches.c). */
static inline bool
is_touched(const AnagoMatches *matches)
{
	return matches->n >= ANAGO_AHEAD_MIN_MATCHES;
}

bool
anago_near_match(AnagoWalk *walk)
{
	ItemPointer tid = &walk->matches->tids[walk->next_match];
	AnagoStep  *step = walk->probe->step;

	if (is_touched(walk->matches) ||
		!locate(walk, &step->recent_blocks, step->heap, ItemPointerGetBlockNumber(tid)))
		return false;
	anago_touch_page(walk->u.near, ItemPointerGetOffsetNumber(tid));
	return true;
}

void
anago_near_tuple(const AnagoWalk *walk)
{
	anago_touch_tuple(walk->u.near,
					  ItemPointerGetOffsetNumber(&walk->matches->tids[walk->next_match]));
}

Buffer
anago_near_hint(const AnagoWalk *walk)
{
	const AnagoAhead *ahead = &walk->u.ahead;

	if (walk->matches == NULL || !is_touched(walk->matches))
		return walk->u.near;
	return ahead->located > walk->next_match ?
		ahead->buf[walk->next_match % ANAGO_AHEAD] : InvalidBuffer;
}

Buffer
anago_near_again(AnagoStep *step, Relation rel, BlockNumber blkno, Buffer hint)
{
	Buffer		buf = anago_page_again(step->op.pipeline->pages, rel, blkno, hint);
	AnagoRecent *recent = rel == step->heap ? step->recent_blocks : step->recent_leaves;

	if (BufferIsValid(hint) && !BufferIsValid(buf))
		anago_recent_forget(recent, rel, blkno);
	return buf;
}
