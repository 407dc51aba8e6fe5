/*-------------------------------------------------------------------------
 *
 * balancer.h
 *	  The balancer's process: what _PG_init wires.  See balancer.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BALANCER_H
#define ANAGO_BALANCER_H

#include "postgres.h"

/* From _PG_init: have the postmaster start it, where anago is preloaded. */
extern void anago_balancer_init(void);

/* The process; the postmaster looks it up by name. */
extern PGDLLEXPORT void anago_balancer_main(Datum arg);

#endif							/* ANAGO_BALANCER_H */
