/*-------------------------------------------------------------------------
 *
 * take.c
 *	  Taking reads of the server's budget, and giving them back.
 *
 * What a process is granted is the least of what it wants, what its query's own limit
 * has left (elastic.h), what its groups' have (groups.h), what the level allows it, what
 * the server's bound has left, and what reads per second have (rate.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "miscadmin.h"
#include "portability/instr_time.h"

#include "resource/budgets.h"
#include "resource/elastic.h"
#include "resource/groups.h"

#define MS_IN_NS	1000000

uint64
anago_budgets_now(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	/* 15 has no nanoseconds */
	return (uint64) INSTR_TIME_GET_MICROSEC(now) * 1000;
}

/* ---- part of the division ---- */

/* What its groups allow it, if that is less. */
static int
least_of_groups(int allowed)
{
	for (int kind = 0; kind < ANAGO_GROUP_KINDS; kind++)
	{
		AnagoGroup *group = anago_group(kind);

		if (anago_group_inflight(group) > 0)
		{
			int			of_group = anago_division_allows(&group->division);
			int			limit = anago_group_inflight(group);

			allowed = Min(allowed, of_group);
			allowed = limit > 0 ? Min(allowed, limit) : allowed;
		}
	}
	return allowed;
}

int
anago_slot_allowed(void)
{
	int			limit;
	AnagoDivision *division = anago_division(anago_budgets_now(), &limit);
	int			allowed = limit > 0 ? anago_division_allows(division) : INT_MAX;
	int			shown = limit > 0 ? Min(allowed, limit) : INT_MAX;
	int			own = anago_elastic_reads();

	own = least_of_groups(own);
	shown = Min(shown, own);
	pg_atomic_write_u32(&anago_slot->allowed, shown < INT_MAX ? shown : 0);
	return Min(allowed, own);
}

/* ---- part of the time ---- */

/* Milliseconds until reads may be issued; 0: now. */
static int
wait_for_duty(uint64 now)
{
	uint32		duty = pg_atomic_read_u32(&anago_budgets->guard_duty);
	uint64		us = now / 1000 % ANAGO_DUTY_PERIOD_US;

	if (!anago_slot_governed() ||
		us * ANAGO_DUTY_ALWAYS < (uint64) duty * ANAGO_DUTY_PERIOD_US)
		return 0;
	return (int) ((ANAGO_DUTY_PERIOD_US - us) / 1000) + 1;
}

/* ---- in flight ---- */

/* A count of reads in flight of several processes, and what this one has of it. */
typedef struct Account
{
	pg_atomic_uint32 *taken;
	pg_atomic_uint32 *charged;
	uint32		inflight;		/* what is to be charged to it */
} Account;

static Account
server_account(void)
{
	return (Account) {
		&anago_budgets->taken,
		&anago_slot->charged,
		pg_atomic_read_u32(&anago_slot->inflight)
	};
}

static Account
query_account(void)
{
	return (Account) {
		&anago_budgets->slots[anago_slot->query].query_taken,
		&anago_slot->query_charged,
		pg_atomic_read_u32(&anago_slot->inflight)
	};
}

static Account
group_account(AnagoGroupKind kind)
{
	return (Account) {
		&anago_group(kind)->taken,
		&anago_slot->group_charged[kind],
		kind == ANAGO_GROUP_ROLE ? anago_slot->role_inflight :
		pg_atomic_read_u32(&anago_slot->inflight)
	};
}

/* Something of what is in flight may be charged to an account. */
static bool is_charged;

static void
add_charged(Account account, int n)
{
	is_charged = true;
	pg_atomic_write_u32(account.charged, pg_atomic_read_u32(account.charged) + n);
}

/* What was issued while there was no limit counts as well. */
static void
charge_all(Account account)
{
	uint32		charged = pg_atomic_read_u32(account.charged);

	Assert(charged <= account.inflight);
	if (charged == account.inflight)
		return;
	pg_atomic_fetch_add_u32(account.taken, account.inflight - charged);
	add_charged(account, account.inflight - charged);
}

/*
 * As many of them as the bound has left, and `least` in any case.  Returns how many,
 * and in *taken what all together have now.
 */
static int
take_of_account(Account account, int bound, int want, int least, uint32 *taken)
{
	int			n;

	*taken = pg_atomic_read_u32(account.taken);
	do
	{
		int			left = bound - (int) *taken;

		n = Max(Min(want, left), least);
		if (n == 0)
			return 0;
	} while (!pg_atomic_compare_exchange_u32(account.taken, taken, *taken + n));
	*taken += n;
	add_charged(account, n);
	return n;
}

static void
give_back(Account account, int n)
{
	pg_atomic_fetch_sub_u32(account.taken, n);
	add_charged(account, -n);
}

/* What it has of the group that it was of is no longer that one's. */
void
anago_slot_change_group(AnagoGroupKind kind, uint32 number)
{
	uint32		charged = pg_atomic_read_u32(&anago_slot->group_charged[kind]);

	if (pg_atomic_read_u32(&anago_slot->group[kind]) == number)
		return;
	if (charged > 0)
		give_back(group_account(kind), charged);
	pg_atomic_write_u32(&anago_slot->group[kind], number);
}

/* Nothing is charged that is not in flight. */
static void
give_back_over(Account account)
{
	uint32		charged = pg_atomic_read_u32(account.charged);

	if (charged > account.inflight)
		give_back(account, charged - account.inflight);
}

static void
groups_give_back_over(void)
{
	for (int kind = 0; kind < ANAGO_GROUP_KINDS; kind++)
		if (anago_group(kind) != NULL)
			give_back_over(group_account(kind));
}

static void
note_peak(uint32 taken)
{
	uint32		peak = pg_atomic_read_u32(&anago_budgets->peak);

	while (taken > peak &&
		   !pg_atomic_compare_exchange_u32(&anago_budgets->peak, &peak, taken))
		;
}

/*
 * Who has none in flight must have one: at once, if it waits for others of its own
 * process, else when it has waited long enough.
 */
static int
least_to_take(int held, uint64 waits_since, uint64 now, int starved_ms)
{
	if (held > 0)
		return 0;
	if (pg_atomic_read_u32(&anago_slot->inflight) > 0)
		return 1;
	return waits_since != 0 && now - waits_since >= (uint64) starved_ms * MS_IN_NS;
}

/* The same within what this process is allowed. */
static int
take_allowed(Account account, int allowed, int bound, int want, int least, uint32 *taken)
{
	int			left = allowed - (int) account.inflight;

	charge_all(account);
	want = Min(want, left);
	want = Max(want, least);
	return want > 0 ? take_of_account(account, bound, want, least, taken) : 0;
}

/* As many of them as that division allows, and its bound has left of the account. */
static int
take_inflight(AnagoDivision *division, Account account, int want, int held, uint64 now,
			  uint32 *taken)
{
	uint32		uncounted = pg_atomic_read_u32(&division->uncounted);
	int			bound = (int) (pg_atomic_read_u32(&division->bound) + uncounted);
	int			n = take_allowed(account, anago_division_allows(division), bound, want,
								 least_to_take(held, anago_slot->waits_since, now,
											   ANAGO_STARVED_MS),
								 taken);

	*taken -= Min(uncounted, *taken);
	return n;
}

static int
take_of_server(AnagoDivision *division, int want, int held, uint64 now)
{
	uint32		taken = 0;
	int			n = take_inflight(division, server_account(), want, held, now, &taken);

	if (n > 0)
		note_peak(taken);
	return n;
}

static int
take_of_groups(int want, int held, uint64 now)
{
	uint32		taken = 0;

	anago_groups_keep();
	for (int kind = 0; kind < ANAGO_GROUP_KINDS && want > 0; kind++)
	{
		AnagoGroup *group = anago_group(kind);

		if (anago_group_inflight(group) > 0)
			want = take_inflight(&group->division, group_account(kind), want, held, now,
								 &taken);
	}
	return want;
}

/* ---- waiting ---- */

int
anago_slot_wait(AnagoShortage *shortage)
{
	uint64		now;
	int			for_rate;
	int			ms;

	*shortage = ANAGO_SHORT_OF_BUDGET;
	if (!anago_budgets_limited())
		return 0;
	now = anago_budgets_now();
	ms = wait_for_duty(now);
	for_rate = anago_rate_wait(now);
	if (for_rate <= ms)
		return ms;
	*shortage = ANAGO_SHORT_OF_RATE;
	return for_rate;
}

int
anago_slot_in_place(AnagoShortage *shortage)
{
	anago_rate_count();
	return anago_slot_wait(shortage);
}

/* ---- all of them ---- */

/* It waits for the first of these that it is granted. */
static void
note_wait(uint64 *since, int granted, uint64 now)
{
	if (granted > 0)
		*since = 0;
	else if (*since == 0)
		*since = now;
}

/* Within the query's own limit. */
static int
take_of_query(int want, int held, uint64 now)
{
	int			bound;
	uint32		taken;
	int			n = want;

	if (anago_elastic_is_on())
	{
		anago_elastic_decide();
		bound = anago_elastic_bound();
		if (bound > 0)
			n = take_allowed(query_account(), anago_elastic_reads(), bound, want,
							 least_to_take(held, anago_slot->query_waits_since, now,
										   ANAGO_QUERY_STARVED_MS),
							 &taken);
	}
	note_wait(&anago_slot->query_waits_since, n, now);
	return n;
}

/* Within those of all: of its groups and the server, and of reads per second. */
static int
take_of_all(int want, int held, uint64 now, AnagoShortage *shortage)
{
	int			limit;
	AnagoDivision *division = anago_division(now, &limit);
	int			n;

	n = wait_for_duty(now) > 0 ? 0 : take_of_groups(want, held, now);
	if (limit > 0 && n > 0)
		n = take_of_server(division, n, held, now);
	note_wait(&anago_slot->waits_since, n, now);
	*shortage = ANAGO_SHORT_OF_BUDGET;
	if (n == 0)
		return 0;
	*shortage = ANAGO_SHORT_OF_RATE;
	return anago_rate_take(n, now);
}

/* While there is some limit. */
static int
take_limited(int want, int held)
{
	AnagoShortage shortage = ANAGO_SHORT_OF_BUDGET;
	uint64		now = anago_budgets_now();
	int			n = take_of_query(want, held, now);

	if (n > 0 && anago_budgets_limited())
		n = take_of_all(n, held, now, &shortage);
	else if (n > 0)
		anago_slot->waits_since = 0;
	pg_atomic_write_u32(&anago_slot->shortage, n > 0 ? ANAGO_SHORT_OF_NOTHING : shortage);
	return n;
}

/* The limit for which it waited has ended. */
static void
forget_shortage(void)
{
	anago_slot->waits_since = anago_slot->query_waits_since = 0;
	pg_atomic_write_u32(&anago_slot->shortage, ANAGO_SHORT_OF_NOTHING);
}

/* So many more, or fewer, are in flight.  Who has more of an account gives it back. */
static void
settle(int more)
{
	uint32		inflight = pg_atomic_read_u32(&anago_slot->inflight) + more;

	pg_atomic_write_u32(&anago_slot->inflight, inflight);
	anago_slot->role_inflight += more;
	if (!is_charged)
		return;
	give_back_over(query_account());
	groups_give_back_over();
	give_back_over(server_account());
	is_charged = inflight > 0;
}

int
anago_slot_take(int want, int held)
{
	int			n = want;

	Assert(want > 0 && held >= 0);
	if (anago_elastic_is_on() || anago_budgets_limited())
		n = take_limited(want, held);
	else if (pg_atomic_read_u32(&anago_slot->shortage) != ANAGO_SHORT_OF_NOTHING)
		forget_shortage();
	settle(n);
	return n;
}

void
anago_slot_done(int n)
{
	/* at the end of a process the slot is a new one */
	if (pg_atomic_read_u32(&anago_slot->inflight) > 0)
		settle(-n);
}
