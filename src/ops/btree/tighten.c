/*-------------------------------------------------------------------------
 *
 * tighten.c
 *	  Several conditions on one column: the tightest, by their values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "ops/btree/order.h"
#include "ops/btree/tighten.h"

/* --- groups --- */

static inline bool
is_scalar(const AnagoKey *key)
{
	return key->desc->kind == ANAGO_KEY_OP;
}

static inline bool
is_strict(const AnagoKey *key)
{
	return key->strategy == BTLessStrategyNumber ||
		key->strategy == BTGreaterStrategyNumber;
}

static inline bool
is_lower(const AnagoKey *key)
{
	return key->strategy == BTGreaterStrategyNumber ||
		key->strategy == BTGreaterEqualStrategyNumber;
}

static Oid
element_type(const AnagoKey *key, Relation indexrel)
{
	return OidIsValid(key->righttype) ? key->righttype :
		indexrel->rd_opcintype[key->desc->attno - 1];
}

/* The function that compares values of two conditions, or InvalidOid. */
static Oid
values_proc(const AnagoKey *a, const AnagoKey *b, Relation indexrel)
{
	int			col = a->desc->attno - 1;
	Oid			left = element_type(a, indexrel);
	Oid			right = element_type(b, indexrel);

	if (!anago_order_is_transitive(indexrel->rd_opcintype[col], left, right))
		return InvalidOid;
	return get_opfamily_proc(indexrel->rd_opfamily[col], left, right, BTORDER_PROC);
}

/* Can a condition be compared with all that the group has? */
static bool
fits(const AnagoKeyGroup *group, const AnagoKeys *keys, const AnagoKey *key,
	 Relation indexrel)
{
	for (int i = 0; i < group->n; i++)
	{
		const AnagoKey *other = &keys->key[group->which[i]];

		if (!OidIsValid(values_proc(key, other, indexrel)) ||
			!OidIsValid(values_proc(other, key, indexrel)))
			return false;
	}
	return true;
}

static void
look_up_functions(AnagoKeyGroup *group, const AnagoKeys *keys, Relation indexrel,
				  int col)
{
	int			n = group->n;

	group->collation = indexrel->rd_indcollation[col];
	group->desc = (indexrel->rd_indoption[col] & INDOPTION_DESC) != 0;
	group->cmp = palloc0(sizeof(FmgrInfo) * n * n);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			/* nobody compares a value with itself; the family may not know how */
			if (i == j)
				continue;
			fmgr_info(values_proc(&keys->key[group->which[i]],
								  &keys->key[group->which[j]], indexrel),
					  &group->cmp[i * n + j]);
		}
}

AnagoKeyGroup *
anago_group_make(const AnagoKeys *keys, Relation indexrel, int col)
{
	AnagoKeyGroup *group = palloc0(sizeof(AnagoKeyGroup));

	group->which = palloc(sizeof(int) * (keys->n + 1));
	for (int i = 0; i < keys->n; i++)
	{
		const AnagoKey *key = &keys->key[i];

		if (key->desc->attno == col + 1 && key->positional &&
			(is_scalar(key) || key->searchable) &&
			fits(group, keys, key, indexrel))
			group->which[group->n++] = i;
	}
	if (group->n < 2)
		return NULL;
	look_up_functions(group, keys, indexrel, col);
	return group;
}

/* --- values; members of a group are named by their place in it --- */

static inline const AnagoKey *
member(const AnagoKeys *keys, const AnagoKeyGroup *group, int i)
{
	return &keys->key[group->which[i]];
}

static inline int32
compare(const AnagoKeyGroup *group, int i, Datum left, int j, Datum right)
{
	return DatumGetInt32(FunctionCall2Coll(&group->cmp[i * group->n + j],
										   group->collation, left, right));
}

/* The first equality, scalar or array, or -1. */
static int
find_member(const AnagoKeys *keys, const AnagoKeyGroup *group, AnagoKeyKind kind)
{
	for (int i = 0; i < group->n; i++)
		if (member(keys, group, i)->desc->kind == kind &&
			member(keys, group, i)->strategy == BTEqualStrategyNumber)
			return i;
	return -1;
}

static bool
array_has(const AnagoKeyGroup *group, int i, Datum value, int j,
		  const AnagoArray *array)
{
	int			low = 0;
	int			high = array->n;

	while (low < high)
	{
		int			mid = low + (high - low) / 2;
		int32		cmp = compare(group, i, value, j, array->elems[mid]);

		if (cmp == 0)
			return true;
		if ((cmp > 0) != group->desc)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/* Does a value of member `i` satisfy the condition that member `j` is? */
static bool
satisfies(const AnagoKeys *keys, const AnagoKeyGroup *group,
		  const AnagoKeyValues *values, int i, Datum value, int j)
{
	const AnagoKey *key = member(keys, group, j);
	int			which = group->which[j];
	int32		cmp;

	if (!is_scalar(key))
		return array_has(group, i, value, j, &values->arrays[which]);
	cmp = compare(group, i, value, j, values->values[which]);
	switch (key->strategy)
	{
		case BTLessStrategyNumber:
			return cmp < 0;
		case BTLessEqualStrategyNumber:
			return cmp <= 0;
		case BTEqualStrategyNumber:
			return cmp == 0;
		case BTGreaterEqualStrategyNumber:
			return cmp >= 0;
		default:
			return cmp > 0;
	}
}

static bool
satisfies_all(const AnagoKeys *keys, const AnagoKeyGroup *group,
			  const AnagoKeyValues *values, int i, Datum value)
{
	for (int j = 0; j < group->n; j++)
		if (j != i && !satisfies(keys, group, values, i, value, j))
			return false;
	return true;
}

/* Of a list, keep the elements that satisfy the other conditions. */
static bool
intersect(const AnagoKeys *keys, const AnagoKeyGroup *group,
		  AnagoKeyValues *values, int i)
{
	AnagoArray *array = &values->arrays[group->which[i]];
	int			n = 0;

	for (int e = 0; e < array->n; e++)
		if (satisfies_all(keys, group, values, i, array->elems[e]))
			array->elems[n++] = array->elems[e];
	array->n = n;
	return n > 0;
}

/* The tightest of the lower or the upper bounds, or -1. */
static int
find_tightest(const AnagoKeys *keys, const AnagoKeyGroup *group,
			  const AnagoKeyValues *values, bool lower)
{
	int			best = -1;

	for (int i = 0; i < group->n; i++)
	{
		int32		cmp;

		if (is_lower(member(keys, group, i)) != lower)
			continue;
		if (best < 0)
		{
			best = i;
			continue;
		}
		cmp = compare(group, i, values->values[group->which[i]],
					  best, values->values[group->which[best]]);
		if (cmp == 0 ? is_strict(member(keys, group, i)) : (cmp > 0) == lower)
			best = i;
	}
	return best;
}

static bool
tighten_bounds(const AnagoKeys *keys, const AnagoKeyGroup *group,
			   AnagoKeyValues *out)
{
	int			lower = find_tightest(keys, group, out, true);
	int			upper = find_tightest(keys, group, out, false);

	if (lower >= 0 && upper >= 0)
	{
		int32		cmp = compare(group, lower, out->values[group->which[lower]],
								  upper, out->values[group->which[upper]]);

		if (cmp > 0 || (cmp == 0 && (is_strict(member(keys, group, lower)) ||
									 is_strict(member(keys, group, upper)))))
			return false;
	}
	if (group == keys->bounds)
	{
		int			start = group->desc ? upper : lower;
		int			end = group->desc ? lower : upper;

		out->start_which = start >= 0 ? group->which[start] : -1;
		out->end_which = end >= 0 ? group->which[end] : -1;
	}
	return true;
}

static bool
tighten(const AnagoKeys *keys, const AnagoKeyGroup *group, AnagoKeyValues *out)
{
	int			eq = find_member(keys, group, ANAGO_KEY_OP);

	if (eq >= 0)
		return satisfies_all(keys, group, out, eq,
							 out->values[group->which[eq]]);
	eq = find_member(keys, group, ANAGO_KEY_ARRAY);
	if (eq >= 0)
		return intersect(keys, group, out, eq);
	return tighten_bounds(keys, group, out);
}

bool
anago_groups_tighten(const AnagoKeys *keys, AnagoKeyValues *out)
{
	for (int i = 0; i < keys->ngroups; i++)
		if (!tighten(keys, keys->groups[i], out))
			return false;
	return true;
}
