/*-------------------------------------------------------------------------
 *
 * guc_swap.c
 *	  Settings of the swap of two standbys; the others are in guc.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "guc.h"
#include "resource/swap_worker.h"

#define DAY_S		86400

int			anago_swap_drain = 300;
double		anago_swap_freshness = 0.85;
int			anago_swap_interval = 600;
int			anago_swap_max_pause = 3600;
int			anago_swap_max_wal = 4096;
bool		anago_swap_on = false;
char	   *anago_swap_other_conninfo = "";
int			anago_swap_patience = 10;
char	   *anago_swap_roles = "";

static void
define_seconds(const char *name, const char *what, const char *more, int *variable,
			   int usual, int least)
{
	DefineCustomIntVariable(name, what, more, variable, usual, least, DAY_S,
							PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);
}

static void
define_times(void)
{
	define_seconds("anago.swap_drain",
				   "Sets how long queries may go on at a standby that has ceased to answer, before it applies changes.",
				   NULL, &anago_swap_drain, 300, 0);
	define_seconds("anago.swap_interval",
				   "Sets how long a standby answers before the other one does, however fresh its data is.",
				   "Zero: only freshness counts.",
				   &anago_swap_interval, 600, 0);
	define_seconds("anago.swap_max_pause",
				   "Sets for how long replay may stand still at most.",
				   NULL, &anago_swap_max_pause, 3600, 1);
	define_seconds("anago.swap_patience",
				   "Sets after how long without a word the other standby is held to be gone.",
				   NULL, &anago_swap_patience, 10, 1);
}

void
anago_guc_swap(void)
{
	DefineCustomBoolVariable("anago.swap",
							 "Has two standbys answer queries by turns, each with its replay paused.",
							 "Needs anago in shared_preload_libraries, and anago.swap_other.",
							 &anago_swap_on, false,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomRealVariable("anago.swap_freshness",
							 "Sets the part of the changes, from 0 to 1, at which the other standby is to answer when no more is applied.",
							 "Zero: only the clock counts.",
							 &anago_swap_freshness, 0.85, 0.0, 1.0,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);

	DefineCustomIntVariable("anago.swap_max_wal",
							"Sets how much WAL may wait for replay that stands still.",
							NULL,
							&anago_swap_max_wal, 4096, 1, 1024 * 1024,
							PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);

	DefineCustomStringVariable("anago.swap_other",
							   "Sets the connection string of the other standby.",
							   "It has to be set when the server starts.",
							   &anago_swap_other_conninfo, "",
							   PGC_SIGHUP, GUC_SUPERUSER_ONLY, NULL, NULL, NULL);

	DefineCustomStringVariable("anago.swap_roles",
							   "Names the roles whose connections are refused by a standby that does not answer.",
							   NULL,
							   &anago_swap_roles, "",
							   PGC_SIGHUP, GUC_LIST_INPUT, anago_swap_gate_check, NULL, NULL);

	define_times();
}
