/*-------------------------------------------------------------------------
 *
 * server.c
 *	  Pieces of memory that all processes of the server share.  See server.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "compat.h"
#include "layout.h"
#include "shared/server.h"

#ifdef ANAGO_HAVE_DSM_REGISTRY
#include "storage/dsm_registry.h"
#endif

/*
 * Where a piece cannot be had (no room for shared memory), each so many calls
 * try again.
 */
#define ATTACH_INTERVAL	64

/* Those that are in main shared memory, as the library is preloaded. */
static AnagoServerPiece *pieces[ANAGO_SERVER_PIECES];
static int	npieces = 0;
static bool preloaded = false;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

/* ---- main shared memory ---- */

static void
request_pieces(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	for (int i = 0; i < npieces; i++)
		RequestAddinShmemSpace(MAXALIGN(pieces[i]->size()));
}

static void
make_pieces(void)
{
	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	for (int i = 0; i < npieces; i++)
	{
		AnagoServerPiece *piece = pieces[i];
		bool		found;

		piece->memory = ShmemInitStruct(piece->name, piece->size(), &found);
		if (!found)
			ANAGO_DSM_INIT(piece->create, piece->memory);
	}
	LWLockRelease(AddinShmemInitLock);
}

void
anago_server_piece(AnagoServerPiece *piece)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	Assert(npieces < ANAGO_SERVER_PIECES);
	if (npieces == 0)
	{
		preloaded = true;
		prev_shmem_request_hook = shmem_request_hook;
		shmem_request_hook = request_pieces;
		prev_shmem_startup_hook = shmem_startup_hook;
		shmem_startup_hook = make_pieces;
	}
	pieces[npieces++] = piece;
}

/* ---- named segments ---- */

bool
anago_server_is_possible(void)
{
#ifdef ANAGO_HAVE_DSM_REGISTRY
	return true;
#else
	return preloaded;
#endif
}

#ifdef ANAGO_HAVE_DSM_REGISTRY

/* May raise an error, and keep locks over that. */
static void *
find_segment(AnagoServerPiece *piece)
{
	bool		found;
	void	   *memory = ANAGO_NAMED_DSM(piece->name, piece->size(),
										 piece->create, &found);

	if (*(uint32 *) memory != ANAGO_LAYOUT)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("another version of anago has made segment \"%s\"", piece->name)));
	return memory;
}

/* Once in a process: the rest would say the same. */
static void
report_failure(AnagoServerPiece *piece, const ErrorData *error)
{
	if (piece->reported)
		return;
	piece->reported = true;
	ereport(LOG,
			(errmsg("anago's %s are of this process until those of the server can be had",
					piece->what),
			 errdetail("The error was: %s.", error->message),
			 error->sqlerrcode == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE ?
			 errhint("Restart the server, so that all sessions have the same version of anago.") : 0));
}

/*
 * The segment, or NULL.  In a subtransaction, as an error leaves locks and half
 * of a segment behind.
 */
static void *
try_segment(AnagoServerPiece *piece)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	void	   *volatile attached = NULL;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		attached = find_segment(piece);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		attached = NULL;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;

	if (error == NULL)
		return attached;
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		ReThrowError(error);
	report_failure(piece, error);
	FreeErrorData(error);
	return NULL;
}

/* May a subtransaction be begun here? */
static bool
may_attach(void)
{
	return IsUnderPostmaster && IsTransactionState() && !IsInParallelMode();
}

void *
anago_server_attach(AnagoServerPiece *piece)
{
	if (piece->memory == NULL && may_attach() &&
		piece->calls++ % ATTACH_INTERVAL == 0)
		piece->memory = try_segment(piece);
	return piece->memory;
}

void *
anago_server_attach_worker(AnagoServerPiece *piece)
{
	if (piece->memory == NULL)
		piece->memory = find_segment(piece);
	return piece->memory;
}

#else

void *
anago_server_attach(AnagoServerPiece *piece)
{
	return piece->memory;
}

void *
anago_server_attach_worker(AnagoServerPiece *piece)
{
	return piece->memory;
}

#endif							/* ANAGO_HAVE_DSM_REGISTRY */
