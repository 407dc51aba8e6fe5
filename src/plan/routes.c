/*-------------------------------------------------------------------------
 *
 * routes.c
 *	  Looks at partitions that new rows will go to: what is to be known of a row.
 *
 * Keys of looks are those of the partitioned table's own indexes.  Which partition a
 * row goes to is found when it is there (pipeline/route.c); here the columns are
 * found that say so.  Partitions are not the statement's, and may be many: to learn
 * which columns those want that are partitioned themselves, and whether any is large,
 * some of them are looked into that are not locked by others.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_partitioned_table.h"
#include "partitioning/partdesc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/syscache.h"

#include "plan/changes.h"
#include "tryopen.h"

/*
 * Partitions of one table that are looked into, and of all that are below; for what each
 * may have of its own there are as many of one.
 */
#define SAMPLE			8
#define SAMPLE_ALL		32

typedef bool (*VisitPartition) (Relation partition, void *context);

/* --- some partitions --- */

typedef struct Visit
{
	VisitPartition visit;
	void	   *context;
	bool		leaves;			/* also those that are not partitioned */
	int			of_one;
	int			left;
} Visit;

/* Visit some below a partitioned table until one will do. */
static bool
visit_some(Relation parent, Visit *visit)
{
	PartitionDesc parts = RelationGetPartitionDesc(parent, true);
	int			n = Min(parts->nparts, visit->of_one);
	bool		found = false;

	/* of partitions by time the last is where rows go, mostly */
	for (int i = n; i > 0 && !found && visit->left > 0; i--)
	{
		int			which = parts->nparts * i / n - 1;
		Relation	partition;

		if (parts->is_leaf[which] && !visit->leaves)
			continue;
		partition = anago_try_open(parts->oids[which]);
		if (partition == NULL)
			continue;
		visit->left--;
		found = visit->visit(partition, visit->context) ||
			(!parts->is_leaf[which] && visit_some(partition, visit));
		anago_try_close(partition);
	}
	return found;
}

/* --- is it worth a look? --- */

typedef struct JudgeCxt
{
	const AnagoStepDesc *desc;
	AnagoJudgeTable judge;
} JudgeCxt;

static bool
is_worth_it(Relation partition, void *context)
{
	const JudgeCxt *cxt = context;
	Relation	index = NULL;
	bool		result = false;

	if (partition->rd_rel->relkind == RELKIND_RELATION)
		index = anago_try_open(anago_index_of_partition(partition, cxt->desc->indexid,
														cxt->desc->alike));
	if (index != NULL)
		result = cxt->judge(partition, index, cxt->desc);
	anago_try_close(index);
	return result;
}

bool
anago_route_is_worth_it(Relation heap, const AnagoStepDesc *desc, AnagoJudgeTable judge)
{
	JudgeCxt	cxt = {.desc = desc,.judge = judge};
	Visit		visit = {.visit = is_worth_it,.context = &cxt,.leaves = true,
		.of_one = SAMPLE,.left = SAMPLE_ALL};

	return heap->rd_rel->relkind == RELKIND_PARTITIONED_TABLE && visit_some(heap, &visit);
}

/* --- what partitions have of their own --- */

typedef struct OwnIndexCxt
{
	AnagoVisitIndex visit;
	void	   *context;
} OwnIndexCxt;

static bool
visit_own_indexes(Relation partition, void *context)
{
	const OwnIndexCxt *cxt = context;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(partition))
	{
		Relation	index = get_rel_relispartition(lfirst_oid(lc)) ? NULL :
			anago_try_open(lfirst_oid(lc));

		if (index != NULL)
			cxt->visit(partition, index, cxt->context);
		anago_try_close(index);
	}
	return false;
}

void
anago_visit_own_indexes(Relation top, AnagoVisitIndex visit, void *context)
{
	OwnIndexCxt cxt = {.visit = visit,.context = context};
	Visit		all = {.visit = visit_own_indexes,.context = &cxt,.leaves = true,
		.of_one = SAMPLE_ALL,.left = SAMPLE_ALL};

	(void) visit_some(top, &all);
}

/* --- what says where a row goes --- */

typedef struct RouteCxt
{
	Relation	top;
	AnagoRoute *route;
	AnagoValue	value;
	const void *of;
} RouteCxt;

/* That column of the topmost table is wanted; false: it is not known. */
static bool
add_column(RouteCxt *cxt, AttrNumber attno)
{
	Node	   *value;

	if (list_member_int(cxt->route->attnos, attno))
		return true;
	value = cxt->value(cxt->of, attno, NULL);
	if (value == NULL)
		return false;
	cxt->route->attnos = lappend_int(cxt->route->attnos, attno);
	cxt->route->values = lappend(cxt->route->values, value);
	return true;
}

/* Columns of a partition's own key, which are found by name. */
static bool
add_columns_of(Relation partition, void *context)
{
	RouteCxt   *cxt = context;
	PartitionKey key = RelationGetPartitionKey(partition);

	for (int i = 0; i < key->partnatts; i++)
	{
		AttrNumber	attno = key->partattrs[i];

		if (attno != InvalidAttrNumber)
			(void) add_column(cxt, get_attnum(RelationGetRelid(cxt->top),
											  NameStr(TupleDescAttr(RelationGetDescr(partition),
																	attno - 1)->attname)));
	}
	return false;
}

/* Expressions of the key, before core folds them; NIL: there are none. */
static List *
key_expressions(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(relid));
	List	   *result = NIL;
	bool		isnull;
	Datum		exprs;

	if (!HeapTupleIsValid(tuple))
		return NIL;
	exprs = SysCacheGetAttr(PARTRELID, tuple, Anum_pg_partitioned_table_partexprs,
							&isnull);
	if (!isnull)
		result = stringToNode(TextDatumGetCString(exprs));
	ReleaseSysCache(tuple);
	return result;
}

/* The topmost table's own key, all of which must be known. */
static bool
add_own_key(RouteCxt *cxt)
{
	PartitionKey key;
	ListCell   *next;

	/* core would fold these now, and not before there is a row */
	if (anago_calls_users_function((Node *) key_expressions(RelationGetRelid(cxt->top))))
		return false;
	key = RelationGetPartitionKey(cxt->top);
	next = list_head(key->partexprs);
	for (int i = 0; i < key->partnatts; i++)
	{
		Node	   *value;

		if (key->partattrs[i] != InvalidAttrNumber)
		{
			if (!add_column(cxt, key->partattrs[i]))
				return false;
			continue;
		}
		value = cxt->value(cxt->of, InvalidAttrNumber, lfirst(next));
		next = lnext(key->partexprs, next);
		if (value == NULL)
			return false;
		cxt->route->attnos = lappend_int(cxt->route->attnos, 0);
		cxt->route->values = lappend(cxt->route->values, value);
	}
	return true;
}

bool
anago_find_route(AnagoRoute *route, Relation top, AnagoValue value, const void *of)
{
	RouteCxt	cxt = {.top = top,.route = route,.value = value,.of = of};
	Visit		visit = {.visit = add_columns_of,.context = &cxt,.of_one = SAMPLE,
		.left = SAMPLE_ALL};

	if (!add_own_key(&cxt))
		return false;
	(void) visit_some(top, &visit);
	return true;
}
