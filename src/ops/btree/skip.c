/*-------------------------------------------------------------------------
 *
 * skip.c
 *	  Skip scans: conditions on columns behind one without an equality.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "utils/rel.h"

#include "ops/btree/compare.h"
#include "ops/btree/skip.h"

/* --- classification --- */

static ScanKeyData
make_entry(Relation indexrel, int col, FmgrInfo *cmp, Oid subtype)
{
	ScanKeyData entry;

	ScanKeyEntryInitializeWithInfo(&entry,
								   indexrel->rd_indoption[col] << SK_BT_INDOPTION_SHIFT,
								   col + 1, InvalidStrategy, subtype,
								   indexrel->rd_indcollation[col], cmp, (Datum) 0);
	return entry;
}

/* The role of a condition that can be of use; false: it is only rechecked. */
static bool
find_role(const AnagoKey *key, bool desc, AnagoSkipRole *role)
{
	switch (key->desc->kind)
	{
		case ANAGO_KEY_IS_NULL:
			*role = ANAGO_SKIP_NULL;
			return true;
		case ANAGO_KEY_IS_NOT_NULL:
			*role = ANAGO_SKIP_NOT_NULL;
			return true;
		case ANAGO_KEY_ARRAY:
			*role = ANAGO_SKIP_LIST;
			return key->searchable;
		case ANAGO_KEY_OP:
		case ANAGO_KEY_ROW:
			if (key->strategy == BTEqualStrategyNumber)
				*role = ANAGO_SKIP_EQUAL;
			else if ((key->strategy < BTEqualStrategyNumber) == desc)
				*role = ANAGO_SKIP_LOWER;
			else
				*role = ANAGO_SKIP_UPPER;
			return key->positional;
		case ANAGO_KEY_ROW_MORE:
		case ANAGO_KEY_ENTRY:
			return false;
	}
	pg_unreachable();
}

static void
add_cond(AnagoSkipColumn *column, AnagoKeys *keys, Relation indexrel, int which,
		 AnagoSkipRole role)
{
	AnagoKey   *key = &keys->key[which];
	AnagoSkipCond *cond = &column->conds[column->n++];

	cond->role = role;
	cond->which = which;
	/* of a row, the members behind decide where the first ones are equal */
	cond->inclusive = key->desc->kind == ANAGO_KEY_ROW ||
		key->strategy == BTLessEqualStrategyNumber ||
		key->strategy == BTGreaterEqualStrategyNumber;
	cond->entry = column->own;
	if (key->expr != NULL)
		cond->entry = make_entry(indexrel, key->desc->attno - 1, &key->colcmp,
								 key->righttype);
	key->bounds |= key->desc->kind != ANAGO_KEY_ROW;
}

/* The less, the more it says of where values begin, or end if `bound` is UPPER. */
static int
rank(AnagoSkipRole role, AnagoSkipRole bound)
{
	return role <= ANAGO_SKIP_LIST ? (int) role :
		role == bound ? ANAGO_SKIP_LOWER : ANAGO_SKIP_NOT_NULL;
}

/*
 * Which condition says it, or -1.  Any does that excludes NULLs, if they are on
 * that side.
 */
static int
best_cond(const AnagoSkipColumn *column, AnagoSkipRole bound, bool nulls_there)
{
	int			best = -1;
	int			best_rank = nulls_there ? ANAGO_SKIP_NOT_NULL + 1 : ANAGO_SKIP_NOT_NULL;

	for (int i = 0; i < column->n; i++)
	{
		int			of_cond = rank(column->conds[i].role, bound);

		if (of_cond >= best_rank)
			continue;
		best = i;
		best_rank = of_cond;
	}
	return best;
}

static void
init_column(AnagoKeys *keys, Relation indexrel, int col)
{
	AnagoSkipColumn *column = &keys->skip[col];
	int16		option = indexrel->rd_indoption[col];

	column->conds = palloc0(sizeof(AnagoSkipCond) * (keys->n + 1));
	column->nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	column->own = make_entry(indexrel, col,
							 index_getprocinfo(indexrel, col + 1, BTORDER_PROC),
							 InvalidOid);
	for (int i = 0; i < keys->n; i++)
	{
		AnagoSkipRole role;

		if (keys->key[i].desc->attno == col + 1 &&
			find_role(&keys->key[i], (option & INDOPTION_DESC) != 0, &role))
			add_cond(column, keys, indexrel, i, role);
	}
	column->begin = best_cond(column, ANAGO_SKIP_LOWER, column->nulls_first);
	column->end = best_cond(column, ANAGO_SKIP_UPPER, !column->nulls_first);
	column->successor = anago_successor_of(indexrel, col);
}

/* May a column have more than one value, or more than its list? */
static bool
is_open(const AnagoKeys *keys, int col)
{
	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];
		AnagoSkipRole role;

		if (key->desc->attno == col + 1 && find_role(key, false, &role) &&
			role <= ANAGO_SKIP_LIST)
			return false;
	}
	return true;
}

/* One past the last column with a condition that values are skipped for. */
static int
count_columns(const AnagoKeys *keys)
{
	int			n = 0;

	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];
		AnagoSkipRole role;

		if (find_role(key, false, &role) && role != ANAGO_SKIP_NOT_NULL)
			n = Max(n, key->desc->attno);
	}
	return n;
}

bool
anago_skip_init(AnagoKeys *keys, Relation indexrel)
{
	int			n = count_columns(keys);
	bool		skips = false;

	for (int col = 0; col < n - 1; col++)
		skips |= is_open(keys, col);
	if (!skips)
		return false;
	keys->nskip = n;
	keys->skip = palloc0(sizeof(AnagoSkipColumn) * n);
	for (int col = 0; col < n; col++)
		init_column(keys, indexrel, col);
	return true;
}

/* --- positions --- */

static void
add_entry(BTScanInsert position, const ScanKeyData *entry, Datum value, bool isnull)
{
	ScanKey		sk = &position->scankeys[position->keysz++];

	*sk = *entry;
	sk->sk_argument = value;
	if (isnull)
		sk->sk_flags |= SK_ISNULL | SK_SEARCHNULL;
}

static inline Datum
element(const AnagoKeyValues *values, const AnagoSkipCond *cond, int i)
{
	return values->arrays[cond->which].elems[i];
}

/*
 * The column's first value by that condition (of a list, from element `at`
 * on).  False: the position is behind it, and takes no more columns.
 */
static bool
add_first(BTScanInsert position, const AnagoSkipColumn *column, int which, int at,
		  const AnagoKeyValues *values)
{
	const AnagoSkipCond *cond = &column->conds[which];

	switch (cond->role)
	{
		case ANAGO_SKIP_EQUAL:
			add_entry(position, &cond->entry, values->values[cond->which], false);
			return true;
		case ANAGO_SKIP_LIST:
			add_entry(position, &cond->entry, element(values, cond, at), false);
			return true;
		case ANAGO_SKIP_NULL:
			add_entry(position, &column->own, (Datum) 0, true);
			return true;
		case ANAGO_SKIP_LOWER:
			add_entry(position, &cond->entry, values->values[cond->which], false);
			position->nextkey = !cond->inclusive;
			return cond->inclusive;
		case ANAGO_SKIP_UPPER:
		case ANAGO_SKIP_NOT_NULL:
			/* behind the NULLs */
			Assert(column->nulls_first);
			add_entry(position, &column->own, (Datum) 0, true);
			position->nextkey = true;
			return false;
	}
	pg_unreachable();
}

/* The last one; false: the position is before it. */
static bool
add_last(BTScanInsert position, const AnagoSkipColumn *column, int which,
		 const AnagoKeyValues *values)
{
	const AnagoSkipCond *cond = &column->conds[which];

	switch (cond->role)
	{
		case ANAGO_SKIP_EQUAL:
		case ANAGO_SKIP_NULL:
			return add_first(position, column, which, 0, values);
		case ANAGO_SKIP_LIST:
			return add_first(position, column, which,
							 values->arrays[cond->which].n - 1, values);
		case ANAGO_SKIP_UPPER:
			add_entry(position, &cond->entry, values->values[cond->which], false);
			position->nextkey = cond->inclusive;
			return cond->inclusive;
		case ANAGO_SKIP_LOWER:
		case ANAGO_SKIP_NOT_NULL:
			Assert(!column->nulls_first);
			add_entry(position, &column->own, (Datum) 0, true);
			position->nextkey = false;
			return false;
	}
	pg_unreachable();
}

/* The first values that columns from `col` on may have. */
static void
add_first_values(BTScanInsert position, const AnagoKeys *keys, int col,
				 const AnagoKeyValues *values)
{
	while (col < keys->nskip && keys->skip[col].begin >= 0 &&
		   add_first(position, &keys->skip[col], keys->skip[col].begin, 0, values))
		col++;
}

void
anago_skip_bind(AnagoKeys *keys, const AnagoKeyValues *values)
{
	int			col = 0;

	keys->start.keysz = keys->end.keysz = 0;
	keys->start.nextkey = false;
	keys->end.nextkey = true;
	add_first_values(&keys->start, keys, 0, values);
	while (col < keys->nskip && keys->skip[col].end >= 0 &&
		   add_last(&keys->end, &keys->skip[col], keys->skip[col].end, values))
		col++;
}

/* --- the question --- */

/*
 * Where a value stands among those that a condition allows: 0 it is one, 1 it
 * is behind all, -1 the next is behind it.
 */
static int
stand(const AnagoSkipColumn *column, AnagoSkipCond *cond,
	  const AnagoKeyValues *values, Datum value, bool isnull, int *at, bool *last)
{
	int32		cmp;

	*last = cond->role <= ANAGO_SKIP_NULL;
	*at = 0;
	if (cond->role == ANAGO_SKIP_NULL)
		return isnull ? 0 : column->nulls_first ? 1 : -1;
	if (isnull)
		return column->nulls_first ? -1 : 1;
	if (cond->role == ANAGO_SKIP_NOT_NULL)
		return 0;
	if (cond->role == ANAGO_SKIP_LIST)
	{
		const AnagoArray *array = &values->arrays[cond->which];
		bool		found = anago_find_element(&cond->entry, value, false,
											   array->elems, array->n, at);

		*last = *at + 1 >= array->n;
		return found ? 0 : *at < array->n ? -1 : 1;
	}
	cmp = anago_compare(&cond->entry, value, false, values->values[cond->which]);
	switch (cond->role)
	{
		case ANAGO_SKIP_LOWER:
			return cmp > 0 || (cmp == 0 && cond->inclusive) ? 0 : -1;
		case ANAGO_SKIP_UPPER:
			*last = cmp == 0;
			return cmp < 0 || (cmp == 0 && cond->inclusive) ? 0 : 1;
		default:
			return cmp == 0 ? 0 : cmp < 0 ? -1 : 1;
	}
}

/* May the column have this value?  If not, *place says why. */
static bool
column_fits(const AnagoKeys *keys, const AnagoKeyValues *values, int col,
			AnagoSkipPlace *place)
{
	const AnagoSkipColumn *column = &keys->skip[col];
	Datum		value = place->values[col];
	bool		isnull = place->nulls[col];

	place->column = col;
	place->cond = -1;
	place->behind = false;
	place->list[col] = -1;
	place->last[col] = isnull && !column->nulls_first;
	for (int i = 0; i < column->n && !place->behind; i++)
	{
		bool		last;
		int			at;
		int			where = stand(column, &column->conds[i], values, value, isnull,
								  &at, &last);

		if (column->conds[i].role == ANAGO_SKIP_LIST)
		{
			place->list[col] = i;
			place->list_at[col] = at;
		}
		place->last[col] |= last;
		place->behind = where > 0;
		if (where < 0)
		{
			place->cond = i;
			place->cond_at = at;
		}
	}
	return !place->behind && place->cond < 0;
}

bool
anago_skip_fits(const AnagoKeys *keys, const AnagoKeyValues *values,
				Relation indexrel, IndexTuple itup, int natts,
				AnagoSkipPlace *place)
{
	TupleDesc	desc = RelationGetDescr(indexrel);

	for (int i = 0; i < keys->nskip; i++)
	{
		/* a separator is before all values of the columns that it lacks */
		if (i >= natts)
		{
			place->column = i;
			place->cond = -1;
			place->behind = false;
			return keys->skip[i].begin < 0;
		}
		place->values[i] = index_getattr(itup, i + 1, desc, &place->nulls[i]);
		if (!column_fits(keys, values, i, place))
			return false;
	}
	return true;
}

static void
add_own_values(AnagoKeys *keys, const AnagoSkipPlace *place, int ncolumns)
{
	keys->seek.keysz = 0;
	keys->seek.nextkey = false;
	for (int i = 0; i < ncolumns; i++)
		add_entry(&keys->seek, &keys->skip[i].own, place->values[i], place->nulls[i]);
}

/* Another value of that column, behind the one it has. */
static void
seek_another(AnagoKeys *keys, const AnagoKeyValues *values, Relation indexrel,
			 const AnagoSkipPlace *place, int col)
{
	AnagoSkipColumn *column = &keys->skip[col];
	Datum		next;

	add_own_values(keys, place, col);
	if (place->list[col] >= 0)
		add_first(&keys->seek, column, place->list[col],
				  place->list_at[col] + 1, values);
	else if (!place->nulls[col] &&
			 anago_successor(column->successor, indexrel, place->values[col], &next))
		add_entry(&keys->seek, &column->own, next, false);
	else
	{
		add_entry(&keys->seek, &column->own, place->values[col], place->nulls[col]);
		keys->seek.nextkey = true;
		return;
	}
	add_first_values(&keys->seek, keys, col + 1, values);
}

bool
anago_skip_seek(AnagoKeys *keys, const AnagoKeyValues *values, Relation indexrel,
				const AnagoSkipPlace *place)
{
	int			col = place->column;

	if (!place->behind)
	{
		add_own_values(keys, place, col);
		if (place->cond < 0)
			add_first_values(&keys->seek, keys, col, values);
		else if (add_first(&keys->seek, &keys->skip[col], place->cond,
						   place->cond_at, values))
			add_first_values(&keys->seek, keys, col + 1, values);
		return true;
	}
	while (--col >= 0)
	{
		if (place->last[col])
			continue;
		seek_another(keys, values, indexrel, place, col);
		return true;
	}
	return false;
}
