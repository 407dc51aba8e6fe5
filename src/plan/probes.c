/*-------------------------------------------------------------------------
 *
 * probes.c
 *	  Steps that a join could be made longer by: probes of its inner side.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/paths.h"

#include "compat_plan.h"
#include "plan/memo.h"
#include "plan/paths.h"

/*
 * Can rows of outerrel give this path its parameters, of which it has some?  Or
 * some of them, the rest coming from further out?
 *
 * Paths of a partition are parameterized by the topmost parents of other
 * partitions until the plan is made, so that partitionwise joins fail this test.
 */
static bool
takes_rows_of(const Path *path, const RelOptInfo *outerrel)
{
	return bms_overlap(PATH_REQ_OUTER(path), outerrel->relids);
}

/* The relations whose rows can give paths of a table their parameters: the same in all joins. */
static Relids
known_wanted(PlannerInfo *root, const RelOptInfo *rel)
{
	AnagoProbes *probes = &anago_memo(root)->probes[rel->relid];
	MemoryContext old;
	ListCell   *lc;

	if (probes->wanted_known)
		return probes->wanted;
	old = MemoryContextSwitchTo(anago_memo_context(root));
	foreach(lc, rel->pathlist)
		probes->wanted = bms_add_members(probes->wanted,
										 PATH_REQ_OUTER((Path *) lfirst(lc)));
	probes->wanted_known = true;
	MemoryContextSwitchTo(old);
	return probes->wanted;
}

bool
anago_is_probed_by(PlannerInfo *root, const RelOptInfo *innerrel,
				   const RelOptInfo *outerrel)
{
	return innerrel->ppilist != NIL &&
		bms_overlap(known_wanted(root, innerrel), outerrel->relids);
}

/*
 * What a join with an Append could be made of: a step that takes rows of any
 * relation, or NULL for none.  Kept in place of all of these.
 */
static AnagoPathStep *
append_step(PlannerInfo *root, AppendPath *append)
{
	List	   *members;

	if (append->path.parallel_aware || append->path.param_info == NULL ||
		!anago_quals_eligible(root, append->path.param_info->ppi_clauses))
		return NULL;
	members = anago_append_members(root, append);
	return members == NIL ? NULL :
		anago_make_step_of_several(root, &append->path, members);
}

/*
 * One table: each index path of it may make a step, and each OR.  Whether its conditions
 * qualify is asked when it is wanted.
 */
static List *
table_steps(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, anago_collect_index_paths(rel->pathlist))
	{
		IndexPath  *ipath = lfirst(lc);

		if (ipath->path.param_info != NULL && anago_is_probe(ipath))
			result = lappend(result, anago_make_step(ipath, JOIN_INNER));
	}
	return list_concat(result, anago_arm_steps(root, rel));
}

/* Several tables: each Append. */
static List *
append_steps(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, rel->pathlist)
	{
		AnagoPathStep *step = IsA(lfirst(lc), AppendPath) ?
			append_step(root, lfirst(lc)) : NULL;

		if (step != NULL)
			result = lappend(result, step);
	}
	return result;
}

static List *
steps_of(PlannerInfo *root, RelOptInfo *rel)
{
	if (anago_append_eligible(root, rel))
		return append_steps(root, rel);
	if (anago_rel_eligible(root, rel))
		return table_steps(root, rel);
	return NIL;
}

/*
 * All steps that a probe of this table could be, whichever rows it is for.
 * They are the same in all joins: a copy is made for each.
 */
static List *
known_steps(PlannerInfo *root, RelOptInfo *rel)
{
	AnagoMemo  *memo = anago_memo(root);
	AnagoProbes *probes = &memo->probes[rel->relid];

	if (!probes->known)
	{
		MemoryContext old = MemoryContextSwitchTo(anago_memo_context(root));

		probes->steps = steps_of(root, rel);
		probes->known = true;
		MemoryContextSwitchTo(old);
	}
	return probes->steps;
}

bool
anago_has_path(const List *pathlist)
{
	ListCell   *lc;

	if (!anago_any_path)
		return false;
	foreach(lc, pathlist)
		if (anago_is_path(lfirst(lc)))
			return true;
	return false;
}

/* May this one be made?  Those of several members have been looked at before. */
static bool
step_eligible(PlannerInfo *root, const AnagoPathStep *step)
{
	AnagoStepFacts *facts = step->facts;

	if (facts->eligible == ANAGO_NOT_ASKED)
		facts->eligible = step->several != NULL ||
			anago_index_path_eligible(root, step->ipath) ? ANAGO_YES : ANAGO_NO;
	return facts->eligible == ANAGO_YES;
}

/*
 * Of these, the ones that take rows of outerrel, and might gain something: by themselves or as
 * part of a pipeline.
 */
List *
anago_inner_candidates(PlannerInfo *root, const RelOptInfo *joinrel, RelOptInfo *outerrel,
					   RelOptInfo *innerrel, JoinType jointype)
{
	bool		longer = anago_has_path(outerrel->pathlist) ||
		anago_has_path(outerrel->partial_pathlist);
	List	   *steps = known_steps(root, innerrel);
	List	   *result = NIL;
	ListCell   *lc;

	if (steps == NIL)
		anago_why_not(root, innerrel, InvalidOid, ANAGO_WHY_LIMITED);
	foreach(lc, steps)
	{
		const AnagoPathStep *step = lfirst(lc);
		const Path *inner = anago_step_inner(step);

		if (!takes_rows_of(inner, outerrel))
			continue;
		if (!longer && !anago_naps_may_save(root, joinrel, outerrel, step, jointype) &&
			!anago_step_may_gain(root, step, outerrel->rows))
			anago_why_not(root, innerrel, step->ipath->indexinfo->indexoid,
						  ANAGO_WHY_CACHED);
		else if (!step_eligible(root, step))
			anago_why_not(root, innerrel, step->ipath->indexinfo->indexoid,
						  ANAGO_WHY_INELIGIBLE);
		else
			result = lappend(result, lfirst(lc));
	}
	return result;
}
