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
 * Placeholders are expressions that core's planner makes when it pulls up a
 * subquery below an outer join, as they become NULL where the subquery's rows
 * do:
 *
 *		select x.five from a left join (select b.x, 5 as five from b) x on ...
 *
 * One that is of a single step's table is a column that this step computes of
 * a match, and that a left join's null extension makes NULL.  One of several
 * tables is not made NULL by any later step, so that it is no column but
 * computed wherever it is asked for; so are those within a step's own scan
 * conditions.  A child plan gives its own as columns.
 *
 * In a parameterized pipeline, the inner side of a nested loop of core's, columns
 * of the outer relations are not in the wide row: core replaces them by parameters
 * in all expressions, here in custom_exprs once the node has been made.
 *
 * setrefs.c finds a Var by table and attribute, a placeholder by its number, and insists that the outer
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

#include "compat_plan.h"
#include "plan/create.h"

typedef struct WideColumn
{
	Node	   *expr;			/* Var or PlaceHolderVar; NULL: dummy */
	AnagoColumnDesc desc;
} WideColumn;

typedef struct WideRow
{
	PlannerInfo *root;
	AnagoPipelineDesc *desc;
	List	   *path_steps;
	Relids		required;		/* whose columns will be parameters */
	const Plan *child;			/* or NULL */
	int			n;
	int			size;
	WideColumn *columns;
} WideRow;

/* Context of inline_placeholders. */
typedef struct InlineContext
{
	const WideRow *wide;
	int			own;			/* step whose own placeholders are not there yet,
								 * or ANAGO_STEP_NONE */
} InlineContext;

static bool
is_same_column(const Node *a, const Node *b)
{
	if (IsA(a, Var) != IsA(b, Var))
		return false;
	if (IsA(a, Var))
		return ((const Var *) a)->varno == ((const Var *) b)->varno &&
			((const Var *) a)->varattno == ((const Var *) b)->varattno;
	return ((const PlaceHolderVar *) a)->phid == ((const PlaceHolderVar *) b)->phid;
}

static WideColumn *
find_column(WideRow *wide, const Node *expr)
{
	for (int i = 0; i < wide->n; i++)
	{
		if (is_same_column(wide->columns[i].expr, expr))
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

/* What of a step's member fills a column of the parent's. */
static AttrNumber
member_filler(const WideRow *wide, const AnagoColumnDesc *column, int member)
{
	const AnagoStepDesc *sd = &wide->desc->steps[column->step];
	const AnagoPathStep *step = list_nth(wide->path_steps, column->step);
	const IndexPath *ipath = list_nth_node(IndexPath, step->members, member);
	AttrNumber	attno;

	if (column->attno == ANAGO_ATTNO_COMPUTED)
		return column->attno;
	attno = anago_member_attno(wide->root, sd->scanrelid,
							   sd->members[member].scanrelid, column->attno);
	return sd->members[member].index_only ?
		index_attno(ipath->indexinfo, attno) : attno;
}

/* Does the child plan give it? */
static bool
find_in_child(const WideRow *wide, const Node *expr, AnagoColumnDesc *column)
{
	ListCell   *lc;

	foreach(lc, wide->child ? wide->child->targetlist : NIL)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if ((IsA(tle->expr, Var) || IsA(tle->expr, PlaceHolderVar)) &&
			is_same_column((Node *) tle->expr, expr))
		{
			column->step = ANAGO_STEP_SOURCE;
			column->attno = tle->resno;
			return true;
		}
	}
	return false;
}

static bool
find_var_filler(const WideRow *wide, const Var *var, AnagoColumnDesc *column)
{
	for (int i = 0; i < wide->desc->nsteps; i++)
	{
		const AnagoStepDesc *sd = &wide->desc->steps[i];

		if (sd->scanrelid == var->varno)
		{
			const AnagoPathStep *step = list_nth(wide->path_steps, i);

			column->step = i;
			column->attno = sd->index_only ?
				index_attno(step->ipath->indexinfo, var->varattno) : var->varattno;
			return true;
		}
	}
	return find_in_child(wide, (const Node *) var, column);
}

/* The tables that a placeholder is of. */
static Relids
placeholder_relids(PlannerInfo *root, const PlaceHolderVar *phv)
{
	ListCell   *lc;

	foreach(lc, root->placeholder_list)
	{
		PlaceHolderInfo *info = lfirst_node(PlaceHolderInfo, lc);

		if (info->phid == phv->phid)
			return info->ph_eval_at;
	}
	return NULL;
}

static bool
find_placeholder_filler(const WideRow *wide, const PlaceHolderVar *phv,
						AnagoColumnDesc *column)
{
	int			relid;

	if (find_in_child(wide, (const Node *) phv, column))
		return true;
	if (!bms_get_singleton_member(placeholder_relids(wide->root, phv), &relid))
		return false;
	for (int i = 0; i < wide->desc->nsteps; i++)
	{
		if (wide->desc->steps[i].scanrelid == relid)
		{
			column->step = i;
			column->attno = ANAGO_ATTNO_COMPUTED;
			return true;
		}
	}
	return false;
}

/* Who fills this column? */
static AnagoColumnDesc
find_filler(const WideRow *wide, const Node *expr)
{
	AnagoColumnDesc column;

	if (IsA(expr, Var))
	{
		const Var  *var = (const Var *) expr;

		if (!find_var_filler(wide, var, &column))
			elog(ERROR, "no step of the pipeline provides column %d of relation %d",
				 var->varattno, (int) var->varno);
	}
	else if (!find_placeholder_filler(wide, (const PlaceHolderVar *) expr, &column))
		elog(ERROR, "no step of the pipeline provides placeholder %u",
			 ((const PlaceHolderVar *) expr)->phid);
	return column;
}

/* Mutator: what of placeholders that are no column to these expressions? */
static Node *
inline_mutator(Node *node, InlineContext *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
	{
		PlaceHolderVar *phv = (PlaceHolderVar *) node;
		AnagoColumnDesc column;

		if (find_placeholder_filler(context->wide, phv, &column) &&
			(column.step != context->own || column.attno != ANAGO_ATTNO_COMPUTED))
			return (Node *) copyObject(phv);
		return inline_mutator((Node *) phv->phexpr, context);
	}
	return expression_tree_mutator(node, inline_mutator, context);
}

static Node *
inline_placeholders(const WideRow *wide, Node *exprs, int own)
{
	InlineContext context = {wide, own};

	return wide->root->placeholder_list == NIL ? exprs :
		inline_mutator(exprs, &context);
}

/* Is it of a relation further out?  (No placeholder is, see joinpaths.c.) */
static bool
is_parameter(const WideRow *wide, const Node *expr)
{
	return IsA(expr, Var) && bms_is_member(((const Var *) expr)->varno, wide->required);
}

static WideColumn *
new_column(WideRow *wide)
{
	if (wide->n == wide->size)
	{
		wide->size *= 2;
		wide->columns = repalloc(wide->columns, sizeof(WideColumn) * wide->size);
	}
	return &wide->columns[wide->n++];
}

/*
 * Make columns of all in there that has none yet, and of what those need that
 * are computed.
 */
static void
add_columns(WideRow *wide, Node *exprs, bool shown_only)
{
	List	   *leaves = pull_var_clause(exprs, PVC_INCLUDE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, leaves)
	{
		Node	   *expr = lfirst(lc);
		AnagoColumnDesc filler = {ANAGO_STEP_NONE, InvalidAttrNumber};
		WideColumn *column;

		if (is_parameter(wide, expr) || find_column(wide, expr))
			continue;
		if (!shown_only)
			filler = find_filler(wide, expr);
		column = new_column(wide);
		column->expr = expr;
		column->desc = filler;
		if (filler.attno == ANAGO_ATTNO_COMPUTED)
			add_columns(wide,
						inline_placeholders(wide,
											(Node *) ((PlaceHolderVar *) expr)->phexpr,
											filler.step),
						false);
	}
	list_free(leaves);
}

static int
compare_exprs(const Node *a, const Node *b)
{
	if (IsA(a, Var) != IsA(b, Var))
		return IsA(a, Var) ? -1 : 1;
	if (IsA(a, Var))
	{
		const Var  *va = (const Var *) a;
		const Var  *vb = (const Var *) b;

		if (va->varno != vb->varno)
			return va->varno < vb->varno ? -1 : 1;
		return (int) va->varattno - (int) vb->varattno;
	}
	return ((const PlaceHolderVar *) a)->phid < ((const PlaceHolderVar *) b)->phid ? -1 : 1;
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

	/* Computed, or filled by nobody: any order, but always the same. */
	return compare_exprs(((const WideColumn *) a)->expr, ((const WideColumn *) b)->expr);
}

/* Mutator: give every column the nulling joins that its entry has. */
static Node *
unify_columns(Node *node, WideRow *wide)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		if (is_parameter(wide, node))
			return (Node *) var;
		anago_copy_nullingrels(var, (Var *) find_column(wide, node)->expr);
		return (Node *) var;
	}
	if (IsA(node, PlaceHolderVar))
	{
		PlaceHolderVar *phv = copyObject((PlaceHolderVar *) node);

		anago_copy_ph_nullingrels(phv, (PlaceHolderVar *) find_column(wide, node)->expr);
		return (Node *) phv;
	}
	return expression_tree_mutator(node, unify_columns, wide);
}

/* Of a step's conditions, those that are tested before it computes columns. */
static bool
is_before_computed(AnagoStepExprs which)
{
	return which != ANAGO_EXPRS_JOIN && which != ANAGO_EXPRS_OTHER;
}

typedef Node *(*ExprsMutator) (WideRow *wide, Node *exprs, int step,
							   AnagoStepExprs which);

/* All that one table's conditions are made of. */
static void
mutate_table(WideRow *wide, AnagoStepDesc *desc, int step, ExprsMutator mutator)
{
	for (int i = 0; i < ANAGO_EXPRS_COUNT; i++)
		if (desc->exprs[i] != NIL)
			desc->exprs[i] = (List *) mutator(wide, (Node *) desc->exprs[i], step, i);
}

/* The same of steps, with all their tables. */
static void
mutate_steps(WideRow *wide, ExprsMutator mutator)
{
	for (int i = 0; i < wide->desc->nsteps; i++)
	{
		AnagoStepDesc *desc = &wide->desc->steps[i];

		mutate_table(wide, desc, i, mutator);
		for (int j = 0; j < desc->nmembers; j++)
			mutate_table(wide, &desc->members[j], i, mutator);
		for (int j = 0; j < desc->prune.nlevels; j++)
		{
			AnagoPruneLevel *level = &desc->prune.levels[j];

			level->values = (List *) mutator(wide, (Node *) level->values, i,
											 ANAGO_EXPRS_KEYS);
		}
	}
}

static Node *
inline_in_exprs(WideRow *wide, Node *exprs, int step, AnagoStepExprs which)
{
	return inline_placeholders(wide, exprs,
							   is_before_computed(which) ? step : ANAGO_STEP_NONE);
}

static Node *
add_evaluated(WideRow *wide, Node *exprs, int step, AnagoStepExprs which)
{
	if (which != ANAGO_EXPRS_SHOW_COND)
		add_columns(wide, exprs, false);
	return exprs;
}

static Node *
add_shown(WideRow *wide, Node *exprs, int step, AnagoStepExprs which)
{
	if (which == ANAGO_EXPRS_SHOW_COND)
		add_columns(wide, exprs, true);
	return exprs;
}

static Node *
unify_exprs(WideRow *wide, Node *exprs, int step, AnagoStepExprs which)
{
	return unify_columns(exprs, wide);
}

/* What steps compute, in the order of their columns. */
static void
describe_computed(const WideRow *wide)
{
	for (int i = 0; i < wide->n; i++)
	{
		const WideColumn *column = &wide->columns[i];
		List	  **exprs;

		if (column->desc.attno != ANAGO_ATTNO_COMPUTED)
			continue;
		exprs = &wide->desc->steps[column->desc.step].exprs[ANAGO_EXPRS_COMPUTED];
		*exprs = lappend(*exprs,
						 inline_placeholders(wide,
											 (Node *) ((PlaceHolderVar *) column->expr)->phexpr,
											 column->desc.step));
	}
}

static void
collect_columns(WideRow *wide, List *output)
{
	wide->n = 0;
	wide->size = 16;
	wide->columns = palloc(sizeof(WideColumn) * wide->size);

	if (wide->root->placeholder_list != NIL)
		mutate_steps(wide, inline_in_exprs);

	/* The output comes first, as its Vars must be taken as they are. */
	add_columns(wide, inline_placeholders(wide, (Node *) output, ANAGO_STEP_NONE),
				false);
	mutate_steps(wide, add_evaluated);
	mutate_steps(wide, add_shown);

	qsort(wide->columns, wide->n, sizeof(WideColumn), compare_columns);
	describe_computed(wide);
}

/*
 * Where no column is needed at all: without custom_scan_tlist the scan slot
 * would be the table's.
 */
static void
add_dummy_column(WideRow *wide)
{
	wide->columns[0].expr = NULL;
	wide->columns[0].desc.step = ANAGO_STEP_NONE;
	wide->columns[0].desc.attno = InvalidAttrNumber;
	wide->n = 1;
}

/* What of each table fills the columns of a step that has several. */
static void
describe_members(const WideRow *wide)
{
	for (int i = 0; i < wide->n; i++)
	{
		const AnagoColumnDesc *column = &wide->columns[i].desc;
		AnagoStepDesc *desc;

		if (column->step < 0)
			continue;
		desc = &wide->desc->steps[column->step];
		for (int j = 0; j < desc->nmembers; j++)
		{
			AnagoStepDesc *member = &desc->members[j];

			member->attnos = lappend_int(member->attnos,
										 member_filler(wide, column, j));
		}
	}
}

List *
anago_lay_out_wide_row(PlannerInfo *root, AnagoPipelineDesc *desc,
					   List *path_steps, List *output, Relids required,
					   const Plan *child)
{
	WideRow		wide = {
		.root = root,
		.desc = desc,
		.path_steps = path_steps,
		.required = required,
		.child = child,
	};
	List	   *tlist = NIL;

	collect_columns(&wide, output);
	if (wide.n == 0)
		add_dummy_column(&wide);

	desc->ncolumns = wide.n;
	desc->columns = palloc(sizeof(AnagoColumnDesc) * wide.n);
	for (int i = 0; i < wide.n; i++)
	{
		Expr	   *expr = wide.columns[i].expr ?
			copyObject((Expr *) wide.columns[i].expr) :
			(Expr *) makeNullConst(INT4OID, -1, InvalidOid);

		desc->columns[i] = wide.columns[i].desc;
		tlist = lappend(tlist, makeTargetEntry(expr, i + 1, NULL, false));
	}
	if (root->join_info_list != NIL)	/* outer joins are there */
		mutate_steps(&wide, unify_exprs);
	describe_members(&wide);
	pfree(wide.columns);
	return tlist;
}
