/*-------------------------------------------------------------------------
 *
 * desc.c
 *	  Layout of custom_exprs and custom_private; see desc.h.
 *
 * Plans are copied, written out and read back, so that only such nodes may
 * be used as PostgreSQL itself can copy: lists of integers, OIDs and lists.
 *
 *		custom_private
 *			[PRIVATE_NUMBERS]	ANAGO_LAYOUT; smallest member of custom_relids;
 *								child source?  may stop?  order  looks?
 *								rechecked?  received?
 *			[PRIVATE_STEPS]		one list for each step:
 *				[STEP_NUMBERS]		scanrelid, index-only?, jointype, unique?
 *									and of a look: most, from end?  kind, TOAST?  routed?  level,
 *									nth of a row's tables
 *				[STEP_INDEX]		OID of the index; of a late look's table, or 0; then alike
 *				[STEP_KINDS] ...	one list for each member of AnagoKeyDesc
 *				[STEP_FILLED_FROM]	a member's attnos
 *				[STEP_MEMBERS]		lists like this one
 *				[STEP_LEVELS]		one list for each level of pruning
 *				[STEP_OTHERS]		members that are in none
 *				[STEP_TURN]			AnagoTurnDesc
 *				[STEP_FIRSTS]		AnagoFirstsDesc
 *			[PRIVATE_FILLERS]	AnagoColumnDesc.step of each column
 *			[PRIVATE_ATTNOS]	AnagoColumnDesc.attno of each column
 *			[PRIVATE_OPERATORS]	a String, or nothing: AnagoPipelineDesc.operators
 *			[PRIVATE_WIDE]		AnagoPipelineDesc.wide
 *			[PRIVATE_TOAST]		AnagoColumnDesc.toastid of each column
 *
 * When a subquery's plan becomes part of a larger one, setrefs.c shifts all
 * range table indexes.  It knows of those in custom_relids, but not of those
 * in custom_private: so the shift is what the smallest member of the one has
 * moved against the copy of it in the other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/value.h"

#include "layout.h"
#include "pipeline/desc.h"

enum
{
	PRIVATE_NUMBERS,
	PRIVATE_STEPS,
	PRIVATE_FILLERS,
	PRIVATE_ATTNOS,
	PRIVATE_OPERATORS,
	PRIVATE_WIDE,
	PRIVATE_TOAST
};

enum
{
	NUMBER_LAYOUT,
	NUMBER_MIN_RELID,
	NUMBER_CHILD_SOURCE,
	NUMBER_MAY_STOP,
	NUMBER_ORDER,
	NUMBER_LOOKS,
	NUMBER_RECHECKED,
	NUMBER_RECEIVED
};

enum
{
	STEP_NUMBERS,
	STEP_INDEX,
	STEP_KINDS,
	STEP_ATTNOS,
	STEP_OPNOS,
	STEP_OPFUNCIDS,
	STEP_COLLATIONS,
	STEP_FILLED_FROM,
	STEP_MEMBERS,
	STEP_LEVELS,
	STEP_OTHERS,
	STEP_TURN,
	STEP_FIRSTS
};

enum
{
	LEVEL_NUMBERS,
	LEVEL_RELIDS,
	LEVEL_MEMBERS,
	LEVEL_LEVELS,
	LEVEL_STEPS
};

/* Behind the lists of AnagoStepExprs: those of members, values of pruning. */
#define EXPRS_MEMBERS	ANAGO_EXPRS_COUNT
#define EXPRS_VALUES	(ANAGO_EXPRS_COUNT + 1)

static List *
write_level(const AnagoPruneLevel *level)
{
	return list_make5(list_make3_int(level->relid, level->is_root, level->per_row),
					  level->relids, level->members, level->levels, level->steps);
}

static List *
write_turn(const AnagoTurnDesc *turn)
{
	return list_concat(list_make4_int(turn->blocks, turn->pages, turn->per_probe,
									  turn->per_entry),
					   list_make3_int(turn->per_candidate, turn->kilobytes,
									  turn->early_filter));
}

static void
read_turn(AnagoTurnDesc *turn, const List *numbers)
{
	turn->blocks = list_nth_int(numbers, 0);
	turn->pages = list_nth_int(numbers, 1);
	turn->per_probe = list_nth_int(numbers, 2);
	turn->per_entry = list_nth_int(numbers, 3);
	turn->per_candidate = list_nth_int(numbers, 4);
	turn->kilobytes = list_nth_int(numbers, 5);
	turn->early_filter = list_nth_int(numbers, 6) != 0;
}

static void
read_firsts(AnagoFirstsDesc *firsts, const List *numbers)
{
	firsts->append = list_nth_int(numbers, 0);
	firsts->most = list_nth_int(numbers, 1);
	firsts->per_row = list_nth_int(numbers, 2);
	firsts->merged = list_nth_int(numbers, 3);
}

static List *
write_step(const AnagoStepDesc *step)
{
	List	   *members = NIL;
	List	   *levels = NIL;
	List	   *kinds = NIL;
	List	   *attnos = NIL;
	List	   *opnos = NIL;
	List	   *opfuncids = NIL;
	List	   *collations = NIL;
	List	   *numbers;
	List	   *result;

	for (int i = 0; i < step->nkeys; i++)
	{
		const AnagoKeyDesc *key = &step->keys[i];

		kinds = lappend_int(kinds, key->kind);
		attnos = lappend_int(attnos, key->attno);
		opnos = lappend_oid(opnos, key->opno);
		opfuncids = lappend_oid(opfuncids, key->opfuncid);
		collations = lappend_oid(collations, key->collation);
	}

	numbers = list_make4_int(step->scanrelid, step->index_only,
							 step->jointype, step->inner_unique);
	numbers = lappend_int(numbers, step->most);
	numbers = lappend_int(numbers, step->from_end);
	numbers = lappend_int(numbers, step->look);
	numbers = lappend_int(numbers, step->toast);
	numbers = lappend_int(numbers, step->routed);
	numbers = lappend_int(numbers, step->level);
	numbers = lappend_int(numbers, step->prune.nth);
	result = list_make5(numbers,
						list_concat(list_make2_oid(step->indexid, step->heapid),
									step->alike),
						kinds, attnos, opnos);
	for (int i = 0; i < step->nmembers; i++)
		members = lappend(members, write_step(&step->members[i]));
	for (int i = 0; i < step->prune.nlevels; i++)
		levels = lappend(levels, write_level(&step->prune.levels[i]));
	result = lappend(result, opfuncids);
	result = lappend(result, collations);
	result = lappend(result, step->attnos);
	result = lappend(result, members);
	result = lappend(result, levels);
	result = lappend(result, step->prune.others);
	result = lappend(result, write_turn(&step->turn));
	return lappend(result, list_make4_int(step->firsts.append, step->firsts.most,
										  step->firsts.per_row, step->firsts.merged));
}

static List *
write_exprs(const AnagoStepDesc *step)
{
	List	   *result = NIL;
	List	   *members = NIL;
	List	   *values = NIL;

	for (int i = 0; i < ANAGO_EXPRS_COUNT; i++)
		result = lappend(result, step->exprs[i]);
	for (int i = 0; i < step->nmembers; i++)
		members = lappend(members, write_exprs(&step->members[i]));
	for (int i = 0; i < step->prune.nlevels; i++)
		values = lappend(values, step->prune.levels[i].values);
	result = lappend(result, members);
	return lappend(result, values);
}

void
anago_desc_write(CustomScan *cscan, const AnagoPipelineDesc *desc,
				 const Bitmapset *relids)
{
	List	   *exprs = NIL;
	List	   *steps = NIL;
	List	   *fillers = NIL;
	List	   *attnos = NIL;
	List	   *toast = NIL;
	List	   *operators = NIL;
	List	   *numbers;

	Assert(desc->nsteps >= 1 && desc->nsteps <= ANAGO_MAX_STEPS);

	for (int i = 0; i < desc->nsteps; i++)
	{
		exprs = lappend(exprs, write_exprs(&desc->steps[i]));
		steps = lappend(steps, write_step(&desc->steps[i]));
	}
	exprs = lappend(exprs, desc->gate);
	for (int i = 0; i < desc->ncolumns; i++)
	{
		fillers = lappend_int(fillers, desc->columns[i].step);
		attnos = lappend_int(attnos, desc->columns[i].attno);
		toast = lappend_oid(toast, desc->columns[i].toastid);
	}

	if (desc->operators != NULL)
		operators = list_make1(makeString(desc->operators));

	numbers = list_make5_int(ANAGO_LAYOUT, bms_next_member(relids, -1),
							 desc->child_source, desc->may_stop, desc->order);
	numbers = lappend_int(numbers, desc->looks);
	numbers = lappend_int(numbers, desc->rechecked);
	numbers = lappend_int(numbers, desc->received);
	cscan->custom_exprs = exprs;
	cscan->custom_private =
		list_concat(list_make5(numbers, steps, fillers, attnos, operators),
					list_make2(desc->wide, toast));
}

bool
anago_desc_is_rechecked(const CustomScan *cscan)
{
	return list_nth_int(linitial(cscan->custom_private), NUMBER_RECHECKED) != 0;
}

/*
 * Behind the steps' expressions are the one-time conditions.  A match that the last step's
 * filter lets by must be a row, so that one can be tested of rows as well.
 */
List **
anago_desc_filter(CustomScan *cscan)
{
	int			last = list_length(cscan->custom_exprs) - 2;
	List	   *exprs = list_nth(cscan->custom_exprs, last);
	const AnagoPipelineDesc *desc = anago_desc_read(cscan);
	const AnagoStepDesc *step = &desc->steps[last];

	if (desc->looks || step->nmembers > 0 || step->jointype != JOIN_INNER ||
		step->inner_unique || step->exprs[ANAGO_EXPRS_JOIN] != NIL)
		return NULL;
	return (List **) &lfirst(list_nth_cell(exprs, ANAGO_EXPRS_FILTER));
}

static void
read_levels(AnagoPruneDesc *prune, const List *private, const List *values,
			int rtoffset)
{
	prune->nlevels = list_length(private);
	prune->levels = palloc0(sizeof(AnagoPruneLevel) * Max(prune->nlevels, 1));
	for (int i = 0; i < prune->nlevels; i++)
	{
		AnagoPruneLevel *level = &prune->levels[i];
		const List *from = list_nth(private, i);
		const List *numbers = list_nth(from, LEVEL_NUMBERS);

		level->relid = list_nth_int(numbers, 0) + rtoffset;
		level->is_root = list_nth_int(numbers, 1) != 0;
		level->per_row = list_nth_int(numbers, 2) != 0;
		level->relids = list_nth(from, LEVEL_RELIDS);
		level->members = list_nth(from, LEVEL_MEMBERS);
		level->levels = list_nth(from, LEVEL_LEVELS);
		level->steps = list_nth(from, LEVEL_STEPS);
		level->values = list_nth(values, i);
	}
}

static void read_members(AnagoStepDesc *step, const List *private,
						 const List *exprs, int rtoffset);

static void
read_step(AnagoStepDesc *step, const List *private, const List *exprs,
		  int rtoffset)
{
	const List *numbers = list_nth(private, STEP_NUMBERS);
	const List *kinds = list_nth(private, STEP_KINDS);
	const List *attnos = list_nth(private, STEP_ATTNOS);
	const List *opnos = list_nth(private, STEP_OPNOS);
	const List *opfuncids = list_nth(private, STEP_OPFUNCIDS);
	const List *collations = list_nth(private, STEP_COLLATIONS);

	step->heapid = lsecond_oid((const List *) list_nth(private, STEP_INDEX));
	step->scanrelid = OidIsValid(step->heapid) ? 0 :
		list_nth_int(numbers, 0) + rtoffset;
	step->index_only = list_nth_int(numbers, 1) != 0;
	step->jointype = (JoinType) list_nth_int(numbers, 2);
	step->inner_unique = list_nth_int(numbers, 3) != 0;
	step->most = list_nth_int(numbers, 4);
	step->from_end = list_nth_int(numbers, 5) != 0;
	step->look = (AnagoLookKind) list_nth_int(numbers, 6);
	step->toast = list_nth_int(numbers, 7) != 0;
	step->routed = list_nth_int(numbers, 8) != 0;
	step->level = list_nth_int(numbers, 9);
	step->prune.nth = list_nth_int(numbers, 10);
	step->indexid = linitial_oid((const List *) list_nth(private, STEP_INDEX));
	step->alike = list_copy_tail((const List *) list_nth(private, STEP_INDEX), 2);

	step->nkeys = list_length(kinds);
	step->keys = palloc0(sizeof(AnagoKeyDesc) * Max(step->nkeys, 1));
	for (int i = 0; i < step->nkeys; i++)
	{
		AnagoKeyDesc *key = &step->keys[i];

		key->kind = (AnagoKeyKind) list_nth_int(kinds, i);
		key->attno = list_nth_int(attnos, i);
		key->opno = list_nth_oid(opnos, i);
		key->opfuncid = list_nth_oid(opfuncids, i);
		key->collation = list_nth_oid(collations, i);
	}
	for (int i = 0; i < ANAGO_EXPRS_COUNT; i++)
		step->exprs[i] = list_nth(exprs, i);
	step->attnos = list_nth(private, STEP_FILLED_FROM);
	step->prune.others = list_nth(private, STEP_OTHERS);
	read_turn(&step->turn, list_nth(private, STEP_TURN));
	read_firsts(&step->firsts, list_nth(private, STEP_FIRSTS));
	read_levels(&step->prune, list_nth(private, STEP_LEVELS),
				list_nth(exprs, EXPRS_VALUES), rtoffset);
	read_members(step, list_nth(private, STEP_MEMBERS),
				 list_nth(exprs, EXPRS_MEMBERS), rtoffset);
}

/* What is the same for all members has been written once, for the step. */
static void
read_members(AnagoStepDesc *step, const List *private, const List *exprs,
			 int rtoffset)
{
	static const AnagoStepExprs same[] = {
		ANAGO_EXPRS_JOIN, ANAGO_EXPRS_OTHER, ANAGO_EXPRS_COMPUTED,
	};

	step->nmembers = list_length(private);
	step->members = palloc0(sizeof(AnagoStepDesc) * Max(step->nmembers, 1));
	for (int i = 0; i < step->nmembers; i++)
	{
		AnagoStepDesc *member = &step->members[i];

		read_step(member, list_nth(private, i), list_nth(exprs, i), rtoffset);
		member->jointype = step->jointype;
		member->inner_unique = step->inner_unique;
		for (int j = 0; j < lengthof(same); j++)
			member->exprs[same[j]] = step->exprs[same[j]];
	}
}

/* Was this written by the library that is loaded here? */
static bool
is_ours(const List *private)
{
	const List *numbers = private == NIL ? NIL : linitial(private);

	return numbers != NIL && IsA(numbers, IntList) &&
		list_nth_int(numbers, NUMBER_LAYOUT) == ANAGO_LAYOUT;
}

AnagoPipelineDesc *
anago_desc_read(const CustomScan *cscan)
{
	AnagoPipelineDesc *desc = palloc0(sizeof(AnagoPipelineDesc));
	const List *private = cscan->custom_private;
	const List *numbers;
	const List *steps;
	const List *fillers;
	const List *attnos;
	const List *toast;
	const List *operators;
	int			rtoffset;

	if (!is_ours(private))
		ANAGO_OTHER_LAYOUT_ERROR();
	numbers = list_nth(private, PRIVATE_NUMBERS);
	steps = list_nth(private, PRIVATE_STEPS);
	fillers = list_nth(private, PRIVATE_FILLERS);
	attnos = list_nth(private, PRIVATE_ATTNOS);
	toast = list_nth(private, PRIVATE_TOAST);
	operators = list_nth(private, PRIVATE_OPERATORS);
	rtoffset = bms_next_member(cscan->custom_relids, -1) -
		list_nth_int(numbers, NUMBER_MIN_RELID);

	desc->child_source = list_nth_int(numbers, NUMBER_CHILD_SOURCE) != 0;
	desc->may_stop = list_nth_int(numbers, NUMBER_MAY_STOP) != 0;
	desc->order = (AnagoDescOrder) list_nth_int(numbers, NUMBER_ORDER);
	desc->looks = list_nth_int(numbers, NUMBER_LOOKS) != 0;
	desc->rechecked = list_nth_int(numbers, NUMBER_RECHECKED) != 0;
	desc->received = list_nth_int(numbers, NUMBER_RECEIVED) != 0;

	if (operators != NIL)
		desc->operators = strVal(linitial(operators));

	desc->nsteps = list_length(steps);
	desc->steps = palloc0(sizeof(AnagoStepDesc) * desc->nsteps);
	for (int i = 0; i < desc->nsteps; i++)
		read_step(&desc->steps[i], list_nth(steps, i),
				  list_nth(cscan->custom_exprs, i), rtoffset);
	desc->gate = list_nth(cscan->custom_exprs, desc->nsteps);

	desc->ncolumns = list_length(fillers);
	desc->wide = list_nth(private, PRIVATE_WIDE);
	Assert(desc->ncolumns == list_length(desc->looks ? desc->wide :
										 cscan->custom_scan_tlist));
	desc->columns = palloc0(sizeof(AnagoColumnDesc) * Max(desc->ncolumns, 1));
	for (int i = 0; i < desc->ncolumns; i++)
	{
		desc->columns[i].step = list_nth_int(fillers, i);
		desc->columns[i].attno = list_nth_int(attnos, i);
		desc->columns[i].toastid = list_nth_oid(toast, i);
	}
	return desc;
}
