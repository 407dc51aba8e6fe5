/*-------------------------------------------------------------------------
 *
 * swap_worker.h
 *	  The process that has a standby change places with another one, and what it keeps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SWAP_WORKER_H
#define ANAGO_SWAP_WORKER_H

#include "postgres.h"

#include "utils/guc.h"

/* From _PG_init, behind the settings. */
extern void anago_swap_init(void);

/* The process; the postmaster looks it up by name. */
extern PGDLLEXPORT void anago_swap_main(Datum arg);

/* The process that asks the other one (swap_other.c): for the first one, in each period. */
extern void anago_swap_other_keep(void);
extern void anago_swap_other_end(void);
extern PGDLLEXPORT void anago_swap_other_main(Datum arg);

/* Who is sent to the other one (swap_gate.c): from _PG_init, and a check of its setting. */
extern void anago_swap_gate_init(void);
extern bool anago_swap_gate_check(char **newval, void **extra, GucSource source);

/* Time between two looks, and two questions, in ms. */
#define ANAGO_SWAP_PERIOD_MS	500

#endif							/* ANAGO_SWAP_WORKER_H */
