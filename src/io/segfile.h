/*-------------------------------------------------------------------------
 *
 * segfile.h
 *	  The process's cache of read-only file descriptors of relation segments.
 *
 * Our own ring needs file descriptors; those of md.c are private to it and
 * may be closed at any moment.  All queries of the process share one cache,
 * and all its descriptors are closed at the end of the transaction: while it
 * runs, locks keep others from dropping or truncating a file that we have
 * open, and what it drops itself goes after that.
 *
 * Invariants
 *	- at most ANAGO_SEGFILES descriptors are open, each of them reported to
 *	  fd.c as external, and they are no more than half of what fd.c grants, so
 *	  that some are left for others (postgres_fdw, dblink);
 *	- a descriptor handed out stays open until the next
 *	  anago_segfiles_new_batch() or anago_segfiles_close().
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SEGFILE_H
#define ANAGO_SEGFILE_H

#include "postgres.h"

#include "compat.h"

#define ANAGO_SEGFILES_WAYS	4
#define ANAGO_SEGFILES_SETS	64
#define ANAGO_SEGFILES		(ANAGO_SEGFILES_SETS * ANAGO_SEGFILES_WAYS)

/* What anago_segfile_get() returns instead of a descriptor */
#define ANAGO_SEGFILE_NONE	(-1)	/* cannot be opened */
#define ANAGO_SEGFILE_BUSY	(-2)	/* only with the next batch */

extern void anago_segfiles_new_batch(void);
extern int	anago_segfile_get(AnagoLocator locator, BlockNumber segno);

/* Close all.  Nothing that was handed out may wait for submission. */
extern void anago_segfiles_close(void);

#endif							/* ANAGO_SEGFILE_H */
