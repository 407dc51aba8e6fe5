/*-------------------------------------------------------------------------
 *
 * background.h
 *	  What the background workers of anago have in common: the guard's and the
 *	  balancer's.
 *
 * Each exists where anago is in shared_preload_libraries.  It is switched on and off by
 * a reload, sleeps while it is off, and is started again when it has ended.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BACKGROUND_H
#define ANAGO_BACKGROUND_H

#include "postgres.h"

#include "postmaster/bgworker.h"

/* How long one sleeps that is off; a reload wakes it. */
#define ANAGO_BACKGROUND_OFF_MS		60000

/*
 * From _PG_init: have the postmaster start `function`, of this library.  One that looks
 * into catalogs of the whole server connects to no database in particular.
 */
extern void anago_background_register(const char *name, const char *function,
									  bool catalogs);

/*
 * From one of them: start another one, which ends by itself and is not started again, to do
 * what may take its time.  NULL: there is no room for it.
 */
extern BackgroundWorkerHandle *anago_background_start(const char *name, const char *function);

/* Is there such a one?  NULL: it was not started. */
extern bool anago_background_runs(BackgroundWorkerHandle *process);

/* At its beginning; with catalogs of a database, or of the whole server: NULL. */
extern void anago_background_begin(bool catalogs, const char *database);

/*
 * Sleep for so long, or until woken; then serve what has come meanwhile: a reload, or
 * the end.
 */
extern void anago_background_sleep(long ms, uint32 wait_event);

#endif							/* ANAGO_BACKGROUND_H */
