/*-------------------------------------------------------------------------
 *
 * late.c
 *	  Late looks: at a table that the statement itself does not name.  See late.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "compat.h"
#include "ops/btree/late.h"
#include "pipeline/held.h"
#include "tryopen.h"

/* Are they still a table and a B-tree of it, read through shared buffers? */
static bool
are_as_planned(const AnagoStep *step)
{
	return step->heap->rd_rel->relam == HEAP_TABLE_AM_OID &&
		!RelationUsesLocalBuffers(step->heap) &&
		step->indexrel->rd_rel->relkind == RELKIND_INDEX &&
		step->indexrel->rd_rel->relam == BTREE_AM_OID &&
		step->indexrel->rd_index->indrelid == RelationGetRelid(step->heap);
}

/* What was known of the index may be of another file. */
static void
note_file(AnagoStep *step)
{
	AnagoLocator file = ANAGO_REL_LOCATOR(step->indexrel);

	step->stale = step->opened && !ANAGO_LOCATOR_EQUALS(file, step->file);
	step->file = file;
}

/* Bounds begin anew with each round. */
static void
see_round(AnagoStep *step)
{
	int			round = step->op.pipeline->held->late.round;

	if (step->round == round)
		return;
	step->round = round;
	step->probed = step->pages = 0;
}

bool
anago_late_may_probe(AnagoStep *step)
{
	AnagoLateBounds *bounds = &step->op.pipeline->held->late;

	see_round(step);
	if (step->probed < bounds->probes && step->pages < bounds->pages)
	{
		step->probed++;
		return true;
	}
	/* core comes to what is further behind when it is through with all rows */
	if (step->before == NULL)
		bounds->reached = true;
	return false;
}

bool
anago_late_add_page(AnagoStep *step)
{
	return ++step->pages < step->op.pipeline->held->late.pages;
}

bool
anago_late_open(AnagoStep *step)
{
	MemoryContext old;

	step->heap = anago_try_open(step->desc->heapid);
	if (step->heap != NULL)
		step->indexrel = anago_try_open(step->desc->indexid);
	if (step->heap == NULL || step->indexrel == NULL || !are_as_planned(step))
	{
		anago_late_close(step);
		return false;
	}
	note_file(step);
	if (step->keys.n > 0)
		return true;
	old = MemoryContextSwitchTo(step->op.pipeline->estate->es_query_cxt);
	/* the slot of rows that are found is no plan node's */
	anago_keys_init(&step->keys, step->indexrel, step->desc,
					step->before == NULL ? step->op.pipeline->ps : NULL);
	MemoryContextSwitchTo(old);
	return true;
}

void
anago_late_close(AnagoStep *step)
{
	anago_try_close(step->indexrel);
	anago_try_close(step->heap);
	step->indexrel = step->heap = NULL;
}
