/*-------------------------------------------------------------------------
 *
 * jointable.c
 *	  A hash table of a step's table: what its probes would find, by key.
 *
 *	buckets		entry -> entry		next of the same bucket
 *				[hash]				of the equalities with the outer row
 *				[minimal tuple]		the columns of attnos[]
 *
 * Entries lie one behind the other in chunks, as they are freed together.  The
 * buckets are made when all rows have come and their number is known.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/tableam.h"
#include "catalog/pg_operator_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "compat.h"
#include "ops/btree/jointable.h"

/* Bytes of a chunk; a larger row has one of its own. */
#define CHUNK_SIZE	(64 * 1024)

struct AnagoJoinEntry
{
	AnagoJoinEntry *next;		/* of the bucket; while it is built, of all */
	uint32		hash;
	/* the tuple follows, aligned */
};

#define ENTRY_TUPLE(entry) \
	((MinimalTuple) ((char *) (entry) + MAXALIGN(sizeof(AnagoJoinEntry))))

/* An index condition: of the same number in the step's keys. */
typedef struct Condition
{
	int			column;			/* stored column that it compares */
	bool		early;			/* evaluated when the table is read */
	bool		hashed;			/* what rows are found by, too: */
	FmgrInfo	hash_column;
	FmgrInfo	hash_value;
} Condition;

struct AnagoJoinTable
{
	AnagoStep  *step;
	MemoryContext context;
	Condition  *conditions;		/* one for each key of the step */

	/* stored columns */
	int			ncolumns;
	AttrNumber *attnos;			/* of the table */
	AttrNumber	max_attno;
	int		   *filled;			/* which of them fills each column of the step */
	TupleTableSlot *in;			/* a row to be stored: virtual, of their types */
	TupleTableSlot *out;		/* an entry */

	const AnagoKeyValues *values;	/* of early conditions, while it is built */

	int64		nentries;
	AnagoJoinEntry *all;		/* while it is built */
	char	   *free;			/* in the latest chunk */
	Size		left;
	uint32		mask;
	AnagoJoinEntry **buckets;
};

/* ---- can there be one? ---- */

/* Is the value the same whatever row or parameter there is? */
static bool
varies_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) ||
		(IsA(node, Param) && ((Param *) node)->paramkind != PARAM_EXTERN) ||
		IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	return expression_tree_walker(node, varies_walker, context);
}

static bool
varies(const AnagoStep *step, int which)
{
	return varies_walker(list_nth(step->desc->exprs[ANAGO_EXPRS_KEYS], which), NULL);
}

/* The table's attribute in a column of the index; 0: an expression. */
static AttrNumber
indexed_attno(const AnagoStep *step, AttrNumber column)
{
	return step->indexrel->rd_index->indkey.values[column - 1];
}

/* The number of that attribute among the stored columns; -1: it can't be stored. */
static int
store_column(AnagoJoinTable *table, AttrNumber attno)
{
	if (attno <= 0)
		return -1;
	for (int i = 0; i < table->ncolumns; i++)
		if (table->attnos[i] == attno)
			return i;
	table->attnos[table->ncolumns] = attno;
	table->max_attno = Max(table->max_attno, attno);
	return table->ncolumns++;
}

static bool
store_filled(AnagoJoinTable *table)
{
	const AnagoStep *step = table->step;

	for (int i = 0; i < step->op.ncols - step->ncomputed; i++)
	{
		AttrNumber	attno = step->op.attnos[i];

		table->filled[i] = store_column(table, step->desc->index_only ?
										indexed_attno(step, attno) : attno);
		if (table->filled[i] < 0)
			return false;
	}
	return true;
}

/*
 * Conditions on one column may change each other's values (tighten.h): then none is
 * evaluated without the outer row's.
 */
static bool
is_early(const AnagoStep *step, int which)
{
	switch (step->keys.key[which].desc->kind)
	{
		case ANAGO_KEY_IS_NULL:
		case ANAGO_KEY_IS_NOT_NULL:
			return true;
		default:
			return step->keys.ngroups == 0 && !varies(step, which);
	}
}

/*
 * Not of ranges, say, whose elements can't be hashed: then the type has no hash
 * function.  The value of a row's type may have other columns, of whatever types.
 */
static bool
can_hash(const AnagoStep *step, int which, AttrNumber attno, Condition *condition)
{
	const AnagoKey *key = &step->keys.key[which];
	Oid			type = TupleDescAttr(RelationGetDescr(step->heap), attno - 1)->atttypid;
	RegProcedure column;
	RegProcedure value;

	if (key->desc->kind != ANAGO_KEY_OP || key->strategy != BTEqualStrategyNumber ||
		key->desc->opno == RECORD_EQ_OP ||
		!OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc) ||
		!op_hashjoinable(key->desc->opno, type) ||
		!get_op_hash_functions(key->desc->opno, &column, &value))
		return false;
	fmgr_info(column, &condition->hash_column);
	fmgr_info(value, &condition->hash_value);
	return true;
}

static bool
prepare_conditions(AnagoJoinTable *table)
{
	const AnagoStep *step = table->step;
	bool		any = false;

	for (int i = 0; i < step->keys.n; i++)
	{
		Condition  *condition = &table->conditions[i];
		const AnagoKeyDesc *key = step->keys.key[i].desc;

		if (key->kind != ANAGO_KEY_OP && key->kind != ANAGO_KEY_ARRAY &&
			key->kind != ANAGO_KEY_IS_NULL && key->kind != ANAGO_KEY_IS_NOT_NULL)
			return false;
		condition->column = store_column(table, indexed_attno(step, key->attno));
		if (condition->column < 0)
			return false;
		condition->early = is_early(step, i);
		condition->hashed = !condition->early && varies(step, i) &&
			can_hash(step, i, table->attnos[condition->column], condition);
		any |= condition->hashed;
	}
	return any;
}

static void
make_slots(AnagoJoinTable *table)
{
	TupleDesc	desc = CreateTemplateTupleDesc(table->ncolumns);

	for (int i = 0; i < table->ncolumns; i++)
		TupleDescCopyEntry(desc, i + 1, RelationGetDescr(table->step->heap),
						   table->attnos[i]);
	anago_tupdesc_finalize(desc);
	table->in = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	table->out = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
}

/* In table->context. */
static bool
prepare(AnagoJoinTable *table)
{
	const AnagoStep *step = table->step;
	int			most = step->op.ncols + step->keys.n;

	if (step->indexrel == NULL || step->keys.never || step->keys.of_entry ||
		RelationGetIndexPredicate(step->indexrel) != NIL)
		return false;
	table->conditions = palloc0(sizeof(Condition) * step->keys.n);
	table->attnos = palloc(sizeof(AttrNumber) * most);
	table->filled = palloc(sizeof(int) * (step->op.ncols + 1));
	if (!store_filled(table) || !prepare_conditions(table))
		return false;
	make_slots(table);
	return true;
}

AnagoJoinTable *
anago_jointable_prepare(AnagoStep *step)
{
	MemoryContext context = AllocSetContextCreate(step->op.pipeline->whole,
												  "anago join table",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	AnagoJoinTable *table = palloc0(sizeof(AnagoJoinTable));
	bool		possible;

	table->step = step;
	table->context = context;
	possible = prepare(table);
	MemoryContextSwitchTo(old);
	if (possible)
		return table;
	MemoryContextDelete(context);
	return NULL;
}

void
anago_jointable_free(AnagoJoinTable *table)
{
	MemoryContextDelete(table->context);
}

int64
anago_jointable_rows(const AnagoJoinTable *table)
{
	return table->nentries;
}

Size
anago_jointable_size(const AnagoJoinTable *table)
{
	return table->context->mem_allocated;
}

/* ---- conditions ---- */

static inline bool
operator_holds(AnagoKey *key, Datum column, Datum value)
{
	return DatumGetBool(FunctionCall2Coll(&key->opfn, key->desc->collation, column, value));
}

static bool
any_holds(AnagoKey *key, Datum column, const AnagoArray *array)
{
	for (int i = 0; i < array->n; i++)
		if (operator_holds(key, column, array->elems[i]))
			return true;
	return false;
}

static bool
condition_holds(AnagoJoinTable *table, int which, const AnagoKeyValues *values,
				const TupleTableSlot *row)
{
	AnagoKey   *key = &table->step->keys.key[which];
	int			column = table->conditions[which].column;
	bool		isnull = row->tts_isnull[column];

	switch (key->desc->kind)
	{
		case ANAGO_KEY_IS_NULL:
			return isnull;
		case ANAGO_KEY_IS_NOT_NULL:
			return !isnull;
		case ANAGO_KEY_ARRAY:
			return !isnull &&
				any_holds(key, row->tts_values[column], &values->arrays[which]);
		default:
			return !isnull &&
				operator_holds(key, row->tts_values[column], values->values[which]);
	}
}

static bool
conditions_hold(AnagoJoinTable *table, bool early, const AnagoKeyValues *values,
				const TupleTableSlot *row)
{
	for (int i = 0; i < table->step->keys.n; i++)
		if (table->conditions[i].early == early &&
			!condition_holds(table, i, values, row))
			return false;
	return true;
}

/* No condition that is not early holds for NULL. */
static bool
can_match(const AnagoJoinTable *table, const TupleTableSlot *row)
{
	for (int i = 0; i < table->step->keys.n; i++)
		if (!table->conditions[i].early && row->tts_isnull[table->conditions[i].column])
			return false;
	return true;
}

static inline uint32
add_hash(uint32 hash, FmgrInfo *function, Oid collation, Datum value)
{
	return pg_rotate_left32(hash, 1) ^
		DatumGetUInt32(FunctionCall1Coll(function, collation, value));
}

static uint32
hash_of_row(AnagoJoinTable *table, const TupleTableSlot *row)
{
	uint32		hash = 0;

	for (int i = 0; i < table->step->keys.n; i++)
	{
		Condition  *condition = &table->conditions[i];

		if (condition->hashed)
			hash = add_hash(hash, &condition->hash_column,
							table->step->keys.key[i].desc->collation,
							row->tts_values[condition->column]);
	}
	return hash;
}

static uint32
hash_of_values(AnagoJoinTable *table, const AnagoKeyValues *values)
{
	uint32		hash = 0;

	for (int i = 0; i < table->step->keys.n; i++)
		if (table->conditions[i].hashed)
			hash = add_hash(hash, &table->conditions[i].hash_value,
							table->step->keys.key[i].desc->collation,
							values->values[i]);
	return hash;
}

/* The step's columns of the wide slot, out of a row of stored columns. */
static void
fill(AnagoJoinTable *table, const TupleTableSlot *row)
{
	const AnagoStep *step = table->step;
	TupleTableSlot *wide = step->op.pipeline->wide;

	for (int i = 0; i < step->op.ncols - step->ncomputed; i++)
	{
		wide->tts_values[step->op.first_col + i] = row->tts_values[table->filled[i]];
		wide->tts_isnull[step->op.first_col + i] = row->tts_isnull[table->filled[i]];
	}
}

/* ---- build ---- */

/* Room for an entry with a tuple of so many bytes; NULL: it is too much. */
static AnagoJoinEntry *
take_room(AnagoJoinTable *table, Size tuple, Size limit)
{
	Size		size = MAXALIGN(sizeof(AnagoJoinEntry)) + MAXALIGN(tuple);
	Size		buckets = sizeof(AnagoJoinEntry *) * 2 * (table->nentries + 1);
	AnagoJoinEntry *entry;

	if (size > table->left)
	{
		Size		chunk = Max(size, CHUNK_SIZE);

		if (table->context->mem_allocated + chunk + buckets > limit)
			return NULL;
		table->free = MemoryContextAllocHuge(table->context, chunk);
		table->left = chunk;
	}
	entry = (AnagoJoinEntry *) table->free;
	table->free += size;
	table->left -= size;
	return entry;
}

static bool
add_entry(AnagoJoinTable *table, Size limit)
{
	uint32		hash = hash_of_row(table, table->in);
	MinimalTuple tuple = ExecCopySlotMinimalTuple(table->in);
	AnagoJoinEntry *entry = take_room(table, tuple->t_len, limit);

	if (entry == NULL)
		return false;
	memcpy(ENTRY_TUPLE(entry), tuple, tuple->t_len);
	entry->hash = hash;
	entry->next = table->all;
	table->all = entry;
	table->nentries++;
	return true;
}

/*
 * The filter comes last: what it is evaluated on are rows that satisfy all index
 * conditions but those on the outer row.
 */
static bool
is_wanted(AnagoJoinTable *table)
{
	AnagoStep  *step = table->step;

	if (!can_match(table, table->in) ||
		!conditions_hold(table, true, table->values, table->in))
		return false;
	if (step->filter == NULL || !step->desc->turn.early_filter)
		return true;
	fill(table, table->in);
	return ExecQual(step->filter, step->op.pipeline->econtext);
}

/* A row of the table; false: there is no room for it. */
static bool
add_row(AnagoJoinTable *table, TupleTableSlot *row, Size limit)
{
	ExprContext *econtext = table->step->op.pipeline->econtext;
	MemoryContext old;
	bool		fits = true;

	slot_getsomeattrs(row, table->max_attno);
	ExecClearTuple(table->in);
	for (int i = 0; i < table->ncolumns; i++)
	{
		table->in->tts_values[i] = row->tts_values[table->attnos[i] - 1];
		table->in->tts_isnull[i] = row->tts_isnull[table->attnos[i] - 1];
	}
	ExecStoreVirtualTuple(table->in);

	ResetExprContext(econtext);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	if (is_wanted(table))
		fits = add_entry(table, limit);
	MemoryContextSwitchTo(old);
	return fits;
}

/* Its pins and the scan itself are the resource owner's in case of an error. */
static bool
read_table(AnagoJoinTable *table, Size limit)
{
	Relation	heap = table->step->heap;
	TupleTableSlot *row = table_slot_create(heap, NULL);
	TableScanDesc scan = anago_table_beginscan(heap, table->step->op.pipeline->snapshot);
	bool		fits = true;

	while (fits && table_scan_getnextslot(scan, ForwardScanDirection, row))
	{
		CHECK_FOR_INTERRUPTS();
		fits = add_row(table, row, limit);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(row);
	return fits;
}

static void
make_buckets(AnagoJoinTable *table)
{
	uint32		n = pg_nextpower2_32((uint32) Min(Max(table->nentries, 1), PG_INT32_MAX / 2));

	table->mask = n - 1;
	table->buckets = MemoryContextAllocExtended(table->context,
												sizeof(AnagoJoinEntry *) * n,
												MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	while (table->all != NULL)
	{
		AnagoJoinEntry *entry = table->all;

		table->all = entry->next;
		entry->next = table->buckets[entry->hash & table->mask];
		table->buckets[entry->hash & table->mask] = entry;
	}
}

bool
anago_jointable_build(AnagoJoinTable *table, const AnagoKeyValues *values, Size limit)
{
	MemoryContext old = MemoryContextSwitchTo(table->step->op.pipeline->whole);
	bool		fits;

	Assert(values->ncombos > 0 && table->nentries == 0);
	table->values = values;
	fits = read_table(table, limit);
	table->values = NULL;
	MemoryContextSwitchTo(old);
	if (fits)
		make_buckets(table);
	return fits;
}

/* ---- use ---- */

static AnagoJoinEntry *
of_hash(AnagoJoinEntry *entry, uint32 hash)
{
	while (entry != NULL && entry->hash != hash)
		entry = entry->next;
	return entry;
}

AnagoJoinEntry *
anago_jointable_find(AnagoJoinTable *table, const AnagoProbe *probe)
{
	ExprContext *econtext = table->step->op.pipeline->econtext;
	MemoryContext old;
	uint32		hash;

	if (probe->keys.ncombos == 0)
		return NULL;
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	hash = hash_of_values(table, &probe->keys);
	MemoryContextSwitchTo(old);
	return of_hash(table->buckets[hash & table->mask], hash);
}

AnagoJoinEntry *
anago_jointable_next(const AnagoJoinEntry *entry)
{
	return of_hash(entry->next, entry->hash);
}

bool
anago_jointable_match(AnagoJoinTable *table, const AnagoJoinEntry *entry,
					  const AnagoProbe *probe)
{
	ExprContext *econtext = table->step->op.pipeline->econtext;
	MemoryContext old;
	bool		holds;

	ResetExprContext(econtext);
	ExecStoreMinimalTuple(ENTRY_TUPLE(entry), table->out, false);
	slot_getallattrs(table->out);
	old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	holds = conditions_hold(table, false, &probe->keys, table->out);
	MemoryContextSwitchTo(old);
	if (holds)
		fill(table, table->out);
	return holds;
}
