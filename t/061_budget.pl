# The server's budget: reads in flight of all sessions together are never more than
# the limit, by shares; it may change while queries run; what ends, however it
# ends, gives back what it had.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

# A device whose reads all take 5 ms, however many there are.
my %sim = (
	'anago.io_method' => 'sim',
	'anago.sim_latency' => 5000,
	'anago.sim_delay' => 0,
	'anago.sim_hit_rate' => 0,
	'max_parallel_workers_per_gather' => 0,
	'enable_sort' => 'off');

my $node = Anago::new_parallel_server('budget',
	session_preload_libraries => '',
	shared_preload_libraries => 'anago',
	restart_after_crash => 'on',
	max_connections => 130,
	max_parallel_workers_per_gather => 0);
Anago::make_tables($node, 20000);
our $long = 'select count(x) from generate_series(1, 1000) r, lateral
	(select sum(length(a.pad) + b.v) as x from a join b on b.aid = a.id where a.k >= r % 7 offset 0) s';

watch($node);
my $in_flight = 'select coalesce(sum(in_flight), 0) from anago_activity';

# Blocks that are read in a second, in so many seconds.
sub read_per_s
{
	my ($seconds) = @_;
	my $sql = "select extract(epoch from clock_timestamp()) || ' ' || sum(reads) from anago_activity";
	my @before = split(' ', seen($sql));
	usleep($seconds * 1_000_000);
	my @after = split(' ', seen($sql));

	return ($after[1] - $before[1]) / ($after[0] - $before[0]);
}

# Sessions that run the long query until they are told to stop.
my @running;

sub start_all
{
	my ($n, %settings) = @_;

	for (1 .. $n)
	{
		my $session = Anago::session($node, %sim, %settings);
		Anago::start($session, $long);
		push @running, $session;
	}
	return;
}

sub start_as
{
	my ($role) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', $role ]);

	$session->query_safe(Anago::set(%sim));
	Anago::start($session, $long);
	push @running, $session;
	return;
}

sub stop_all
{
	seen('select count(pg_cancel_backend(leader_pid)) from anago_activity');
	for (@running)
	{
		# (one of them may have been terminated)
		eval { Anago::finish($_); $_->quit; };
	}
	@running = ();
	return;
}

# The most that is seen in flight in so many looks.
sub most_in_flight
{
	my ($looks) = @_;
	my $most = 0;

	for (1 .. $looks)
	{
		my $now = seen($in_flight);
		$most = $now if $now > $most;
	}
	return $most;
}

# --- without a limit ---

is(seen('select scope, inflight_limit is null, processes, in_flight from anago_budget()'),
	'server|t|0|0', 'no limit, and nobody at work');
start_all(4);
becomes("sum(in_flight) > 100 from anago_activity", 'without a limit there are many');
becomes('count(*) = 4 and count(allowed) = 0 from anago_activity', 'each query is shown, with no bound');

# --- a limit, set while they run ---

configure('anago.server_inflight_reads', 20);
my $ms = until_true("select sum(in_flight) <= 20 from anago_activity");
note("a lower limit took ${\ ($ms // 'for ever')} ms");
cmp_ok($ms // 1e9, '<', 500, 'a limit takes effect on running queries');
usleep(50_000);
my $most = most_in_flight(200);
cmp_ok($most, '<=', 20, "all together never have more in flight");
cmp_ok($most, '>=', 17, 'but as many as they may');
is(seen("select count(*) from anago_activity where wanted > allowed and in_flight >= 1 and allowed between 4 and 6"), 4,
	'each has its part, and wants more');
cmp_ok(seen('select peak from anago_budget()'), '<=', 256 * 4, 'the peak is counted');

configure('anago.server_inflight_reads', 7);
usleep(100_000);
cmp_ok(most_in_flight(100), '<=', 7, 'a lower one');
configure('anago.server_inflight_reads', 40);
$ms = until_true("select sum(in_flight) >= 36 from anago_activity");
cmp_ok($ms // 1e9, '<', 500, 'a higher one');
cmp_ok(seen('select peak from anago_budget()'), '<=', 40, 'the peak since then');

# --- those that end give back what they had ---

my $pid = seen('select min(pid) from anago_activity');
seen("select pg_terminate_backend($pid)");
becomes('count(*) = 3 from anago_activity', 'a terminated backend is gone');
becomes("sum(in_flight) >= 36 from anago_activity", 'others have what it had');
stop_all();
is(seen('select processes, in_flight from anago_budget()'), '0|0', 'cancelled ones leave nothing');

# One alone has all.
start_all(1);
becomes("sum(in_flight) >= 38 from anago_activity", 'one alone has all of it');
stop_all();

# --- several processes of a query have one share ---

{
	# (nothing that is scanned again and again has workers)
	local $long = 'select sum(length(a.pad) + b.v) from a join b on b.aid = a.id where a.k >= 0';
	start_all(1);
	start_all(1, 'max_parallel_workers_per_gather' => 2);
}
becomes('count(*) > 2 from anago_activity', 'a query has workers');
usleep(300_000);
my $parts = seen(q{select string_agg(round(had)::text, ' ') from (select avg(n) as had from
	(select leader_pid, sum(allowed) as n from anago_activity group by 1) q) r});
cmp_ok(abs($parts - 20), '<=', 2, 'it has as much as one of a single process');
stop_all();

# --- a statement that is older than the settings ---

# Its workers are given what it knows, which holds for nobody else.
{
	my $session = Anago::session($node, %sim, 'max_parallel_workers_per_gather' => 2);

	seen('select pg_advisory_lock(1)');
	Anago::start($session, q{do $$ begin perform pg_advisory_lock(1);
		perform sum(length(a.pad) + b.v) from a join b on b.aid = a.id where a.k >= 0; end $$});
	becomes('count(*) = 1 from pg_locks where not granted', 'a statement waits');
	configure('anago.server_inflight_reads', 13);
	becomes('inflight_limit = 13 from anago_budget()', 'meanwhile the limit is another');
	seen('select pg_advisory_unlock(1)');
	becomes('count(*) > 1 from anago_activity', 'it has begun workers');
	is(seen('select inflight_limit from anago_budget()'), 13, 'they leave the limit as it is');
	push @running, $session;
	stop_all();
}

# --- shares ---

for my $share (1, 2, 4, 8)
{
	seen("create role r$share superuser login; alter role r$share set anago.share = ${\ ($share * 100)}");
}
configure('anago.server_inflight_reads', 30);
for my $share (1, 2, 4, 8)
{
	start_as("r$share");
}
usleep(500_000);

# What each has read in so many seconds, in the order of that column.
sub read_in
{
	my ($seconds, $column) = @_;
	my $sql = "select string_agg(reads::text, ' ' order by $column) from anago_activity";
	my @before = split(' ', seen($sql));

	usleep($seconds * 1_000_000);
	my @after = split(' ', seen($sql));
	return map { $after[$_] - $before[$_] } 0 .. $#after;
}

my @had = read_in(4, 'share');
my $all = $had[0] + $had[1] + $had[2] + $had[3];
for my $i (0 .. 3)
{
	my $part = $had[$i] * 15 / $all / (1 << $i);
	cmp_ok(abs($part - 1), '<', 0.1, "share " . (1 << $i) . " of 15 has its part of the reads")
	  or diag("@had");
}
stop_all();

# Shares are of reads that are done, and not of reads in flight: as many for whom they
# take longer.  But within bounds.
for (
	[ 5000, 8000, 0.9, 1.12, 'reads that take 5 and 8 ms: as many in a second' ],
	[ 3000, 30000, 0.35, 0.55, 'reads that take 3 and 30 ms: 24 and 6 in flight' ])
{
	my ($fast, $slow, $least, $most, $claim) = @$_;

	start_all(1, 'anago.sim_latency' => $fast);
	until_true('select count(*) = 1 from anago_activity');
	start_all(1, 'anago.sim_latency' => $slow);
	until_true('select count(*) = 2 from anago_activity');
	usleep(500_000);
	my @reads = read_in(3, 'since');
	cmp_ok($reads[1] / $reads[0], '>', $least, $claim) or diag("@reads");
	cmp_ok($reads[1] / $reads[0], '<', $most, "$claim, and no more") or diag("@reads");
	stop_all();
}

# --- roles and databases ---

# The most that they are seen to have in flight, and the mean; of a role, or of all.
sub of_role
{
	my ($looks, $role) = @_;
	my $whose = defined $role ? " where usename = '$role'" : '';
	my ($most, $sum) = (0, 0);

	for (1 .. $looks)
	{
		my $n = seen("select coalesce(sum(in_flight), 0) from anago_activity$whose");
		$most = $n if $n > $most;
		$sum += $n;
	}
	return ($most, $sum / $looks);
}

my $mean;
configure('anago.server_inflight_reads', 0);
# the role is not there yet
configure('anago.group_inflight_reads', '"role:G, one=10"');
seen('create role "G, one" superuser login; create role g2 superuser login');
start_as('G, one') for 1 .. 2;
start_as('g2');
becomes("sum(in_flight) > 100 from anago_activity where usename = 'g2'", 'a role without a limit has none');
usleep(100_000);
($most, $mean) = of_role(100, 'G, one');
cmp_ok($most, '<=', 10, 'a role keeps within its limit, which was there before the role');
cmp_ok($mean, '>', 8, 'and has all of it');
is(seen("select count(*) from anago_activity where usename = 'G, one' and wanted > allowed and allowed between 4 and 6"), 2, 'each of two queries has half');
configure('anago.group_inflight_reads', '"role:G, one=4"', 'database:postgres=30');
becomes("sum(in_flight) <= 4 from anago_activity where usename = 'G, one'", 'less, while they run');
becomes('sum(in_flight) <= 30 from anago_activity', 'and a limit of the database');
usleep(50_000);
($most, $mean) = of_role(100);
cmp_ok($most, '<=', 30, 'within which all keep');
cmp_ok($mean, '>', 24, 'and have all of it');
configure('anago.server_inflight_reads', 12);
becomes('sum(in_flight) <= 12 from anago_activity', "the server's is less");
($most) = of_role(100);
cmp_ok($most, '<=', 12, 'all keep within that');
configure('anago.server_inflight_reads', 0);
$pid = seen("select min(pid) from anago_activity where usename = 'G, one'");
seen("select pg_terminate_backend($pid)");
becomes("sum(in_flight) = 4 and count(*) = 1 from anago_activity where usename = 'G, one'", 'what a terminated one had others have');
configure('anago.group_inflight_reads', '');
becomes("min(in_flight) > 50 and count(allowed) = 0 from anago_activity", 'no limit any more');
stop_all();

# A session of a role that is renamed.
configure('anago.group_inflight_reads', 'role:G2=3');
start_as('g2');
becomes('min(in_flight) > 50 from anago_activity', 'a name that is not its own is none of its business');
seen('select pg_cancel_backend(pid) from anago_activity');
Anago::finish($running[0]);
seen('alter role g2 rename to "G2"');
Anago::start($running[0], $long);
becomes('sum(in_flight) between 1 and 3 and min(allowed) = 3 from anago_activity', 'its new name is');
stop_all();
seen('alter role "G2" rename to g2');

my $rows = 'select a.id, b.id from generate_series(1, 1000) r, lateral
	(select a.id from a join b on b.aid = a.id where a.k >= r % 7 offset 0) a, lateral (select a.id) b';

# Queries of two roles in a session: each counts for its own, whichever was begun first.
configure('anago.group_inflight_reads', 'role:g2=3');
{
	my $session = Anago::session($node, %sim);
	$session->query_safe("begin; set local role g2; declare c cursor for $rows; fetch 777 from c");
	is(seen('select allowed from anago_activity'), 3, 'a cursor of a role with a limit');
	$session->query_safe("set local role none; declare d cursor for $rows");
	Anago::start($session, 'move all from d');
	becomes('in_flight > 50 and allowed is null from anago_activity', 'another one of a role without: it has none');
	seen('select pg_cancel_backend(pid) from anago_activity');
	Anago::finish($session);
	$session->query_safe("rollback; begin; declare d cursor for $rows; fetch 777 from d; set local role g2; declare c cursor for $rows");
	Anago::start($session, 'move all from c');
	becomes('allowed = 3 from anago_activity', 'the other way round: it has its limit');
	seen('select pg_cancel_backend(pid) from anago_activity');
	Anago::finish($session);
	$session->query_safe('rollback; create role g3; grant select on a, b to g3; set cursor_tuple_fraction = 1');
	configure('anago.group_inflight_reads', 'role:g2=50');
	$session->query_safe("begin; set local role g2; declare c cursor for $rows");
	for (1 .. 50)
	{
		$session->query_safe('fetch 777 from c');
		last if seen('select in_flight > 4 from anago_activity') eq 't';
	}
	is(seen('select in_flight > 4 and allowed > 4 from anago_activity'), 't', 'a cursor that has some of a limit');
	$session->query_safe('reset role; alter role g2 rename to g4; alter role g3 rename to g2; set local role g2');
	is($session->query_safe('select count(*) from (select a.id from a join b on b.aid = a.id where a.k < 100) s'), 300,
		'roles change names: the other one has the limit');
	$session->query_safe('rollback; drop owned by g3; drop role g3');
	$session->quit;
}
configure('anago.group_inflight_reads', '');

# There are places for so many names.
my $said = -s $node->logfile;
configure('anago.group_inflight_reads', map { "role:many$_=9" } 1 .. 29);
ok($node->wait_for_log(qr/1 of anago.s limits of roles and databases are not in force/, $said),
	'a name for which there is no place is spoken of');
configure('anago.group_inflight_reads', '');

for (
	[ 'g2=5', qr/"g2=5" is not of the form "role:name=reads" or "database:name=reads"/ ],
	[ 'role:=5', qr/"role:=5" is not of the form/ ],
	[ 'role:g2', qr/"role:g2" is not of the form/ ],
	[ 'user:g2=5', qr/Limits are of a "role" or a "database", not of a "user"/ ],
	[ 'role:g2=0', qr/"0" is no number of reads from 1 to/ ],
	[ 'role:g2=many', qr/"many" is no number of reads/ ],
	[ 'role:' . 'x' x 64 . '=1', qr/is not of the form/ ])
{
	my ($code, $out, $err) = $node->psql('postgres', "alter system set anago.group_inflight_reads = '$_->[0]'");
	like($err, $_->[1], "not a limit: $_->[0]");
}
my (undef, undef, $twice) = $node->psql('postgres', "alter system set anago.group_inflight_reads = 'role:a=1', 'role:a=2'");
like($twice, qr/"a" is named twice/, 'not a limit: two for one');

# --- statements that stand still ---

# Others have what such a one leaves, and it has its part again when it goes on.
configure('anago.server_inflight_reads', 20);

sub stands_still
{
	my ($name, $session, $go_on) = @_;

	becomes('count(*) = 1 from anago_activity where wanted + in_flight > 0', "$name: it is shown");
	my $pid = seen('select pid from anago_activity');
	start_all(1);
	usleep(300_000);
	my $others = "select coalesce(sum(in_flight), 0) from anago_activity where pid <> $pid";
	becomes("($others) >= 18", "$name: others have its part");
	cmp_ok(seen('select in_flight from anago_budget()'), '<=', 20, "$name: and no more than all");
	$go_on->();
	becomes("in_flight between 8 and 11 from anago_activity where pid = $pid", "$name: it goes on with its part")
	  or diag(seen('select * from anago_activity'));
	usleep(50_000);
	cmp_ok(most_in_flight(100), '<=', 20, "$name: all together have no more than the limit");
	eval { $node->safe_psql('postgres', "select pg_cancel_backend($pid)"); };
	Anago::finish($session);
	$session->quit;
	stop_all();
	return;
}

{
	my $session = Anago::session($node, %sim);
	$session->query_safe("begin; declare c cursor for $rows");
	for (1 .. 50)
	{
		$session->query_safe('fetch 777 from c');
		last if seen('select in_flight > 4 and wanted > 4 from anago_activity') eq 't';
	}
	stands_still('a cursor that nothing is fetched from', $session,
		sub { Anago::start($session, 'move all from c'); });

	my $locked = Anago::session($node, 'anago.enable' => 'off');
	$locked->query_safe('create table single (id int); insert into single values (1); create function wait_for_row(int) returns int
		language plpgsql as $$ begin if $1 = 500 then perform * from single for update; end if; return $1; end $$;
		begin; select * from single for update');
	$session = Anago::session($node, %sim);
	Anago::start($session, 'select count(x) from generate_series(1, 1000) r, lateral
		(select sum(length(a.pad) + wait_for_row(b.id)) as x from a join b on b.aid = a.id where a.k >= r % 7 offset 0) s');
	becomes("count(*) = 1 from anago_activity where waiting_for in ('tuple', 'transactionid')", 'a row lock is waited for');
	stands_still('a row lock', $session, sub { $locked->query_safe('commit'); });
	$locked->quit;
}

# The client of a parallel query reads no rows: its workers have no room for theirs.
{
	my $fifo = PostgreSQL::Test::Utils::tempdir() . '/rows';
	POSIX::mkfifo($fifo, 0600) or die "mkfifo: $!";
	open(my $rows_of, '+<', $fifo) or die "open: $!";
	my $client = do {
		local $ENV{PGAPPNAME} = 'reads nothing';
		IPC::Run::start([ 'psql', '-X', '-q', '-c', Anago::set(%sim, 'max_parallel_workers_per_gather' => 2),
				'-c', 'copy (select a.id, a.pad, b.pad from a join b on b.aid = a.id where b.v >= 0) to stdout',
				'-d', $node->connstr('postgres') ], '>', $fifo, '2>', \my $err);
	};
	my $of_it = "application_name = 'reads nothing'";
	becomes("count(*) = 2 from pg_stat_activity where wait_event = 'MessageQueueSend'
		and $of_it and backend_type = 'parallel worker'", 'a client does not read')
	  or diag(seen("select * from pg_stat_activity where $of_it"));
	start_all(1);
	usleep(300_000);
	my $leader = seen("select pid from pg_stat_activity where $of_it and backend_type = 'client backend'");
	becomes("(select coalesce(sum(in_flight), 0) from anago_activity where leader_pid <> $leader) >= 18",
		'a client does not read: others have the part of all its processes')
	  or diag(seen('select * from anago_activity'));
	cmp_ok(seen('select in_flight from anago_budget()'), '<=', 20, 'a client does not read: and no more than all');
	stop_all();
	seen("select pg_terminate_backend($leader)");
	$client->kill_kill;
}

# --- a query that fails as it begins ---

# What its role and its database are called it looks up then.
{
	my $session = Anago::session($node, %sim);
	my $locker = Anago::session($node, 'anago.enable' => 'off');
	$session->query_safe('begin; select 1; commit');
	$locker->query_safe('alter database postgres connection limit 1000; begin; lock table pg_database in access exclusive mode');
	like(Anago::error_of($session, "set statement_timeout = '200ms'; select count(*) from a where k < 10"),
		qr/canceling statement due to statement timeout/, 'no look at the catalogs');
	$locker->query_safe('rollback');
	$locker->quit;
	$session->query_safe('set statement_timeout = 0; begin; declare c cursor for select id from a where k >= 0; fetch 1 from c');
	is(seen('select count(*) from anago_activity'), 1, 'after that the next one is counted as any other');
	$session->quit;
}

# --- reads per second ---

configure('anago.server_inflight_reads', 0);
configure('anago.server_reads_per_s', 2000);
start_all(3);
usleep(300_000);
my $rate = read_per_s(3);
cmp_ok($rate, '<', 2100, 'reads per second: no more');
cmp_ok($rate, '>', 1700, 'reads per second: hardly less');
becomes("count(*) > 0 from anago_activity where waiting_for = 'reads per second'",
	'it is shown that this is waited for');
configure('anago.server_reads_per_s', 5);
becomes("count(*) = 3 from anago_activity where waiting_for = 'reads per second'", 'by all of them');
configure('anago.server_reads_per_s', 0);
becomes("count(*) = 0 from anago_activity where waiting_for = 'reads per second'", 'and not any more without the limit');

# --- megabytes per second ---

# (a read is one block: 8 MB are 976 reads)
configure('anago.server_mb_per_s', 8);
usleep(300_000);    # what is on its way was let go without a limit
my $mb = read_per_s(3) * 8192;
cmp_ok($mb, '<', 8.4e6, 'megabytes per second: no more');
cmp_ok($mb, '>', 6.8e6, 'megabytes per second: hardly less');
configure('anago.server_reads_per_s', 100);
becomes('reads_per_s_limit = 100 and mb_per_s_limit = 8 from anago_budget()', 'both are shown');
cmp_ok(read_per_s(1), '<', 200, 'of both the lesser one holds');
configure('anago.server_reads_per_s', 0);
configure('anago.server_mb_per_s', 0);
becomes("count(*) = 0 from anago_activity where waiting_for = 'reads per second'", 'without a limit nobody waits');
stop_all();

# --- reads in place ---

# One is owed that was done when none might be, at the rate of that time.
SKIP:
{
	my $sleeps = "waiting_for = 'reads per second' and wanted = 0";

	configure('anago.server_reads_per_s', 1);
	Anago::drop_from_page_cache($node, qw(a b a_k b_aid));
	start_all(20, 'anago.io_method' => 'sync');
	skip 'blocks stay in the page cache here', 4
	  unless until_true("select count(*) > 10 from anago_activity where $sleeps", 10);
	configure('anago.server_reads_per_s', 1000);
	cmp_ok(until_true('select sum(reads) > 100 from anago_activity') // 1e9, '<', 5000, 'a higher rate is there at once');
	stop_all();

	configure('anago.server_reads_per_s', 20);
	Anago::drop_from_page_cache($node, qw(a b a_k b_aid));
	start_all(1, 'anago.share' => 10000);
	becomes('sum(wanted) > 0 from anago_activity', 'one with a great share');
	start_all(1, 'anago.io_method' => 'sync', 'anago.share' => 1);
	becomes("count(*) = 1 from anago_activity where $sleeps and share = 1", 'and one with a small one, that waits for long');
	seen('select pg_cancel_backend(pid) from anago_activity where share = 10000');
	cmp_ok(until_true('select max(reads) > 0 from anago_activity where share = 1') // 1e9, '<', 30_000, 'alone it waits no longer');
}
stop_all();
configure('anago.server_reads_per_s', 0);

# --- a hundred sessions ---

configure('anago.server_inflight_reads', 20);
my $script = PostgreSQL::Test::Utils::tempdir() . '/script.sql';
append_to_file($script, "\\set k random(1, 19000)\nselect sum(length(a.pad) + b.v) from a join b on b.aid = a.id where a.id between :k and :k + 20;\n");
my $log = PostgreSQL::Test::Utils::tempdir() . '/log';
{
	local $ENV{PGOPTIONS} = join(' ', map { "-c $_=$sim{$_}" } sort keys %sim);
	$node->command_ok([ 'pgbench', '-n', '-c', 100, '-j', 2, '-T', 8, '-l', "--log-prefix=$log", '-f', $script, 'postgres' ],
		'a hundred sessions');
}
my %done;
for my $file (glob "$log.*")
{
	$done{$_}++ for slurp_file($file) =~ /^(\d+) /mg;
}
my @counts = sort { $a <=> $b } values %done;
is(scalar(@counts), 100, 'each of them gets on');
cmp_ok($counts[0] * 4, '>', $counts[50], 'and none much worse than others') or diag("@counts");
is(seen('select processes, in_flight from anago_budget()'), '0|0', 'nothing is left of them');

# --- a crash ---

start_all(2);
until_true('select sum(in_flight) > 10 from anago_activity');
$pid = seen('select min(pid) from anago_activity');
kill 'KILL', $pid;
eval { $_->{run}->finish } for @running;
unwatch();
@running = ();
$node->poll_query_until('postgres', 'select true') or BAIL_OUT('the server did not come back');
is($node->safe_psql('postgres', 'select scope, inflight_limit, processes, in_flight from anago_budget()'), 'server|20|0|0',
	'after a crash: the limit holds, and nothing is in flight');
watch($node);
start_all(2);
usleep(300_000);
cmp_ok(most_in_flight(100), '<=', 20, 'after a crash: queries keep within it');
stop_all();
unwatch();
$node->stop;

# --- not preloaded ---

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'\n");
$node->start;
watch($node);
my $session = Anago::session($node, %sim);
my ($out, $err) = Anago::run($session, 'select count(*) from a where id < 10');
$session->quit;
if (Anago::major_version($node) < 17)
{
	like($err, qr/WARNING:  anago's limits of reads hold for this process alone/, 'before 17: a warning');
	like($err, qr/HINT:  Add anago to shared_preload_libraries/, 'before 17: what to do');
	# (with the warning again)
	is(($node->psql('postgres', 'select scope from anago_budget()'))[1], 'process', 'before 17: no budget of the server');
}
else
{
	is($err, '', 'not preloaded: nothing to say');
	is(seen('select scope, inflight_limit from anago_budget()'), 'server|20', 'not preloaded: the limit of the server');
	start_all(3);
	usleep(300_000);
	$most = most_in_flight(100);
	cmp_ok($most, '<=', 20, 'not preloaded: all keep within it');
	cmp_ok($most, '>=', 17, 'not preloaded: and have all of it');
	configure('anago.server_inflight_reads', 6);
	seen('select 1');
	cmp_ok(until_true('select sum(in_flight) <= 6 from anago_activity') // 1e9, '<', 500,
		'not preloaded: a change');
	stop_all();
}
unwatch();

$node->stop;
# (but for the one that was killed above)
Anago::log_is_clean($node, undef, qr/PID $pid\) was terminated by signal 9/);
done_testing();
