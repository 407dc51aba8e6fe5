/*-------------------------------------------------------------------------
 *
 * anago.c
 *	  Entry point: wires the modules together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "device/device.h"
#include "guc.h"
#include "io/io.h"
#include "node/ahead.h"
#include "node/node.h"
#include "operators.h"
#include "ops/ops.h"
#include "plan/plan.h"
#include "resource/balancer.h"
#include "resource/budgets.h"
#include "resource/freshness.h"
#include "resource/guard_worker.h"
#include "resource/swap_worker.h"
#include "stats/stats.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	anago_operators_init(&anago_own_operators);
	anago_guc_init();
	anago_stats_init();
	anago_budgets_init();
	anago_guard_worker_init();
	anago_balancer_init();
	anago_swap_init();
	anago_freshness_init();
	anago_device_init();
	anago_node_init();
	anago_plan_init(&anago_scan_methods, &anago_join_methods, &anago_ahead_methods,
					anago_io_expect);
}
