/*-------------------------------------------------------------------------
 *
 * model.h
 *	  A simulated machine on which transactions, analytical queries and log
 *	  shipping each have cores of their own.
 *
 * Time goes in steps.  Transactions are single, and go around:
 *
 *		client -> queue of the dispatch -> queue of the core that owns the key
 *			^                                                          |
 *			+--- at once, as the client does not think <---------------+
 *
 * with the changes of each that ends added to the backlog of log shipping.
 * Log shipping and queries are work that flows, as many core-seconds in each
 * step as their cores give.
 *
 * Who has how many cores is told by model_assign(); the decision is
 * src/resource/htal.c, which is linked to it.  lib/htap.py drives both.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HTAP_MODEL_H
#define HTAP_MODEL_H

#include <stdbool.h>

#include "resource/htal.h"

#define MODEL_MAX_CORES		256
#define MODEL_MAX_RANGES	4096

/* Times are seconds of a core.  lib/htap.py says why each is what it is. */
typedef struct ModelParams
{
	double		step;			/* seconds of the clock */
	double		transaction;	/* mean; the number of steps is geometric */
	double		dispatch;		/* of a transaction */
	double		query;
	double		query_dispatch;
	double		apply;			/* changes of one transaction */
	double		apply_serial;	/* share that only one core can do (Amdahl) */
	double		fed_cores;		/* OLAP cores that storage feeds */
	double		degree;			/* cores that one query can use */
	double		pause;			/* of a core after a move, with nothing done */
	double		hot_share;		/* transactions that go to the hot ranges */
	int			hot_ranges;		/* the first ones; 0: none is hot */
	int			ranges;			/* of keys */
} ModelParams;

/* What happened in model_run(). */
typedef struct ModelSeen
{
	double		transactions;	/* that ended */
	double		queries;		/* a part of one counts as that part */
	double		applied;		/* transactions whose changes were applied */
	double		backlog;		/* those yet to be, at the end */
	AnagoHtalInputs inputs;		/* but for freshness and shipping_best */
} ModelSeen;

typedef struct Model Model;

extern Model *model_new(const ModelParams *params, unsigned long long seed);
extern void model_free(Model *model);

/* From now on so many clients of each kind. */
extern void model_load(Model *model, int transactions, int queries);

/*
 * From now on these cores.  Key ranges are cut anew, into parts of the same
 * load by what was seen, if the number of OLTP cores changes or it is asked
 * for; the first time into parts of the same width.
 */
extern void model_assign(Model *model, const AnagoHtalCores *cores, bool cut);

extern void model_run(Model *model, double seconds, ModelSeen *seen);

#endif							/* HTAP_MODEL_H */
