/*-------------------------------------------------------------------------
 *
 * tryopen.h
 *	  Tables and indexes that the statement itself does not name, and partitions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TRYOPEN_H
#define ANAGO_TRYOPEN_H

#include "postgres.h"

#include "access/relation.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "compat.h"

/* Locked as for reading.  NULL: it is gone, or its lock is not to be had at once. */
static inline Relation
anago_try_open(Oid relid)
{
	Relation	rel;

	if (!OidIsValid(relid) || !ConditionalLockRelationOid(relid, AccessShareLock))
		return NULL;
	rel = try_relation_open(relid, NoLock);
	if (rel == NULL)
		UnlockRelationOid(relid, AccessShareLock);
	return rel;
}

/* With its lock; NULL is fine. */
static inline void
anago_try_close(Relation rel)
{
	if (rel != NULL)
		relation_close(rel, AccessShareLock);
}

/*
 * What this session has open already, locked by a change of rows.  No lock of ours:
 * to be closed, with NoLock, before that is.  NULL: it has not.
 */
static inline Relation
anago_open_used(Oid relid)
{
	Relation	rel;

	if (!anago_is_locked(relid, RowExclusiveLock))
		return NULL;
	rel = RelationIdGetRelation(relid);
	if (rel != NULL && rel->rd_refcnt == 1)
	{
		RelationClose(rel);
		return NULL;
	}
	return rel;
}

/* NULL is fine. */
static inline void
anago_close_used(Relation rel)
{
	if (rel != NULL)
		relation_close(rel, NoLock);
}

/*
 * The index of a partition that belongs to that of a partitioned table above it, or that
 * is it itself, or one of others like it.
 */
static inline Oid
anago_index_of_partition(Relation partition, Oid above, const List *others)
{
	Oid			result = InvalidOid;
	List	   *indexes = RelationGetIndexList(partition);
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Oid			indexid = lfirst_oid(lc);

		if (indexid == above || list_member_oid(others, indexid) ||
			(get_rel_relispartition(indexid) &&
			 list_member_oid(get_partition_ancestors(indexid), above)))
			result = indexid;
	}
	list_free(indexes);
	return result;
}

/*
 * Columns that decide whether a row may stay in a partition, of all levels above it: as
 * pull_varattnos() has them.  NULL: it is none.
 */
static inline Bitmapset *
anago_partition_columns(Relation rel)
{
	Bitmapset  *result = NULL;

	if (rel->rd_rel->relispartition)
		pull_varattnos((Node *) RelationGetPartitionQual(rel), 1, &result);
	return result;
}

#endif							/* ANAGO_TRYOPEN_H */
