/*-------------------------------------------------------------------------
 *
 * cached.c
 *	  Whether pages of a table or index that a finished plan reads are waited for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "parser/parsetree.h"
#include "storage/bufmgr.h"

#include "guc.h"
#include "plan/looks.h"
#include "survey/survey.h"

/* A share of blocks that are not cached below which there is nothing to wait for. */
#define COLD_SHARE			0.05

bool
anago_is_cold(Relation rel, BlockNumber pages)
{
	return !anago_residency ||
		1.0 - anago_survey_resident(RelationGetRelid(rel), pages) > COLD_SHARE;
}

AnagoAnswer
anago_known_cached(Oid relid)
{
	double		share;

	if (!anago_residency)
		return ANAGO_NO;
	if (!anago_survey_kept(relid, &share))
		return ANAGO_NOT_ASKED;
	return 1.0 - share <= COLD_SHARE ? ANAGO_YES : ANAGO_NO;
}

bool
anago_look_is_vain(const PlannedStmt *stmt, Index scanrelid, Oid indexid)
{
	return !anago_debug_force && anago_known_cached(indexid) == ANAGO_YES &&
		anago_known_cached(rt_fetch(scanrelid, stmt->rtable)->relid) == ANAGO_YES;
}
