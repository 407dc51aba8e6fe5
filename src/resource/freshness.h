/*-------------------------------------------------------------------------
 *
 * freshness.h
 *	  How fresh a standby is.  See freshness.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_FRESHNESS_H
#define ANAGO_FRESHNESS_H

/* Seconds of changes, where nothing else is asked for: as of the SQL function. */
#define ANAGO_FRESHNESS_WINDOW	60

/* From _PG_init. */
extern void anago_freshness_init(void);

/* Of the changes of so many seconds, the share that is applied; NaN: not known. */
extern double anago_freshness_now(int window);

#endif							/* ANAGO_FRESHNESS_H */
