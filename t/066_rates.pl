# Reads and megabytes per second of roles and databases: no more than the limit, nearly
# all of it, by shares, within the server's; changed while queries run, and by nobody
# who may not.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my %sim = (
	'anago.io_method' => 'sim',
	'anago.sim_latency' => 1000,
	'anago.sim_delay' => 0,
	'anago.sim_hit_rate' => 0,
	'max_parallel_workers_per_gather' => 0,
	'enable_sort' => 'off');

my $node = Anago::new_parallel_server('rates',
	session_preload_libraries => '',
	shared_preload_libraries => 'anago',
	max_parallel_workers_per_gather => 0);
Anago::make_tables($node, 20000);
my $long = 'select count(x) from generate_series(1, 1000) r, lateral
	(select sum(length(a.pad) + b.v) as x from a join b on b.aid = a.id where a.k >= r % 7 offset 0) s';

watch($node);
seen('create role reports superuser login; create role analyst superuser login; create role nobody login; grant select on a, b to nobody');

my @running;

sub start_as
{
	my ($role, %settings) = @_;
	my $as = delete $settings{role};
	my $session = $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', $role ]);

	$session->query_safe(Anago::set(%sim, %settings));
	$session->query_safe("set role $as") if defined $as;
	Anago::start($session, $long);
	push @running, $session;
	return;
}

sub stop_all
{
	seen('select count(pg_cancel_backend(leader_pid)) from anago_activity');
	for (@running)
	{
		eval { Anago::finish($_); $_->quit; };
	}
	@running = ();
	return;
}

# Blocks that are read in a second, in so many seconds: of each role, and of all.
sub read_per_s
{
	my ($seconds) = @_;
	my $sql = "select string_agg(usename || '=' || n, ' ' order by usename), extract(epoch from clock_timestamp())
		from (select usename, sum(reads) as n from anago_activity group by 1) r";
	my ($before, $then) = split(/\|/, seen($sql));
	usleep($seconds * 1_000_000);
	my ($after, $now) = split(/\|/, seen($sql));
	my %before = map { split(/=/, $_) } split(' ', $before);
	my %after = map { split(/=/, $_) } split(' ', $after);
	my %rate = map { $_ => ($after{$_} - ($before{$_} // 0)) / ($now - $then) } keys %after;

	$rate{all} = 0;
	$rate{all} += $rate{$_} for grep { $_ ne 'all' } keys %rate;
	return \%rate;
}

# Not more than that, and hardly less.
sub is_rate
{
	my ($rate, $limit, $name) = @_;

	cmp_ok($rate, '<', $limit * 1.06, "$name: no more");
	cmp_ok($rate, '>', $limit * 0.84, "$name: hardly less");
	return;
}

my $waits = "from anago_activity where waiting_for = 'reads per second'";

# --- a role ---

configure('anago.group_reads_per_s', 'role:reports=1000');
start_as('reports') for 1 .. 2;
start_as('analyst');
becomes("count(*) > 0 $waits and usename = 'reports'", 'it is shown what is waited for');
usleep(300_000);
my $rate = read_per_s(3);
is_rate($rate->{reports}, 1000, 'reads per second of a role');
cmp_ok($rate->{analyst}, '>', 1400, 'a role without a limit has none');
configure('anago.group_reads_per_s', 'role:reports=300');
usleep(200_000);
is_rate(read_per_s(3)->{reports}, 300, 'less, while they run');
configure('anago.group_reads_per_s', '');
my $ms = until_true("select count(*) = 0 $waits");
cmp_ok($ms // 1e9, '<', 1000, 'no limit any more: nobody waits');
cmp_ok(read_per_s(1)->{reports}, '>', 1400, 'and they read as others do');

# --- megabytes ---

# (a read is one block: 8 MB are 976 reads)
configure('anago.group_mb_per_s', 'role:reports=8');
usleep(200_000);
is_rate(read_per_s(3)->{reports} * 8192, 8e6, 'megabytes per second of a role');
configure('anago.group_reads_per_s', 'role:reports=200');
usleep(200_000);
is_rate(read_per_s(3)->{reports}, 200, 'of reads and megabytes the lesser one holds');
configure('anago.group_mb_per_s', 'role:reports=1');
usleep(200_000);
is_rate(read_per_s(3)->{reports}, 122, 'whichever it is');

# --- a database, and the server ---

configure('anago.group_mb_per_s', '');
configure('anago.group_reads_per_s', 'role:reports=500', 'database:postgres=1500', 'database:other=1');
usleep(200_000);
$rate = read_per_s(3);
is_rate($rate->{reports}, 500, 'a role in a database with a limit');
is_rate($rate->{analyst}, 1000, 'and what that leaves others');
configure('anago.server_mb_per_s', 4);
usleep(200_000);
is_rate(read_per_s(3)->{all} * 8192, 4e6, "the server's is less");
configure('anago.server_mb_per_s', 0);
configure('anago.group_inflight_reads', 'role:reports=1');
becomes("max(in_flight) = 1 from anago_activity where usename = 'reports'", 'with a limit of reads in flight')
  for 1 .. 3;
configure('anago.group_inflight_reads', '');
stop_all();

# --- shares ---

configure('anago.group_reads_per_s', 'role:reports=1200');
start_as('reports', 'anago.share' => 100);
start_as('reports', 'anago.share' => 300);
becomes('count(*) = 2 from anago_activity', 'two of different shares');
usleep(500_000);
my $of_shares = "select string_agg(reads::text, ' ' order by share) from anago_activity";
my @before = split(' ', seen($of_shares));
usleep(4_000_000);
my @after = split(' ', seen($of_shares));
my $part = ($after[0] - $before[0]) / ($after[0] - $before[0] + $after[1] - $before[1]);
cmp_ok(abs($part - 0.25), '<', 0.05, 'a quarter and three quarters') or diag($part);
seen('select pg_cancel_backend(pid) from anago_activity where share = 300');
becomes('count(*) = 1 from anago_activity', 'one ends');
usleep(300_000);
is_rate(read_per_s(3)->{reports}, 1200, 'the other one has all');
stop_all();

# --- all processes of a query; its rows ---

my $rows = 'select sum(length(a.pad) + b.v), count(*) from a join b on b.aid = a.id where a.k >= 0';
my $right = $node->safe_psql('postgres', "set anago.enable = off; $rows");
for my $workers (0, 2)
{
	my $session = $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'reports' ]);
	my $name = "with $workers workers";

	configure('anago.group_reads_per_s', 'role:reports=2');
	$session->query_safe(Anago::set(%sim, 'max_parallel_workers_per_gather' => $workers));
	Anago::start($session, $rows);
	becomes("count(*) > $workers $waits", "$name: all wait");
	configure('anago.group_reads_per_s', 'role:reports=500');
	usleep(200_000);
	is_rate(read_per_s(2)->{reports}, 500, "$name: all together");
	configure('anago.group_reads_per_s', 'role:reports=1000000');
	like((Anago::finish($session))[0], qr/^\Q$right\E$/m, "$name: the rows are right");
	$session->quit;
}

# --- reads in place ---

SKIP:
{
	configure('anago.group_reads_per_s', '');
	Anago::drop_from_page_cache($node, qw(a b a_k b_aid));
	configure('anago.group_mb_per_s', 'role:reports=1');
	start_as('reports', 'anago.io_method' => 'sync');
	skip 'blocks stay in the page cache here', 2
	  unless until_true("select count(*) > 0 $waits", 10);
	cmp_ok(read_per_s(3)->{reports}, '<', 122 * 1.1, 'reads in place: no more');
	configure('anago.group_mb_per_s', '');
	cmp_ok(until_true("select count(*) = 0 $waits") // 1e9, '<', 1000, 'reads in place: no limit any more');
}
stop_all();
configure('anago.group_mb_per_s', '');

# --- queries of two roles in a session ---

{
	my $session = Anago::session($node, %sim, 'cursor_tuple_fraction' => 1);
	my $cursor = 'select a.id, b.id from a join b on b.aid = a.id where a.k >= 0';

	configure('anago.group_reads_per_s', 'role:reports=5');
	$session->query_safe("begin; declare d cursor for $cursor; fetch 10 from d; set local role reports; declare c cursor for $cursor");
	Anago::start($session, 'move all from c');
	becomes("count(*) = 1 $waits", 'a cursor of a role with a limit waits');
	seen('select pg_cancel_backend(pid) from anago_activity');
	Anago::finish($session);
	$session->query_safe("rollback; begin; set local role reports; declare c cursor for $cursor; set local role none; declare d cursor for $cursor");
	is($session->query_safe('move all from d; select 1'), 1, 'another one of a role without does not');
	$session->query_safe('rollback');
	$session->quit;
}

# --- who may set it, and to what ---

for my $setting (qw(anago.group_reads_per_s anago.group_mb_per_s))
{
	my ($unit, $most) = $setting =~ /mb/ ? ('MB', 1000000) : ('reads', 100000000);

	for (
		[ "set $setting = ''", qr/cannot be changed now/ ],
		[ "alter role nobody set $setting = ''", qr/cannot be changed now/ ],
		[ "alter system set $setting = ''", qr/permission denied/ ],
		[ "select set_config('$setting', '', false)", qr/cannot be changed now/ ])
	{
		like(($node->psql('postgres', $_->[0], extra_params => [ '-U', 'nobody' ]))[2], $_->[1], "a user may not: $_->[0]");
	}
	for (
		[ 'reports=5', qr/"reports=5" is not of the form "role:name=$unit" or "database:name=$unit"/ ],
		[ 'user:reports=5', qr/Limits are of a "role" or a "database", not of a "user"/ ],
		[ 'role:reports=0', qr/"0" is no number of $unit from 1 to $most/ ],
		[ 'role:reports=-1', qr/"-1" is no number of $unit/ ],
		[ 'role:reports=' . ($most + 1), qr/is no number of $unit/ ],
		[ 'role:reports=99999999999999999999', qr/is no number of $unit/ ],
		[ 'role:reports=nan', qr/is no number of $unit/ ])
	{
		like(($node->psql('postgres', "alter system set $setting = '$_->[0]'"))[2], $_->[1], "$setting: $_->[0]");
	}
}
configure('anago.group_reads_per_s', 'role:nobody=50');
start_as('analyst', role => 'nobody');
becomes("count(*) = 1 $waits", 'the role counts whose rights the query has');
stop_all();

# --- more names than there are places ---

my $said = -s $node->logfile;
configure('anago.group_inflight_reads', map { "role:a$_=1" } 1 .. 20);
configure('anago.group_mb_per_s', map { "role:b$_=1" } 1 .. 20);
ok($node->wait_for_log(qr/\d+ of anago's limits of roles and databases are not in force/, $said),
	'names for which there is no place are spoken of');
configure('anago.group_inflight_reads', '');
configure('anago.group_mb_per_s', '');
unwatch();
$node->stop;

# --- not preloaded ---

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'\n");
$node->start;
watch($node);
configure('anago.group_reads_per_s', 'role:reports=1000');
start_as('reports') for 1 .. 2;
becomes('count(*) = 2 from anago_activity', 'not preloaded: two queries');
usleep(300_000);
is_rate(read_per_s(3)->{reports}, 1000, 'not preloaded: both together');
configure('anago.group_reads_per_s', 'role:reports=400');
seen('select 1');
usleep(200_000);
is_rate(read_per_s(3)->{reports}, 400, 'not preloaded: a change');
stop_all();
unwatch();
$node->stop;
Anago::log_is_clean($node);
done_testing();
