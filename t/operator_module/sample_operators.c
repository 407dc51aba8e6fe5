/*-------------------------------------------------------------------------
 *
 * sample_operators.c
 *	  Operators for anago from another library: an example, and a test.
 *
 *		heap_visit=backwards	blocks of a leaf's matches in descending order
 *		range=leaf_by_leaf		along right links; counts the leaves with matches
 *		sink=counting			counts the rows that leave
 *
 * The test builds others of it, with faults: SAMPLE_VERSION is the version of the
 * contract that it says it is for, SAMPLE_PADDING makes a size differ, and with
 * SAMPLE_RAISES it raises an error while it loads.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "ops/module.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static int64 leaves = 0;
static int64 rows = 0;

/* --- heap_visit=backwards --- */

static int
compare_descending(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) unconstify(void *, b),
							  (ItemPointer) unconstify(void *, a));
}

static void
backwards_arrange(AnagoMatches *matches)
{
	qsort(matches->tids, matches->n, sizeof(ItemPointerData), compare_descending);
}

static int
backwards_run(const AnagoMatches *matches, int from)
{
	BlockNumber blkno = ItemPointerGetBlockNumber(&matches->tids[from]);

	do
		from++;
	while (from < matches->n &&
		   ItemPointerGetBlockNumber(&matches->tids[from]) == blkno);
	return from;
}

static const AnagoVisitKind backwards = {
	.name = "backwards",
	.arrange = backwards_arrange,
	.run = backwards_run,
};

/* --- range=leaf_by_leaf --- */

static AnagoVerdict
leaf_by_leaf_task(AnagoTask *task)
{
	AnagoWalk  *walk = (AnagoWalk *) task;
	AnagoProbe *probe = walk->probe;
	AnagoStep  *step = probe->step;
	AnagoVerdict verdict;
	Buffer		buf;

	ANAGO_BEGIN(task);
	while (walk->blkno != InvalidBlockNumber && !probe->done)
	{
		anago_walk_copies(walk);
		if (walk->blkno == InvalidBlockNumber)
			break;
		ANAGO_AWAIT_PAGE(task, buf, step->op.pipeline->pages, step->indexrel,
						 walk->blkno);
		anago_walk_page(walk, buf);
		if (walk->matches != NULL)
		{
			leaves++;
			ANAGO_CALL(task, verdict, anago_fetch(walk));
		}
	}
	anago_walk_end(walk);
	ANAGO_END_OF_PROBE(task, step, probe);
}

static const AnagoRangeKind leaf_by_leaf = {
	.name = "leaf_by_leaf",
	.by_combination = true,
	.task = {"leaf by leaf", leaf_by_leaf_task},
};

/* --- sink=counting --- */

static AnagoAccepted
counting_accept(AnagoOp *op, AnagoRow *outer)
{
	rows++;
	return ANAGO_OUT;
}

static const AnagoOpKind counting = {
	.name = "counting",
	.size = sizeof(AnagoOp),
	.accept = counting_accept,
};

/* --- the library --- */

static const AnagoImplementation implementations[] = {
	{"heap_visit", "backwards", &backwards},
	{"range", "leaf_by_leaf", &leaf_by_leaf},
	{"sink", "counting", &counting},
};

static AnagoOperatorModule module = {
	ANAGO_OPERATOR_MODULE("sample_operators", implementations)
};

void
_PG_init(void)
{
#ifdef SAMPLE_VERSION
	module.version = SAMPLE_VERSION;
#endif
#ifdef SAMPLE_PADDING
	module.sizes[0] += SAMPLE_PADDING;
#endif
	anago_operators_register(&module);
#ifdef SAMPLE_RAISES
	ereport(ERROR, (errmsg("the sample raises an error while it loads")));
#endif
}

PG_FUNCTION_INFO_V1(sample_leaves);
PG_FUNCTION_INFO_V1(sample_rows);

Datum
sample_leaves(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(leaves);
}

Datum
sample_rows(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(rows);
}
