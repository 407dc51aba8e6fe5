/*-------------------------------------------------------------------------
 *
 * members.h
 *	  The members of a step of several tables: made ready when they are wanted.
 *
 * A pipeline over a table of a thousand partitions may come to look into three
 * of them.  So what a member is probed with is made for the first row that is
 * probed for there.  Its table and index are open from the beginning, so that
 * nothing in the same session changes them while a cursor may yet look into them.
 * Of looks core's scans have them open, but for tables that are known at the start not to
 * be needed: looks leave these alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MEMBERS_H
#define ANAGO_MEMBERS_H

#include "postgres.h"

#include "ops/btree/btree.h"

/*
 * Of a step, which `op` stands for; not with EXPLAIN alone, which must not need
 * the tables.
 */
extern AnagoMembers *anago_members_create(AnagoOp *op, const AnagoStepDesc *desc,
										  int nsteps);

/*
 * A probe of `row`, which must be bound and whose reference goes to the probe,
 * in the first member that it can have matches in; NULL if there is none, and
 * none is wanted then: the row is released.  *pruned is increased by the members
 * in which it can have none.
 */
extern AnagoProbe *anago_members_first(AnagoMembers *members, AnagoRow *row,
									   int64 *pruned);

/*
 * The task of a probe goes on with the same row in the next member that has
 * something to look for: that is another probe, and it is no task of the first one
 * any more.  False: there is no such member.
 */
extern bool anago_members_go_on(AnagoProbe **probe);

/* Rescan and release those that are ready; close all. */
extern void anago_members_rescan(AnagoMembers *members);
extern void anago_members_release(AnagoMembers *members);
extern void anago_members_close(AnagoMembers *members);

/* Add what they have counted. */
extern void anago_members_count(const AnagoMembers *members,
								AnagoStepCounts *sum);

#endif							/* ANAGO_MEMBERS_H */
