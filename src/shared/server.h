/*-------------------------------------------------------------------------
 *
 * server.h
 *	  Pieces of memory that all processes of the server share.
 *
 * With anago in shared_preload_libraries a piece is in the server's main shared
 * memory.  Without it, PostgreSQL 17 and later have it in a named segment from the
 * first use on, and before 17 there is none: each process has its own.
 *
 * A piece begins with ANAGO_LAYOUT.  One that another version of the library has
 * made is left alone.
 *
 * Whoever has use for a piece must be able to do without: attaching never raises
 * an error but that of a cancel.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_SERVER_H
#define ANAGO_SERVER_H

#include "postgres.h"

#include "compat.h"

/* Fill a piece, ANAGO_LAYOUT first; as core's registry of segments has it. */
typedef void (*AnagoCreatePiece) (ANAGO_DSM_INIT_ARGS(memory));

typedef struct AnagoServerPiece
{
	const char *name;			/* of the segment */
	const char *what;			/* in messages: "anago's WHAT" */
	Size		(*size) (void); /* MaxBackends is known */
	AnagoCreatePiece create;

	/* the rest is server.c's */
	void	   *memory;			/* NULL: not attached (yet) */
	uint32		calls;
	bool		reported;
} AnagoServerPiece;

/* Those that can be had; a constant of server.c. */
#define ANAGO_SERVER_PIECES		5

/* From _PG_init: the piece is static. */
extern void anago_server_piece(AnagoServerPiece *piece);

/*
 * The piece, or NULL.  May run a subtransaction, and so does nothing where none
 * may be begun; after a failure it tries again with each 64th call.
 */
extern void *anago_server_attach(AnagoServerPiece *piece);

/*
 * The same in a parallel worker whose leader has it.  May raise an error, of a
 * process that is short of everything.
 */
extern void *anago_server_attach_worker(AnagoServerPiece *piece);

/* Can there be memory of the server, or is each process alone for good? */
extern bool anago_server_is_possible(void);

#endif							/* ANAGO_SERVER_H */
