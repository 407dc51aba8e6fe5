/*-------------------------------------------------------------------------
 *
 * layout.h
 *	  The number of the layouts that one process writes and another reads.
 *
 * Processes of one server may run different versions of this library: after an
 * upgrade, sessions keep the file that they have loaded, while new sessions, and
 * new parallel workers of old ones, load the new file.  They meet in
 *
 *		AnagoStats				stats.c: a segment of another name is made
 *		AnagoBudgets			resource/budgets.h: the newer one does without
 *		custom_private			pipeline/desc.c: an error in the worker
 *		AnagoSegment, AnagoPool	shared/segment.h: the same
 *
 * each of which begins with ANAGO_LAYOUT.  The version is to be raised when any
 * of these changes, or anything that is in one of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_LAYOUT_H
#define ANAGO_LAYOUT_H

/* Tests build a library of another version. */
#ifndef ANAGO_LAYOUT_VERSION
#define ANAGO_LAYOUT_VERSION	15
#endif

/* A number that is unlikely to stand there by chance. */
#define ANAGO_LAYOUT	(0x616e6700 + ANAGO_LAYOUT_VERSION)

/* The error of a worker that finds another number; needs "postgres.h". */
#define ANAGO_OTHER_LAYOUT_ERROR() \
	ereport(ERROR, \
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), \
			 errmsg("parallel worker has loaded another version of anago than its session"), \
			 errhint("Reconnect: a new session loads the version that is installed now.")))

#endif							/* ANAGO_LAYOUT_H */
