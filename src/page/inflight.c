/*-------------------------------------------------------------------------
 *
 * inflight.c
 *	  Reads by block.  See inflight.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "page/inflight.h"

/* Room for the first windows without growing; a power of two. */
#define INFLIGHT_START		64

StaticAssertDecl(sizeof(AnagoBlockKey) == 4 * sizeof(uint32),
				 "AnagoBlockKey has padding");

typedef struct InflightEntry
{
	AnagoBlockKey key;
	uint32		status;
	AnagoRead  *read;
} InflightEntry;

static inline uint32
block_hash(AnagoBlockKey key)
{
	uint32		rel = ANAGO_LOCATOR_NUMBER(key.locator);

	/* Database and tablespace tell few relations apart. */
	return murmurhash32(hash_combine(rel, key.blkno));
}

static inline bool
block_equal(AnagoBlockKey a, AnagoBlockKey b)
{
	return a.blkno == b.blkno && ANAGO_LOCATOR_EQUALS(a.locator, b.locator);
}

#define SH_PREFIX		reads
#define SH_ELEMENT_TYPE InflightEntry
#define SH_KEY_TYPE		AnagoBlockKey
#define SH_KEY			key
#define SH_HASH_KEY(tb, key)	block_hash(key)
#define SH_EQUAL(tb, a, b)		block_equal(a, b)
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct AnagoInflight
{
	reads_hash *hash;
};

AnagoInflight *
anago_inflight_create(void)
{
	AnagoInflight *table = palloc(sizeof(AnagoInflight));

	table->hash = reads_create(CurrentMemoryContext, INFLIGHT_START, NULL);
	return table;
}

AnagoRead *
anago_inflight_find(AnagoInflight *table, const AnagoBlockKey *key)
{
	InflightEntry *entry = reads_lookup(table->hash, *key);

	return entry ? entry->read : NULL;
}

void
anago_inflight_insert(AnagoInflight *table, const AnagoBlockKey *key,
					  AnagoRead *read)
{
	bool		found;
	InflightEntry *entry = reads_insert(table->hash, *key, &found);

	Assert(!found);
	entry->read = read;
}

void
anago_inflight_remove(AnagoInflight *table, const AnagoBlockKey *key)
{
	bool		found PG_USED_FOR_ASSERTS_ONLY;

	found = reads_delete(table->hash, *key);
	Assert(found);
}

void
anago_inflight_reset(AnagoInflight *table)
{
	reads_reset(table->hash);
}
