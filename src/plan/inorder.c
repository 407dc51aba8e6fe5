/*-------------------------------------------------------------------------
 *
 * inorder.c
 *	  Probes that come to pages in the order of the disk.
 *
 * Where the outer rows are a range of an index in whose order the table is, and the
 * keys that they probe with are in the table's order as well, probes go through a
 * range of the inner index from left to right:
 *
 *		users of a month, by created_at		ids that follow each other
 *		orders by user_id					leaves that follow each other
 *
 * There the kernel reads ahead for core, and no page is waited for that would be waited
 * for less with others.  Core's price knows nothing of it, and takes pages to be
 * at random places, of the whole index: forty times as many in the case above.
 *
 * That is so of a short range, and where only the index is read.  Of a long one, or of
 * blocks of the inner table besides, we have more on their way than the kernel reads
 * ahead.  ANALYZE has a correlation for each column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "plan/memo.h"
#include "plan/price.h"

/* Weaker ones say nothing of neighbours. */
#define LEAST_CORRELATION	0.9

/* Of the inner rows, the share for which the table may have to be visited. */
#define NOT_VISITED			0.05

/* A longer range, in leaves of the inner index, is read faster by many reads at once. */
#define SHORT_RANGE			256

bool
anago_is_one_range(const IndexPath *ipath)
{
	ListCell   *lc;

	foreach(lc, ipath->indexclauses)
		if (IsA(lfirst_node(IndexClause, lc)->rinfo->clause, ScalarArrayOpExpr))
			return false;
	return ipath->indexclauses != NIL;
}

/* The scan of a range in whose order the rows of a path are; NULL: of none. */
static const IndexPath *
range_of(const Path *path)
{
	while (path != NULL)
	{
		if (anago_is_path(path))
		{
			const AnagoPath *apath = (const AnagoPath *) path;
			const AnagoPathStep *first = linitial(apath->steps);

			if (apath->source == NULL)
				return anago_is_one_range(first->ipath) ? first->ipath : NULL;
			path = apath->source;
		}
		else if (IsA(path, NestPath))
			path = ((const NestPath *) path)->jpath.outerjoinpath;
		else
			return IsA(path, IndexPath) && anago_is_one_range((const IndexPath *) path) ?
				(const IndexPath *) path : NULL;
	}
	return NULL;
}

static bool
look_up(Oid relid, AttrNumber attno, double *correlation)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid),
										Int16GetDatum(attno), BoolGetDatum(false));
	AttStatsSlot slot;
	bool		known = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		known = slot.nnumbers == 1;
		if (known)
			*correlation = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return known;
}

/* What was found for some columns is kept until statistics change: joins ask for the same few. */
typedef struct KeptCorrelation
{
	Oid			relid;			/* InvalidOid: none */
	AttrNumber	attno;
	bool		known;
	double		correlation;
} KeptCorrelation;

static KeptCorrelation correlations[64];
static uint64 changes = 0;

static void
statistics_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	changes++;
	for (int i = 0; i < lengthof(correlations); i++)
		correlations[i].relid = InvalidOid;
}

static void
keep(KeptCorrelation *one, Oid relid, AttrNumber attno)
{
	static bool registered = false;
	uint64		before = changes;

	if (!registered)
		CacheRegisterSyscacheCallback(STATRELATTINH, statistics_changed, (Datum) 0);
	registered = true;
	one->relid = InvalidOid;	/* also if there is an error */
	one->correlation = 0;
	one->known = look_up(relid, attno, &one->correlation);
	one->attno = attno;
	/* to look it up may itself process invalidations */
	if (changes == before)
		one->relid = relid;
}

bool
anago_correlation(PlannerInfo *root, Index relid, AttrNumber attno, double *correlation)
{
	const RangeTblEntry *rte = planner_rt_fetch(relid, root);
	KeptCorrelation *one;

	if (attno <= 0 || rte->rtekind != RTE_RELATION)
		return false;
	one = &correlations[(rte->relid + attno) % lengthof(correlations)];
	if (one->relid != rte->relid || one->attno != attno)
		keep(one, rte->relid, attno);
	*correlation = one->correlation;
	return one->known;
}

const Var *
anago_compared_with(const IndexPath *ipath)
{
	ListCell   *lc;

	foreach(lc, ipath->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);
		const OpExpr *op = (const OpExpr *) clause->rinfo->clause;

		if (clause->indexcol != 0 || !is_opclause((Node *) op) || list_length(op->args) != 2 ||
			clause->rinfo->mergeopfamilies == NIL)
			continue;
		for (int i = 0; i < 2; i++)
		{
			const Node *arg = strip_implicit_coercions(list_nth(op->args, i));

			if (IsA(arg, Var) && ((const Var *) arg)->varno != ipath->path.parent->relid)
				return (const Var *) arg;
		}
	}
	return NULL;
}

double
anago_pages_in_order(PlannerInfo *root, const AnagoPathStep *step, const Path *outer)
{
	const IndexPath *range;
	const Var  *key;
	double		of_range;
	double		of_key;
	Index		relid;

	if (step->several != NULL || anago_part_visited(step->ipath) > NOT_VISITED ||
		(range = range_of(outer)) == NULL ||
		range->indexselectivity * step->ipath->indexinfo->pages > SHORT_RANGE ||
		range->indexscandir == BackwardScanDirection ||
		!bms_is_member(range->path.parent->relid, outer->parent->relids))
		return 0;
	relid = range->path.parent->relid;
	key = anago_compared_with(step->ipath);
	if (key == NULL || (Index) key->varno != relid ||
		!anago_correlation(root, relid, range->indexinfo->indexkeys[0], &of_range) ||
		!anago_correlation(root, relid, key->varattno, &of_key))
		return 0;
	return of_range * of_key < LEAST_CORRELATION ? 0 : of_range * of_key;
}
