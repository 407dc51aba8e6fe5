/*-------------------------------------------------------------------------
 *
 * range.c
 *	  How many entries of an index are between two values.
 *
 * Two descents, to the ends of the range (position.c).  NULLs satisfy no
 * condition: where the range has no bound on the side where a column's NULLs
 * are, it ends at the NULLs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "utils/lsyscache.h"

#include "guc.h"
#include "survey/guard.h"
#include "survey/position.h"
#include "survey/survey.h"

typedef struct Request
{
	const AnagoIndexRange *range;
	double		per_leaf;
	double		entries;
} Request;

/* One column more for a position.  False if such values cannot be compared. */
static bool
add_value(Relation rel, BTScanInsert position, const AnagoBound *bound)
{
	int			col = position->keysz;
	ScanKey		key = &position->scankeys[col];
	Oid			procid;

	if (bound->type != rel->rd_opcintype[col])
	{
		procid = get_opfamily_proc(rel->rd_opfamily[col], rel->rd_opcintype[col],
								   bound->type, BTORDER_PROC);
		if (!OidIsValid(procid))
			return false;
		fmgr_info(procid, &key->sk_func);
		key->sk_subtype = bound->type;
	}
	key->sk_flags &= ~SK_ISNULL;
	key->sk_argument = bound->value;
	position->keysz++;
	return true;
}

/* One column more: the edge of its NULLs. */
static void
add_null(BTScanInsert position)
{
	position->scankeys[position->keysz++].sk_flags |= SK_ISNULL;
}

/* Where the range starts, or ends, in the order of the index. */
static bool
bound_position(Relation rel, const AnagoIndexRange *range, bool start,
			   BTScanInsert position)
{
	int			col = range->nequal;
	int			option;
	const AnagoBound *bound;

	for (int i = 0; i < range->nequal; i++)
		if (!add_value(rel, position, &range->equal[i]))
			return false;
	position->nextkey = !start;
	if (!range->lower.given && !range->upper.given)
		return true;

	option = rel->rd_indoption[col];
	bound = ((option & INDOPTION_DESC) != 0) == start ?
		&range->upper : &range->lower;
	if (bound->given)
	{
		position->nextkey = bound->strict == start;
		return add_value(rel, position, bound);
	}
	if (((option & INDOPTION_NULLS_FIRST) != 0) == start)
	{
		position->nextkey = start;
		add_null(position);
	}
	return true;
}

static bool
measure(Relation rel, void *arg)
{
	Request    *request = arg;
	BTScanInsert position = anago_position_new(rel);
	AnagoTreePlace start;
	AnagoTreePlace end;

	if (!bound_position(rel, request->range, true, position) ||
		!anago_position_find(rel, position, &start))
		return false;
	position = anago_position_new(rel);
	return bound_position(rel, request->range, false, position) &&
		anago_position_find(rel, position, &end) &&
		anago_position_between(rel, &start, &end, request->per_leaf, &request->entries);
}

bool
anago_survey_range(Oid indexoid, const AnagoIndexRange *range, double per_leaf,
				   double *entries)
{
	Request		request = {range, per_leaf, 0};

	if (anago_dive_pages == 0 ||
		!anago_guarded_look(indexoid, measure, &request))
		return false;
	*entries = request.entries;
	return true;
}
