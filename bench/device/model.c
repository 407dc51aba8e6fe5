/*
 * model.c
 *	  When the emulated device would have completed a read.
 */
#include "model.h"

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Occupy one spindle for a seek, after those that came before. */
static uint64_t
seek_on(Model *model, uint64_t stripe, uint64_t start)
{
	uint64_t   *free_at = &model->free_at[stripe % model->spindles];

	*free_at = later(*free_at, start) + model->seek;
	return *free_at;
}

/* How long the bytes of a read are passed on, in ns. */
uint64_t
model_transfer(const Model *model, size_t size)
{
	return size * model->per_kib / 1024;
}

/*
 * Time at which a read that arrives now completes, in ns on the clock of
 * `arrival`.  Arrivals must not go backward.
 */
uint64_t
model_due(Model *model, uint64_t arrival, uint64_t offset, size_t size)
{
	uint64_t	start = later(arrival, model->next_start);
	uint64_t	due = start + model->latency;

	model->next_start = start + later(model->interval,
									  model_transfer(model, size));
	if (model->spindles > 0 && size > 0)
	{
		uint64_t	last = (offset + size - 1) / model->stripe;

		for (uint64_t stripe = offset / model->stripe; stripe <= last; stripe++)
			due = later(due, seek_on(model, stripe, start) + model->latency);
	}
	return due;
}
