/*
 * workers.h
 *	  Threads that do what may block: reads that the page cache does not have,
 *	  writes, holes.
 *
 * workers_give() hands a request over, workers_take() gets those that are done;
 * workers_fd() is readable when there are some.
 */
#ifndef WORKERS_H
#define WORKERS_H

#include "request.h"

#define WORKERS		16			/* as many backing reads at once */

extern int	workers_start(int image);
extern int	workers_fd(void);
extern void workers_give(Request *request);
extern Request *workers_take(void);

#endif							/* WORKERS_H */
