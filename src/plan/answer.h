/*-------------------------------------------------------------------------
 *
 * answer.h
 *	  A question that is asked once, and its answer kept.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_ANSWER_H
#define ANAGO_ANSWER_H

typedef enum AnagoAnswer
{
	ANAGO_NOT_ASKED,
	ANAGO_NO,
	ANAGO_YES
} AnagoAnswer;

#endif							/* ANAGO_ANSWER_H */
