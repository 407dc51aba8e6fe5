/*-------------------------------------------------------------------------
 *
 * groups.c
 *	  How many entries of an index agree in its first columns.
 *
 * The files of this folder:
 *		groups.c	how many entries a value has, from a sample of leaves
 *		range.c		how many entries are between two values
 *		head.c		is the beginning of such a range cached
 *		position.c	places in a B-tree, and how much is between two
 *		resident.c	what share of a table or index is cached
 *		guard.c		look at pages without raising errors
 *		clock.c		the moment at which a survey is asked
 *		show.c		SQL functions that show all that
 *
 * Leaves are picked at even distances in the file, one at a random place of
 * each stretch (a systematic sample; the same one each time, so that two
 * sessions see the same).  An entry whose right neighbour differs in the
 * first k columns ends a group of k columns.  Every group ends once, so that
 *
 *		groups = entries * (ends in the sample / entries in the sample)
 *
 * whatever the distribution of sizes: the ratio estimator of cluster sampling,
 * with its standard error (Cochran, "Sampling Techniques", 1977, 6.3 and 9.6).
 * The last entry of a leaf is compared with the leaf's high key, which has what
 * is left of the first entry of the next leaf.
 *
 * Where fewer groups end than leaves were picked, groups are larger than leaves,
 * and few ends are a poor measure.  Then the first entries of some leaves are
 * taken for a sample of entries.  Entries are met in proportion to the size of
 * their group, so that each counts as 1 / size of an end: the same in the mean
 * (Horvitz and Thompson, 1952).  Two descents say how large a group is
 * (position.c).
 *
 *		leaf	a a a|b b|c c c	 high key c			2 ends in 8 entries
 *		leaf	d d d d d d d d	 high key d			8 / 4,000 ends in 8 entries
 *
 * Within a group entries are in the order of the heap, so that a group leads
 * to one block more than it has neighbours in different blocks.
 *
 * What was found is kept in this process, and looked up anew after a minute,
 * when the file has become a tenth larger or smaller, and when the relation's
 * catalog entries change, as by ANALYZE and VACUUM.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/nbtree.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "guc.h"
#include "survey/guard.h"
#include "survey/position.h"
#include "survey/survey.h"

/* How long what was found is kept, and for how many indexes. */
#define KEEP_MS			(60 * 1000)
#define KEEP_INDEXES	512

/* A file of another size by this share is looked at anew. */
#define KEEP_GROWTH		0.1

/* Groups whose size is looked up, by two descents each. */
#define MAX_WEIGHED		8

/* What one leaf has. */
typedef struct SampledLeaf
{
	BlockNumber blkno;
	double		entries;
	double		ends[INDEX_MAX_KEYS];	/* that differ from the right neighbour
										 * first in this column */
} SampledLeaf;

typedef struct IndexSample
{
	Oid			indexoid;		/* hash key */
	bool		stale;
	TimestampTz at;
	int			pages_allowed;	/* anago.dive_pages then */
	BlockNumber nblocks;
	int			ncolumns;

	/* Neighbours in one leaf that agree in exactly so many columns. */
	double		pairs[INDEX_MAX_KEYS + 1];
	double		apart[INDEX_MAX_KEYS + 1];	/* in different heap blocks */

	AnagoGroups groups[INDEX_MAX_KEYS]; /* leaves 0: not yet computed; -1: no */
	int			nleaves;
	SampledLeaf *leaves;
} IndexSample;

static HTAB *samples = NULL;
static MemoryContext samples_context = NULL;

/* --- one leaf --- */

/* The first of these columns in which two tuples differ, from 0. */
static int
first_difference(TupleDesc desc, IndexTuple a, IndexTuple b, int ncolumns)
{
	for (int i = 0; i < ncolumns; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		bool		anull;
		bool		bnull;
		Datum		adatum = index_getattr(a, i + 1, desc, &anull);
		Datum		bdatum = index_getattr(b, i + 1, desc, &bnull);

		if (anull != bnull ||
			(!anull && !datum_image_eq(adatum, bdatum, att->attbyval, att->attlen)))
			return i;
	}
	return ncolumns;
}

static IndexTuple
tuple_at(Page page, OffsetNumber offnum)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, offnum));
}

/* The heap blocks of a tuple: how often the block changes, the first, the last. */
static int
block_changes(IndexTuple tuple, BlockNumber *first, BlockNumber *last)
{
	int			changes = 0;

	if (!BTreeTupleIsPosting(tuple))
	{
		*first = *last = ItemPointerGetBlockNumber(&tuple->t_tid);
		return 0;
	}
	*first = *last = ItemPointerGetBlockNumber(BTreeTupleGetPostingN(tuple, 0));
	for (int i = 1; i < BTreeTupleGetNPosting(tuple); i++)
	{
		BlockNumber block = ItemPointerGetBlockNumber(BTreeTupleGetPostingN(tuple, i));

		changes += block != *last;
		*last = block;
	}
	return changes;
}

/* Which column ends the group of a leaf's last entry; ncolumns: it goes on. */
static int
end_of_leaf(Relation rel, Page page, IndexTuple last, int ncolumns)
{
	IndexTuple	hikey;
	int			natts;
	int			differs;

	if (P_RIGHTMOST(BTPageGetOpaque(page)))
		return 0;
	hikey = tuple_at(page, P_HIKEY);
	natts = Min(BTreeTupleGetNAtts(hikey, rel), ncolumns);
	differs = first_difference(RelationGetDescr(rel), last, hikey, natts);

	/* what a separator has lost was after the difference that it was made for */
	return differs == natts ? ncolumns : differs;
}

static void
count_leaf(Relation rel, Page page, IndexSample *sample, SampledLeaf *leaf)
{
	int			ncolumns = sample->ncolumns;
	OffsetNumber max = PageGetMaxOffsetNumber(page);
	IndexTuple	left = NULL;
	BlockNumber left_block = InvalidBlockNumber;

	for (OffsetNumber i = P_FIRSTDATAKEY(BTPageGetOpaque(page)); i <= max; i++)
	{
		IndexTuple	tuple = tuple_at(page, i);
		int			n = BTreeTupleIsPosting(tuple) ? BTreeTupleGetNPosting(tuple) : 1;
		BlockNumber first;
		BlockNumber last;

		if (ItemIdIsDead(PageGetItemId(page, i)))
			continue;
		sample->apart[ncolumns] += block_changes(tuple, &first, &last);
		sample->pairs[ncolumns] += n - 1;
		leaf->entries += n;
		if (left != NULL)
		{
			int			differs = first_difference(RelationGetDescr(rel),
												   left, tuple, ncolumns);

			sample->pairs[differs]++;
			sample->apart[differs] += first != left_block;
			if (differs < ncolumns)
				leaf->ends[differs]++;
		}
		left = tuple;
		left_block = last;
	}
	if (left != NULL)
	{
		int			differs = end_of_leaf(rel, page, left, ncolumns);

		if (differs < ncolumns)
			leaf->ends[differs]++;
	}
}

/* A copy of a leaf, or false if that block is none. */
static bool
copy_leaf(Relation rel, BlockNumber blkno, Page copy)
{
	Buffer		buf;
	Page		page = anago_lock_btree_page(rel, blkno, true, &buf);

	if (page != NULL)
		memcpy(copy, page, BLCKSZ);
	UnlockReleaseBuffer(buf);
	return page != NULL;
}

/* --- the sample --- */

/* The block of stretch i of n; block 0 is the metapage. */
static BlockNumber
pick_block(const IndexSample *sample, int i, int n)
{
	double		blocks = sample->nblocks - 1;
	double		place = n >= blocks ? 0 :
		murmurhash32(sample->indexoid * 31 + i) / 4294967296.0;

	return 1 + (BlockNumber) Min((i + place) * blocks / n, blocks - 1);
}

static bool
take_sample(Relation rel, void *arg)
{
	IndexSample *sample = arg;
	int			n;
	Page		copy = palloc(BLCKSZ);

	sample->nblocks = RelationGetNumberOfBlocks(rel);
	sample->ncolumns = IndexRelationGetNumberOfKeyAttributes(rel);
	if (sample->nblocks < 2)
		return false;
	n = Min(sample->pages_allowed, sample->nblocks - 1);
	sample->leaves = MemoryContextAllocZero(samples_context, n * sizeof(SampledLeaf));

	/* have the device read them together */
	for (int i = 0; i < n; i++)
		PrefetchBuffer(rel, MAIN_FORKNUM, pick_block(sample, i, n));
	for (int i = 0; i < n; i++)
	{
		SampledLeaf *leaf = &sample->leaves[sample->nleaves];
		BlockNumber blkno = pick_block(sample, i, n);

		CHECK_FOR_INTERRUPTS();
		if (!copy_leaf(rel, blkno, copy))
			continue;
		leaf->blkno = blkno;
		count_leaf(rel, copy, sample, leaf);
		if (leaf->entries > 0)
			sample->nleaves++;
		else
			memset(leaf, 0, sizeof(SampledLeaf));
	}
	return sample->nleaves > 0;
}

/* --- what it says --- */

/* Ends of groups of k columns in a leaf. */
static double
ends_in(const SampledLeaf *leaf, int k)
{
	double		ends = 0;

	for (int i = 0; i < k; i++)
		ends += leaf->ends[i];
	return ends;
}

/* The size of the group that a leaf's first entry is in; 0: unknown. */
static double
size_of_group(Relation rel, BlockNumber blkno, int k, double per_leaf)
{
	Page		copy = palloc(BLCKSZ);
	AnagoTreePlace start;
	AnagoTreePlace end;
	BTScanInsert key;
	double		size;

	if (!copy_leaf(rel, blkno, copy) ||
		PageGetMaxOffsetNumber(copy) < P_FIRSTDATAKEY(BTPageGetOpaque(copy)))
		return 0;
	key = _bt_mkscankey(rel, tuple_at(copy, P_FIRSTDATAKEY(BTPageGetOpaque(copy))));
	key->keysz = k;
	key->scantid = NULL;
	if (!anago_position_find(rel, key, &start))
		return 0;
	key->nextkey = true;
	if (!anago_position_find(rel, key, &end) ||
		!anago_position_between(rel, &start, &end, per_leaf, &size))
		return 0;
	return size;
}

typedef struct Question
{
	IndexSample *sample;
	int			k;
} Question;

/* What leaves say of ends of groups: one figure for each. */
typedef struct Observed
{
	int			n;
	double	   *entries;
	double	   *ends;
	double		sum_entries;
	double		sum_ends;
} Observed;

static void
observe(Observed *observed, double entries, double ends)
{
	observed->entries[observed->n] = entries;
	observed->ends[observed->n] = ends;
	observed->n++;
	observed->sum_entries += entries;
	observed->sum_ends += ends;
}

static void
forget_observed(Observed *observed)
{
	observed->n = 0;
	observed->sum_entries = observed->sum_ends = 0;
}

/* Have all leaves been looked at? */
static bool
is_whole(const IndexSample *sample)
{
	return sample->pages_allowed + 1 >= sample->nblocks;
}

static void
count_ends(const IndexSample *sample, int k, Observed *observed)
{
	for (int i = 0; i < sample->nleaves; i++)
		observe(observed, sample->leaves[i].entries,
				ends_in(&sample->leaves[i], k));
}

/* By the sizes of the groups that the first entries of some leaves are in. */
static void
weigh_groups(Relation rel, const IndexSample *sample, int k, Observed *observed)
{
	double		per_leaf = observed->sum_entries / observed->n;
	int			n = Min(sample->nleaves, MAX_WEIGHED);

	forget_observed(observed);
	for (int i = 0; i < n; i++)
	{
		const SampledLeaf *leaf = &sample->leaves[i * sample->nleaves / n];
		double		size = size_of_group(rel, leaf->blkno, k, per_leaf);

		if (size > 0)
			observe(observed, leaf->entries, leaf->entries / size);
	}
}

/* Standard error of sum_ends / sum_entries, as a ratio of means. */
static double
standard_error(const Observed *observed, double ratio)
{
	double		squares = 0;

	if (observed->n < 2)
		return ratio;
	for (int i = 0; i < observed->n; i++)
	{
		double		off = observed->ends[i] - ratio * observed->entries[i];

		squares += off * off;
	}
	return sqrt(squares / (observed->n - 1) * observed->n) / observed->sum_entries;
}

/* Heap blocks of a group: neighbours within groups say how near they are. */
static double
blocks_of_group(const IndexSample *sample, int k, double entries)
{
	double		pairs = 0;
	double		apart = 0;

	for (int i = k; i <= sample->ncolumns; i++)
	{
		pairs += sample->pairs[i];
		apart += sample->apart[i];
	}
	return 1 + (entries - 1) * (pairs > 0 ? apart / pairs : 1);
}

static bool
answer(Relation rel, void *arg)
{
	const Question *question = arg;
	IndexSample *sample = question->sample;
	AnagoGroups *groups = &sample->groups[question->k - 1];
	Observed	observed = {0};
	double		ratio;
	double		error;

	observed.entries = palloc(sample->nleaves * sizeof(double));
	observed.ends = palloc(sample->nleaves * sizeof(double));
	count_ends(sample, question->k, &observed);
	if (observed.sum_ends < observed.n && !is_whole(sample))
		weigh_groups(rel, sample, question->k, &observed);
	if (observed.sum_ends <= 0)
		return false;

	ratio = observed.sum_ends / observed.sum_entries;
	error = is_whole(sample) ? 0 : standard_error(&observed, ratio);
	groups->entries = Max(1 / ratio, 1);
	groups->low = Max(1 / (ratio + 2 * error), 1);
	groups->high = ratio > 2 * error ? 1 / (ratio - 2 * error) : INFINITY;
	groups->high = Max(groups->high, groups->entries);
	groups->blocks = blocks_of_group(sample, question->k, groups->entries);
	groups->leaves = sample->nleaves;
	return true;
}

/* --- keeping it --- */

static void
index_changed(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS all;
	IndexSample *sample;

	if (samples == NULL)
		return;
	if (OidIsValid(relid))
	{
		sample = hash_search(samples, &relid, HASH_FIND, NULL);
		if (sample != NULL)
			sample->stale = true;
		return;
	}
	hash_seq_init(&all, samples);
	while ((sample = hash_seq_search(&all)) != NULL)
		sample->stale = true;
}

static void
start_keeping(void)
{
	static bool registered = false;
	HASHCTL		ctl;

	if (samples_context != NULL)
		MemoryContextReset(samples_context);
	else
		samples_context = AllocSetContextCreate(TopMemoryContext, "anago index samples",
												ALLOCSET_DEFAULT_SIZES);
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(IndexSample);
	ctl.hcxt = samples_context;
	samples = NULL;
	samples = hash_create("anago index samples", 16, &ctl,
						  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	if (!registered)
		CacheRegisterRelcacheCallback(index_changed, (Datum) 0);
	registered = true;
}

static bool
is_fresh(const IndexSample *sample, BlockNumber nblocks)
{
	return !sample->stale && sample->pages_allowed == anago_dive_pages &&
		fabs((double) nblocks - sample->nblocks) <= sample->nblocks * KEEP_GROWTH &&
		!TimestampDifferenceExceeds(sample->at, anago_survey_now(), KEEP_MS);
}

/* The sample of an index, with no leaves if nothing could be seen. */
static IndexSample *
find_sample(Oid indexoid, BlockNumber nblocks)
{
	IndexSample *sample;
	bool		found;

	if (samples == NULL || hash_get_num_entries(samples) >= KEEP_INDEXES)
		start_keeping();
	sample = hash_search(samples, &indexoid, HASH_ENTER, &found);
	if (found && is_fresh(sample, nblocks))
		return sample;
	if (found && sample->leaves != NULL)
		pfree(sample->leaves);
	memset(sample, 0, sizeof(IndexSample));
	sample->indexoid = indexoid;
	sample->pages_allowed = anago_dive_pages;
	sample->nblocks = nblocks;
	sample->at = anago_survey_now();
	if (!anago_guarded_look(indexoid, take_sample, sample))
		sample->nleaves = 0;
	return sample;
}

bool
anago_survey_groups(Oid indexoid, BlockNumber nblocks, int ncolumns,
					AnagoGroups *groups)
{
	Question	question;

	if (anago_dive_pages == 0 || anago_guard_busy())
		return false;
	question.sample = find_sample(indexoid, nblocks);
	question.k = ncolumns;
	*groups = question.sample->groups[ncolumns - 1];
	if (question.sample->nleaves == 0 || groups->leaves < 0)
		return false;
	if (groups->leaves == 0)
	{
		/* an answer is kept, also that there is none */
		question.sample->groups[ncolumns - 1].leaves = -1;
		(void) anago_guarded_look(indexoid, answer, &question);
		*groups = question.sample->groups[ncolumns - 1];
	}
	return groups->leaves > 0;
}
