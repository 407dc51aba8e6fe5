/*-------------------------------------------------------------------------
 *
 * htal_text.c
 *	  What HTAL has decided, and why, in words.  See htal.h.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>

#include "resource/htal.h"

static void
why_nobody(const AnagoHtalInputs *inputs, char *text)
{
	snprintf(text, ANAGO_HTAL_TEXT, "it is not known %s",
			 isnan(inputs->waiting) ? "how many transactions wait" : "how fresh the data is");
}

void
anago_htal_why(AnagoHtalState state, const AnagoHtalThresholds *thresholds,
			   const AnagoHtalInputs *inputs, char *text)
{
	text[0] = '\0';
	switch (state)
	{
		case ANAGO_HTAL_FAVOUR_OLTP:
			snprintf(text, ANAGO_HTAL_TEXT,
					 "%.2f transactions wait for each OLTP core, at least %.2f",
					 inputs->waiting, thresholds->waiting);
			break;
		case ANAGO_HTAL_FAVOUR_SHIPPING:
			snprintf(text, ANAGO_HTAL_TEXT,
					 "%.1f%% of the changes are applied, at most %.1f%%",
					 inputs->freshness * 100, thresholds->freshness * 100);
			break;
		case ANAGO_HTAL_FAVOUR_OLAP:
			snprintf(text, ANAGO_HTAL_TEXT,
					 "%.2f transactions wait for each OLTP core, %.1f%% of the changes are applied",
					 inputs->waiting, inputs->freshness * 100);
			break;
		case ANAGO_HTAL_FAVOUR_NOBODY:
			why_nobody(inputs, text);
			break;
		case ANAGO_HTAL_STATES:
			break;
	}
}

void
anago_htal_decision(AnagoHtalMove move, char *text)
{
	text[0] = '\0';
	switch (move.action)
	{
		case ANAGO_HTAL_MOVE_CORE:
			snprintf(text, ANAGO_HTAL_TEXT, "more for %s, from %s",
					 anago_htal_class_name(move.to), anago_htal_class_name(move.from));
			break;
		case ANAGO_HTAL_NOBODY_GIVES:
			snprintf(text, ANAGO_HTAL_TEXT, "no class can give to %s",
					 anago_htal_class_name(move.to));
			break;
		case ANAGO_HTAL_STAY:
		case ANAGO_HTAL_MOVE_BORDERS:
			snprintf(text, ANAGO_HTAL_TEXT, "%s", anago_htal_action_name(move.action));
			break;
		case ANAGO_HTAL_ACTIONS:
			break;
	}
}
