/*-------------------------------------------------------------------------
 *
 * route.c
 *	  Which partition a new row will go to.
 *
 * As ExecFindPartition() does it, without what that does beside: nothing is locked,
 * nothing is made ready, no row is refused.
 *
 *		by_day:		2024-01  2024-02  2024-03		row: at = 2024-02-11
 *								|
 *		by_region:			[a..m] [n..z]			row: region = 'fr'
 *							 table
 *
 * The planner gives a value for each column of the topmost table that a key may
 * want, and for each expression in that table's own key.  A partition that is partitioned itself may
 * have its columns in another order; they are found by name.
 *
 * A row that an UPDATE changes is in a partition already.  It stays there if no key is set, and
 * is taken to stay if it is not known where it goes.
 *
 * Only what core has opened in this session is looked into: so no lock is taken ahead
 * of core's, and what a statement of a trigger may not do to such a table is what
 * it may not do anyway.  Before its first row has come a partition is not known here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/transam.h"
#include "executor/executor.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "pipeline/route.h"
#include "tryopen.h"

/* Partitioned tables below each other; who has more has no looks in the deepest. */
#define MOST_LEVELS		16

/* And in all: rows of others are not looked for. */
#define MOST_TABLES		256

/* A partitioned table. */
typedef struct Level
{
	Oid			relid;			/* must be first */
	Relation	rel;			/* NULL: it is not open */
	bool		known;			/* the next is */
	bool		usable;			/* values of its key can be had */
	int			which[PARTITION_MAX_KEYS];	/* of these */
} Level;

struct AnagoRouter
{
	AnagoPipeline *pipeline;
	const AnagoStepDesc *desc;
	Oid			root;
	ExprState **values;			/* as desc->attnos */
	ExprState  *old;			/* where the row has been, or NULL */
	bool		by_key;			/* keys say where it goes */
	HTAB	   *levels;
};

AnagoRouter *
anago_router_create(AnagoPipeline *pipeline, const AnagoStepDesc *desc)
{
	AnagoRouter *router = palloc0(sizeof(AnagoRouter));
	const List *values = desc->exprs[ANAGO_EXPRS_ROUTE];
	HASHCTL		ctl = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(Level),
		.hcxt = CurrentMemoryContext,
	};

	router->pipeline = pipeline;
	router->desc = desc;
	router->root = exec_rt_fetch(desc->scanrelid, pipeline->estate)->relid;
	router->values = palloc(sizeof(ExprState *) * (list_length(values) + 1));
	for (int i = 0; i < list_length(values); i++)
	{
		router->values[i] = ExecInitExpr(list_nth(values, i), pipeline->ps);
		if (list_nth_int(desc->attnos, i) == TableOidAttributeNumber)
			router->old = router->values[i];
		else
			router->by_key = true;
	}
	router->levels = hash_create("anago partitioned tables", 16, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	return router;
}

/* --- the key of a partitioned table --- */

/* Which value is the topmost table's column of that name, or -1. */
static int
find_named(const AnagoRouter *router, const char *name)
{
	for (int i = 0; i < list_length(router->desc->attnos); i++)
	{
		AttrNumber	attno = list_nth_int(router->desc->attnos, i);
		const char *of_value = attno <= 0 ? NULL : get_attname(router->root, attno, true);

		if (of_value != NULL && strcmp(of_value, name) == 0)
			return i;
	}
	return -1;
}

/* The same of an expression of the topmost table's key: one after the other. */
static int
find_expression(const AnagoRouter *router, int nth)
{
	for (int i = 0; i < list_length(router->desc->attnos); i++)
		if (list_nth_int(router->desc->attnos, i) == 0 && nth-- == 0)
			return i;
	return -1;
}

/* Compared, or hashed, by built-in functions alone? */
static bool
is_plain(PartitionKey key, int col)
{
	return key->partsupfunc[col].fn_oid < FirstNormalObjectId &&
		(key->parttypid[col] < FirstNormalObjectId || type_is_enum(key->parttypid[col]));
}

static void
know_key(const AnagoRouter *router, Level *level)
{
	PartitionKey key = RelationGetPartitionKey(level->rel);
	TupleDesc	desc = RelationGetDescr(level->rel);
	int			nexprs = 0;

	level->known = level->usable = true;
	for (int col = 0; col < key->partnatts; col++)
	{
		AttrNumber	attno = key->partattrs[col];

		if (attno != InvalidAttrNumber)
			level->which[col] = find_named(router,
										   NameStr(TupleDescAttr(desc, attno - 1)->attname));
		else if (level->relid == router->root)
			level->which[col] = find_expression(router, nexprs++);
		else
			level->which[col] = -1;
		if (level->which[col] < 0 || !is_plain(key, col))
			level->usable = false;
	}
}

/* NULL: it can't be looked into, now or ever. */
static Level *
open_level(AnagoRouter *router, Oid relid)
{
	Level	   *level = hash_search(router->levels, &relid, HASH_FIND, NULL);

	if (level == NULL)
	{
		if (hash_get_num_entries(router->levels) == MOST_TABLES)
			return NULL;
		level = hash_search(router->levels, &relid, HASH_ENTER, NULL);
		memset((char *) level + sizeof(Oid), 0, sizeof(Level) - sizeof(Oid));
	}
	if (level->rel == NULL)
		level->rel = anago_open_used(relid);
	if (level->rel == NULL)
		return NULL;
	if (!level->known)
		know_key(router, level);
	return level->usable ? level : NULL;
}

/* --- rows --- */

static void
get_values(const AnagoRouter *router, const Level *level, int n, Datum *values,
		   bool *isnull)
{
	for (int i = 0; i < n; i++)
		values[i] = ExecEvalExprSwitchContext(router->values[level->which[i]],
											  router->pipeline->econtext, &isnull[i]);
}

static int
find_hashed(PartitionKey key, PartitionBoundInfo bounds, Datum *values, bool *isnull)
{
	uint64		hash = compute_partition_hash_value(key->partnatts, key->partsupfunc,
													key->partcollation, values, isnull);

	return bounds->indexes[hash % bounds->nindexes];
}

static int
find_listed(PartitionKey key, PartitionBoundInfo bounds, Datum value, bool isnull)
{
	bool		equal = false;
	int			at;

	if (isnull)
		return partition_bound_accepts_nulls(bounds) ? bounds->null_index : -1;
	at = partition_list_bsearch(key->partsupfunc, key->partcollation, bounds, value,
								&equal);
	return at >= 0 && equal ? bounds->indexes[at] : -1;
}

static int
find_ranged(PartitionKey key, PartitionBoundInfo bounds, Datum *values, bool *isnull)
{
	bool		equal = false;
	int			at;

	for (int i = 0; i < key->partnatts; i++)
		if (isnull[i])
			return -1;
	at = partition_range_datum_bsearch(key->partsupfunc, key->partcollation, bounds,
									   key->partnatts, values, &equal);
	return bounds->indexes[at + 1];
}

/* As get_partition_for_tuple() of execPartition.c. */
static int
find_in_level(const AnagoRouter *router, const Level *level, PartitionDesc parts)
{
	PartitionKey key = RelationGetPartitionKey(level->rel);
	PartitionBoundInfo bounds = parts->boundinfo;
	Datum		values[PARTITION_MAX_KEYS];
	bool		isnull[PARTITION_MAX_KEYS];
	int			which = -1;

	get_values(router, level, key->partnatts, values, isnull);
	switch (key->strategy)
	{
		case PARTITION_STRATEGY_HASH:
			which = find_hashed(key, bounds, values, isnull);
			break;
		case PARTITION_STRATEGY_LIST:
			which = find_listed(key, bounds, values[0], isnull[0]);
			break;
		case PARTITION_STRATEGY_RANGE:
			which = find_ranged(key, bounds, values, isnull);
			break;
	}
	return which >= 0 ? which : bounds->default_index;
}

static Oid
find_by_key(AnagoRouter *router)
{
	Oid			relid = router->root;

	for (int depth = 0; depth < MOST_LEVELS; depth++)
	{
		Level	   *level = open_level(router, relid);
		PartitionDesc parts;
		int			which;

		if (level == NULL)
			return InvalidOid;
		parts = RelationGetPartitionDesc(level->rel, false);
		which = parts->nparts == 0 ? -1 : find_in_level(router, level, parts);
		if (which < 0)
			return InvalidOid;
		relid = parts->oids[which];
		if (parts->is_leaf[which])
			return relid;
	}
	return InvalidOid;
}

Oid
anago_router_find(AnagoRouter *router)
{
	Oid			relid = router->by_key ? find_by_key(router) : InvalidOid;
	bool		isnull;
	Datum		old;

	if (OidIsValid(relid) || router->old == NULL)
		return relid;
	old = ExecEvalExprSwitchContext(router->old, router->pipeline->econtext, &isnull);
	return isnull ? InvalidOid : DatumGetObjectId(old);
}

void
anago_router_release(AnagoRouter *router)
{
	HASH_SEQ_STATUS seq;
	Level	   *level;

	hash_seq_init(&seq, router->levels);
	while ((level = hash_seq_search(&seq)) != NULL)
	{
		if (level->rel != NULL)
			relation_close(level->rel, NoLock);
		level->rel = NULL;
	}
}
