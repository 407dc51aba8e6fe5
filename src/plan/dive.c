/*-------------------------------------------------------------------------
 *
 * dive.c
 *	  What planning looks up for an index path: how many entries it finds, and
 *	  how much of what it reads is cached.
 *
 * Core takes the former from statistics of the table: the number of distinct values,
 * a histogram.  They are out of date at times; of a clustered column the number
 * of distinct values is often too low by a factor of ten or more, as ANALYZE
 * samples whole blocks; and conditions on several columns count as independent.
 * What a pipeline reads and costs depends on it more than on anything else.
 *
 *		equalities with values that are not known yet		the size of a
 *		(probes of a join, parameters)						group (groups.c)
 *		the same on all columns of a unique index			1
 *		constants											places (range.c)
 *
 * Rules
 *	- Core's estimates and costs stay as they are: rows of relations are shared
 *	  by all paths.  The answer is for the cost of our own path (cost.c).
 *	- A sample that does not contradict core, within two standard errors, says
 *	  nothing.
 *	- Conditions that do not bound the walk, or bound it within a group, keep
 *	  the selectivity that core gives them.
 *	- Not asked: lists, row comparisons, IS NULL; indexes that are not ours to
 *	  probe; and scans and probes that are cheap, so that lookups of a few rows
 *	  are planned as fast as ever.
 *	- Below a security barrier constants are not looked up: cost estimates
 *	  would tell what rows there are that one may not see.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "guc.h"
#include "plan/dive.h"
#include "plan/memo.h"
#include "survey/survey.h"

/*
 * Worth asking: steps that cost as much as so many random pages, of which most
 * questions take fewer.
 */
#define ANAGO_DIVE_WORTH	100.0

/* Tables of a step that speak for all: of so many it is looked up what is cached. */
#define ANAGO_COLD_TABLES	8

/* Of another join size than this factor either way, the index knows nothing. */
#define ANAGO_JOIN_DOUBT	2.0

/* Conditions of an index path by what they do to the walk; see core's btcostestimate(). */
typedef struct WalkShape
{
	int			nequal;			/* leading columns with an equality */
	IndexClause *equal[INDEX_MAX_KEYS];
	Oid			type[INDEX_MAX_KEYS];	/* right types */
	RestrictInfo *lower;		/* of the column behind them, or NULL */
	RestrictInfo *upper;
	bool		lower_strict;
	bool		upper_strict;
	Oid			lower_type;
	Oid			upper_type;
	List	   *rest;			/* that do not bound the walk */
} WalkShape;

/* The one condition of an index clause that the shape can have; or NULL. */
static RestrictInfo *
only_operator(const IndexClause *iclause)
{
	RestrictInfo *rinfo;

	if (list_length(iclause->indexquals) != 1)
		return NULL;
	rinfo = linitial_node(RestrictInfo, iclause->indexquals);
	return IsA(rinfo->clause, OpExpr) ? rinfo : NULL;
}

/* Take a condition for a bound of column nequal; false if there is one. */
static bool
take_bound(WalkShape *shape, RestrictInfo *rinfo, int strategy, Oid righttype)
{
	bool		lower = strategy == BTGreaterStrategyNumber ||
		strategy == BTGreaterEqualStrategyNumber;
	bool		strict = strategy == BTGreaterStrategyNumber ||
		strategy == BTLessStrategyNumber;

	if (lower ? shape->lower != NULL : shape->upper != NULL)
		return false;
	if (lower)
	{
		shape->lower = rinfo;
		shape->lower_strict = strict;
		shape->lower_type = righttype;
	}
	else
	{
		shape->upper = rinfo;
		shape->upper_strict = strict;
		shape->upper_type = righttype;
	}
	return true;
}

/*
 * Sort a path's conditions.  Index clauses come by column.  False where the
 * walk is of a kind that is not asked about.
 */
static bool
shape_of(const IndexPath *ipath, WalkShape *shape)
{
	const IndexOptInfo *index = ipath->indexinfo;
	ListCell   *lc;
	ListCell   *lcq;

	memset(shape, 0, sizeof(WalkShape));
	foreach(lc, ipath->indexclauses)
	{
		IndexClause *iclause = lfirst_node(IndexClause, lc);
		int			col = iclause->indexcol;

		foreach(lcq, iclause->indexquals)
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lcq);
			int			strategy;
			Oid			lefttype;
			Oid			righttype;

			if (!IsA(rinfo->clause, OpExpr))
				return false;
			get_op_opfamily_properties(((OpExpr *) rinfo->clause)->opno,
									   index->opfamily[col], false,
									   &strategy, &lefttype, &righttype);
			if (strategy == BTEqualStrategyNumber && col == shape->nequal &&
				only_operator(iclause) != NULL &&
				shape->lower == NULL && shape->upper == NULL)
			{
				shape->type[col] = righttype;
				shape->equal[shape->nequal++] = iclause;
			}
			else if (strategy == BTEqualStrategyNumber ||
					 col != shape->nequal ||
					 !take_bound(shape, rinfo, strategy, righttype))
				shape->rest = lappend(shape->rest, rinfo);
		}
	}
	return shape->nequal > 0 || shape->lower != NULL || shape->upper != NULL;
}

/* The value of a condition's right side, as far as planning can know it. */
static bool
value_of(PlannerInfo *root, const RestrictInfo *rinfo, Oid type, bool strict,
		 AnagoBound *bound)
{
	Node	   *right = lsecond(((OpExpr *) rinfo->clause)->args);
	Const	   *value;

	value = (Const *) anago_estimate_value(root, right);
	if (!IsA(value, Const) || value->constisnull)
		return false;
	bound->given = true;
	bound->strict = strict;
	bound->type = type;
	bound->typlen = value->constlen;
	bound->typbyval = value->constbyval;
	bound->value = value->constvalue;
	return true;
}

/* A walk between constants. */
static bool
range_of(PlannerInfo *root, const WalkShape *shape, AnagoIndexRange *range)
{
	memset(range, 0, sizeof(AnagoIndexRange));
	range->nequal = shape->nequal;
	for (int i = 0; i < shape->nequal; i++)
		if (!value_of(root, only_operator(shape->equal[i]), shape->type[i],
					  false, &range->equal[i]))
			return false;
	return (shape->lower == NULL ||
			value_of(root, shape->lower, shape->lower_type,
					 shape->lower_strict, &range->lower)) &&
		(shape->upper == NULL ||
		 value_of(root, shape->upper, shape->upper_type,
				  shape->upper_strict, &range->upper));
}

/* What core thinks of conditions, others than equalities on the first columns. */
static Selectivity
selectivity_of(PlannerInfo *root, const IndexPath *ipath, List *rinfos)
{
	if (rinfos == NIL)
		return 1.0;
	return clauselist_selectivity(root, rinfos, ipath->path.parent->relid,
								  JOIN_INNER, NULL);
}

static List *
bounds_of(const WalkShape *shape)
{
	List	   *bounds = NIL;

	if (shape->lower)
		bounds = lappend(bounds, shape->lower);
	if (shape->upper)
		bounds = lappend(bounds, shape->upper);
	return bounds;
}

/* Distinct values that probes bring for these columns, at most. */
static double
values_brought(PlannerInfo *root, const WalkShape *shape)
{
	double		values = 1;

	for (int i = 0; i < shape->nequal; i++)
	{
		OpExpr	   *clause = (OpExpr *) only_operator(shape->equal[i])->clause;
		VariableStatData vardata;
		bool		isdefault;
		double		tuples;

		examine_variable(root, lsecond(clause->args), 0, &vardata);
		values *= get_variable_numdistinct(&vardata, &isdefault);
		tuples = vardata.rel ? vardata.rel->tuples : 0;
		ReleaseVariableStats(vardata);
		if (tuples > 0)
			values = Min(values, tuples);
	}
	return values;
}

/* Does core know the join's size from a foreign key between the two sides? */
static bool
has_foreign_key(PlannerInfo *root, const IndexPath *ipath)
{
	Relids		outer = ipath->path.param_info->ppi_req_outer;
	Index		inner = ipath->path.parent->relid;
	ListCell   *lc;

	foreach(lc, root->fkey_list)
	{
		ForeignKeyOptInfo *fk = lfirst_node(ForeignKeyOptInfo, lc);

		if ((fk->con_relid == inner && bms_is_member(fk->ref_relid, outer)) ||
			(fk->ref_relid == inner && bms_is_member(fk->con_relid, outer)))
			return true;
	}
	return false;
}

AnagoStepFacts *
anago_no_facts(void)
{
	AnagoStepFacts *facts = palloc0(sizeof(AnagoStepFacts));

	facts->io = facts->filter = facts->cold = facts->join_ratio = facts->evaluated =
		facts->again = facts->evaluations = ANAGO_NOT_LOOKED_UP;
	return facts;
}

/*
 * By how much core's size of an inner join is wrong, as it multiplies
 *
 *		1 / max(values brought, values in the index)
 *
 * of each column, with the index's own number of distinct values in statistics.
 * The same for all columns together, with the number that the index has:
 * where that agrees roughly, or a foreign key says it, core is right.
 */
static double
join_ratio(PlannerInfo *root, const IndexPath *ipath, const WalkShape *shape,
		   double entries, SpecialJoinInfo *sjinfo)
{
	double		values = Max(ipath->indexinfo->tuples / entries, 1.0);
	Selectivity core = 1.0;
	double		ratio;

	if (has_foreign_key(root, ipath))
		return 1.0;
	for (int i = 0; i < shape->nequal; i++)
	{
		RestrictInfo *rinfo = shape->equal[i]->rinfo;

		if (bms_membership(rinfo->clause_relids) != BMS_MULTIPLE)
			return 1.0;
		core *= clause_selectivity(root, (Node *) rinfo, 0, JOIN_INNER, sjinfo);
	}
	if (core <= 0)
		return 1.0;
	ratio = 1.0 / Max(values, values_brought(root, shape)) / core;
	return ratio > ANAGO_JOIN_DOUBT || ratio < 1 / ANAGO_JOIN_DOUBT ? ratio : 1.0;
}

/* Entries of a walk for a value that is not known; 0: no better than core. */
static double
entries_of_group(const IndexOptInfo *index, const WalkShape *shape,
				 double believed, double *blocks)
{
	AnagoGroups groups;

	*blocks = 1;
	if (index->unique && shape->nequal >= index->nkeycolumns)
		return believed > 1 ? 1 : 0;
	if (!anago_survey_groups(index->indexoid, index->pages, shape->nequal, &groups))
		return 0;
	*blocks = groups.blocks;
	return believed >= groups.low && believed <= groups.high ? 0 : groups.entries;
}

static void
dive_for_groups(PlannerInfo *root, const IndexPath *ipath,
				const WalkShape *shape, AnagoStepFacts *facts)
{
	AnagoDive  *dive = &facts->dive;
	IndexOptInfo *index = ipath->indexinfo;
	Selectivity within = selectivity_of(root, ipath,
										list_concat(bounds_of(shape), shape->rest));
	double		believed;
	double		blocks;
	double		entries;

	if (within <= 0)
		return;
	believed = ipath->indexselectivity * index->rel->tuples / within;
	entries = entries_of_group(index, shape, believed, &blocks);
	dive->known = entries > 0 && believed > 0;
	dive->blocks = Max(Min(blocks, (dive->known ? entries : believed) * within), 1.0);
	if (!dive->known)
		return;
	dive->entries = entries * within;
	dive->ratio = entries / believed;
	facts->group = entries;
}

static void
dive_for_range(PlannerInfo *root, const IndexPath *ipath,
			   const WalkShape *shape, const AnagoIndexRange *range,
			   AnagoDive *dive)
{
	IndexOptInfo *index = ipath->indexinfo;
	double		believed = ipath->indexselectivity * index->rel->tuples;
	double		entries;

	if (index->pages < 1 || believed <= 0 ||
		!anago_survey_range(index->indexoid, index->pages, range,
							index->tuples / index->pages, &entries))
		return;
	dive->known = true;
	dive->entries = Min(entries, index->tuples) *
		selectivity_of(root, ipath, shape->rest);
	dive->ratio = dive->entries / believed;
}

static void
look_up(PlannerInfo *root, const IndexPath *ipath, AnagoStepFacts *facts)
{
	WalkShape	shape;
	AnagoIndexRange range;

	facts->dive.ratio = facts->dive.join_ratio = 1.0;
	if (!shape_of(ipath, &shape))
		return;
	if (ipath->path.param_info == NULL && range_of(root, &shape, &range))
	{
		if (root->qual_security_level == 0)
			dive_for_range(root, ipath, &shape, &range, &facts->dive);
	}
	else if (shape.nequal > 0)
		dive_for_groups(root, ipath, &shape, facts);
}

/* Of an inner join: the same in all, whatever is on the other side. */
static double
known_join_ratio(PlannerInfo *root, const IndexPath *ipath,
				 AnagoStepFacts *facts, SpecialJoinInfo *sjinfo)
{
	WalkShape	shape;

	if (facts->group <= 0 || sjinfo == NULL ||
		sjinfo->jointype != JOIN_INNER || ipath->path.param_info == NULL)
		return 1.0;
	if (facts->join_ratio < 0)
		facts->join_ratio = shape_of(ipath, &shape) ?
			join_ratio(root, ipath, &shape, facts->group, sjinfo) : 1.0;
	return facts->join_ratio;
}

bool
anago_may_dive(Cost cost)
{
	return !anago_debug_force && anago_dive_pages > 0 &&
		cost >= ANAGO_DIVE_WORTH * random_page_cost;
}

bool
anago_ask_index(PlannerInfo *root, const IndexPath *ipath, AnagoStepFacts *facts,
				Cost cost)
{
	if (ipath->indexinfo->hypothetical || !anago_may_dive(cost))
		return false;
	if (!facts->dived)
		look_up(root, ipath, facts);
	facts->dived = true;
	return true;
}

void
anago_dive(PlannerInfo *root, const IndexPath *ipath, AnagoStepFacts *facts,
		   Cost cost, SpecialJoinInfo *sjinfo, AnagoDive *dive)
{
	memset(dive, 0, sizeof(AnagoDive));
	dive->ratio = dive->join_ratio = 1.0;
	if (!anago_ask_index(root, ipath, facts, cost))
		return;
	*dive = facts->dive;
	dive->join_ratio = known_join_ratio(root, ipath, facts, sjinfo);
}

static double
cold_share_of_table(PlannerInfo *root, const IndexPath *ipath)
{
	const IndexOptInfo *index = ipath->indexinfo;
	const RelOptInfo *rel = ipath->path.parent;
	double		entries = Max(ipath->indexselectivity * rel->tuples, 1.0);
	double		leaves = Max(entries * index->pages / Max(index->tuples, 1.0), 1.0);
	double		visited = ipath->path.pathtype == T_IndexOnlyScan ?
		1.0 - rel->allvisfrac : 1.0;
	double		cached;

	cached = leaves * anago_survey_resident(index->indexoid, index->pages);
	if (visited > 0)
		cached += entries * visited *
			anago_survey_resident(planner_rt_fetch(rel->relid, root)->relid,
								  rel->pages);
	return 1.0 - cached / (leaves + entries * visited);
}

/* Where nobody asks what is cached.  Reads of temporary tables never overlap. */
static double
cold_unseen(Oid relid)
{
	return !anago_debug_force && get_rel_persistence(relid) == RELPERSISTENCE_TEMP ? 0.0 : 1.0;
}

double
anago_cold_relation(Oid relid, BlockNumber pages)
{
	return anago_debug_force || !anago_residency ? cold_unseen(relid) :
		1.0 - anago_survey_resident(relid, pages);
}

double
anago_cold_share(PlannerInfo *root, const IndexPath *ipath)
{
	return anago_debug_force || !anago_residency ?
		cold_unseen(planner_rt_fetch(ipath->path.parent->relid, root)->relid) :
		cold_share_of_table(root, ipath);
}

double
anago_cold_share_of_all(PlannerInfo *root, List *ipaths)
{
	int			n = Min(list_length(ipaths), ANAGO_COLD_TABLES);
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += anago_cold_share(root, list_nth(ipaths, i * list_length(ipaths) / n));
	return sum / n;
}

/* All entries of the index, or those between constants. */
static bool
walk_of(PlannerInfo *root, const IndexPath *ipath, AnagoIndexRange *range)
{
	WalkShape	shape;

	if (ipath->indexclauses == NIL)
	{
		memset(range, 0, sizeof(AnagoIndexRange));
		return true;
	}
	return root->qual_security_level == 0 && shape_of(ipath, &shape) &&
		range_of(root, &shape, range);
}

double
anago_cold_head(PlannerInfo *root, const IndexPath *ipath, double entries)
{
	const IndexOptInfo *index = ipath->indexinfo;
	AnagoIndexRange range;
	double		resident;

	if (anago_debug_force || !anago_residency || index->hypothetical ||
		index->pages < 1 || ipath->path.pathtype != T_IndexScan ||
		!walk_of(root, ipath, &range) ||
		!anago_survey_head(index->indexoid, index->pages, &range,
						   ipath->indexscandir == BackwardScanDirection, entries,
						   index->tuples / index->pages, &resident))
		return 1.0;
	return 1.0 - resident;
}
