/*-------------------------------------------------------------------------
 *
 * segfile.h
 *	  A small cache of read-only file descriptors of relation segments.
 *
 * Our own ring needs file descriptors; those of md.c are private to it and
 * may be closed at any moment.  One cache belongs to one query, and all its
 * descriptors are closed with it.
 *
 * Invariants
 *	- at most ANAGO_SEGFILES descriptors are open, each of them reported to
 *	  fd.c as external;
 *	- a descriptor handed out stays open until the next
 *	  anago_segfiles_new_batch().
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

typedef struct AnagoSegFile
{
	AnagoLocator locator;
	BlockNumber segno;
	int			fd;
	uint64		used;			/* time of last use; 0: entry is empty */
} AnagoSegFile;

typedef struct AnagoSegFiles
{
	uint64		clock;			/* counts uses */
	uint64		batch;			/* clock when the current batch began */
	int			nopen;
	AnagoSegFile files[ANAGO_SEGFILES_SETS][ANAGO_SEGFILES_WAYS];
} AnagoSegFiles;

/* The struct starts zeroed. */
extern void anago_segfiles_new_batch(AnagoSegFiles *files);
extern int	anago_segfile_get(AnagoSegFiles *files, AnagoLocator locator,
							  BlockNumber segno);
extern void anago_segfiles_close(AnagoSegFiles *files);

#endif							/* ANAGO_SEGFILE_H */
