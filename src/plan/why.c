/*-------------------------------------------------------------------------
 *
 * why.c
 *	  anago_explain_why(query): which paths of ours were built for each relation
 *	  and join, what they cost against the winner, why others were not.
 *
 * The query is planned once, by EXPLAIN, so that permissions are checked as
 * there.  Meanwhile the places that build a path, or decide against it,
 * leave notes.  When planning has ended and its memory is still there, each
 * note of a path is compared with the cheapest path of its relation.
 *
 * Functions that are planned meanwhile, to fold constants, are none of the
 * query's: notes are taken of the outermost planning alone.  Under GEQO paths
 * of joins are gone at the end, and are compared with what was there when
 * they came.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "nodes/pathnodes.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "guc.h"
#include "plan/memo.h"
#include "plan/paths.h"

PG_FUNCTION_INFO_V1(anago_explain_why);

/* Columns of anago_explain_why() */
enum
{
	WHY_RELATION,
	WHY_PATH,
	WHY_COST,
	WHY_CHEAPEST,
	WHY_CHEAPEST_COST,
	WHY_WHY,
	WHY_NATTS
};

/* Notes of one planning at most; what comes later is left out. */
#define MOST_NOTES	2000

typedef struct Note
{
	char	   *relation;
	Oid			index;			/* that there is no path by; InvalidOid: any */
	char	   *path;
	const char *reason;			/* why there is none; NULL: there is one */
	const AnagoPath *apath;		/* to know it again; may be gone */
	const RelOptInfo *rel;		/* to compare with at the end; NULL: compared */
	bool		has_order;
	int			workers;
	bool		used;
	Cost		cost;
	char	   *cheapest;
	Cost		cheapest_cost;
} Note;

bool		anago_why_asked = false;

static int	depth = 0;			/* plannings within each other, while asked */
static List *notes = NIL;
static const char *declined = NULL; /* why the plan with ours was not taken */
static MemoryContext notes_context = NULL;

/* --- words --- */

/* The tables of a relation, by their aliases. */
static char *
name_of_rel(PlannerInfo *root, const RelOptInfo *rel)
{
	StringInfoData text;
	int			relid = -1;

	initStringInfo(&text);
	while ((relid = bms_next_member(rel->relids, relid)) >= 0)
	{
		const RangeTblEntry *rte = root->simple_rte_array[relid];

		if (rte != NULL && rte->rtekind != RTE_JOIN)
			appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
							 rte->eref->aliasname);
	}
	return text.data;
}

/* As EXPLAIN calls the node, with the index if it has one. */
static const char *
name_of_type(const Path *path)
{
	switch (path->pathtype)
	{
		case T_SeqScan:
			return path->parallel_aware ? "Parallel Seq Scan" : "Seq Scan";
		case T_IndexScan:
			return "Index Scan";
		case T_IndexOnlyScan:
			return "Index Only Scan";
		case T_BitmapHeapScan:
			return "Bitmap Heap Scan";
		case T_NestLoop:
			return "Nested Loop";
		case T_HashJoin:
			return "Hash Join";
		case T_MergeJoin:
			return "Merge Join";
		case T_Gather:
			return "Gather";
		case T_GatherMerge:
			return "Gather Merge";
		case T_Append:
			return "Append";
		case T_MergeAppend:
			return "Merge Append";
		case T_SubqueryScan:
			return "Subquery Scan";
		case T_CustomScan:
			return ((const CustomPath *) path)->methods->CustomName;
		default:
			return "another node";
	}
}

static const Path *
below(const Path *path)
{
	if (IsA(path, GatherPath))
		return ((const GatherPath *) path)->subpath;
	if (IsA(path, GatherMergePath))
		return ((const GatherMergePath *) path)->subpath;
	return NULL;
}

static char *
name_of_path(const Path *path)
{
	const char *type = name_of_type(path);

	if (IsA(path, IndexPath))
		return psprintf("%s on %s", type,
						get_rel_name(((const IndexPath *) path)->indexinfo->indexoid));
	if (below(path) != NULL)
		return psprintf("%s of %s", type, name_of_path(below(path)));
	return pstrdup(type);
}

/* Source and steps. */
static char *
name_of_pipeline(const AnagoPath *apath)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	appendStringInfo(&text, "%s: ", apath->cpath.methods->CustomName);
	if (apath->source)
		appendStringInfo(&text, "%s -> ", name_of_path(apath->source));
	foreach(lc, apath->steps)
	{
		const AnagoPathStep *step = lfirst(lc);

		appendStringInfo(&text, "%s%s", lc == list_head(apath->steps) ? "" : " -> ",
						 get_rel_name(step->ipath->indexinfo->indexoid));
		if (step->several)
			appendStringInfo(&text, " and %d more", list_length(step->members) - 1);
	}
	if (apath->cpath.path.pathkeys != NIL)
		appendStringInfoString(&text, ", in order");
	if (apath->cpath.path.parallel_workers > 0)
		appendStringInfo(&text, ", %d workers", apath->cpath.path.parallel_workers);
	return text.data;
}

/* --- notes --- */

static bool
takes_notes(void)
{
	return depth == 1 && list_length(notes) < MOST_NOTES;
}

/* The cheapest path without parameters that is there. */
static void
compare(Note *note, const RelOptInfo *rel)
{
	ListCell   *lc;
	const Path *best = NULL;

	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL &&
			(best == NULL || path->total_cost < best->total_cost))
			best = path;
	}
	if (best != NULL)
	{
		note->cheapest = name_of_path(best);
		note->cheapest_cost = best->total_cost;
	}
}

static Note *
new_note(PlannerInfo *root, const RelOptInfo *rel)
{
	Note	   *note = palloc0(sizeof(Note));

	note->relation = name_of_rel(root, rel);
	note->rel = rel;
	if (GetMemoryChunkContext((void *) rel) != anago_memo_context(root))
	{
		compare(note, rel);
		note->rel = NULL;
	}
	notes = lappend(notes, note);
	return note;
}

void
anago_note_built(PlannerInfo *root, const AnagoPath *apath)
{
	const Path *path = &apath->cpath.path;
	MemoryContext old;
	Note	   *note;

	if (!takes_notes())
		return;
	old = MemoryContextSwitchTo(notes_context);
	note = new_note(root, path->parent);
	note->path = name_of_pipeline(apath);
	note->apath = apath;
	note->has_order = path->pathkeys != NIL;
	note->workers = path->parallel_workers;
	note->cost = path->total_cost;
	MemoryContextSwitchTo(old);
}

/* The latest path at this address. */
void
anago_note_used(const AnagoPath *apath)
{
	for (int i = list_length(notes) - 1; depth == 1 && i >= 0; i--)
	{
		Note	   *note = list_nth(notes, i);

		if (note->apath == apath)
		{
			note->used = true;
			break;
		}
	}
}

void
anago_note_declined(Cost ours, Cost theirs)
{
	MemoryContext old;

	if (depth != 1)
		return;
	old = MemoryContextSwitchTo(notes_context);
	declined = psprintf("in a plan that costs %.2f times as much as the one without anago: see anago.least_gain",
						ours / Max(theirs, 1e-9));
	MemoryContextSwitchTo(old);
}

/* A relation is joined in many ways: each reason once. */
static bool
is_noted(const RelOptInfo *rel, Oid index, const char *reason)
{
	ListCell   *lc;

	foreach(lc, notes)
	{
		const Note *note = lfirst(lc);

		if (note->rel == rel && note->index == index && note->reason != NULL &&
			strcmp(note->reason, reason) == 0)
			return true;
	}
	return false;
}

void
anago_note_not(PlannerInfo *root, RelOptInfo *rel, Oid index,
			   const char *reason)
{
	MemoryContext old;
	Note	   *note;

	if (!takes_notes() || is_noted(rel, index, reason))
		return;
	old = MemoryContextSwitchTo(notes_context);
	note = new_note(root, rel);
	note->index = index;
	if (OidIsValid(index))
		note->path = get_rel_name(index);
	note->reason = reason;
	MemoryContextSwitchTo(old);
}

void
anago_why_begin(void)
{
	if (anago_why_asked)
		depth++;
}

void
anago_why_end(bool kept)
{
	MemoryContext old;
	ListCell   *lc;

	if (!anago_why_asked)
		return;
	if (kept && depth == 1)
	{
		old = MemoryContextSwitchTo(notes_context);
		foreach(lc, notes)
		{
			Note	   *note = lfirst(lc);

			if (note->rel)
				compare(note, note->rel);
			note->rel = NULL;
			note->apath = NULL;
		}
		MemoryContextSwitchTo(old);
	}
	depth--;
}

/* --- the function --- */

/* What is said of a path that was built. */
static const char *
verdict(const Note *note)
{
	if (note->used)
		return declined ? declined : "in the plan";
	if (note->workers > 0)
		return "for several processes, below a Gather or an aggregate: a path above was cheaper";
	if (note->cost <= note->cheapest_cost)
		return "the cheapest of this relation, but not of a join or sort above it";
	if (note->cost <= note->cheapest_cost * 1.01)
		return "costs about the same as the cheapest";
	return psprintf("costs %.2f times as much as the cheapest",
					note->cost / Max(note->cheapest_cost, 1e-9));
}

static void
put_text(Datum *values, bool *nulls, int column, const char *text)
{
	nulls[column] = text == NULL;
	if (text != NULL)
		values[column] = CStringGetTextDatum(text);
}

static void
put_note(ReturnSetInfo *result, const Note *note)
{
	Datum		values[WHY_NATTS];
	bool		nulls[WHY_NATTS] = {false};

	put_text(values, nulls, WHY_RELATION, note->relation);
	put_text(values, nulls, WHY_PATH, note->path);
	put_text(values, nulls, WHY_CHEAPEST, note->cheapest);
	put_text(values, nulls, WHY_WHY, note->reason ? note->reason : verdict(note));
	values[WHY_COST] = Float8GetDatum(note->cost);
	nulls[WHY_COST] = note->reason != NULL;
	values[WHY_CHEAPEST_COST] = Float8GetDatum(note->cheapest_cost);
	nulls[WHY_CHEAPEST_COST] = note->cheapest == NULL;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* A line about the query as a whole. */
static void
put_reason(ReturnSetInfo *result, const char *reason)
{
	Note		note = {.reason = reason};

	put_note(result, &note);
}

/* Plan a query, as EXPLAIN does.  The parentheses keep ANALYZE out. */
static void
plan_it(const char *query)
{
	char	   *text = psprintf("EXPLAIN (ANALYZE off) %s", query);
	SPIPlanPtr	plan;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	plan = SPI_prepare(text, 0, NULL);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	if (list_length(SPI_plan_get_plan_sources(plan)) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there must be one query, not several")));
	if (SPI_execute_plan(plan, NULL, NULL, false, 0) < 0)
		elog(ERROR, "SPI_execute_plan failed");
	SPI_finish();
}

Datum
anago_explain_why(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	ListCell   *lc;

	if (anago_why_asked)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("anago_explain_why() cannot be planned within itself")));
	InitMaterializedSRF(fcinfo, 0);
	notes = NIL;
	declined = NULL;
	notes_context = AllocSetContextCreate(CurrentMemoryContext, "anago notes",
										  ALLOCSET_DEFAULT_SIZES);
	depth = 0;
	anago_why_asked = true;
	PG_TRY();
	{
		plan_it(query);
	}
	PG_FINALLY();
	{
		anago_why_asked = false;
	}
	PG_END_TRY();

	if (!anago_enable)
		put_reason(result, "anago.enable is off");
	else if (anago_nothing_overlaps())
		put_reason(result, "reads cannot overlap here: see anago.io_method and anago.mode");
	else if (notes == NIL)
		put_reason(result, "no table with an index that is scanned or joined by it");
	else
		foreach(lc, notes)
			put_note(result, lfirst(lc));
	notes = NIL;
	return (Datum) 0;
}
