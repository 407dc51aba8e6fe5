/*-------------------------------------------------------------------------
 *
 * range.c
 *	  How many entries of an index are between two values, and whether the first
 *	  ones of them are cached.
 *
 * For the former two descents, to the ends of the range (position.c).  NULLs satisfy no
 * condition: where the range has no bound on the side where a column's NULLs
 * are, it ends at the NULLs.
 *
 * The answers of the last few seconds are kept in this process, as a query is often
 * planned again and again, until the size of the index or a catalog entry of
 * it changes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/nbtree.h"
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "guc.h"
#include "survey/guard.h"
#include "survey/head.h"
#include "survey/position.h"
#include "survey/survey.h"

/* How long an answer is kept, how many, and of ranges of what size. */
#define KEEP_MS			5000
#define KEEP_ANSWERS	64		/* a power of two */
#define KEEP_BYTES		96

typedef struct Question
{
	Oid			indexoid;		/* InvalidOid: none */
	BlockNumber nblocks;
	double		per_leaf;
	double		head;			/* 0: how many entries?  Else: is the beginning cached,
								 * so many entries; or, less than 0, the end */
} Question;

typedef struct Answer
{
	Question	question;
	TimestampTz at;
	Size		size;
	char		range[KEEP_BYTES];
	double		is;
} Answer;

/* By the hash of index and range; what comes takes the place of what was there. */
static Answer *answers = NULL;

typedef struct Request
{
	const AnagoIndexRange *range;
	const Question *question;
	double		answer;
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

/* How many entries? */
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
		anago_position_between(rel, &start, &end, request->question->per_leaf,
							   &request->answer);
}

/* What share of the first ones, or the last ones, is cached? */
static bool
look_at_head(Relation rel, void *arg)
{
	Request    *request = arg;
	double		head = request->question->head;
	BTScanInsert position = anago_position_new(rel);
	AnagoTreePlace place;

	return bound_position(rel, request->range, head > 0, position) &&
		anago_position_find(rel, position, &place) &&
		anago_head_resident(rel, position, &place, head < 0, fabs(head),
							request->question->per_leaf, &request->answer);
}

/* --- answers that are kept --- */

static void
index_changed(Datum arg, Oid relid)
{
	for (int i = 0; i < KEEP_ANSWERS; i++)
		if (!OidIsValid(relid) || answers[i].question.indexoid == relid)
			answers[i].question.indexoid = InvalidOid;
}

static void
start_keeping(void)
{
	answers = MemoryContextAllocZero(TopMemoryContext, sizeof(Answer) * KEEP_ANSWERS);
	CacheRegisterRelcacheCallback(index_changed, (Datum) 0);
}

/* Append a bound to a range's bytes; false: there is no room for it. */
static bool
add_bytes(Answer *key, const AnagoBound *bound)
{
	int			head[2] = {bound->type, bound->given + 2 * bound->strict};
	char	   *to = key->range + key->size;

	if (key->size + sizeof(head) > KEEP_BYTES)
		return false;
	memcpy(to, head, sizeof(head));
	key->size += sizeof(head);
	if (!bound->given)
		return true;
	if (datumEstimateSpace(bound->value, false, bound->typbyval, bound->typlen) >
		KEEP_BYTES - key->size)
		return false;
	to += sizeof(head);
	datumSerialize(bound->value, false, bound->typbyval, bound->typlen, &to);
	key->size = to - key->range;
	return true;
}

/* What a question is found again by; false: its range is too large to be kept. */
static bool
make_key(Answer *key, const Question *question, const AnagoIndexRange *range)
{
	key->question = *question;
	key->size = 0;
	for (int i = 0; i < range->nequal; i++)
		if (!add_bytes(key, &range->equal[i]))
			return false;
	return add_bytes(key, &range->lower) && add_bytes(key, &range->upper);
}

static Answer *
place_of(const Answer *key)
{
	uint32		hash = hash_bytes((const unsigned char *) key->range, key->size);

	return &answers[(hash ^ murmurhash32(key->question.indexoid) ^
					 murmurhash32((uint32) (int64) key->question.head)) &
					(KEEP_ANSWERS - 1)];
}

static bool
is_same(const Question *one, const Question *other)
{
	return one->indexoid == other->indexoid && one->nblocks == other->nblocks &&
		one->per_leaf == other->per_leaf && one->head == other->head;
}

static bool
is_answer_to(const Answer *answer, const Answer *key)
{
	return is_same(&answer->question, &key->question) && answer->size == key->size &&
		memcmp(answer->range, key->range, key->size) == 0 &&
		!TimestampDifferenceExceeds(answer->at, anago_survey_now(), KEEP_MS);
}

/* --- the questions --- */

static bool
look_up(const Question *question, const AnagoIndexRange *range, double *answer)
{
	Request		request = {range, question, 0};

	if (!anago_guarded_look(question->indexoid,
							question->head == 0 ? measure : look_at_head, &request))
		return false;
	*answer = request.answer;
	return true;
}

static bool
ask(const Question *question, const AnagoIndexRange *range, double *answer)
{
	Answer		key;
	Answer	   *place;

	if (answers == NULL)
		start_keeping();
	if (!make_key(&key, question, range))
		return look_up(question, range, answer);
	place = place_of(&key);
	if (is_answer_to(place, &key))
	{
		*answer = place->is;
		return true;
	}
	if (!look_up(question, range, answer))
		return false;
	key.is = *answer;
	key.at = anago_survey_now();
	*place = key;
	return true;
}

bool
anago_survey_range(Oid indexoid, BlockNumber nblocks, const AnagoIndexRange *range,
				   double per_leaf, double *entries)
{
	Question	question = {indexoid, nblocks, per_leaf, 0};

	return anago_dive_pages > 0 && ask(&question, range, entries);
}

bool
anago_survey_head(Oid indexoid, BlockNumber nblocks, const AnagoIndexRange *range,
				  bool backward, double entries, double per_leaf, double *share)
{
	Question	question = {indexoid, nblocks, per_leaf,
		Max(entries, 1.0) * (backward ? -1 : 1)};

	return ask(&question, range, share);
}
