/*-------------------------------------------------------------------------
 *
 * consumer.c
 *	  Who takes the rows of a plan node, and how many at most.
 *
 * Core tells a Sort below a Limit how many rows are wanted of it
 * (ExecSetTupleBound), but no custom scan; nor does a node see what the executor's
 * caller asks for, FETCH n of a cursor, say.  So when the first row is asked for,
 * the tree of plan nodes is searched from the top for the node, and what is known
 * at the top is handed down as far as it holds:
 *
 *		ExecutorRun, count		n rows at most
 *		  Gather				  the same: whoever gives them
 *			Append				  the same
 *			  AnagoScan			n rows at most
 *
 * A node that drops or joins rows may want more than n, or fewer; below it is only
 * known that not all rows may be wanted.  Below a node that takes all rows before
 * it gives one, all are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "compat.h"
#include "node/backlog.h"
#include "node/consumer.h"

/* What the executor's caller asks for, of the innermost query that runs. */
typedef struct Run
{
	const QueryDesc *query;
	uint64		count;			/* rows; 0: all */
} Run;

static Run	current;

static ExecutorRun_hook_type prev_run_hook = NULL;

static void
run_query(ANAGO_RUN_PARAMS)
{
	Run			outer = current;

	anago_backlogs_see(queryDesc);
	current.query = queryDesc;
	current.count = count;
	PG_TRY();
	{
		if (prev_run_hook)
			prev_run_hook(ANAGO_RUN_ARGS);
		else
			standard_ExecutorRun(ANAGO_RUN_ARGS);
	}
	PG_FINALLY();
	{
		current = outer;
	}
	PG_END_TRY();
}

void
anago_consumer_init(void)
{
	prev_run_hook = ExecutorRun_hook;
	ExecutorRun_hook = run_query;
}

/* --- the search --- */

typedef struct SearchCxt
{
	const PlanState *node;		/* looked for */
	const PlanState *parent;	/* whose children are being looked at */
	AnagoConsumer consumer;		/* of the parent's rows */
	AnagoConsumer *found;
} SearchCxt;

static const AnagoConsumer unknown = {.kind = ANAGO_CONSUMER_UNKNOWN};
static const AnagoConsumer all = {.kind = ANAGO_CONSUMER_ALL};

/* Of a node that takes all rows if its own consumer does. */
static AnagoConsumer
as_all(const AnagoConsumer *above)
{
	AnagoConsumer below = unknown;

	if (above->kind == ANAGO_CONSUMER_ALL)
		return all;
	if (above->kind == ANAGO_CONSUMER_RUN ||
		above->kind == ANAGO_CONSUMER_BELOW_RUN)
		below.kind = ANAGO_CONSUMER_BELOW_RUN;
	return below;
}

static AnagoConsumer
of_limit(const LimitState *limit)
{
	AnagoConsumer below = {.kind = ANAGO_CONSUMER_LIMIT,.limit = limit,.any_order = true};

	return limit->limitOption == LIMIT_OPTION_WITH_TIES ? unknown : below;
}

static AnagoConsumer
of_agg(const Agg *agg, const AnagoConsumer *above)
{
	return agg->aggstrategy == AGG_SORTED ? as_all(above) : all;
}

/* One match may be all that an inner side is wanted for. */
static AnagoConsumer
of_nestloop(const JoinState *join, const PlanState *child,
			const AnagoConsumer *above)
{
	if (child == innerPlanState(&join->ps) &&
		(join->single_match || join->jointype == JOIN_SEMI ||
		 join->jointype == JOIN_ANTI))
		return unknown;
	return as_all(above);
}

/* The same rows, but in an order: who of several processes gives one matters. */
static AnagoConsumer
in_order(AnagoConsumer above)
{
	above.any_order = false;
	return above;
}

static AnagoConsumer
of_subplan(const SubPlanState *sub)
{
	AnagoConsumer below = {.kind = ANAGO_CONSUMER_FEW,.any_order = true};

	switch (sub->subplan->subLinkType)
	{
		case EXISTS_SUBLINK:
			below.few = 1;
			return below;
		case EXPR_SUBLINK:
		case MULTIEXPR_SUBLINK:
			/* the second one is an error */
			below.few = 2;
			return below;
		case ARRAY_SUBLINK:
			return all;
		default:
			return sub->subplan->useHashTable ? all : unknown;
	}
}

static const SubPlanState *
subplan_of(const List *subplans, const PlanState *child)
{
	ListCell   *lc;

	foreach(lc, subplans)
	{
		const SubPlanState *sub = lfirst_node(SubPlanState, lc);

		if (sub->planstate == child)
			return sub;
	}
	return NULL;
}

/* Who takes the rows of a node's child. */
static AnagoConsumer
consumer_of(const PlanState *child, const PlanState *parent,
			const AnagoConsumer *above)
{
	const SubPlanState *sub = subplan_of(parent->initPlan, child);

	if (sub == NULL)
		sub = subplan_of(parent->subPlan, child);
	if (sub != NULL)
		return of_subplan(sub);

	switch (nodeTag(parent))
	{
		case T_LimitState:
			return of_limit((const LimitState *) parent);
		case T_GatherState:
		case T_AppendState:
			return *above;
		case T_GatherMergeState:
		case T_MergeAppendState:
			return in_order(*above);
		case T_ResultState:
		case T_SubqueryScanState:
			return parent->qual == NULL ? *above : as_all(above);
		case T_SortState:
		case T_HashState:
			return all;
		case T_AggState:
			return of_agg((const Agg *) parent->plan, above);
		case T_NestLoopState:
			return of_nestloop((const JoinState *) parent, child, above);
		case T_HashJoinState:
		case T_IncrementalSortState:
		case T_MaterialState:
		case T_MemoizeState:
		case T_UniqueState:
		case T_GroupState:
		case T_WindowAggState:
		case T_SetOpState:
		case T_LockRowsState:
		case T_ProjectSetState:
		case T_ModifyTableState:
			return as_all(above);
		default:
			return unknown;
	}
}

static bool
search(PlanState *ps, void *arg)
{
	SearchCxt  *cxt = arg;
	SearchCxt	below = *cxt;

	if (cxt->parent != NULL)
		below.consumer = consumer_of(ps, cxt->parent, &cxt->consumer);
	if (ps == cxt->node)
	{
		*cxt->found = below.consumer;
		return true;
	}
	below.parent = ps;
	return planstate_tree_walker(ps, search, &below);
}

bool
anago_consumer_find(PlanState *node, AnagoConsumer *consumer)
{
	SearchCxt	cxt = {.node = node,.found = consumer};

	*consumer = unknown;
	if (current.query == NULL || current.query->estate != node->state)
		return false;
	cxt.consumer.kind = ANAGO_CONSUMER_RUN;
	cxt.consumer.any_order = true;
	return search(current.query->planstate, &cxt);
}

/* --- what is wanted --- */

/* As compute_tuples_needed() in core, less what the Limit has had already. */
static int64
rows_left(const LimitState *limit)
{
	int64		needed = limit->count + limit->offset;

	if (limit->noCount || needed < 0)
		return 0;
	return Max(needed - limit->position, 1);
}

/*
 * How many rows the caller asks for; 0: all that there are.  A worker is told
 * what core knows, which may be nothing.
 */
static uint64
rows_of_run(const EState *estate, bool *known)
{
	bool		mine = current.query != NULL && current.query->estate == estate;

	*known = mine && (current.count > 0 || !IsParallelWorker());
	if (!*known || current.count == 0)
		return 0;
	return current.count > estate->es_processed ?
		Min(current.count - estate->es_processed, PG_INT64_MAX) : 1;
}

AnagoWanted
anago_consumer_wants(const AnagoConsumer *consumer, const EState *estate,
					 bool may_stop)
{
	AnagoWanted wanted = {.may_stop = may_stop,.any_order = consumer->any_order};
	bool		known;

	switch (consumer->kind)
	{
		case ANAGO_CONSUMER_UNKNOWN:
			break;
		case ANAGO_CONSUMER_ALL:
			wanted.may_stop = false;
			break;
		case ANAGO_CONSUMER_FEW:
			wanted.rows = consumer->few;
			break;
		case ANAGO_CONSUMER_LIMIT:
			wanted.rows = rows_left(consumer->limit);
			break;
		case ANAGO_CONSUMER_RUN:
			wanted.rows = rows_of_run(estate, &known);
			if (known)
				wanted.may_stop = wanted.rows > 0;
			break;
		case ANAGO_CONSUMER_BELOW_RUN:
			wanted.may_stop = rows_of_run(estate, &known) > 0 ||
				(!known && may_stop);
			break;
	}
	if (wanted.rows > 0)
		wanted.may_stop = true;
	return wanted;
}

/*
 * 0: there is no bound.  Who asks a cursor for rows may ask for more, also in a function that a
 * worker calls; of a worker's part of a query core knows.
 */
static int64
rows_at_most(const AnagoConsumer *consumer, const EState *estate)
{
	bool		known;

	if (consumer->kind == ANAGO_CONSUMER_LIMIT)
		return rows_left(consumer->limit);
	return consumer->kind == ANAGO_CONSUMER_RUN &&
		current.query->dest->mydest == DestTupleQueue ? rows_of_run(estate, &known) : 0;
}

void
anago_consumer_bound_child(PlanState *node)
{
	AnagoConsumer consumer;
	int64		rows = 0;

	/* all else that would listen is below one of these, or would not be told by core */
	if (!IsA(outerPlanState(node), SubqueryScanState))
		return;
	if (node->qual == NULL && anago_consumer_find(node, &consumer))
		rows = rows_at_most(&consumer, node->state);
	ExecSetTupleBound(rows > 0 ? rows : -1, outerPlanState(node));
}

bool
anago_consumer_fetches_values(const EState *estate)
{
	if (current.query == NULL || current.query->estate != estate)
		return false;
	switch (current.query->dest->mydest)
	{
		case DestRemote:
		case DestRemoteExecute:
		case DestRemoteSimple:
		case DestDebug:
		case DestIntoRel:
		case DestCopyOut:
		case DestTransientRel:
			return true;
		default:
			return false;
	}
}
