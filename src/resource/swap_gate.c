/*-------------------------------------------------------------------------
 *
 * swap_gate.c
 *	  How clients find the standby that answers: the one that does not refuses them.
 *
 * With "cannot connect now", which servers that are starting say, too: a client of libpq (14
 * and later) that has several hosts in its connection string goes on to the next one
 * then, as it does not after other errors of the server.  Roles that are not named in
 * anago.swap_roles come in anywhere.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

/*
 * Port is the same without these, which libpq-be.h sees to; their own headers need not be
 * where extensions are built.
 */
#undef ENABLE_GSS
#undef USE_OPENSSL

#include "access/xlog.h"
#include "libpq/auth.h"
#include "libpq/libpq-be.h"
#include "miscadmin.h"
#include "replication/walsender.h"

#include "guc.h"
#include "guclist.h"
#include "resource/swap_memory.h"
#include "resource/swap_worker.h"

static ClientAuthentication_hook_type prev_hook = NULL;

static bool
is_a_name(void *to, const char *item)
{
	return item[0] != '\0';
}

bool
anago_swap_gate_check(char **newval, void **extra, GucSource source)
{
	return anago_guclist_read(*newval, is_a_name, NULL);
}

/* The end of the search, where it is the one. */
static bool
is_another(void *to, const char *item)
{
	return strcmp(item, to) != 0;
}

static bool
is_sent_away(Port *port)
{
	return anago_swap_roles[0] != '\0' && !am_walsender &&
		anago_swap_sends_away(anago_swap_report().server.state) && RecoveryInProgress() &&
		!anago_guclist_read(anago_swap_roles, is_another, port->user_name);
}

static void
authenticated(Port *port, int status)
{
	if (prev_hook)
		prev_hook(port, status);
	if (status == STATUS_OK && is_sent_away(port))
		ereport(FATAL,
				(errcode(ERRCODE_CANNOT_CONNECT_NOW),
				 errmsg("this standby applies changes, another one answers queries"),
				 errhint("Name both standbys in the connection string: host=one,other.")));
}

void
anago_swap_gate_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_hook = ClientAuthentication_hook;
	ClientAuthentication_hook = authenticated;
}
