/*-------------------------------------------------------------------------
 *
 * counts.c
 *	  Everything that is counted of a query: the table, and sums.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "counts.h"

/* Short forms, in the lists of counts.h. */
#define COLUMN(name)				.column = (name)
#define SHOWN(name, where, before)	.property = (name), .line = ANAGO_LINE_##where, .text = (before)
#define IN_STEP(name, before)		.property = (name), .text = (before)
#define EACH(before)				.each = (before)
#define REASON(name, before)		SHOWN(name, SYNC, before), .group = ANAGO_GROUP_SYNC, .quiet = true

#define ANAGO_GROUP_SYNC	"Synchronous Reads by Reason"

#define DESC_IN(type, field, ...) \
	{.name = #field, .offset = offsetof(type, field), __VA_ARGS__},
#define COUNT_DESC(field, ...)		DESC_IN(AnagoCounts, field, __VA_ARGS__)
#define STEP_COUNT_DESC(field, ...)	DESC_IN(AnagoStepCounts, field, __VA_ARGS__)

const AnagoCountDesc anago_counts[] = {
	ANAGO_COUNTS(COUNT_DESC)
};

const AnagoCountDesc anago_step_counts[] = {
	ANAGO_STEP_COUNTS(STEP_COUNT_DESC)
};

StaticAssertDecl(lengthof(anago_counts) == ANAGO_NCOUNTS, "a line for each field");
StaticAssertDecl(lengthof(anago_step_counts) == ANAGO_NSTEP_COUNTS,
				 "a line for each field");

static void
add(const AnagoCountDesc *descs, int n, int64 *to, const int64 *from)
{
	for (int i = 0; i < n; i++)
		to[i] = descs[i].sum == ANAGO_PEAK ? Max(to[i], from[i]) : to[i] + from[i];
}

void
anago_counts_add(AnagoCounts *to, const AnagoCounts *from)
{
	add(anago_counts, ANAGO_NCOUNTS, (int64 *) to, (const int64 *) from);
}

void
anago_step_counts_add(AnagoStepCounts *to, const AnagoStepCounts *from)
{
	add(anago_step_counts, ANAGO_NSTEP_COUNTS, (int64 *) to, (const int64 *) from);
}
