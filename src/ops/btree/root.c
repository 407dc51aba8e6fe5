/*-------------------------------------------------------------------------
 *
 * root.c
 *	  The root of a step's index, where its walks begin.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "utils/rel.h"

#include "compat.h"
#include "ops/btree/root.h"

/*
 * The root, locked; InvalidBuffer of an empty index.  That has no page to take
 * a predicate lock on.  Once the index as a whole is locked it has to be
 * looked at again: who inserted before has not seen the lock (_bt_first does
 * the same).
 */
static Buffer
find_root(AnagoStep *step)
{
	Buffer		buf = anago_bt_getroot(step->indexrel, step->heap);

	if (BufferIsValid(buf) || !IsolationIsSerializable())
		return buf;
	ANAGO_INJECTION_POINT("anago-empty-index");
	PredicateLockRelation(step->indexrel, step->op.pipeline->snapshot);
	return anago_bt_getroot(step->indexrel, step->heap);
}

/*
 * Learn root and version of the index.  A root that is split later stays the
 * leftmost page of its level, from which moving right leads everywhere; where
 * that becomes long, the index is opened anew.
 */
static void
open_index(AnagoStep *step)
{
	Buffer		buf = find_root(step);
	bool		allequalimage;

	step->opened = true;
	step->root = InvalidBlockNumber;
	if (!BufferIsValid(buf))
		return;
	step->root = BufferGetBlockNumber(buf);
	step->root_level = BTPageGetOpaque(BufferGetPage(buf))->btpo_level;
	UnlockReleaseBuffer(buf);
	_bt_metaversion(step->indexrel, &step->heapkeyspace, &allequalimage);
	anago_keys_set_version(&step->keys, step->heapkeyspace, allequalimage);
}

void
anago_root_ensure(AnagoStep *step)
{
	if (step->stale)
	{
		anago_pipeline_keep_peak(step->op.pipeline);
		anago_inner_forget(step->inner);
		step->opened = step->stale = false;
	}
	if (!step->opened)
		open_index(step);
}
