/*-------------------------------------------------------------------------
 *
 * members.c
 *	  The members of a step of several tables: made ready when they are wanted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "executor/executor.h"
#include "utils/memutils.h"

#include "compat.h"
#include "ops/btree/fan.h"
#include "ops/btree/members.h"
#include "ops/btree/open.h"
#include "ops/btree/probe.h"
#include "pipeline/held.h"
#include "pipeline/prune.h"
#include "pipeline/row.h"

struct AnagoMembers
{
	AnagoOp    *op;
	const AnagoStepDesc *desc;
	int			parts;			/* of the memory for inner pages, for each */
	int			ntables;
	AnagoPruner *pruner;		/* NULL until it is asked, at the first row if not before */
	Relation   *indexes;		/* of each, held open; of looks those that are open */
	AnagoStep **open;			/* NULL: not yet */
	AnagoStep  *last;			/* opened last, or NULL */
	AnagoStep	none;			/* stands for the inner side where no member
								 * can match */
};

/* Do levels of the hierarchy leave any out before there is a row? */
static bool
may_leave_out(const AnagoPruneDesc *prune)
{
	for (int i = 0; i < prune->nlevels; i++)
		if (!prune->levels[i].per_row && prune->levels[i].steps != NIL)
			return true;
	return false;
}

/*
 * As stock does, which finds out at the start what an Append may come to scan:
 * while they are open, DROP, TRUNCATE and ALTER in this session are refused.
 * What looks come to its own scans hold, and no more than that.
 */
static void
hold_relations(AnagoMembers *members)
{
	EState	   *estate = members->op->pipeline->estate;
	const AnagoStepDesc *desc = members->desc;
	const Bitmapset *found = NULL;

	for (int i = 0; i < desc->prune.nlevels; i++)
		(void) anago_open_range_table_relation(estate, desc->prune.levels[i].relid);
	members->indexes = palloc0(sizeof(Relation) * desc->nmembers);
	if (members->op->pipeline->looks)
		return;
	if (may_leave_out(&desc->prune))
	{
		members->pruner = anago_pruner_create(members->op->pipeline, desc);
		found = anago_pruner_find_for_any(members->pruner);
	}
	for (int i = 0; i < desc->nmembers; i++)
	{
		if (members->pruner != NULL && !bms_is_member(i, found))
			continue;
		(void) ExecOpenScanRelation(estate, desc->members[i].scanrelid, 0);
		members->indexes[i] = anago_step_open_index(estate, &desc->members[i]);
	}
}

AnagoMembers *
anago_members_create(AnagoOp *op, const AnagoStepDesc *desc, int nsteps)
{
	AnagoMembers *members = palloc0(sizeof(AnagoMembers));

	members->op = op;
	members->desc = desc;
	members->parts = nsteps * desc->nmembers;
	members->ntables = anago_desc_ntables(desc);
	members->open = palloc0(sizeof(AnagoStep *) * desc->nmembers);
	members->none.op = *op;
	members->none.desc = desc;
	members->none.is_member = true;
	members->none.look = op->pipeline->looks;
	/* no condition holds there */
	members->none.gate_known = true;
	members->none.gate_open = false;
	/* a row that goes on without a match is tested nevertheless */
	members->none.other = ExecInitQual(desc->exprs[ANAGO_EXPRS_OTHER], op->pipeline->ps);
	/* and has its place in the order */
	anago_step_begin_order(&members->none);
	hold_relations(members);
	/* looks have another resource owner than the query */
	if (op->pipeline->looks)
		members->pruner = anago_pruner_create(op->pipeline, desc);
	return members;
}

/* --- opening --- */

/* Where a member takes the step's columns from. */
static AttrNumber *
attnos_of(const AnagoStepDesc *desc)
{
	AttrNumber *attnos = palloc(sizeof(AttrNumber) * (list_length(desc->attnos) + 1));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, desc->attnos)
		attnos[n++] = lfirst_int(lc);
	return attnos;
}

/*
 * A look has the table that core's scan has open, and an index that the query holds: its
 * own resource owner ends early.
 */
static void
lend_relations(AnagoMembers *members, int which, AnagoStep *step)
{
	AnagoPipeline *pipeline = members->op->pipeline;
	const AnagoStepDesc *desc = &members->desc->members[which];
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = pipeline->held->owner;
	members->indexes[which] = anago_step_open_index(pipeline->estate, desc);
	CurrentResourceOwner = owner;
	step->heap = pipeline->estate->es_relations[desc->scanrelid - 1];
	step->indexrel = members->indexes[which];
}

static AnagoStep *
open_member(AnagoMembers *members, int which)
{
	const AnagoStepDesc *desc = &members->desc->members[which];
	MemoryContext old = MemoryContextSwitchTo(members->op->pipeline->estate->es_query_cxt);
	AnagoStep  *step = palloc0(sizeof(AnagoStep));

	Assert(list_length(desc->attnos) == members->op->ncols);
	step->op = *members->op;
	step->op.attnos = attnos_of(desc);
	memset(&step->op.counters, 0, sizeof(AnagoStepCounts));
	step->is_member = true;
	if (members->last != NULL)
		anago_step_share_areas(step, members->last);
	if (members->op->pipeline->looks)
		lend_relations(members, which, step);
	anago_step_open(step, desc, members->parts);
	members->open[which] = members->last = step;
	MemoryContextSwitchTo(old);
	return step;
}

static inline AnagoStep *
member(AnagoMembers *members, int which)
{
	AnagoStep  *step = members->open[which];

	return step != NULL ? step : open_member(members, which);
}

/* --- probes --- */

/* The members that the row that is bound can have matches in. */
static const Bitmapset *
find(AnagoMembers *members)
{
	AnagoPipeline *pipeline = members->op->pipeline;

	if (members->pruner == NULL)
		members->pruner = anago_pruner_create(pipeline, members->desc);
	ResetExprContext(pipeline->econtext);
	return anago_pruner_find(members->pruner);
}

/*
 * Is it of the one of a row's tables that this step is at?  *seen: tables so far.  A look
 * is at none that the executor has not opened, as it has found at the start that it
 * is not needed.
 */
static bool
is_probed(const AnagoMembers *members, int member, int *seen)
{
	const AnagoStepDesc *desc = members->desc;
	const AnagoPipeline *pipeline = members->op->pipeline;

	if (pipeline->looks &&
		pipeline->estate->es_relations[desc->members[member].scanrelid - 1] == NULL)
		return false;
	*seen += anago_desc_is_first_arm(desc, member);
	return desc->prune.nth == 0 || *seen == desc->prune.nth;
}

/* Of these, how many are the first of a table. */
static int
tables_of(const AnagoMembers *members, const Bitmapset *which)
{
	int			n = 0;
	int			i = -1;

	if (members->ntables == members->desc->nmembers)
		return bms_num_members(which);
	while ((i = bms_next_member(which, i)) >= 0)
		n += anago_desc_is_first_arm(members->desc, i);
	return n;
}

static AnagoFan *
make_fan(AnagoMembers *members, const Bitmapset *which)
{
	int			n = bms_num_members(which);
	Size		size = offsetof(AnagoFan, which) + sizeof(int) * n;
	AnagoFan   *fan = anago_pipeline_alloc(members->op->pipeline, size);
	int			i = -1;
	int			seen = 0;

	memset(fan, 0, offsetof(AnagoFan, which));
	fan->members = members;
	fan->size = size;
	dlist_init(&fan->probes);
	while ((i = bms_next_member(which, i)) >= 0)
		if (is_probed(members, i, &seen))
			fan->which[fan->n++] = i;
	return fan;
}

static AnagoProbe *
make_probe(AnagoFan *fan, AnagoRow *row)
{
	AnagoMembers *members = fan->members;
	AnagoStep  *step = fan->n == 0 ? &members->none :
		member(members, fan->which[fan->next++]);
	AnagoProbe *probe = anago_probe_make(step, row);

	anago_fan_add(fan, probe);
	return probe;
}

AnagoProbe *
anago_members_first(AnagoMembers *members, AnagoRow *row, int64 *pruned)
{
	const Bitmapset *which = find(members);
	JoinType	jointype = members->desc->jointype;

	*pruned += members->ntables - tables_of(members, which);
	if (bms_is_empty(which) && jointype != JOIN_LEFT && jointype != JOIN_ANTI)
	{
		anago_row_release(members->op->pipeline, row);
		return NULL;
	}
	return make_probe(make_fan(members, which), row);
}

/* The same row in the next member. */
static AnagoProbe *
next_probe(AnagoProbe *probe)
{
	AnagoProbe *next;

	anago_row_bind(probe->step->op.pipeline, probe->row);
	if (probe->row != NULL)
		probe->row->refs++;
	next = make_probe(probe->fan, probe->row);
	next->tasks++;
	anago_probe_release(probe);
	return next;
}

bool
anago_members_go_on(AnagoProbe **probe)
{
	while (anago_fan_has_next(*probe))
	{
		*probe = next_probe(*probe);
		if ((*probe)->keys.ncombos > 0)
			return true;
	}
	return false;
}

/* --- their life --- */

void
anago_members_rescan(AnagoMembers *members)
{
	if (members->pruner != NULL)
		anago_pruner_rescan(members->pruner);
	for (int i = 0; i < members->desc->nmembers; i++)
		if (members->open[i] != NULL)
			members->open[i]->gate_known = false;
}

void
anago_members_release(AnagoMembers *members)
{
	for (int i = 0; i < members->desc->nmembers; i++)
		if (members->open[i] != NULL)
			anago_step_release(members->open[i]);
}

void
anago_members_close(AnagoMembers *members)
{
	for (int i = 0; i < members->desc->nmembers; i++)
	{
		if (members->open[i] != NULL && !members->op->pipeline->looks)
			anago_step_close(members->open[i]);
		if (members->indexes[i] != NULL)
			index_close(members->indexes[i], NoLock);
	}
}

void
anago_members_count(const AnagoMembers *members, AnagoStepCounts *sum)
{
	for (int i = 0; i < members->desc->nmembers; i++)
		if (members->open[i] != NULL)
			anago_step_counts_add(sum, &members->open[i]->op.counters);
	anago_step_counts_add(sum, &members->none.op.counters);
}
