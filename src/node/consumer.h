/*-------------------------------------------------------------------------
 *
 * consumer.h
 *	  Who takes the rows of a plan node, and how many at most.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_CONSUMER_H
#define ANAGO_CONSUMER_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* What is known of the rows that a scan is wanted to give. */
typedef struct AnagoWanted
{
	bool		may_stop;		/* not all may come to be wanted */
	bool		any_order;		/* of several processes, whoever gives them */
	int64		rows;			/* at most, or 0: not known */
} AnagoWanted;

typedef enum AnagoConsumerKind
{
	ANAGO_CONSUMER_UNKNOWN,		/* as the planner expected */
	ANAGO_CONSUMER_ALL,			/* takes all rows: a sort, a hash table */
	ANAGO_CONSUMER_FEW,			/* takes no more than `few`: EXISTS */
	ANAGO_CONSUMER_LIMIT,		/* a Limit node, row by row */
	ANAGO_CONSUMER_RUN,			/* the executor's caller, row by row */
	ANAGO_CONSUMER_BELOW_RUN	/* takes all if the executor's caller does */
} AnagoConsumerKind;

typedef struct AnagoConsumer
{
	AnagoConsumerKind kind;
	int			few;
	const LimitState *limit;
	bool		any_order;
} AnagoConsumer;

/* Chain to the executor's hook, which tells what the caller asks for. */
extern void anago_consumer_init(void);

/*
 * Who takes the rows of `node`, a node of the plan that is being run; false:
 * that can't be told now.
 */
extern bool anago_consumer_find(PlanState *node, AnagoConsumer *consumer);

/* What it wants of a scan that begins now; `may_stop`: what the planner expected. */
extern AnagoWanted anago_consumer_wants(const AnagoConsumer *consumer,
										const EState *estate, bool may_stop);

/*
 * Tell the child of `node`, which passes all rows on, how many it is asked for at most, as core's
 * Limit would if it saw through the node: a Sort keeps no more than that.  Before the child
 * begins, and before it begins anew.
 */
extern void anago_consumer_bound_child(PlanState *node);

/*
 * Does the caller of the query that is being run fetch values that are stored outside
 * of their rows, for all rows that it is given?
 */
extern bool anago_consumer_fetches_values(const EState *estate);

#endif							/* ANAGO_CONSUMER_H */
