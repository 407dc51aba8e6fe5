/*-------------------------------------------------------------------------
 *
 * bucket.h
 *	  So many reads per second: a bucket of tokens, as one moment in time.
 *
 * `due` is when the bucket will be full, were no more taken.  A token is 1 / rate
 * seconds of it:
 *
 *		 now			 due			now + BURST
 *		  |---------------|------------------|
 *			 taken			 tokens left
 *
 * Who takes moves `due` on, and may do so up to now + BURST.  Times are in
 * nanoseconds of a monotonic clock that all processes share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_BUCKET_H
#define ANAGO_BUCKET_H

#include <stdint.h>

/* What can be saved up, in nanoseconds of the rate. */
#define ANAGO_BURST_NS		20000000

static inline uint64_t
anago_bucket_token_ns(double per_second)
{
	return (uint64_t) (1e9 / per_second);
}

/* How much of a bucket may be ahead: at least one read. */
static inline uint64_t
anago_bucket_burst_ns(uint64_t token)
{
	return token > ANAGO_BURST_NS ? token : ANAGO_BURST_NS;
}

/*
 * `due` of a bucket of which one token at a time may be taken before it is there: no later
 * than at this rate.  It may have been a lower one.
 */
static inline uint64_t
anago_bucket_within(uint64_t due, uint64_t now, double per_second)
{
	uint64_t	token = anago_bucket_token_ns(per_second);
	uint64_t	most = now + anago_bucket_burst_ns(token) + token;

	return due < most ? due : most;
}

/* How many of `want` tokens are there? */
static inline int
anago_bucket_has(uint64_t due, uint64_t now, double per_second, int want)
{
	uint64_t	token = anago_bucket_token_ns(per_second);
	uint64_t	burst = anago_bucket_burst_ns(token);
	uint64_t	full = due > now ? due : now;
	uint64_t	n = full >= now + burst ? 0 : (now + burst - full) / (token > 0 ? token : 1);

	return n < (uint64_t) want ? (int) n : want;
}

/* `due` after so many were taken, whether they were there or not. */
static inline uint64_t
anago_bucket_take(uint64_t due, uint64_t now, double per_second, int n)
{
	return (due > now ? due : now) + n * anago_bucket_token_ns(per_second);
}

/* Nanoseconds until there is one. */
static inline uint64_t
anago_bucket_wait(uint64_t due, uint64_t now, double per_second)
{
	uint64_t	token = anago_bucket_token_ns(per_second);
	uint64_t	burst = anago_bucket_burst_ns(token);

	return due + token > now + burst ? due + token - now - burst : 0;
}

#endif							/* ANAGO_BUCKET_H */
