/*-------------------------------------------------------------------------
 *
 * show.c
 *	  SQL functions that show what planning finds in tables and indexes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/relation.h"
#include "catalog/pg_am.h"
#include "fmgr.h"
#include "funcapi.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "survey/survey.h"

PG_FUNCTION_INFO_V1(anago_index_groups);
PG_FUNCTION_INFO_V1(anago_resident);

/* Columns of anago_index_groups() */
enum
{
	GROUPS_COLUMNS,
	GROUPS_ENTRIES,
	GROUPS_LOW,
	GROUPS_HIGH,
	GROUPS_BLOCKS,
	GROUPS_LEAVES,
	GROUPS_NATTS
};

/*
 * For each number of leading columns of a B-tree: how many entries agree in
 * them, as sampled.  No rows where planning would not look, or has seen
 * nothing.
 */
Datum
anago_index_groups(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	BlockNumber nblocks;

	if (rel->rd_rel->relkind != RELKIND_INDEX ||
		rel->rd_rel->relam != BTREE_AM_OID)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a B-tree index",
						RelationGetRelationName(rel))));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary indexes of other sessions")));

	InitMaterializedSRF(fcinfo, 0);
	nblocks = RelationGetNumberOfBlocks(rel);
	anago_survey_begin();
	for (int k = 1; k <= IndexRelationGetNumberOfKeyAttributes(rel); k++)
	{
		AnagoGroups groups;
		Datum		values[GROUPS_NATTS];
		bool		nulls[GROUPS_NATTS] = {false};

		if (!anago_survey_groups(RelationGetRelid(rel), nblocks, k, &groups))
			continue;
		values[GROUPS_COLUMNS] = Int32GetDatum(k);
		values[GROUPS_ENTRIES] = Float8GetDatum(groups.entries);
		values[GROUPS_LOW] = Float8GetDatum(groups.low);
		values[GROUPS_HIGH] = Float8GetDatum(groups.high);
		values[GROUPS_BLOCKS] = Float8GetDatum(groups.blocks);
		values[GROUPS_LEAVES] = Int32GetDatum(groups.leaves);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

/* What share of a relation's blocks is cached, as sampled: 0 to 1. */
Datum
anago_resident(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	double		share;

	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind) || RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" has no storage that can be looked at",
						RelationGetRelationName(rel))));
	anago_survey_begin();
	share = anago_survey_resident(RelationGetRelid(rel),
								  RelationGetNumberOfBlocks(rel));
	relation_close(rel, AccessShareLock);
	PG_RETURN_FLOAT8(share);
}
