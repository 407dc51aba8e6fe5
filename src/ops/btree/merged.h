/*-------------------------------------------------------------------------
 *
 * merged.h
 *	  Entries that looks have found in several tables, and rows that core merges.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_MERGED_H
#define ANAGO_MERGED_H

#include "postgres.h"

#include "storage/bufpage.h"

#include "ops/btree/btree.h"

/*
 * Of a leaf: keep the first entries of the range for the merge.  `goes_on`: there are
 * more on the next leaf.
 */
extern void anago_merged_add(AnagoProbe *probe, Page page, const AnagoMatches *matches,
							 bool goes_on);

#endif							/* ANAGO_MERGED_H */
