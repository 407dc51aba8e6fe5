/*-------------------------------------------------------------------------
 *
 * rival.h
 *	  The plan that there would be without anago, beside the one with it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_RIVAL_H
#define ANAGO_RIVAL_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"

/*
 * The query as it is before it is planned, which destroys it, where it may be planned a
 * second time; else NULL.
 */
extern Query *anago_rival_query(Query *parse);

/*
 * Is the plan one that is worth another planning, without our paths: is it a large one,
 * with a nested loop of core's above ours?
 */
extern bool anago_rival_may_win(const PlannedStmt *stmt);

/*
 * Is the plan with ours not by anago.least_gain cheaper than the one without?  The
 * cursor options are those that both were planned with.
 */
extern bool anago_rival_wins(const PlannedStmt *stmt, const PlannedStmt *rival,
							 int cursorOptions);

#endif							/* ANAGO_RIVAL_H */
