/*-------------------------------------------------------------------------
 *
 * swap_memory.c
 *	  What the processes of the swap of two standbys share.  See swap_memory.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/spin.h"

#include "compat.h"
#include "layout.h"
#include "resource/swap_memory.h"
#include "shared/server.h"

#define SWAP_SEGMENT_NAME	"anago_swap_" CppAsString2(ANAGO_LAYOUT_VERSION)

typedef struct SwapMemory
{
	uint32		layout;			/* ANAGO_LAYOUT */
	slock_t		lock;			/* of the rest */
	AnagoSwapReport report;
	AnagoSwapOther other;
} SwapMemory;

static Size
memory_size(void)
{
	return sizeof(SwapMemory);
}

static void
memory_create(ANAGO_DSM_INIT_ARGS(memory))
{
	SwapMemory *swap = memory;

	memset(swap, 0, sizeof(SwapMemory));
	swap->layout = ANAGO_LAYOUT;
	SpinLockInit(&swap->lock);
}

static AnagoServerPiece piece = {
	.name = SWAP_SEGMENT_NAME,
	.what = "state of the swap",
	.size = memory_size,
	.create = memory_create
};

void
anago_swap_memory_init(void)
{
	anago_server_piece(&piece);
}

AnagoSwapReport
anago_swap_report(void)
{
	SwapMemory *memory = piece.memory;
	AnagoSwapReport report = {0};

	if (memory != NULL)
	{
		SpinLockAcquire(&memory->lock);
		report = memory->report;
		SpinLockRelease(&memory->lock);
	}
	return report;
}

AnagoSwapOther
anago_swap_other(void)
{
	SwapMemory *memory = piece.memory;
	AnagoSwapOther other = {0};

	if (memory != NULL)
	{
		SpinLockAcquire(&memory->lock);
		other = memory->other;
		SpinLockRelease(&memory->lock);
	}
	return other;
}

void
anago_swap_set_report(const AnagoSwapReport *report)
{
	SwapMemory *memory = piece.memory;

	SpinLockAcquire(&memory->lock);
	memory->report = *report;
	SpinLockRelease(&memory->lock);
}

void
anago_swap_set_other(const AnagoSwapOther *other)
{
	SwapMemory *memory = piece.memory;

	SpinLockAcquire(&memory->lock);
	memory->other = *other;
	SpinLockRelease(&memory->lock);
}

int
anago_swap_other_pid(void)
{
	SwapMemory *memory = piece.memory;

	return memory != NULL ? *(volatile int *) &memory->other.pid : 0;
}
