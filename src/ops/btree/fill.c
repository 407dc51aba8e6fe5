/*-------------------------------------------------------------------------
 *
 * fill.c
 *	  A match's columns in the wide slot.
 *
 * Columns of a heap tuple come in three kinds, told apart by attribute number
 * and in this order: system columns (below 0), the whole row (0) and the
 * table's own (above 0).  The whole row is an expression of core's over the
 * heap slot, which knows about dropped and added columns and toasted values; that of
 * a member is made one of the parent's, as core does it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/expandeddatum.h"

#include "ops/btree/fill.h"

/* A row of one of several tables, as one of the parent. */
static Expr *
convert_row(Expr *row, Oid type)
{
	ConvertRowtypeExpr *convert = makeNode(ConvertRowtypeExpr);

	convert->arg = row;
	convert->resulttype = type;
	convert->convertformat = COERCE_IMPLICIT_CAST;
	convert->location = -1;
	return (Expr *) convert;
}

/* The expression for the whole row, of the type that the wide row says. */
static ExprState *
whole_row(const AnagoStep *step, int col)
{
	TupleDesc	wide = step->op.pipeline->wide->tts_tupleDescriptor;
	Oid			type = TupleDescAttr(wide, step->op.first_col + col)->atttypid;
	Oid			own = step->is_member ? step->heap->rd_rel->reltype : type;
	Expr	   *row = (Expr *) makeVar(step->desc->scanrelid, InvalidAttrNumber,
									   own, -1, InvalidOid, 0);

	return ExecInitExpr(own == type ? row : convert_row(row, type), NULL);
}

/*
 * Columns of an index-only step that are a `name` in the table, but stored as
 * cstring, as B-trees do.
 */
static void
find_names(AnagoStep *step)
{
	TupleDesc	desc = RelationGetDescr(step->indexrel);

	step->names = palloc(sizeof(int) * (step->op.ncols + 1));
	for (int i = 0; i < step->op.ncols - step->ncomputed; i++)
	{
		int			at = step->op.attnos[i] - 1;

		if (TupleDescAttr(desc, at)->atttypid == CSTRINGOID &&
			step->indexrel->rd_opcintype[at] == NAMEOID)
			step->names[step->nnames++] = step->op.first_col + i;
	}
}

static void
init_computed(AnagoStep *step)
{
	const List *exprs = step->desc->exprs[ANAGO_EXPRS_COMPUTED];

	step->ncomputed = list_length(exprs);
	step->computed = palloc(sizeof(ExprState *) * (step->ncomputed + 1));
	for (int i = 0; i < step->ncomputed; i++)
	{
		Assert(step->op.attnos[step->op.ncols - step->ncomputed + i] == ANAGO_ATTNO_COMPUTED);
		step->computed[i] = ExecInitExpr(list_nth(exprs, i), step->op.pipeline->ps);
	}
}

void
anago_fill_init(AnagoStep *step)
{
	init_computed(step);
	if (step->desc->index_only)
	{
		find_names(step);
		return;
	}
	for (int i = 0; i < step->op.ncols - step->ncomputed; i++)
	{
		AttrNumber	attno = step->op.attnos[i];

		step->max_attno = Max(step->max_attno, attno);
		if (attno > 0)
			continue;
		Assert(i == step->nspecial);
		step->nspecial++;
		if (attno == InvalidAttrNumber)
			step->whole = whole_row(step, i);
	}
}

/*
 * Which row of which table the wide slot stands for: UPDATE ... WHERE CURRENT
 * OF asks that of a scan (execCurrent.c); nobody asks it of a join.
 */
static inline void
set_identity(AnagoStep *step, ItemPointer tid)
{
	step->op.pipeline->wide->tts_tid = *tid;
	step->op.pipeline->wide->tts_tableOid = RelationGetRelid(step->heap);
}

static Datum
whole_row_value(AnagoStep *step, bool *isnull)
{
	ExprContext *econtext = step->op.pipeline->econtext;
	Datum		value;

	econtext->ecxt_scantuple = step->heap_slot;
	value = ExecEvalExprSwitchContext(step->whole, econtext, isnull);
	econtext->ecxt_scantuple = step->op.pipeline->wide;
	return value;
}

void
anago_fill_from_heap(AnagoProbe *probe, HeapTuple tuple)
{
	AnagoStep  *step = probe->step;
	TupleTableSlot *from = step->heap_slot;
	TupleTableSlot *wide = step->op.pipeline->wide;
	Datum	   *values = wide->tts_values + step->op.first_col;
	bool	   *isnull = wide->tts_isnull + step->op.first_col;
	const Datum *from_values = from->tts_values;
	const bool *from_isnull = from->tts_isnull;
	const AttrNumber *attnos = step->op.attnos;
	int			ncols = step->op.ncols - step->ncomputed;

	ResetExprContext(step->op.pipeline->econtext);
	set_identity(step, &tuple->t_self);
	if (ncols == 0)
		return;
	ExecStoreHeapTuple(tuple, from, false);
	for (int i = 0; i < step->nspecial; i++)
		values[i] = attnos[i] == InvalidAttrNumber ?
			whole_row_value(step, &isnull[i]) :
			slot_getsysattr(from, attnos[i], &isnull[i]);
	slot_getsomeattrs(from, step->max_attno);
	for (int i = step->nspecial; i < ncols; i++)
	{
		values[i] = from_values[attnos[i] - 1];
		isnull[i] = from_isnull[attnos[i] - 1];
	}
}

/* A `name` is of fixed length, its rest zero. */
static void
pad_name(AnagoStep *step, Datum *value)
{
	MemoryContext memory = step->op.pipeline->econtext->ecxt_per_tuple_memory;
	Name		name = MemoryContextAlloc(memory, NAMEDATALEN);

	namestrcpy(name, DatumGetCString(*value));
	*value = NameGetDatum(name);
}

void
anago_fill_from_index(AnagoProbe *probe, IndexTuple itup, ItemPointer tid)
{
	AnagoStep  *step = probe->step;
	TupleTableSlot *wide = step->op.pipeline->wide;
	TupleDesc	desc = RelationGetDescr(step->indexrel);

	ResetExprContext(step->op.pipeline->econtext);
	set_identity(step, tid);
	for (int i = 0; i < step->op.ncols - step->ncomputed; i++)
		wide->tts_values[step->op.first_col + i] =
			index_getattr(itup, step->op.attnos[i], desc,
						  &wide->tts_isnull[step->op.first_col + i]);
	for (int i = 0; i < step->nnames; i++)
	{
		int			col = step->names[i];

		if (!wide->tts_isnull[col])
			pad_name(step, &wide->tts_values[col]);
	}
}

void
anago_fill_computed(AnagoStep *step)
{
	AnagoPipeline *pipeline = step->op.pipeline;
	int			col = step->op.first_col + step->op.ncols - step->ncomputed;

	for (int i = 0; i < step->ncomputed; i++, col++)
	{
		bool	   *isnull = &pipeline->wide->tts_isnull[col];
		Datum		value = ExecEvalExprSwitchContext(step->computed[i],
													  pipeline->econtext, isnull);

		/* it has several readers */
		pipeline->wide->tts_values[col] =
			MakeExpandedObjectReadOnly(value, *isnull, pipeline->typlens[col]);
	}
}
