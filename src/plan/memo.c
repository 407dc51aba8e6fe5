/*-------------------------------------------------------------------------
 *
 * memo.c
 *	  What is found out once for a query level, and asked for each join.
 *
 * A join of n tables asks for its tables' index paths some n * 2^n times, and
 * they stay the same all the while: which may be a step, how much of them is
 * cached, what their indexes say.  Core has no place for that before 19, so
 * it is kept beside, for the level that is being planned, in the memory of its
 * PlannerInfo; when that goes, so does the memo.  (GEQO plans joins in memory
 * of their own; what is found out about a table outlives it.)
 *
 * One level is kept.  A subquery is planned as a whole before joins of the
 * level above it are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/spccache.h"

#include "plan/memo.h"
#include "survey/survey.h"

typedef struct KeptMemo
{
	AnagoMemo	memo;
	MemoryContextCallback gone;
} KeptMemo;

static KeptMemo *kept = NULL;

static uint64 planning_number = 1;

bool		anago_any_path = false;

void
anago_begin_planning(void)
{
	planning_number++;
	anago_survey_begin();
}

uint64
anago_planning_number(void)
{
	return planning_number;
}

void
anago_page_costs(const RelOptInfo *rel, double *random_page, double *seq_page)
{
	Oid			tablespace = rel->reltablespace;
	static uint64 of_planning = 0;
	static Oid	of_tablespace;
	static double of_random;
	static double of_seq;

	if (of_planning != planning_number || of_tablespace != tablespace)
	{
		get_tablespace_page_costs(tablespace, &of_random, &of_seq);
		of_planning = planning_number;
		of_tablespace = tablespace;
	}
	if (random_page)
		*random_page = of_random;
	if (seq_page)
		*seq_page = of_seq;
}

static AnagoExpectOverlap expect_overlap = NULL;

void
anago_memo_init(AnagoExpectOverlap expect)
{
	expect_overlap = expect;
}

int
anago_kept_overlap(int most)
{
	static uint64 of_planning = 0;
	static int	of_most;
	static int	overlap;

	if (of_planning != planning_number || of_most != most)
	{
		overlap = expect_overlap(most);
		of_planning = planning_number;
		of_most = most;
	}
	return overlap;
}

/* The memory of some memo is given back. */
static void
forget(void *arg)
{
	if (kept == arg)
		kept = NULL;
}

MemoryContext
anago_memo_context(PlannerInfo *root)
{
	return GetMemoryChunkContext(root);
}

AnagoMemo *
anago_memo(PlannerInfo *root)
{
	int			nrels = root->simple_rel_array_size;
	MemoryContext context;
	AnagoMemo  *memo;

	if (kept != NULL && kept->memo.root == root && kept->memo.nrels == nrels)
		return &kept->memo;
	context = anago_memo_context(root);
	kept = MemoryContextAllocZero(context, sizeof(KeptMemo));
	memo = &kept->memo;
	memo->root = root;
	memo->nrels = nrels;
	memo->probes = MemoryContextAllocZero(context, nrels * sizeof(AnagoProbes));
	kept->gone.func = forget;
	kept->gone.arg = kept;
	MemoryContextRegisterResetCallback(context, &kept->gone);
	return memo;
}

/* What is kept outlives memory of GEQO's, where the expression may be. */
static void
keep_value(PlannerInfo *root, AnagoMemo *memo, Node *expr, Node *value)
{
	MemoryContext old = MemoryContextSwitchTo(anago_memo_context(root));

	memo->expressions = lappend(memo->expressions, copyObject(expr));
	memo->values = lappend(memo->values, copyObject(value));
	MemoryContextSwitchTo(old);
}

Node *
anago_estimate_value(PlannerInfo *root, Node *expr)
{
	AnagoMemo  *memo;
	ListCell   *lce;
	ListCell   *lcv;
	Node	   *value;

	if (IsA(expr, Const) || IsA(expr, Var) || IsA(expr, Param))
		return estimate_expression_value(root, expr);
	memo = anago_memo(root);
	forboth(lce, memo->expressions, lcv, memo->values)
		if (equal(lfirst(lce), expr))
			return lfirst(lcv);
	value = estimate_expression_value(root, expr);
	/* a function of it may have planned something */
	keep_value(root, anago_memo(root), expr, value);
	return value;
}
