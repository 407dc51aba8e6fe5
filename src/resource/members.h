/*-------------------------------------------------------------------------
 *
 * members.h
 *	  Which class of work each process of the server belongs to.
 *
 *		OLAP			runs a query of anago's, in a transaction without an XID;
 *						or is not named in anago.balancer_oltp, where anybody is
 *		OLTP			all other sessions
 *		log shipping	sends, receives or replays WAL
 *
 * Parallel workers belong with their session.  All other processes, as checkpointer and
 * autovacuum, belong to no class, and are left alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MEMBERS_H
#define ANAGO_MEMBERS_H

#include "postgres.h"

#include "utils/guc.h"

#include "resource/htal.h"

typedef struct AnagoMember
{
	int			pid;			/* must be first */
	int			slot;			/* the number of its process */
	AnagoHtalClass class;
} AnagoMember;

/* By pid, which is the first member of what is compared, as it is of AnagoMember. */
extern int	anago_compare_pids(const void *a, const void *b);

/* The check of anago.balancer_oltp: role:NAME or application_name:NAME, a list. */
extern bool anago_members_check(char **newval, void **extra, GucSource source);

/*
 * Read that setting, and look up its roles.  Runs a transaction.  False: it cannot be
 * known now which roles these are, as somebody has pg_authid for himself; what was known
 * before is known still.
 */
extern bool anago_members_prepare(void);

/* All members as they are now, by their pid; it is overwritten by the next look. */
extern const AnagoMember *anago_members_look(int *n);

/*
 * Is that session in a transaction, and waits for something that would come sooner if it
 * had more of the machine?  Not for its client, a lock, or the time.
 */
extern bool anago_member_waits(const AnagoMember *member);

#endif							/* ANAGO_MEMBERS_H */
