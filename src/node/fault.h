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

/*
 * Not all that is raised in looks is theirs: of an error that a parallel worker of the query
 * has met its leader hears wherever it looks after interrupts.  Core raises that with the
 * error callbacks that there were when the workers were launched (ProcessParallelMessage()), and so
 * without this one.
 *
 *		anago_fault_watch(&watch);
 *		PG_TRY(); looks; PG_CATCH(); ... anago_fault_is_of_query(&watch) ...
 *		anago_fault_unwatch(&watch);
 *
 * What is asked to do things for the query meanwhile, launching workers among them, has the
 * callbacks of before: watch.callback.previous.
 */
typedef struct AnagoFaultWatch
{
	ErrorContextCallback callback;
	int			code;			/* SQLSTATE of the latest message of looks, or 0 */
} AnagoFaultWatch;

extern void anago_fault_watch(AnagoFaultWatch *watch);
extern void anago_fault_unwatch(const AnagoFaultWatch *watch);

/* Is an error that is being handled the query's, whoever met it? */
extern bool anago_fault_is_of_query(const AnagoFaultWatch *watch);

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
