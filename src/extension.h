/*-------------------------------------------------------------------------
 *
 * extension.h
 *	  What belongs to the extension in this process's database.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_EXTENSION_H
#define ANAGO_EXTENSION_H

#include "postgres.h"

/*
 * A function of the extension, the same one each time, or InvalidOid: it is not there.
 * Reads pg_proc alone, and through a syscache: the dependencies of the extension, which
 * a session opens for nothing else, take ten times as long to open.  That a function of that
 * name is ours is known by its language, in which only superusers may create any.
 */
extern Oid	anago_extension_mark(void);

/*
 * A member of the extension, in the catalog `classid`, or InvalidOid.  `wanted`
 * says whether it is the one.  Reads catalogs.
 */
extern Oid	anago_extension_member(Oid classid, bool (*wanted) (Oid objid));

#endif							/* ANAGO_EXTENSION_H */
