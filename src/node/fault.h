/*-------------------------------------------------------------------------
 *
 * fault.h
 *	  Errors that looks meet: which of them may be dropped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_FAULT_H
#define ANAGO_FAULT_H

#include "postgres.h"

/* Is an error that is being handled the query's, whoever met it? */
extern bool anago_fault_is_of_query(void);

/*
 * Whom the process works for, and in which subtransaction.  Looks call nothing that changes
 * these; should an error come out of such a function all the same, only an abort puts
 * them right.
 */
typedef struct AnagoIdentity
{
	Oid			user;
	int			context;		/* as GetUserIdAndSecContext() has it */
	int			nest_level;
} AnagoIdentity;

extern AnagoIdentity anago_identity(void);

/* Is it still the same? */
extern bool anago_identity_is(AnagoIdentity before);

#endif							/* ANAGO_FAULT_H */
