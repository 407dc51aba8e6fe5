/*-------------------------------------------------------------------------
 *
 * apart.h
 *	  Looks run apart from the query: what they meet is not the query's.
 *
 * It may be about a row that core never comes to.  So an error that is raised in looks
 * is dropped, with all that they had taken, which is what a subtransaction's abort
 * would do: they have a resource owner of their own, take no lock, and write nothing.
 * The rows that are held leave without looks, and no more looks are made in this node.
 * Should core meet the same error, it is raised there.  Errors of the child are raised,
 * those of parallel workers, and what is about the query as a whole: cancel, shutdown,
 * no memory (fault.h).  Where that happens afterwards, in a batch, another query meets it,
 * a trigger's, and looks end as well.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_APART_H
#define ANAGO_APART_H

#include "postgres.h"

#include "utils/resowner.h"

#include "pipeline/pipeline.h"

/* What looks are told to do. */
typedef void (*AnagoAct) (AnagoPipeline *looks);

/* An owner of what they take from now on. */
extern ResourceOwner anago_apart_begin(void);

/* Have them do it.  An error in them ends them for good: *owner is NULL then. */
extern void anago_apart(AnagoPipeline *looks, ResourceOwner *owner, AnagoAct act);

/* Their tasks, reads and pins go, and the owner, if there is one. */
extern void anago_apart_end(AnagoPipeline *looks, ResourceOwner *owner);

#endif							/* ANAGO_APART_H */
