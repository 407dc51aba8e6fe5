/*-------------------------------------------------------------------------
 *
 * wide.c
 *	  Columns of the wide row.
 *
 * Every Var in what the node puts out and in what its steps evaluate becomes
 * one column:
 *
 *		select b.y from a join b on b.x = a.x where a.k = 1 and b.z > 5
 *
 *		column		a.x			b.y		b.z		a.k			b.x
 *		filled by	step 0		step 1	step 1	nobody		nobody
 *
 * (a.k and b.x are compared inside the index; only EXPLAIN mentions them.)
 *
 * setrefs.c finds a Var by table and attribute, and insists that the outer
 * joins that may null it are the same as in custom_scan_tlist.  In a pipeline
 * one column passes several outer joins, so that its Vars differ.  Those in
 * the output must stay as they are, as the plan above looks for them; all
 * others are made to agree with them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "compat.h"
#include "plan/create.h"

typedef struct WideColumn
{
	Var		   *var;			/* NULL: dummy */
	AnagoColumnDesc desc;
} WideColumn;

typedef struct WideRow
{
	int			n;
	int			size;
	WideColumn *columns;
} WideRow;

static WideColumn *
find_column(WideRow *wide, const Var *var)
{
	for (int i = 0; i < wide->n; i++)
	{
		Var		   *known = wide->columns[i].var;

		if (known->varno == var->varno && known->varattno == var->varattno)
			return &wide->columns[i];
	}
	return NULL;
}

/* Position of a table's column among an index's columns. */
static AttrNumber
index_attno(const IndexOptInfo *index, AttrNumber attno)
{
	for (int i = 0; i < index->ncolumns; i++)
	{
		if (index->indexkeys[i] == attno && index->canreturn[i])
			return i + 1;
	}
	elog(ERROR, "column %d is not in index %u", attno, index->indexoid);
}

/* Who fills this column? */
static AnagoColumnDesc
find_filler(const AnagoPipelineDesc *desc, List *path_steps, const Plan *child,
			const Var *var)
{
	AnagoColumnDesc column;
	ListCell   *lc;

	for (int i = 0; i < desc->nsteps; i++)
	{
		if (desc->steps[i].scanrelid == var->varno)
		{
			const AnagoPathStep *step = list_nth(path_steps, i);

			column.step = i;
			column.attno = desc->steps[i].index_only ?
				index_attno(step->ipath->indexinfo, var->varattno) : var->varattno;
			return column;
		}
	}
	foreach(lc, child ? child->targetlist : NIL)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		Var		   *given = (Var *) tle->expr;

		if (IsA(given, Var) && given->varno == var->varno &&
			given->varattno == var->varattno)
		{
			column.step = ANAGO_STEP_SOURCE;
			column.attno = tle->resno;
			return column;
		}
	}
	elog(ERROR, "no step of the pipeline provides column %d of relation %d",
		 var->varattno, (int) var->varno);
}

/* Make columns of all Vars in there that have none yet. */
static void
add_columns(WideRow *wide, const AnagoPipelineDesc *desc, List *path_steps,
			const Plan *child, List *exprs, bool shown_only)
{
	List	   *vars = pull_var_clause((Node *) exprs, 0);
	ListCell   *lc;

	foreach(lc, vars)
	{
		Var		   *var = lfirst_node(Var, lc);
		WideColumn *column;

		if (find_column(wide, var))
			continue;
		if (wide->n == wide->size)
		{
			wide->size *= 2;
			wide->columns = repalloc(wide->columns, sizeof(WideColumn) * wide->size);
		}
		column = &wide->columns[wide->n++];
		column->var = var;
		if (shown_only)
		{
			column->desc.step = ANAGO_STEP_NONE;
			column->desc.attno = InvalidAttrNumber;
		}
		else
			column->desc = find_filler(desc, path_steps, child, var);
	}
	list_free(vars);
}

static int
compare_vars(const Var *a, const Var *b)
{
	if (a->varno != b->varno)
		return a->varno < b->varno ? -1 : 1;
	return (int) a->varattno - (int) b->varattno;
}

static int
compare_columns(const void *a, const void *b)
{
	const AnagoColumnDesc *ca = &((const WideColumn *) a)->desc;
	const AnagoColumnDesc *cb = &((const WideColumn *) b)->desc;

	if ((ca->step == ANAGO_STEP_NONE) != (cb->step == ANAGO_STEP_NONE))
		return ca->step == ANAGO_STEP_NONE ? 1 : -1;
	if (ca->step != cb->step)
		return ca->step < cb->step ? -1 : 1;
	if (ca->attno != cb->attno)
		return ca->attno < cb->attno ? -1 : 1;

	/* Columns that nobody fills: any order, but always the same. */
	return compare_vars(((const WideColumn *) a)->var, ((const WideColumn *) b)->var);
}

/* Mutator: give every Var the nulling joins that its column has. */
static Node *
unify_vars(Node *node, WideRow *wide)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		anago_copy_nullingrels(var, find_column(wide, var)->var);
		return (Node *) var;
	}
	return expression_tree_mutator(node, unify_vars, wide);
}

static void
collect_columns(WideRow *wide, const AnagoPipelineDesc *desc, List *path_steps,
				List *output, const Plan *child)
{
	wide->n = 0;
	wide->size = 16;
	wide->columns = palloc(sizeof(WideColumn) * wide->size);

	/* The output comes first, as its Vars must be taken as they are. */
	add_columns(wide, desc, path_steps, child, output, false);
	for (int i = 0; i < desc->nsteps; i++)
	{
		for (int j = 0; j < ANAGO_EXPRS_COUNT; j++)
		{
			if (j != ANAGO_EXPRS_SHOW_COND)
				add_columns(wide, desc, path_steps, child,
							desc->steps[i].exprs[j], false);
		}
	}
	for (int i = 0; i < desc->nsteps; i++)
		add_columns(wide, desc, path_steps, child,
					desc->steps[i].exprs[ANAGO_EXPRS_SHOW_COND], true);

	qsort(wide->columns, wide->n, sizeof(WideColumn), compare_columns);
}

/*
 * Where no column is needed at all: without custom_scan_tlist the scan slot
 * would be the table's.
 */
static void
add_dummy_column(WideRow *wide)
{
	wide->columns[0].var = NULL;
	wide->columns[0].desc.step = ANAGO_STEP_NONE;
	wide->columns[0].desc.attno = InvalidAttrNumber;
	wide->n = 1;
}

List *
anago_lay_out_wide_row(AnagoPipelineDesc *desc, List *path_steps,
					   List *output, const Plan *child)
{
	WideRow		wide;
	List	   *tlist = NIL;

	collect_columns(&wide, desc, path_steps, output, child);

	if (wide.n == 0)
		add_dummy_column(&wide);

	desc->ncolumns = wide.n;
	desc->columns = palloc(sizeof(AnagoColumnDesc) * wide.n);
	for (int i = 0; i < wide.n; i++)
	{
		Expr	   *expr = wide.columns[i].var ?
			copyObject((Expr *) wide.columns[i].var) :
			(Expr *) makeNullConst(INT4OID, -1, InvalidOid);

		desc->columns[i] = wide.columns[i].desc;
		tlist = lappend(tlist, makeTargetEntry(expr, i + 1, NULL, false));
	}
	for (int i = 0; i < desc->nsteps; i++)
	{
		for (int j = 0; j < ANAGO_EXPRS_COUNT; j++)
			desc->steps[i].exprs[j] = (List *)
				unify_vars((Node *) desc->steps[i].exprs[j], &wide);
	}
	pfree(wide.columns);
	return tlist;
}
