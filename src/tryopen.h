/*-------------------------------------------------------------------------
 *
 * tryopen.h
 *	  Tables and indexes that the statement itself does not name.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TRYOPEN_H
#define ANAGO_TRYOPEN_H

#include "postgres.h"

#include "access/relation.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
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

/* The index of a partition that belongs to that of a partitioned table above it. */
static inline Oid
anago_index_of_partition(Relation partition, Oid above)
{
	Oid			result = InvalidOid;
	List	   *indexes = RelationGetIndexList(partition);
	ListCell   *lc;

	foreach(lc, indexes)
		if (get_rel_relispartition(lfirst_oid(lc)) &&
			list_member_oid(get_partition_ancestors(lfirst_oid(lc)), above))
			result = lfirst_oid(lc);
	list_free(indexes);
	return result;
}

#endif							/* ANAGO_TRYOPEN_H */
