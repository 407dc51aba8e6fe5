# A hundred sessions with a long query each: all get on alike, within a limit of reads
# and of memory, and nothing is refused; what is terminated or killed leaves its part to
# the others.

use strict;
use warnings FATAL => 'all';
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $SESSIONS = 100;

my $node = Anago::new_parallel_server('many',
	session_preload_libraries => '',
	shared_preload_libraries => 'anago',
	max_connections => $SESSIONS + 30,
	max_parallel_workers_per_gather => 0,
	'anago.server_inflight_reads' => 200);
Anago::make_tables($node, 20000);

# A device whose reads all take 20 ms; rows that wait keep memory.
my %sim = (
	'anago.io_method' => 'sim',
	'anago.sim_latency' => 20000,
	'anago.sim_delay' => 0,
	'anago.sim_hit_rate' => 0,
	'enable_sort' => 'off');
watch($node, pause => 0.05);

# Process, reads.
sub reads_of_all
{
	return map { split(/ /) } split(/,/, seen("select string_agg(pid || ' ' || reads, ',') from anago_activity"));
}

# Memory of its own that each of them has, in kB, ascending; nothing where the kernel does not say.
sub memory_of
{
	my @kb;

	for my $pid (@_)
	{
		open(my $file, '<', "/proc/$pid/status") or next;
		push @kb, map { /^RssAnon:\s+(\d+)/ } <$file>;
	}
	return sort { $a <=> $b } @kb;
}

my $script = PostgreSQL::Test::Utils::tempdir() . '/script.sql';
append_to_file($script, 'select count(x) from generate_series(1, 1000) r, lateral
	(select sum(length(a.pad) + b.v) as x from a join b on b.aid = a.id where a.k >= r % 7 offset 0) s;' =~ s/\n/ /gr . "\n");
my ($out, $err) = ('', '');
my $bench;
{
	local $ENV{PGOPTIONS} = join(' ', map { "-c $_=$sim{$_}" } sort keys %sim);
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	$bench = IPC::Run::start([ 'pgbench', '-n', '-c', $SESSIONS, '-t', 1, '-f', $script, 'postgres' ],
		'>', \$out, '2>', \$err);
}

# --- all of them get on ---

becomes("count(*) = $SESSIONS and min(reads) > 100 and avg(wanted) > 4 from anago_activity",
	'all run, and want more reads than there are') or diag(seen('select min(reads), avg(wanted), count(*) from anago_activity'));
my %before = reads_of_all();
my $most = 0;
for (1 .. 200)
{
	my $now = seen('select sum(in_flight) from anago_activity');
	$most = $now if $now > $most;
	usleep(15000);
}
my %after = reads_of_all();
my @had = sort { $a <=> $b } map { $after{$_} - $before{$_} } keys %before;
is(scalar(@had), $SESSIONS, 'none is refused');
cmp_ok($had[0], '>', $had[50] / 2, 'the slowest reads at least half as much as most') or diag("@had");
cmp_ok($had[-1], '<', $had[50] * 2, 'and the fastest twice as much at most') or diag("@had");
cmp_ok($most, '<=', 200, 'within the limit of reads');
cmp_ok($most, '>=', 180, 'and all of it is used');

SKIP:
{
	my @kb = memory_of(keys %before);
	my ($idle) = memory_of(seen('select pg_backend_pid()'));

	skip 'the kernel does not say how much memory a process has', 1 unless defined $idle && @kb == $SESSIONS;
	note("kB: $kb[0] to $kb[-1], and $idle of a session without such a query");
	# work_mem * hash_mem_multiplier, before 15 without the latter, and what is not counted in it
	cmp_ok($kb[-1] - $idle, '<', 8 * 1024 + 4 * 1024, 'within the limit of memory');
}

# --- what they held when they ended ---

seen("select count(pg_terminate_backend(pid)) from (select pid from anago_activity order by pid limit $SESSIONS / 2) gone");
becomes("count(*) = $SESSIONS / 2 from anago_activity", 'half of them are terminated');
becomes('sum(in_flight) >= 180 from anago_activity', 'the others have what they had');
usleep(200_000);
%before = reads_of_all();
usleep(2_000_000);
%after = reads_of_all();
my @now = sort { $a <=> $b } map { $after{$_} - $before{$_} } keys %before;
cmp_ok($now[0], '>', $now[25] / 2, 'and still none is much worse than others') or diag("@now");

seen('select count(pg_cancel_backend(pid)) from anago_activity');
$bench->finish;
unlike($err, qr/ERROR:  (?!canceling statement due to user request)/, 'no other error') or diag($err);
is(seen('select processes, in_flight from anago_budget()'), '0|0', 'nothing is left of them');

unwatch();
$node->stop;
Anago::log_is_clean($node);
done_testing();
