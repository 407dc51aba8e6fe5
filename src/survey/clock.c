/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  The moment at which a survey is asked.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "survey/survey.h"

/* 0: not asked for since this planning began. */
static TimestampTz moment = 0;

void
anago_survey_begin(void)
{
	moment = 0;
}

TimestampTz
anago_survey_now(void)
{
	if (moment == 0)
		moment = GetCurrentTimestamp();
	return moment;
}
