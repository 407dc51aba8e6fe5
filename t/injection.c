/*
 * A test stops a backend at one of the server's injection points: until the
 * test releases an advisory lock.  Built by the TAP tests that need it.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/injection_point.h"

PG_MODULE_MAGIC;

#define GATE	Int64GetDatum(4711)

extern PGDLLEXPORT void anago_test_wait(const char *name, const void *data, void *arg);

void
anago_test_wait(const char *name, const void *data, void *arg)
{
	DirectFunctionCall1(pg_advisory_lock_shared_int8, GATE);
	DirectFunctionCall1(pg_advisory_unlock_shared_int8, GATE);
}

PG_FUNCTION_INFO_V1(anago_test_attach);

Datum
anago_test_attach(PG_FUNCTION_ARGS)
{
	InjectionPointAttach(text_to_cstring(PG_GETARG_TEXT_PP(0)),
						 text_to_cstring(PG_GETARG_TEXT_PP(1)),
						 "anago_test_wait", NULL, 0);
	PG_RETURN_VOID();
}
