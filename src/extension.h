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
 * A member of the extension, in the catalog `classid`, or InvalidOid.  `wanted`
 * says whether it is the one; NULL: any is.  Reads catalogs.
 */
extern Oid	anago_extension_member(Oid classid, bool (*wanted) (Oid objid));

#endif							/* ANAGO_EXTENSION_H */
