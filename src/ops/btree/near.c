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

/* Where the page is, if a nap may pay. */
static Buffer
locate(const AnagoStep *step, Relation rel, BlockNumber blkno)
{
	const AnagoPipeline *pipeline = step->op.pipeline;

	if (rel->rd_rel->relpages < NEAR_MIN_PAGES || !anago_sched_may_nap(pipeline->sched))
		return InvalidBuffer;
	return anago_page_locate(pipeline->pages, rel, blkno);
}

bool
anago_near_leaf(AnagoWalk *walk)
{
	const AnagoStep *step = walk->probe->step;
	Buffer		buf = locate(step, step->indexrel, walk->blkno);

	walk->u.near = buf;
	if (!BufferIsValid(buf))
		return false;
	anago_touch_leaf(buf, step->middle);
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
	const AnagoStep *step = walk->probe->step;
	ItemPointer tid = &walk->matches->tids[walk->next_match];
	Buffer		buf;

	if (is_touched(walk->matches))
		return false;
	buf = locate(step, step->heap, ItemPointerGetBlockNumber(tid));
	walk->u.near = buf;
	if (!BufferIsValid(buf))
		return false;
	anago_touch_page(buf, ItemPointerGetOffsetNumber(tid));
	return true;
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
