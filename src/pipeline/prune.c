/*-------------------------------------------------------------------------
 *
 * prune.c
 *	  Which members of a step of several tables a row can have matches in.
 *
 * Core's own pruning, get_matching_partitions(), finds the partitions of one
 * table for a list of steps and the values in them.  Here it is asked for each
 * row, level by level:
 *
 *		by_day:		2024-01  2024-02  2024-03		row: o.at = 2024-02-11
 *								|
 *		by_region:			[a..m] [n..z]			row: o.region = 'fr'
 *							member 1
 *
 * The tree of levels, and what happens where the partitions that exist now are
 * not those that the plan knows (one was attached or detached meanwhile), are as
 * in execPartition.c: a partition that is not in the plan has no member, and a
 * member whose partition is gone is not found.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "partitioning/partdesc.h"
#include "partitioning/partprune.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "compat.h"
#include "pipeline/prune.h"

typedef struct Level
{
	const AnagoPruneLevel *desc;
	int			nparts;			/* as they are now */
	int		   *members;		/* of each: its first member, or -1 */
	int		   *levels;			/* or the level that it is, or -1 */
	List	   *steps;			/* NIL: all */
	PartitionPruneContext context;
} Level;

struct AnagoPruner
{
	MemoryContext memory;		/* of the last answer */
	bool		per_row;		/* else one answer serves all rows, */
	bool		known;			/* and there is one */
	int			nlevels;
	Level	   *levels;
	const AnagoStepDesc *step;
	Bitmapset  *others;			/* members that are found for every row */
	Bitmapset  *found;
};

/* --- begin --- */

/* Index of a partition among those of the plan, from `from` on, or -1. */
static int
find_planned(const AnagoPruneLevel *desc, Oid relid, int from)
{
	for (int i = from; i < list_length(desc->relids); i++)
		if (list_nth_oid(desc->relids, i) == relid)
			return i;
	return -1;
}

/* Both lists are in the order of bounds, so that each is gone through once. */
static void
map_partitions(Level *level, PartitionDesc partdesc)
{
	int			from = 0;

	level->nparts = partdesc->nparts;
	level->members = palloc(sizeof(int) * (partdesc->nparts + 1));
	level->levels = palloc(sizeof(int) * (partdesc->nparts + 1));
	for (int i = 0; i < partdesc->nparts; i++)
	{
		int			at = find_planned(level->desc, partdesc->oids[i], from);

		level->members[i] = at < 0 ? -1 : list_nth_int(level->desc->members, at);
		level->levels[i] = at < 0 ? -1 : list_nth_int(level->desc->levels, at);
		if (at >= 0)
			from = at + 1;
	}
}

/* The values of a step: compiled, each at the place of its column. */
static void
compile_values(Level *level, PartitionPruneStepOp *step, List *values, PlanState *ps)
{
	int			natts = level->context.partnatts;
	int			next = 0;

	step->exprs = values;
	for (int col = 0; col < natts && next < list_length(values); col++)
	{
		Expr	   *expr;

		if (bms_is_member(col, step->nullkeys))
			continue;
		expr = list_nth(values, next++);
		if (!IsA(expr, Const))
			level->context.exprstates[PruneCxtStateIdx(natts, step->step.step_id, col)] =
				ExecInitExpr(expr, ps);
	}
}

static void
begin_steps(Level *level, PlanState *ps)
{
	int			nstates = list_length(level->steps) * level->context.partnatts;
	int			next = 0;
	ListCell   *lc;

	level->context.stepcmpfuncs = palloc0(sizeof(FmgrInfo) * nstates);
	level->context.exprstates = palloc0(sizeof(ExprState *) * nstates);
	foreach(lc, level->steps)
	{
		PartitionPruneStepOp *step = lfirst(lc);

		if (IsA(step, PartitionPruneStepOp))
			compile_values(level, step, list_nth(level->desc->values, next++), ps);
	}
}

static void
begin_level(AnagoPipeline *pipeline, Level *level, const AnagoPruneLevel *desc)
{
	EState	   *estate = pipeline->estate;
	Relation	rel = anago_open_range_table_relation(estate, desc->relid);
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc partdesc;

	if (estate->es_partition_directory == NULL)
		estate->es_partition_directory =
			CreatePartitionDirectory(estate->es_query_cxt, false);
	partdesc = PartitionDirectoryLookup(estate->es_partition_directory, rel);

	level->desc = desc;
	map_partitions(level, partdesc);
	level->context.strategy = key->strategy;
	level->context.partnatts = key->partnatts;
	level->context.nparts = partdesc->nparts;
	level->context.boundinfo = partdesc->boundinfo;
	level->context.partcollation = key->partcollation;
	level->context.partsupfunc = key->partsupfunc;
	level->context.ppccontext = CurrentMemoryContext;
	level->context.planstate = pipeline->ps;
	level->context.exprcontext = pipeline->econtext;
	level->steps = copyObject(desc->steps);
	begin_steps(level, pipeline->ps);
}

/* All members of a table, of which that is the first one. */
static Bitmapset *
add_arms(const AnagoPruner *pruner, Bitmapset *members, int first)
{
	return bms_add_range(members, first, anago_desc_last_arm(pruner->step, first));
}

AnagoPruner *
anago_pruner_create(AnagoPipeline *pipeline, const AnagoStepDesc *step)
{
	const AnagoPruneDesc *desc = &step->prune;
	MemoryContext old = MemoryContextSwitchTo(pipeline->estate->es_query_cxt);
	AnagoPruner *pruner = palloc0(sizeof(AnagoPruner));
	ListCell   *lc;

	pruner->memory = AllocSetContextCreate(pipeline->whole, "anago pruning",
										   ALLOCSET_SMALL_SIZES);
	pruner->step = step;
	pruner->nlevels = desc->nlevels;
	pruner->levels = palloc0(sizeof(Level) * Max(desc->nlevels, 1));
	for (int i = 0; i < desc->nlevels; i++)
	{
		begin_level(pipeline, &pruner->levels[i], &desc->levels[i]);
		pruner->per_row |= desc->levels[i].per_row;
	}
	foreach(lc, desc->others)
		pruner->others = add_arms(pruner, pruner->others, lfirst_int(lc));
	if (desc->nlevels == 0)
		pruner->others = bms_add_range(NULL, 0, step->nmembers - 1);
	MemoryContextSwitchTo(old);
	return pruner;
}

/* --- find --- */

/* any_row: of a level that tells rows apart, all that it has. */
static void
find_in_level(AnagoPruner *pruner, Level *level, bool any_row)
{
	Bitmapset  *partitions;
	int			which = -1;

	if (level->steps == NIL || (any_row && level->desc->per_row))
		partitions = level->nparts == 0 ? NULL : bms_add_range(NULL, 0, level->nparts - 1);
	else
		partitions = get_matching_partitions(&level->context, level->steps);
	while ((which = bms_next_member(partitions, which)) >= 0)
	{
		if (level->members[which] >= 0)
			pruner->found = add_arms(pruner, pruner->found, level->members[which]);
		else if (level->levels[which] >= 0)
			find_in_level(pruner, &pruner->levels[level->levels[which]], any_row);
	}
}

static void
find_in_levels(AnagoPruner *pruner, bool any_row)
{
	MemoryContext old;

	MemoryContextReset(pruner->memory);
	old = MemoryContextSwitchTo(pruner->memory);
	pruner->found = bms_copy(pruner->others);
	for (int i = 0; i < pruner->nlevels; i++)
		if (pruner->levels[i].desc->is_root)
			find_in_level(pruner, &pruner->levels[i], any_row);
	MemoryContextSwitchTo(old);
}

const Bitmapset *
anago_pruner_find(AnagoPruner *pruner)
{
	if (pruner->nlevels == 0)
		return pruner->others;
	if (!pruner->known || pruner->per_row)
		find_in_levels(pruner, false);
	pruner->known = true;
	return pruner->found;
}

const Bitmapset *
anago_pruner_find_for_any(AnagoPruner *pruner)
{
	find_in_levels(pruner, true);
	pruner->known = true;
	return pruner->found;
}

void
anago_pruner_rescan(AnagoPruner *pruner)
{
	pruner->known &= !pruner->per_row;
}
