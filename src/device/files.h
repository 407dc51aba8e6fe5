/*-------------------------------------------------------------------------
 *
 * files.h
 *	  Files of a tablespace, and blocks at random places of these.
 *
 * Relations of the current database, tables and indexes, the largest first; the
 * locks that keep their files (AccessShareLock) go with the transaction, as the
 * descriptors do at the latest.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_FILES_H
#define ANAGO_FILES_H

#include "postgres.h"

#include "storage/block.h"

#include "device/probe.h"

/* Segment files that are read at most. */
#define ANAGO_FILES_MAX		32

typedef struct AnagoFile
{
	Oid			relid;
	BlockNumber segno;
	BlockNumber blocks;
	int			fd;
	bool		direct;			/* reads of it pass by the page cache */
} AnagoFile;

typedef struct AnagoFiles
{
	int			n;
	uint64		blocks;			/* of all these */
	bool		direct;			/* all are */
	AnagoFile	file[ANAGO_FILES_MAX];	/* the first is of the largest relation */
} AnagoFiles;

/* With less than `least` blocks nothing is opened, and n is 0. */
extern AnagoFiles *anago_files_open(Oid tablespace, uint64 least, bool through_cache);
extern void anago_files_close(AnagoFiles *files);

/* A block at a random place of all. */
extern void anago_files_pick(const AnagoFiles *files, AnagoProbeRead *read);

/* A descriptor of the first file that reads through the page cache. */
extern int	anago_files_open_cached(const AnagoFiles *files);

#endif							/* ANAGO_FILES_H */
