/*-------------------------------------------------------------------------
 *
 * inflight.h
 *	  Reads by block: the table in which two waiters find the same read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_INFLIGHT_H
#define ANAGO_INFLIGHT_H

#include "postgres.h"

#include "compat.h"
#include "page/waiter.h"

/* One block of one relation's main fork; no padding, compared as bytes. */
typedef struct AnagoBlockKey
{
	AnagoLocator locator;
	BlockNumber blkno;
} AnagoBlockKey;

typedef struct AnagoInflight AnagoInflight;

/* Memory comes from CurrentMemoryContext. */
extern AnagoInflight *anago_inflight_create(void);

extern AnagoRead *anago_inflight_find(AnagoInflight *table, const AnagoBlockKey *key);

/* The block must not be in the table, or must be, respectively. */
extern void anago_inflight_insert(AnagoInflight *table, const AnagoBlockKey *key,
								  AnagoRead *read);
extern void anago_inflight_remove(AnagoInflight *table, const AnagoBlockKey *key);

extern void anago_inflight_reset(AnagoInflight *table);

#endif							/* ANAGO_INFLIGHT_H */
