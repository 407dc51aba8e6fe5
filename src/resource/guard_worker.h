/*-------------------------------------------------------------------------
 *
 * guard_worker.h
 *	  The guard's process: looks at transactions, and moves the server's budget.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_GUARD_WORKER_H
#define ANAGO_GUARD_WORKER_H

#include "postgres.h"

/* From _PG_init: registers the process, where the library is preloaded. */
extern void anago_guard_worker_init(void);

extern PGDLLEXPORT void anago_guard_main(Datum arg);

#endif							/* ANAGO_GUARD_WORKER_H */
