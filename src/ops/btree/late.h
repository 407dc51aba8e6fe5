/*-------------------------------------------------------------------------
 *
 * late.h
 *	  Late looks: at a table that the statement itself does not name.
 *
 * Core comes to such a table when all rows have been changed: foreign keys are
 * checked, and cascades done, by triggers that fire then.  It is not in the
 * statement's range table, so nobody has locked it yet.
 *
 * Table and index are opened when late looks are taken up and a row comes to this
 * one, and closed before any row leaves (anago_pipeline_look_late), both while the looks'
 * own resource owner is the current one.  Between these they are locked as for reading,
 * which is less than what core's triggers will take for the same rows; it keeps blocks
 * from being truncated and files from being dropped while they are read.  Nothing is ever
 * waited for: where the lock is not free at once, or the table or index is not what the
 * planner has seen, the look has no use for the rows of that time.
 *
 * Invariant: while a row is with the executor, or one is asked for of the child, no
 * such table is open, locked or pinned.  What runs there may wait for another session,
 * which may want the table: core would have no lock of it yet.
 *
 * What is read so early stays in shared buffers until it is used only where it is
 * little, compared with these.  So there is a bound on rows, and one on pages, and the looks
 * of other rows are made afterwards, while triggers run (node/backlog.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_LATE_H
#define ANAGO_LATE_H

#include "postgres.h"

#include "ops/btree/btree.h"

/* May it be made for one more row?  And has it come to its last page with this one? */
extern bool anago_late_may_probe(AnagoStep *step);
extern bool anago_late_add_page(AnagoStep *step);

/* Lock and open both, and know the keys; false: there is no such look. */
extern bool anago_late_open(AnagoStep *step);

/* Close what is open, if anything is. */
extern void anago_late_close(AnagoStep *step);

#endif							/* ANAGO_LATE_H */
