/*-------------------------------------------------------------------------
 *
 * probe.h
 *	  Ways to have reads of a file in flight, and to see when they are over.
 *
 * What is read goes to memory that lives as long as the process: a probe may be
 * left at any time, with reads on their way.
 *
 * Invariants
 *	- a slot is issued again only after wait() has given it back;
 *	- now() never goes back;
 *	- end() waits for nothing, and nothing is called after it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PROBE_H
#define ANAGO_PROBE_H

#include "postgres.h"

/* Most reads in flight; the largest read. */
#define ANAGO_PROBE_MAX_DEPTH	1024
#define ANAGO_PROBE_MAX_BYTES	(128 * 1024)

typedef struct AnagoProbeRead
{
	int			fd;
	bool		direct;			/* reads of it pass by the page cache */
	off_t		offset;
	int			bytes;
} AnagoProbeRead;

typedef struct AnagoProbeOps
{
	const char *name;

	/* May it be used in this process? */
	bool		(*available) (void);

	/* Does it read by the page cache if more than one read is in flight? */
	bool		through_cache;

	void		(*begin) (void);
	void		(*end) (void);

	/* Begin a read, now or at the next submit(). */
	void		(*issue) (int slot, const AnagoProbeRead *read);
	void		(*submit) (void);

	/*
	 * Put slots whose reads are over into slots[0..max-1]; 0 after some
	 * milliseconds without any.  < 0: -errno of a read that failed.
	 */
	int			(*wait) (int *slots, int max);

	/* Microseconds. */
	double		(*now) (void);

	/*
	 * What a page that the kernel has takes, and one in shared buffers; NULL: to be
	 * measured.
	 */
	double		(*kernel_page_us) (void);
	double		(*buffer_page_us) (void);
} AnagoProbeOps;

extern const AnagoProbeOps anago_probe_ring;
extern const AnagoProbeOps anago_probe_advice;
extern const AnagoProbeOps anago_probe_sim;

/* The one for this session: by anago.io_method, and by what can be had. */
extern const AnagoProbeOps *anago_probe_pick(void);

/* Of the system, for probes that have no clock of their own. */
extern double anago_probe_clock(void);

#endif							/* ANAGO_PROBE_H */
