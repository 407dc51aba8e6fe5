/*-------------------------------------------------------------------------
 *
 * htal.h
 *	  Which class of work gets how many cores: the decisions of HTAL, dynamic
 *	  core assignment between OLTP, log shipping and OLAP.
 *
 * Deciding and doing are apart.  htal.c decides: pure functions of what was
 * measured, which need no server (t/htal_test.c has invented machines, and
 * bench/htap a simulated one).  Neither this header nor htal.c includes
 * postgres.h.
 *
 * Once in each period: state, move, and the move is made.  On 96 cores:
 *
 *					OLTP  its dispatch  OLAP  its dispatch  shipping  balancer
 *		start		  40			 8	  44			 2		   1		 1
 *
 *		4.5 transactions wait for each OLTP core: favour OLTP.  Its dispatch is
 *		at 40%, the variance of queues is 25: one more core for OLTP, from the
 *		class not favoured in which most stands idle
 *					  41			 8	  44			 1		   1		 1
 *
 *		The same again; OLAP's dispatch has one core, which it keeps
 *					  42			 8	  43			 1		   1		 1
 *
 * Invariants
 *	- a move takes one core from one class and gives it to another: the sum of
 *	  cores stays what it was;
 *	- no class goes from one core to none, and the balancer has what it has;
 *	- a class that the state favours gives nothing;
 *	- a decision that would rest on something that is not known (NaN) is not
 *	  taken: nobody is favoured, nothing moves.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_HTAL_H
#define ANAGO_HTAL_H

#include <stdbool.h>

/* Classes of work, each on cores of its own. */
typedef enum AnagoHtalClass
{
	ANAGO_HTAL_OLTP,			/* transactions, each on the core of its keys */
	ANAGO_HTAL_OLTP_DISPATCH,	/* who hands transactions to these cores */
	ANAGO_HTAL_OLAP,			/* analytical queries */
	ANAGO_HTAL_OLAP_DISPATCH,	/* who hands queries out */
	ANAGO_HTAL_SHIPPING,		/* log shipping: sent, received and applied */
	ANAGO_HTAL_BALANCER,		/* who makes the moves */
	ANAGO_HTAL_CLASSES
} AnagoHtalClass;

/* How many cores each class has. */
typedef struct AnagoHtalCores
{
	int			of[ANAGO_HTAL_CLASSES];
} AnagoHtalCores;

/*
 * What was measured over the last period.  Shares are from 0 to 1.  NaN: not
 * known.  In brackets the name in the publication.
 */
typedef struct AnagoHtalInputs
{
	double		waiting;		/* transactions that wait, mean over the OLTP
								 * cores (W_T) */
	double		queue_variance; /* of the lengths of their queues (D_T) */
	double		freshness;		/* share of row changes that are applied (F) */
	double		olap_iowait;	/* share of time of the OLAP cores (W_A) */
	double		cpu[ANAGO_HTAL_CLASSES];	/* mean share of time in use, of
											 * each class's cores (U_C: either
											 * dispatch; U_A: OLAP) */
	int			shipping_best;	/* cores at which log shipping is at its best
								 * (C_ML) */
	bool		absent[ANAGO_HTAL_CLASSES]; /* there is no such work: it has no
											 * cores, and never asks for one */
	bool		one_queue;		/* all OLTP cores take from one queue: there are no
								 * key ranges whose borders could move, and no
								 * variance to go by */
} AnagoHtalInputs;

/* In brackets the name in the publication, and what it has for it. */
typedef struct AnagoHtalThresholds
{
	double		waiting;		/* transactions a core (alpha, 2) */
	double		freshness;		/* share (beta, 0.85) */
	double		dispatch_cpu;	/* share (gamma, 0.6) */
	double		queue_variance; /* (delta, 8) */
	double		olap_cpu;		/* share (epsilon, 0.8) */
	double		olap_iowait;	/* share (zeta, 0.1) */
} AnagoHtalThresholds;

/* The published ones, and what each may be: from least to most. */
extern const AnagoHtalThresholds anago_htal_default;
extern const AnagoHtalThresholds anago_htal_least;
extern const AnagoHtalThresholds anago_htal_most;

/* What is favoured: Algorithm 1. */
typedef enum AnagoHtalState
{
	ANAGO_HTAL_FAVOUR_OLTP,
	ANAGO_HTAL_FAVOUR_SHIPPING,
	ANAGO_HTAL_FAVOUR_OLAP,
	ANAGO_HTAL_FAVOUR_NOBODY,	/* as not enough is known */
	ANAGO_HTAL_STATES
} AnagoHtalState;

/* What is to be done: Algorithm 2. */
typedef enum AnagoHtalAction
{
	ANAGO_HTAL_STAY,			/* nothing asks for a move */
	ANAGO_HTAL_MOVE_CORE,		/* one core from a class to another */
	ANAGO_HTAL_MOVE_BORDERS,	/* of key ranges, among the OLTP cores */
	ANAGO_HTAL_NOBODY_GIVES,	/* one more for `to`, which nobody can give */
	ANAGO_HTAL_ACTIONS
} AnagoHtalAction;

typedef struct AnagoHtalMove
{
	AnagoHtalAction action;
	AnagoHtalClass to;			/* of MOVE_CORE and NOBODY_GIVES */
	AnagoHtalClass from;		/* of MOVE_CORE */
} AnagoHtalMove;

/*
 * The assignment to begin with: the published one for 96 cores, in proportion
 * for other numbers.  Each class has one core at least; where there are fewer
 * cores than classes, the first of OLTP, OLAP, log shipping, OLTP's dispatch,
 * OLAP's dispatch, balancer have one.  Who has none runs on all cores.
 */
extern AnagoHtalCores anago_htal_start(int ncores);

/* The same where some classes are absent. */
extern AnagoHtalCores anago_htal_start_of(int ncores, const bool *absent);

extern AnagoHtalState anago_htal_state(const AnagoHtalThresholds *thresholds,
									   const AnagoHtalInputs *inputs);

/* Does this state favour the class? */
extern bool anago_htal_favours(AnagoHtalState state, AnagoHtalClass class);

extern AnagoHtalMove anago_htal_move(AnagoHtalState state,
									 const AnagoHtalThresholds *thresholds,
									 const AnagoHtalInputs *inputs,
									 const AnagoHtalCores *cores);

/* Make a move; true if that changes who has which cores. */
extern bool anago_htal_apply(AnagoHtalMove move, AnagoHtalCores *cores);

/* Is each threshold within its bounds?  NaN is not. */
extern bool anago_htal_valid(const AnagoHtalThresholds *thresholds);

/*
 * Why that state, and what is to be done, in words; the buffer has
 * ANAGO_HTAL_TEXT bytes (htal_text.c).
 */
#define ANAGO_HTAL_TEXT		160

extern void anago_htal_why(AnagoHtalState state,
						   const AnagoHtalThresholds *thresholds,
						   const AnagoHtalInputs *inputs, char *text);
extern void anago_htal_decision(AnagoHtalMove move, char *text);

/* Names, for log lines and views. */
extern const char *anago_htal_class_name(AnagoHtalClass class);
extern const char *anago_htal_state_name(AnagoHtalState state);
extern const char *anago_htal_action_name(AnagoHtalAction action);

#endif							/* ANAGO_HTAL_H */
