/*-------------------------------------------------------------------------
 *
 * tail.h
 *	  How much longer the longest of many short times are beside queries.
 *
 * A mean says nothing of them: beside a query CPUs do not fall asleep, so that most
 * transactions are faster, while one in a hundred waits for a CPU.  Seen are times of
 * one kind, and how much of them is late, which is past a certain length: of times L
 * that are late from x on, the mean of max(0, L - x) for each.
 *
 * The slowdown of the tail is the cube root of late time beside queries by that
 * without: where times are spread as x^-a and all grow by a factor s, late time grows
 * by s^a.  For lookups in an index, cold, a is about 2 (p99 0.56 ms, p99.9 1.7 ms); with
 * 3 what is seen comes nearer to what p99 did beside query C.
 *
 * As all of the guard's, pure functions of what was seen (t/guard_test.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_TAIL_H
#define ANAGO_TAIL_H

#include <stdbool.h>

/* Numbers of times. */
typedef struct AnagoTailKind
{
	double		known;			/* so many say what the tail is */
	double		memory;			/* of more that were learnt the older are forgotten */
	double		window;			/* of more that were seen the older are forgotten */
	double		least;			/* fewer in the window say nothing */
} AnagoTailKind;

typedef struct AnagoTail
{
	const AnagoTailKind *kind;

	/* what was learnt without queries */
	double		learnt;
	double		learnt_late_ms;

	/* seen beside queries of late */
	double		seen;
	double		late_ms;

	double		slowdown;		/* 1 where nothing is known */
} AnagoTail;

extern void anago_tail_init(AnagoTail *tail, const AnagoTailKind *kind);

/* Without queries, of `times` so much was late. */
extern void anago_tail_learn(AnagoTail *tail, double times, double late_ms);

/* Enough was learnt to judge by. */
extern bool anago_tail_is_known(const AnagoTail *tail);

/* Enough was seen beside queries since that was forgotten. */
extern bool anago_tail_is_seen(const AnagoTail *tail);

/*
 * Judge by so many beside queries, of which so much was late; `floor_ms` of each are
 * as good as nothing.
 */
extern void anago_tail_judge(AnagoTail *tail, double times, double late_ms, double floor_ms);

/* What was seen beside queries is of another time. */
extern void anago_tail_forget(AnagoTail *tail);

#endif							/* ANAGO_TAIL_H */
