/*-------------------------------------------------------------------------
 *
 * budgets.h
 *	  The server's budget of reads, and what each process has of it.
 *
 * Budgets are a tree: a process takes of its query's (shared/budget.h), and what it
 * is granted there of the server's.  Nobody waits for a coordinator.  A limit is a
 * number in shared memory that may change at any time; whoever is about to read
 * looks at it.
 *
 * Each process has a slot of its own, which it alone writes: reads in flight,
 * reads wanted, and what else the view anago_activity shows.  How the limit is
 * divided follows from the slots (level.h).  Every other millisecond whoever comes
 * first finds out and leaves the result for all: the level.
 *
 *		slots		in flight	wants	weight		level 4: allowed
 *		  3				16		 200	  4			16
 *		  7				 2		   2	  1			 4
 *		 12				 4		  90	  1			 4
 *		taken			22
 *
 * Invariants
 *	- taken is the sum of what the slots have charged, and while there is a limit
 *	  taken <= Max(limit, processes that want reads) + uncounted; but for one read
 *	  each of those that have waited ANAGO_STARVED_MS for a first one, for one of each
 *	  page layer of a process beyond its first (what it waits for comes only with that),
 *	  and right after the limit has been lowered;
 *	- charged <= in flight of each slot (of its role: of that role's queries); equal
 *	  while there is a limit and the process is about to read;
 *	- query_taken in the slot of a query's leader is the sum of query_charged of the
 *	  query's processes, and with a limit of its own at most Max(that, processes that
 *	  read), but for the same (ANAGO_QUERY_STARVED_MS);
 *	- a slot is charged with nothing, and not active, when its process has ended;
 *	- what others write into a slot (park, own_limit, query_bound) is decided anew
 *	  before long.
 *
 * Two kinds of slots are not reckoned with.  One whose process stands still, as it
 * waits for a lock or for its client, or for a leader that does, has no part of a limit,
 * and what it has in flight (most of which has arrived, unseen) others may have as well;
 * its part is there again with the first level that is found out after it goes on.  One whose
 * transaction has an XID is no affair of the governors, the guard and the balancer:
 * others may wait for rows that it has locked, and would wait the longer for its being
 * held back.  So there are two divisions: of the server's limit among all, and of the
 * governors' among the others.
 *
 * Roles and databases may have limits of their own, each with a count and a division
 * for itself; a process keeps within all that it is of (groups.h).
 *
 * A process for which there is no memory of the server has all this by itself: it
 * then keeps within the limit alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BUDGETS_H
#define ANAGO_BUDGETS_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/proc.h"
#include "storage/spin.h"

#include "resource/htal.h"

/* How old the level may be; how long a process waits for its first read. */
#define ANAGO_LEVEL_US		2000
#define ANAGO_STARVED_MS	10
#define ANAGO_QUERY_STARVED_MS	100 /* within its query's own limit */

/* What a process waits for. */
typedef enum AnagoShortage
{
	ANAGO_SHORT_OF_NOTHING,
	ANAGO_SHORT_OF_BUDGET,		/* too many are in flight, */
	ANAGO_SHORT_OF_RATE			/* or were read in this second */
} AnagoShortage;

/* Where a process of a parallel query is; see elastic.h. */
typedef enum AnagoPhase
{
	ANAGO_PHASE_NONE,			/* in no such query, or it has left */
	ANAGO_PHASE_OUTSIDE,
	ANAGO_PHASE_INSIDE,
	ANAGO_PHASE_WAITING,
	ANAGO_PHASE_PARKED
} AnagoPhase;

/* Of whom there may be limits; see groups.h. */
typedef enum AnagoGroupKind
{
	ANAGO_GROUP_ROLE,
	ANAGO_GROUP_DATABASE
} AnagoGroupKind;

#define ANAGO_GROUP_KINDS	2
#define ANAGO_MAX_GROUPS	32

typedef struct AnagoSlot
{
	/* while it is active: */
	int			pid;
	int			leader;			/* of its parallel query, or itself: pid, */
	int			query;			/* and slot */
	Oid			user;
	Oid			database;
	TimestampTz since;
	int			active;			/* leases that are open; own process only */
	uint64		due;			/* bucket.h; own process only: of the server's, */
	uint64		group_due[ANAGO_GROUP_KINDS];	/* and of its groups' */
	uint64		waits_since;	/* ns, for a first read, for want of what all have, */
	uint64		query_waits_since;	/* and of its query's own; own process only */
	uint32		role_inflight;	/* those in flight that count for its role's group;
								 * own process only */
	pg_atomic_uint32 share;		/* anago.share */
	pg_atomic_uint32 processes; /* of the query, which has that share */
	pg_atomic_uint32 group[ANAGO_GROUP_KINDS];	/* 1 + its number; 0: without limit */
	pg_atomic_uint32 inflight;
	pg_atomic_uint32 charged;	/* of these, to `taken`, */
	pg_atomic_uint32 query_charged; /* to query_taken of its query, */
	pg_atomic_uint32 group_charged[ANAGO_GROUP_KINDS];	/* and to its groups' */
	pg_atomic_uint32 wants;		/* reads in flight, if it could */
	pg_atomic_uint32 latency_us;	/* of its latest reads, mean; 0: not known */
	pg_atomic_uint32 allowed;	/* of these; 0: no limit */
	pg_atomic_uint32 shortage;	/* AnagoShortage */
	/* elastic.h: what it does, what is decided of it, and what is of its query */
	pg_atomic_uint32 leases;	/* page layers that it has open */
	pg_atomic_uint32 phase;		/* AnagoPhase */
	pg_atomic_uint32 planned;	/* processes of the parallel query; 0: it has one */
	pg_atomic_uint32 park;		/* it is to be parked; anybody writes this, */
	pg_atomic_uint32 own_limit; /* and this: of its reads, by the query's */
	pg_atomic_uint32 nodes;		/* of the statement, in its leader */
	pg_atomic_uint64 control;	/* limits of the query (below), in its leader; */
	pg_atomic_uint32 query_bound;	/* by it, of query_taken, 0: none; */
	pg_atomic_uint32 query_taken;	/* and the sum of its query_charged */

	pg_atomic_uint64 reads;
	pg_atomic_uint64 timed;		/* of these, those that were issued, */
	pg_atomic_uint64 timed_us;	/* and what they took, all together */
	pg_atomic_uint64 rows;
	pg_atomic_uint64 tasks;
} AnagoSlot;

/*
 * The limits of one query, which others may set: its number among those of the slot, 32
 * bits; processes, 12; reads, 20.  0 is no limit.
 */
#define ANAGO_CONTROL_READS_BITS	20
#define ANAGO_CONTROL_NUMBER_SHIFT	32

static inline uint32
anago_control_limits(uint64 control)
{
	return (uint32) control;
}

/* What the guard has seen and decided, for SQL; numbers are bits of doubles. */
typedef struct AnagoGuardReport
{
	pg_atomic_uint32 pid;
	pg_atomic_uint32 state;		/* AnagoGuardState */
	pg_atomic_uint64 per_second;	/* transactions */
	pg_atomic_uint64 latency_us;	/* of these, */
	pg_atomic_uint64 unloaded_us;	/* and without us */
	pg_atomic_uint64 slowdown;
	pg_atomic_uint64 budget;	/* reads */
} AnagoGuardReport;

/* What the balancer has seen and decided, for SQL. */
typedef struct AnagoBalancerReport
{
	int			pid;
	bool		on;
	TimestampTz at;				/* 0: nothing is decided yet */
	AnagoHtalThresholds thresholds;
	AnagoHtalInputs inputs;
	AnagoHtalState state;
	AnagoHtalMove move;
	double		transactions;	/* as in AnagoBalance */
	int			queues;			/* as in AnagoBalanceSeen */
	double		queueing_before;
	double		cores[ANAGO_HTAL_CLASSES];
	int			processes[ANAGO_HTAL_CLASSES];
	int			placed;			/* processes that have their class's CPUs, */
	int			grouped;		/* and that are in its control group */
} AnagoBalancerReport;

/* What a process of the balancer's has found to wait before the server; see queues.h. */
typedef struct AnagoQueuesReport
{
	int			pid;			/* 0: there is none */
	uint64		at;				/* by anago_budgets_now(); 0: nothing yet */
	int			n;				/* queues */
	double		waiting;
	double		variance;
} AnagoQueuesReport;

/*
 * Those who limit queries beside the server's own settings.  The least limit holds; a
 * limit of 0 is none.
 */
typedef enum AnagoGovernorName
{
	ANAGO_GUARD,
	ANAGO_BALANCER,
	ANAGO_GOVERNORS
} AnagoGovernorName;

typedef struct AnagoGovernor
{
	pg_atomic_uint32 reads;		/* in flight */
	pg_atomic_uint32 processes; /* of parallel queries, at work */
} AnagoGovernor;

/* How a limit is divided: what follows from it and the slots. */
typedef struct AnagoDivision
{
	pg_atomic_uint64 level;		/* bits of a double, */
	pg_atomic_uint64 latency;	/* of another: of all claims' reads, the mean, */
	pg_atomic_uint64 shares;	/* and of another: the sum of all claims' */
	pg_atomic_uint32 bound;		/* of taken, but for */
	pg_atomic_uint32 uncounted; /* reads of those it is not divided among */
} AnagoDivision;

/*
 * The server's limits, each of which is a setting.  All but the last of them roles and
 * databases may have, too.
 */
typedef enum AnagoLimit
{
	ANAGO_LIMIT_INFLIGHT,		/* anago.server_inflight_reads */
	ANAGO_LIMIT_READS_PER_S,	/* anago.server_reads_per_s */
	ANAGO_LIMIT_MB_PER_S,		/* anago.server_mb_per_s */
	ANAGO_LIMIT_PROCESSES,		/* anago.server_processes */
	ANAGO_LIMITS
} AnagoLimit;

#define ANAGO_GROUP_LIMITS	ANAGO_LIMIT_PROCESSES

/* A role or a database that has been given a limit. */
typedef struct AnagoGroup
{
	AnagoGroupKind kind;
	char		name[NAMEDATALEN];
	pg_atomic_uint32 limits[ANAGO_GROUP_LIMITS];	/* 0: none, any more */
	pg_atomic_uint32 taken;
	pg_atomic_uint64 due;		/* bucket.h */
	AnagoDivision division;
} AnagoGroup;

typedef struct AnagoGroups
{
	slock_t		mutex;			/* of whoever sets them */
	pg_atomic_uint32 n;			/* whose kind and name are there, for ever */
	pg_atomic_uint32 limited;	/* of these, with a limit */
	pg_atomic_uint32 turn;		/* is another whenever they have changed */
	AnagoGroup	groups[ANAGO_MAX_GROUPS];
} AnagoGroups;

/* Reads are issued in a part of each period, where the guard says so. */
#define ANAGO_DUTY_PERIOD_US	20000
#define ANAGO_DUTY_ALWAYS		1000

typedef struct AnagoBudgets
{
	uint32		layout;			/* ANAGO_LAYOUT */
	int			nslots;

	pg_atomic_uint32 limits[ANAGO_LIMITS];	/* 0: none */
	pg_atomic_uint64 set_at;	/* when these were */

	AnagoGovernor governors[ANAGO_GOVERNORS];
	pg_atomic_uint32 guard_duty;	/* of ANAGO_DUTY_ALWAYS: the part of the time
									 * in which reads may be issued */
	pg_atomic_uint32 guard_asleep;	/* 1 + its process's number, if it sleeps */
	AnagoGuardReport guard;
	slock_t		balancer_lock;	/* of the next two */
	AnagoBalancerReport balancer;
	AnagoQueuesReport queues;

	/* what follows from them and the slots */
	pg_atomic_uint64 computed;	/* when, in ns */
	AnagoDivision all;			/* of the server's limit */
	AnagoDivision governed;		/* of the governors', or that if it is less */

	AnagoGroups groups;

	/* elastic.c */
	pg_atomic_uint32 controls;	/* queries that have limits of their own */
	pg_atomic_uint64 decided;	/* when it was, in ns */

	pg_atomic_uint32 taken;
	pg_atomic_uint32 peak;		/* of taken, since the limit was set */
	pg_atomic_uint64 due;		/* bucket.h */
	AnagoSlot	slots[FLEXIBLE_ARRAY_MEMBER];
	/* behind them a bit for each: is it active? */
} AnagoBudgets;

/* Never NULL; of the process alone until those of the server are found. */
extern AnagoBudgets *anago_budgets;
extern AnagoSlot *anago_slot;

/* From _PG_init, after settings. */
extern void anago_budgets_init(void);

/*
 * At the beginning of a query: look for the server's budgets, if this process has
 * not found them.  May run a subtransaction; raises no error but that of a cancel.
 * A parallel worker finds them if its leader has.
 */
extern void anago_budgets_prepare(void);
extern void anago_budgets_prepare_worker(void);
extern bool anago_budgets_of_server(void);

/* A setting has another value, in this process. */
extern void anago_budgets_assigned(AnagoLimit which, int value);
extern void anago_budgets_groups_assigned(void);

/* The slot has one more lease, or one less. */
extern void anago_slot_enter(void);
extern void anago_slot_leave(void);

/* The query of that slot has ended, and with it its limits. */
extern void anago_slot_end_query(AnagoSlot *slot);

/* The number of that process, which is that of its slot. */
static inline int
anago_slot_of(const PGPROC *proc)
{
	return proc - ProcGlobal->allProcs;
}

/* Slots that are active, from `slot` on; -1: there is none. */
extern int	anago_budgets_next(AnagoBudgets *budgets, int slot);

/* The least limit of the governors, of a `field` of theirs; 0: none has any. */
#define ANAGO_LEAST_OF_GOVERNORS(field) \
	anago_lesser_limit(pg_atomic_read_u32(&anago_budgets->governors[ANAGO_GUARD].field), \
					   pg_atomic_read_u32(&anago_budgets->governors[ANAGO_BALANCER].field))

/* Of two limits, where 0 is none. */
static inline uint32
anago_lesser_limit(uint32 a, uint32 b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static inline uint32
anago_governed_reads(void)
{
	return ANAGO_LEAST_OF_GOVERNORS(reads);
}

static inline uint32
anago_governed_processes(void)
{
	return ANAGO_LEAST_OF_GOVERNORS(processes);
}

/* 0: none */
static inline uint32
anago_budgets_limit(AnagoLimit which)
{
	return pg_atomic_read_u32(&anago_budgets->limits[which]);
}

/* Is there any limit? */
static inline bool
anago_budgets_limited(void)
{
	return (anago_budgets_limit(ANAGO_LIMIT_INFLIGHT) |
			anago_budgets_limit(ANAGO_LIMIT_READS_PER_S) |
			anago_budgets_limit(ANAGO_LIMIT_MB_PER_S) |
			anago_governed_reads() |
			pg_atomic_read_u32(&anago_budgets->groups.limited)) != 0;
}

/*
 * Does the process of that slot stand still, for something that no read of its own
 * would end?
 */
extern bool anago_slot_stands(int slot);

/* What it waits for, by the class of its wait event; 0: for nothing but a CPU. */
extern uint32 anago_slot_wait_class(int slot);

/* Is it no affair of the governors, as its transaction has an XID? */
extern bool anago_slot_exempt(int slot);

/* A process that had no use for reads wants some. */
extern void anago_budgets_wake_guard(void);

/*
 * Max() may evaluate an argument twice: what another process may change meanwhile is
 * to be read before.
 */
static inline uint32
anago_read_positive(pg_atomic_uint32 *at)
{
	uint32		value = pg_atomic_read_u32(at);

	return Max(value, 1);
}

static inline double
anago_read_double(pg_atomic_uint64 *at)
{
	union
	{
		uint64		bits;
		double		number;
	}			value = {.bits = pg_atomic_read_u64(at)};

	return value.number;
}

static inline void
anago_write_double(pg_atomic_uint64 *at, double number)
{
	union
	{
		double		number;
		uint64		bits;
	}			value = {.number = number};

	pg_atomic_write_u64(at, value.bits);
}

/* A monotonic clock that all processes share. */
extern uint64 anago_budgets_now(void);

/* groups.c: new memory; the limits that this process knows of. */
extern void anago_groups_fill(AnagoGroups *groups);
extern void anago_groups_set(AnagoGroups *groups);

/* When a query begins: of which groups is it?  May look up catalogs. */
extern void anago_groups_begin(void);

extern void anago_division_init(AnagoDivision *division, int limit);

/* From now on it is of that group, 1 + its number, or of none: 0. */
extern void anago_slot_change_group(AnagoGroupKind kind, uint32 group);

/*
 * What divides among all, as seen by this process: find it out anew if it is too
 * old.  Returns the division that it is part of, and the limit; 0: none.
 */
extern AnagoDivision *anago_division(uint64 now, int *limit);

/* Is there a limit of reads of a governor's for this process? */
extern bool anago_slot_governed(void);

/* Its share, and what a division allows it to have in flight. */
extern double anago_slot_share(const AnagoSlot *slot);
extern int	anago_division_allows(AnagoDivision *division);

/*
 * Of `want` more reads, how many may be issued now?  They are in flight from here
 * on.  `held` is what the caller has in flight already: with none it gets one, but
 * for a wait within bounds.
 */
extern int	anago_slot_take(int want, int held);

/* So many are in flight no longer. */
extern void anago_slot_done(int n);

/*
 * A read was done in place: how long, in ms, is to be waited now, and for want of what?
 * And how long until there may be one at all?
 */
extern int	anago_slot_in_place(AnagoShortage *shortage);
extern int	anago_slot_wait(AnagoShortage *shortage);

/* What it may have in flight now. */
extern int	anago_slot_allowed(void);

/*
 * rate.c: of `want` reads, how many may be issued, by all reads per second that it
 * keeps within; and the milliseconds until there may be one.
 */
extern int	anago_rate_take(int want, uint64 now);
extern int	anago_rate_wait(uint64 now);

/* A read was done, whether it might be or not. */
extern void anago_rate_count(void);

#endif							/* ANAGO_BUDGETS_H */
