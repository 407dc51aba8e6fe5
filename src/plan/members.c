/*-------------------------------------------------------------------------
 *
 * members.c
 *	  Inner sides of several tables: their members (arms of one: arms.c).
 *
 * Core makes parameterized Append paths of a partitioned table, of a table with
 * children, and of a UNION ALL of tables.  Where each part of one can be an
 * index scan, a step can probe all of them: they are its members.
 *
 *		Append (p1, p2, p3)		->		step p, members p1, p2, p3
 *
 * To all that is above, a member's columns are those of the parent, from which
 * they may differ in number and order; so the parent's Vars name the columns of
 * the wide row, and the members' conditions are written in them, too.  A member
 * must have a plain column for each, which a branch of a UNION ALL that computes
 * something has not.
 *
 * A table that is looked up by OR over several indexes has a member for each arm.
 *
 * For a table that is empty or tiny core prefers a sequential scan.  Such a part
 * is given an index path of its own, as a probe of it costs next to nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"

#include "plan/paths.h"

/* --- columns --- */

/*
 * The attribute of a member that column `attno` of the topmost parent `top` is;
 * InvalidAttrNumber if it is no plain column there.  System columns, and the whole
 * row, are the same in all.  Members may be arms of the only table.
 */
AttrNumber
anago_member_attno(PlannerInfo *root, Index top, Index member, AttrNumber attno)
{
	const AppendRelInfo *info;
	const Var  *var;

	if (member == top)
		return attno;
	info = root->append_rel_array[member];
	if (info->parent_relid != top)
		attno = anago_member_attno(root, top, info->parent_relid, attno);
	if (attno <= 0)
		return attno;
	var = list_nth(info->translated_vars, attno - 1);
	if (var == NULL || !IsA(var, Var) || var->varno != member)
		return InvalidAttrNumber;
	return var->varattno;
}

/* The other way round; InvalidAttrNumber: the parent has no such column. */
static AttrNumber
parent_attno(PlannerInfo *root, const RelOptInfo *parent, Index member,
			 AttrNumber attno)
{
	if (attno < 0)
		return attno;
	for (AttrNumber i = 1; attno > 0 && i <= parent->max_attr; i++)
		if (anago_member_attno(root, parent->relid, member, i) == attno)
			return i;
	return InvalidAttrNumber;
}

typedef struct ParentContext
{
	PlannerInfo *root;
	const RelOptInfo *parent;
	Index		member;
} ParentContext;

/* Walker: something of the member that the parent has no column for? */
static bool
is_own(Node *node, ParentContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RestrictInfo))
		return is_own((Node *) ((RestrictInfo *) node)->clause, context);
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		return var->varno == context->member && var->varlevelsup == 0 &&
			parent_attno(context->root, context->parent, context->member,
						 var->varattno) == InvalidAttrNumber;
	}
	if (IsA(node, PlaceHolderVar))
		return bms_is_member(context->member, ((PlaceHolderVar *) node)->phrels);
	return expression_tree_walker(node, is_own, context);
}

static Node *
as_of_parent(Node *node, ParentContext *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == context->member &&
		((Var *) node)->varlevelsup == 0)
	{
		Var		   *var = copyObject((Var *) node);

		var->varno = context->parent->relid;
		var->varattno = parent_attno(context->root, context->parent,
									 context->member, var->varattno);
		var->varnosyn = 0;
		var->varattnosyn = 0;
		return (Node *) var;
	}
	return expression_tree_mutator(node, as_of_parent, context);
}

/* Expressions over a member, in Vars of the parent. */
Node *
anago_as_of_parent(PlannerInfo *root, RelOptInfo *parent, Index member, Node *node)
{
	ParentContext context = {root, parent, member};

	return as_of_parent(node, &context);
}

/* --- members --- */

/*
 * Is a row of the member one of the parent, but for the order of columns?  Not that of
 * a branch of UNION ALL, which has no row type.
 */
static bool
has_row(PlannerInfo *root, Index top, Index member)
{
	const AppendRelInfo *info = root->append_rel_array[member];

	return OidIsValid(info->child_reltype) && OidIsValid(info->parent_reltype) &&
		(info->parent_relid == top || has_row(root, top, info->parent_relid));
}

/* Has the member a plain column for each that is asked of the parent? */
static bool
has_columns(PlannerInfo *root, const RelOptInfo *parent, Index member)
{
	List	   *vars = pull_var_clause((Node *) parent->reltarget->exprs,
									   PVC_RECURSE_PLACEHOLDERS);
	bool		result = true;
	ListCell   *lc;

	foreach(lc, vars)
	{
		const Var  *var = lfirst_node(Var, lc);

		if (var->varno != parent->relid)
			continue;
		if (var->varattno == InvalidAttrNumber)
			result &= has_row(root, parent->relid, member);
		else
			result &= anago_member_attno(root, parent->relid, member,
										 var->varattno) != InvalidAttrNumber;
	}
	list_free(vars);
	return result;
}

/* `arm`: what it finds is tested by an arm behind it. */
static bool
conditions_are_of_parent(PlannerInfo *root, RelOptInfo *parent,
						 const IndexPath *ipath, bool arm)
{
	ParentContext context = {root, parent, ipath->path.parent->relid};

	return !is_own((Node *) ipath->indexinfo->indrestrictinfo, &context) &&
		!is_own((Node *) ipath->path.param_info->ppi_clauses, &context) &&
		!(arm && is_own((Node *) anago_found_by(ipath), &context));
}

/* The index path with just these parameters, or the arms of an OR. */
static List *
with_parameters(PlannerInfo *root, Path *path, Relids required)
{
	if (!IsA(path, IndexPath))
		return anago_arms_with(root, path, required);
	if (!bms_equal(PATH_REQ_OUTER(path), required))
		path = reparameterize_path(root, path, required, 1.0);
	return path == NULL ? NIL : list_make1(path);
}

/* Can these be members? */
static bool
are_members(PlannerInfo *root, RelOptInfo *parent, List *ipaths)
{
	bool		arms = list_length(ipaths) > 1;
	ListCell   *lc;

	foreach(lc, ipaths)
		if (!anago_index_path_eligible(root, lfirst(lc)) ||
			!conditions_are_of_parent(root, parent, lfirst(lc), arms))
			return false;
	return ipaths != NIL;
}

static Cost
cost_of(List *ipaths)
{
	Cost		total = 0;
	ListCell   *lc;

	foreach(lc, ipaths)
		total += ((const Path *) lfirst(lc))->total_cost;
	return total;
}

/*
 * What a table is probed by, of these paths of core's: the cheapest index path that
 * can be a member, or arms that can.  *from is that path.
 */
static List *
cheapest_members(PlannerInfo *root, RelOptInfo *parent, List *paths,
				 Relids required, Path **from)
{
	List	   *candidates = list_concat(anago_collect_index_paths(paths), paths);
	List	   *best = NIL;
	ListCell   *lc;

	foreach(lc, candidates)
	{
		Path	   *path = lfirst(lc);
		List	   *ipaths;

		if (PATH_REQ_OUTER(path) == NULL ||
			!bms_is_subset(PATH_REQ_OUTER(path), required))
			continue;
		ipaths = with_parameters(root, path, required);
		if (are_members(root, parent, ipaths) &&
			(best == NIL || cost_of(ipaths) < cost_of(best)))
		{
			best = ipaths;
			*from = path;
		}
	}
	list_free(candidates);
	return best;
}

/*
 * A part of the Append for which core has no index path, made anew.  It is kept
 * where the next join finds it: with the table's own paths, of which core's
 * Appends have been made by now.
 */
static List *
remake_members(PlannerInfo *root, RelOptInfo *parent, RelOptInfo *rel, Relids required)
{
	Path	   *from;
	List	   *members = cheapest_members(root, parent, anago_remake_paths(root, rel, NIL),
										   required, &from);

	if (members != NIL)
		rel->pathlist = lappend(rel->pathlist, from);
	return members;
}

static List *
members_of(PlannerInfo *root, RelOptInfo *parent, Path *path, Relids required)
{
	RelOptInfo *rel = path->parent;
	List	   *members;
	Path	   *from;

	if (!anago_rel_eligible(root, rel) ||
		!has_columns(root, parent, rel->relid))
		return NIL;
	members = cheapest_members(root, parent, list_make1(path), required, &from);
	if (members == NIL)
		members = cheapest_members(root, parent, rel->pathlist, required, &from);
	if (members == NIL)
		members = remake_members(root, parent, rel, required);
	return members;
}

/* A relation whose rows are those of several tables? */
bool
anago_is_append(PlannerInfo *root, const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_BASEREL &&
		planner_rt_fetch(rel->relid, root)->inh;
}

/* One that a step can probe, as far as it itself is concerned. */
bool
anago_append_eligible(PlannerInfo *root, RelOptInfo *rel)
{
	return anago_is_append(root, rel) && !IS_DUMMY_REL(rel) &&
		bms_is_empty(rel->lateral_relids) &&
		anago_exprs_eligible(rel->reltarget->exprs) &&
		!anago_has_effects(root, (Node *) rel->reltarget->exprs);
}

/*
 * An index path for each part of a parameterized Append, in its order, or several
 * where they are arms; NIL if one has none.
 *
 * Under GEQO joins are planned in memory that goes; what is made of a table stays
 * with that table.
 */
List *
anago_append_members(PlannerInfo *root, AppendPath *append)
{
	RelOptInfo *rel = append->path.parent;
	Relids		required = PATH_REQ_OUTER(&append->path);
	MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
	List	   *members = NIL;
	ListCell   *lc;

	foreach(lc, append->subpaths)
	{
		List	   *of_part = members_of(root, rel, lfirst(lc), required);

		if (of_part == NIL)
		{
			members = NIL;
			break;
		}
		members = list_concat(members, of_part);
	}
	MemoryContextSwitchTo(old);
	return members;
}
