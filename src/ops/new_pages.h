/*-------------------------------------------------------------------------
 *
 * new_pages.h
 *	  Which pages new rows of a table will go to: as core finds them.
 *
 * A new row goes to the page that the session's latest one went to, if it finds room
 * there, and else to the next one that has room by the free space map (hio.c,
 * freespace.c).  So from where core is now, the pages that it comes to next are known:
 *
 *		map			17: 32  18: 160  19: 0  20: 128  21: 192	bytes
 *		core is at 17; rows of 104 bytes will go to 18, 20, 21, 21(?)
 *
 * Where nothing in the map has room the table grows, and nothing is read.
 *
 * That is a guess, as others use the map, too.  Nothing is written to it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_NEW_PAGES_H
#define ANAGO_NEW_PAGES_H

#include "postgres.h"

#include "storage/block.h"
#include "utils/rel.h"

typedef struct AnagoNewPages AnagoNewPages;

/* In CurrentMemoryContext. */
extern AnagoNewPages *anago_new_pages_create(Relation heap);

/*
 * A row of that many bytes is going to be written, behind about so many others that
 * core has not yet come to.
 */
extern void anago_new_pages_add(AnagoNewPages *pages, Size size, int others);

/*
 * A page that is to be read for such rows; InvalidBlockNumber: none, as far as is
 * known.
 */
extern BlockNumber anago_new_pages_next(AnagoNewPages *pages);

#endif							/* ANAGO_NEW_PAGES_H */
