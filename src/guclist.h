/*-------------------------------------------------------------------------
 *
 * guclist.h
 *	  Settings that are lists.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_GUCLIST_H
#define ANAGO_GUCLIST_H

#include "postgres.h"

/*
 * Hand each item of a list to add(to, item).  False where that returns false, or where
 * the list is none; a check hook's detail is set in both cases, by add() in the first.
 */
extern bool anago_guclist_read(const char *setting,
							   bool (*add) (void *to, const char *item), void *to);

#endif							/* ANAGO_GUCLIST_H */
