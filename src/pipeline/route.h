/*-------------------------------------------------------------------------
 *
 * route.h
 *	  Which partition a new row will go to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ROUTE_H
#define ANAGO_ROUTE_H

#include "postgres.h"

#include "pipeline/state.h"

typedef struct AnagoRouter AnagoRouter;

/*
 * A router for rows of the step's table, a partitioned one.  Opens nothing yet;
 * memory is the query's.
 */
extern AnagoRouter *anago_router_create(AnagoPipeline *pipeline,
										const AnagoStepDesc *desc);

/*
 * The table that the row that is bound goes to; InvalidOid: that is not known.
 * Memory of the pipeline's expression context is used.
 */
extern Oid	anago_router_find(AnagoRouter *router);

/* Close partitioned tables, while the resource owner is that of the last call. */
extern void anago_router_release(AnagoRouter *router);

#endif							/* ANAGO_ROUTE_H */
