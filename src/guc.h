/*-------------------------------------------------------------------------
 *
 * guc.h
 *	  Every setting of anago, alphabetical.  docs/settings.md has the words
 *	  for users; guc.c has units and ranges.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_GUC_H
#define ANAGO_GUC_H

#include "postgres.h"

typedef enum AnagoIoMethod
{
	ANAGO_IO_AUTO,
	ANAGO_IO_SYNC,
	ANAGO_IO_URING,
	ANAGO_IO_PGAIO,				/* PostgreSQL 18 and later */
	ANAGO_IO_SIM				/* simulator, for tests; superuser */
} AnagoIoMethod;

typedef enum AnagoMode
{
	ANAGO_MODE_OOO,
	ANAGO_MODE_SERIAL,
	ANAGO_MODE_STATIC
} AnagoMode;

typedef enum AnagoNuma
{
	ANAGO_NUMA_AUTO,
	ANAGO_NUMA_OFF
} AnagoNuma;

/*
 * Bound on reads in flight: of anago.max_inflight_reads, and so of the window,
 * of a ring's queues and of a method's slots.
 */
#define ANAGO_MAX_INFLIGHT	16384

/* Bounds of anago.server_inflight_reads, anago.server_reads_per_s, and anago.server_mb_per_s. */
#define ANAGO_MAX_SERVER_INFLIGHT	262144
#define ANAGO_MAX_SERVER_RATE		100000000
#define ANAGO_MAX_SERVER_MB			1000000

/* Of anago.server_processes, and of what anago_set_resources() may give one query. */
#define ANAGO_MAX_SERVER_PROCESSES	262144
#define ANAGO_MAX_QUERY_PROCESSES	4000

/* The greatest share, of which the usual one is a hundredth. */
#define ANAGO_MAX_SHARE			10000
#define ANAGO_DEFAULT_SHARE		100

/* Bounds of anago.balancer_period, in ms. */
#define ANAGO_MIN_PERIOD		100
#define ANAGO_MAX_PERIOD		60000

/* Most rows that one plan node holds back: bound of anago.max_rows_ahead. */
#define ANAGO_MAX_ROWS_AHEAD	65536

/* Most pages that planning samples of one index: bound of anago.dive_pages. */
#define ANAGO_MAX_DIVE_PAGES	1024

/* How many reads overlap where nothing is known of a device. */
#define ANAGO_DEFAULT_GAIN		3.0

/* Reads that a simulated device serves at a time: of sim_device_parallel. */
#define ANAGO_MAX_SIM_PARALLEL	1024

extern PGDLLIMPORT bool anago_ahead;
extern PGDLLIMPORT char *anago_balancer_actuators;
extern PGDLLIMPORT char *anago_balancer_cgroup;
extern PGDLLIMPORT char *anago_balancer_database;
extern PGDLLIMPORT double anago_balancer_freshness;
extern PGDLLIMPORT double anago_balancer_olap_cpu;
extern PGDLLIMPORT double anago_balancer_olap_iowait;
extern PGDLLIMPORT char *anago_balancer_oltp;
extern PGDLLIMPORT double anago_balancer_oltp_waiting;
extern PGDLLIMPORT bool anago_balancer_on;
extern PGDLLIMPORT int anago_balancer_period;	/* ms */
extern PGDLLIMPORT double anago_balancer_queue_variance;
extern PGDLLIMPORT char *anago_balancer_queues; /* a query, or empty */
extern PGDLLIMPORT bool anago_debug_force;
extern PGDLLIMPORT int anago_debug_turn_after;	/* rows; 0: when it pays */
extern PGDLLIMPORT int anago_dive_pages;	/* 0: statistics alone */
extern PGDLLIMPORT bool anago_enable;
extern PGDLLIMPORT bool anago_guard_on;
extern PGDLLIMPORT bool anago_hash_fallback;
extern PGDLLIMPORT double anago_io_gain;	/* 0: as the device is known */
extern PGDLLIMPORT int anago_io_method;
extern PGDLLIMPORT double anago_least_gain;
extern PGDLLIMPORT int anago_max_inflight_reads;
extern PGDLLIMPORT int anago_max_rows_ahead;
extern PGDLLIMPORT int anago_mode;
extern PGDLLIMPORT int anago_numa;
extern PGDLLIMPORT double anago_oltp_slowdown;
extern PGDLLIMPORT char *anago_operators;
extern PGDLLIMPORT bool anago_pin_workers;
extern PGDLLIMPORT bool anago_residency;
extern PGDLLIMPORT char *anago_group_inflight_reads;
extern PGDLLIMPORT char *anago_group_mb_per_s;
extern PGDLLIMPORT char *anago_group_reads_per_s;
extern PGDLLIMPORT int anago_server_inflight_reads;	/* 0: no limit */
extern PGDLLIMPORT int anago_server_mb_per_s;	/* 0: no limit */
extern PGDLLIMPORT int anago_server_processes;	/* 0: no limit */
extern PGDLLIMPORT int anago_server_reads_per_s;	/* 0: no limit */
extern PGDLLIMPORT int anago_share;
extern PGDLLIMPORT int anago_sim_delay;		/* completion after 0..n polls */
extern PGDLLIMPORT double anago_sim_device_latency; /* us, of calibration */
extern PGDLLIMPORT int anago_sim_device_parallel;
extern PGDLLIMPORT double anago_sim_device_sequential;	/* MB/s */
extern PGDLLIMPORT double anago_sim_fault_rate; /* 0..1: hard read errors */
extern PGDLLIMPORT double anago_sim_hint_fault_rate;	/* 0..1: lost/short
														 * hint reads */
extern PGDLLIMPORT double anago_sim_hit_rate;	/* 0..1: resident blocks that
												 * are not made to wait */
extern PGDLLIMPORT int anago_sim_latency;	/* us, of a simulated read */
extern PGDLLIMPORT int anago_sim_seed;

extern PGDLLIMPORT int anago_swap_drain;	/* s */
extern PGDLLIMPORT double anago_swap_freshness;
extern PGDLLIMPORT int anago_swap_interval; /* s; 0: not by the clock */
extern PGDLLIMPORT int anago_swap_max_pause;	/* s */
extern PGDLLIMPORT int anago_swap_max_wal;	/* MB */
extern PGDLLIMPORT bool anago_swap_on;
extern PGDLLIMPORT char *anago_swap_other_conninfo; /* anago.swap_other */
extern PGDLLIMPORT int anago_swap_patience; /* s */
extern PGDLLIMPORT char *anago_swap_roles;

extern void anago_guc_init(void);

/* Those of guc_server.c and guc_swap.c, for guc.c. */
extern void anago_guc_server(void);
extern void anago_guc_swap(void);

#endif							/* ANAGO_GUC_H */
