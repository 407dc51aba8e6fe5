/*-------------------------------------------------------------------------
 *
 * installed.c
 *	  Is the extension there, in the database of this process?
 *
 * The answer is kept.  CREATE and DROP EXTENSION create and drop our SQL
 * functions, and thereby send invalidations of their pg_proc entries to all
 * sessions.  While the extension is there only those of one of its functions
 * matter, so that others may create functions as often as they like.  While it
 * is not there any change of pg_proc has us look again, when the next query is
 * planned.  In both directions the session's cached plans are made anew, but
 * only if the answer is another one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"
#include "utils/plancache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "extension.h"
#include "guc.h"
#include "plan/paths.h"

typedef enum Installed
{
	INSTALLED_UNKNOWN,			/* at first, and after a change that matters */
	INSTALLED_NO,
	INSTALLED_YES
} Installed;

static Installed installed = INSTALLED_UNKNOWN;

/* The answer before, while it is UNKNOWN. */
static Installed latest = INSTALLED_UNKNOWN;

/* While YES: what invalidations of one of its functions are known by. */
static uint32 function_hash;

/*
 * Syscache callback; hashvalue 0: all entries may have changed.  Where the
 * extension may be going, its plans go at once: nobody need plan anything
 * before they are used.
 */
static void
proc_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	if (installed == INSTALLED_UNKNOWN ||
		(installed == INSTALLED_YES &&
		 hashvalue != 0 && hashvalue != function_hash))
		return;
	if (installed == INSTALLED_YES && anago_enable)
		ResetPlanCache();
	latest = installed;
	installed = INSTALLED_UNKNOWN;
}

/* Looking it up may itself process invalidations. */
static void
look_up(void)
{
	Oid			function = anago_extension_mark();

	if (OidIsValid(function))
		function_hash = GetSysCacheHashValue1(PROCOID,
											  ObjectIdGetDatum(function));
	installed = OidIsValid(function) ? INSTALLED_YES : INSTALLED_NO;
	if (installed == INSTALLED_YES && latest == INSTALLED_NO)
		ResetPlanCache();
}

bool
anago_is_installed(void)
{
	static bool registered = false;

	if (!registered)
	{
		CacheRegisterSyscacheCallback(PROCOID, proc_changed, (Datum) 0);
		registered = true;
	}
	if (installed == INSTALLED_UNKNOWN)
		look_up();
	return installed == INSTALLED_YES;
}
