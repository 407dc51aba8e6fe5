/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  Look at pages without raising errors.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_GUARD_H
#define ANAGO_GUARD_H

#include "postgres.h"

#include "utils/rel.h"

/* Returns whether it has found out anything. */
typedef bool (*AnagoLook) (Relation rel, void *arg);

/*
 * Open a relation that the caller has locked and look at it.  False if that
 * cannot be done here, or failed; an error has then been told at DEBUG1.  What
 * `look` allocates goes at its end.  Only the error of a cancelled query, or of
 * a process that is to end, is raised.
 */
extern bool anago_guarded_look(Oid relid, AnagoLook look, void *arg);

/* Is something being looked at?  Comparison functions may plan queries. */
extern bool anago_guard_busy(void);

#endif							/* ANAGO_GUARD_H */
