/*-------------------------------------------------------------------------
 *
 * old_tables.c
 *	  The tables of rows that an UPDATE is about to replace.
 *
 *		wp (id, k, v)		columns of the step: v; set: k
 *		  wp1 (id, k, v)	3; 2
 *		  wp2 (v, k, id)	1; 2
 *
 * A partition is known when its first row comes.  ModifyTable has all of them open until
 * the statement ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "ops/old_tables.h"
#include "tryopen.h"

/* Partitions that are known at all: rows of others have no look. */
#define MOST_PARTITIONS		1024

/* --- columns --- */

/* How a table numbers a column of the statement's one. */
static AttrNumber
own_attno(const AnagoOldTables *tables, Oid relid, AttrNumber attno)
{
	if (tables->relid == relid || attno == ANAGO_ATTNO_COMPUTED)
		return attno;
	return get_attnum(relid, get_attname(tables->relid, attno, false));
}

static void
know_set(const AnagoOldTables *tables, AnagoOldTable *table)
{
	Bitmapset  *indexed = RelationGetIndexAttrBitmap(table->heap, INDEX_ATTR_BITMAP_HOT_BLOCKING);
	Bitmapset  *keys = tables->desc->routed ? anago_partition_columns(table->heap) : NULL;
	ListCell   *lc;
	int			n = 0;

	table->set = palloc(sizeof(AnagoSetColumn) * (list_length(tables->desc->attnos) + 1));
	foreach(lc, tables->desc->attnos)
	{
		AnagoSetColumn *column = &table->set[n++];
		int			bit;

		column->attno = own_attno(tables, table->relid, lfirst_int(lc));
		bit = column->attno - FirstLowInvalidHeapAttributeNumber;
		column->indexed = bms_is_member(bit, indexed);
		column->moves = bms_is_member(bit, keys);
	}
	bms_free(indexed);
	bms_free(keys);
}

/* `table` is zeroed but for its relid; in the query's memory. */
static void
know_table(const AnagoOldTables *tables, AnagoOldTable *table, Relation heap)
{
	const AnagoOp *op = tables->op;

	table->heap = heap;
	table->blkno = InvalidBlockNumber;
	/* a copy is not counted by the resource owner of looks, which goes before the slot */
	table->slot = MakeSingleTupleTableSlot(CreateTupleDescCopyConstr(RelationGetDescr(heap)),
										   &TTSOpsHeapTuple);
	table->new_pages = anago_new_pages_create(heap);
	table->attnos = palloc(sizeof(AttrNumber) * (op->ncols + 1));
	for (int i = 0; i < op->ncols; i++)
		table->attnos[i] = own_attno(tables, table->relid, op->attnos[i]);
	know_set(tables, table);
}

/* --- partitions --- */

static Relation
find_open(const EState *estate, Oid relid)
{
	for (int i = 0; i < estate->es_range_table_size; i++)
	{
		Relation	rel = estate->es_relations[i];

		if (rel != NULL && RelationGetRelid(rel) == relid)
			return rel->rd_rel->relkind == RELKIND_RELATION &&
				rel->rd_rel->relam == HEAP_TABLE_AM_OID &&
				!RelationUsesLocalBuffers(rel) ? rel : NULL;
	}
	return NULL;
}

static AnagoOldTable *
add_partition(AnagoOldTables *tables, Oid relid)
{
	EState	   *estate = tables->op->pipeline->estate;
	AnagoOldTable *table = hash_search(tables->partitions, &relid, HASH_ENTER, NULL);
	Relation	heap = find_open(estate, relid);
	MemoryContext old;

	memset((char *) table + sizeof(Oid), 0, sizeof(AnagoOldTable) - sizeof(Oid));
	if (heap == NULL)
		return table;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	know_table(tables, table, heap);
	MemoryContextSwitchTo(old);
	return table;
}

AnagoOldTable *
anago_old_tables_find(AnagoOldTables *tables, Oid relid)
{
	AnagoOldTable *table = hash_search(tables->partitions, &relid, HASH_FIND, NULL);

	if (table == NULL && hash_get_num_entries(tables->partitions) < MOST_PARTITIONS)
		table = add_partition(tables, relid);
	return table != NULL && table->heap != NULL ? table : NULL;
}

/* --- begin, end --- */

void
anago_old_tables_begin(AnagoOldTables *tables, const AnagoOp *op,
					   const AnagoStepDesc *desc, bool partitioned)
{
	EState	   *estate = op->pipeline->estate;
	HASHCTL		ctl = {
		.keysize = sizeof(Oid),
		.entrysize = sizeof(AnagoOldTable),
		.hcxt = CurrentMemoryContext,
	};

	tables->op = op;
	tables->desc = desc;
	tables->relid = exec_rt_fetch(desc->scanrelid, estate)->relid;
	if (partitioned)
	{
		tables->partitions = hash_create("anago tables of old rows", 16, &ctl,
										 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		return;
	}
	tables->only.relid = tables->relid;
	know_table(tables, &tables->only, ExecOpenScanRelation(estate, desc->scanrelid, 0));
}

static void
drop_slot(AnagoOldTable *table)
{
	if (table->slot != NULL)
		ExecDropSingleTupleTableSlot(table->slot);
}

void
anago_old_tables_end(AnagoOldTables *tables)
{
	HASH_SEQ_STATUS seq;
	AnagoOldTable *table;

	drop_slot(&tables->only);
	if (tables->partitions == NULL)
		return;
	hash_seq_init(&seq, tables->partitions);
	while ((table = hash_seq_search(&seq)) != NULL)
		drop_slot(table);
}
