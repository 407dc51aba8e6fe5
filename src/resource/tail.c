/*-------------------------------------------------------------------------
 *
 * tail.c
 *	  How much longer the longest times are beside queries.  See tail.h.
 *
 *-------------------------------------------------------------------------
 */
#include "resource/tail.h"

#include <math.h>

void
anago_tail_init(AnagoTail *tail, const AnagoTailKind *kind)
{
	*tail = (AnagoTail) {.kind = kind,.slowdown = 1};
}

/* Add to a number of times and what of them was late; older ones count less. */
static void
add(double *sum, double *sum_late_ms, double times, double late_ms, double most)
{
	double		all = *sum + times;

	*sum = all;
	*sum_late_ms += late_ms;
	if (all > most)
	{
		*sum = most;
		*sum_late_ms *= most / all;
	}
}

void
anago_tail_learn(AnagoTail *tail, double times, double late_ms)
{
	add(&tail->learnt, &tail->learnt_late_ms, times, late_ms, tail->kind->memory);
}

bool
anago_tail_is_known(const AnagoTail *tail)
{
	return tail->learnt >= tail->kind->known;
}

bool
anago_tail_is_seen(const AnagoTail *tail)
{
	return tail->seen >= tail->kind->least;
}

void
anago_tail_judge(AnagoTail *tail, double times, double late_ms, double floor_ms)
{
	add(&tail->seen, &tail->late_ms, times, late_ms, tail->kind->window);
	if (anago_tail_is_known(tail) && anago_tail_is_seen(tail) && floor_ms > 0)
		tail->slowdown = cbrt((tail->late_ms / tail->seen + floor_ms) /
							  (tail->learnt_late_ms / tail->learnt + floor_ms));
	else
		tail->slowdown = 1;
}

void
anago_tail_forget(AnagoTail *tail)
{
	tail->seen = tail->late_ms = 0;
}
