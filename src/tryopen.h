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
#include "storage/lmgr.h"
#include "utils/rel.h"

/* Locked as for reading.  NULL: it is gone, or its lock is not to be had at once. */
static inline Relation
anago_try_open(Oid relid)
{
	Relation	rel;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
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

#endif							/* ANAGO_TRYOPEN_H */
