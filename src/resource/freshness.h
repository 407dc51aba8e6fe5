/*-------------------------------------------------------------------------
 *
 * freshness.h
 *	  How fresh a standby is: what _PG_init wires.  See freshness.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_FRESHNESS_H
#define ANAGO_FRESHNESS_H

/* From _PG_init. */
extern void anago_freshness_init(void);

#endif							/* ANAGO_FRESHNESS_H */
