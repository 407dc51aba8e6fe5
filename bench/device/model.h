/*
 * model.h
 *	  When the emulated device would have completed a read.
 *
 * Four terms, each of which may be absent:
 *
 *	  latency	every read takes so long; any number of them at once
 *	  interval	reads start at least so far apart (a cap on reads/s)
 *	  per_kib	nor do they start before the one before could be passed on (a
 *				cap on bytes/s)
 *	  spindles	a read occupies each spindle that it touches for `seek`;
 *				spindles are striped over the device by `stripe` bytes
 */
#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>
#include <stdint.h>

#define MAX_SPINDLES	4096

typedef struct Model
{
	uint64_t	latency;		/* ns */
	uint64_t	interval;		/* ns; 0: no cap */
	uint64_t	per_kib;		/* ns; 0: no cap */
	uint64_t	seek;			/* ns */
	uint64_t	stripe;			/* bytes */
	int			spindles;		/* 0: none */

	/* state */
	uint64_t	next_start;		/* when the next read may start */
	uint64_t	free_at[MAX_SPINDLES];
} Model;

extern uint64_t model_transfer(const Model *model, size_t size);
extern uint64_t model_due(Model *model, uint64_t arrival, uint64_t offset,
						  size_t size);

#endif							/* MODEL_H */
