# The guard: queries have everything while there are no transactions, little from
# the first of these on, and everything again when they are over; whatever becomes of
# the guard, queries go on.

use strict;
use warnings FATAL => 'all';
use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $node = Anago::new_server('guard',
	'session_preload_libraries' => '',
	'shared_preload_libraries' => 'anago',
	'anago.guard' => 'on',
	'max_parallel_workers_per_gather' => 0);
Anago::make_tables($node, 20000);

# A device whose reads all take a millisecond, however many there are.
my %sim = (
	'anago.io_method' => 'sim',
	'anago.sim_latency' => 1000,
	'anago.sim_delay' => 0,
	'anago.sim_hit_rate' => 0);
my $long = 'select count(x) from generate_series(1, 1000) r, lateral
	(select sum(length(a.pad) + b.v) as x from a join b on b.aid = a.id where a.k >= r % 7 offset 0) s';
# (looked at seldom, as a look is a transaction, too)
watch($node, view => 'anago_guard', pause => 0.3);

# Lookups, for as long as it is said, in the background.
sub transactions
{
	my ($seconds, @how) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir() . '/lookup.sql';

	append_to_file($script, "\\set k random(1, 20000)\nselect pad from a where id = :k;\n");
	local $ENV{PGOPTIONS} = '-c anago.enable=off';
	my $harness = IPC::Run::start([ 'pgbench', '-n', '-c', 2, '-T', $seconds, @how, '-M', 'prepared', '-f', $script,
			'-h', $node->host, '-p', $node->port, 'postgres' ],
		'>', \my $out, '2>', \my $err);
	return $harness;
}

# --- what it does ---

becomes("state = 'idle' and inflight_limit is null", 'no query reads: idle');

# (what began while nobody looked, as in most of the time without queries, is no burst)
my $load = transactions(6, '-R', 500, '-L', 50);
my $per_second = 0;
for (1 .. 20)
{
	usleep(280_000);
	$per_second += seen('select coalesce(transactions_per_s, 0) from anago_guard') / 20;
}
$load->finish;
cmp_ok($per_second, '<', 2500, "500 transactions a second are about that: $per_second");
cmp_ok($per_second, '>', 50, 'and no less');

my $query = Anago::session($node, %sim);
Anago::start($query, $long);
becomes("state = 'free' and inflight_limit is null", 'no transactions: queries have everything');
$load = transactions(6);
becomes("state in ('limits', 'probe') and inflight_limit is not null", 'transactions: a limit');
becomes('transactions_per_s > 50 and unloaded_us > 0 and latency_us > 0 and slowdown > 0', 'they are seen and measured');
is(seen('select count(*) from anago_activity where allowed is not null and in_flight >= 0'), 1, 'the query has its part');
my $reads = seen('select reads from anago_activity');
usleep(500_000);
cmp_ok(seen('select reads from anago_activity'), '>', $reads, 'and gets on');
$load->finish;
becomes("state = 'free' and inflight_limit is null", 'they are over: queries have everything again');
like(slurp_file($node->logfile), qr/LOG:  anago's guard limits reads in flight to [\d.]+\n.*DETAIL:  Transactions take/,
	'the log tells of it');

# --- what is no affair of its ---

# Who waits for a row lock waits for no read.
my $locks = Anago::session($node, 'anago.enable' => 'off');
my $waits = Anago::session($node, 'anago.enable' => 'off');
$locks->query_safe('begin; update a set pad = pad where id = 1');
usleep(400_000);
Anago::start($waits, 'update a set pad = pad where id = 1');
my $free = 0;
for (1 .. 20)
{
	usleep(300_000);
	# (the look before was a transaction, too, and is over; on a busy machine it may have been slow)
	# (and where CPUs are short the query computes, and reads nothing just then)
	$free += seen("select count(*) from anago_guard where state in ('free', 'idle') and exists (select from anago_activity)");
	last if $free >= 3;
}
cmp_ok($free, '>=', 3, 'a wait for a row lock is not slowness');
$locks->query_safe('rollback');
Anago::finish($waits);
$_->quit for $locks, $waits;

# A statement whose transaction has an XID may have locked rows.
my $changes = Anago::session($node, %sim);
$changes->query_safe('begin; select pg_current_xact_id()');
Anago::start($changes, $long);
$load = transactions(6);
my $xid = 'pid in (select pid from pg_stat_activity where backend_xid is not null)';
my ($exempt, $bound) = (0, 0);
for (1 .. 12)
{
	usleep(300_000);
	my ($let, $held) = split(/\|/, seen("select coalesce(bool_and(allowed is null) filter (where $xid), false),
		coalesce(bool_and(allowed is not null) filter (where not $xid), false) from anago_activity"));
	$exempt++ if $let eq 't';
	$bound++ if $held eq 't';
}
is($exempt, 12, 'a transaction that has an XID is not held back');
cmp_ok($bound, '>', 3, 'while others are');
$load->finish;
seen("select pg_cancel_backend(pid) from anago_activity where $xid");
Anago::finish($changes);
$changes->quit;

# --- what becomes of it ---

$load = transactions(15);
becomes('inflight_limit is not null', 'a limit again');
configure('anago.guard', 'off');
becomes("state = 'off' and inflight_limit is null", 'switched off: no limit');
configure('anago.guard', 'on');
becomes('inflight_limit is not null', 'switched on: a limit');
my $pid = seen('select pid from anago_guard');
kill 'TERM', $pid;
$reads = seen('select coalesce(sum(reads), 0) from anago_activity');
becomes("pid <> $pid and state in ('limits', 'probe')", 'terminated: it is there again');
cmp_ok(seen('select reads from anago_activity'), '>', $reads, 'the query has gone on');
seen('select pg_cancel_backend(pid) from anago_activity');
Anago::finish($query);
$query->quit;
becomes("state = 'idle' and inflight_limit is null", 'the query has ended: idle');
$load->finish;
unwatch();
$node->stop;

# --- not preloaded ---

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'\n");
$node->start;
is($node->safe_psql('postgres', 'select state, pid is null, inflight_limit is null from anago_guard'), 'no process|t|t',
	'not preloaded: there is no guard, and no limit');
$node->stop;
Anago::log_is_clean($node);
done_testing();
