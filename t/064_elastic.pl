# Elastic queries: processes of a running query are parked and wake, it gets fewer reads
# or more, by hand and by the server's limit of processes; rows never depend on it, and
# what ends a query ends it while processes are parked, too.

use strict;
use warnings FATAL => 'all';
use FindBin;
use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $rows = 20000;
my $node = Anago::new_parallel_server('elastic',
	session_preload_libraries => '',
	shared_preload_libraries => 'anago',
	restart_after_crash => 'on',
	max_parallel_workers_per_gather => 3,
	max_worker_processes => 20,
	max_parallel_workers => 20,
	jit => 'off');
my $major = Anago::major_version($node);
Anago::make_tables($node, $rows);

# A device whose reads all take 2 ms, however many there are.
my %slow = (
	'anago.io_method' => 'sim',
	'anago.sim_latency' => 2000,
	'anago.sim_delay' => 0,
	'anago.sim_hit_rate' => 0,
	'anago.max_inflight_reads' => 64);
my %fast = (%slow, 'anago.sim_latency' => 0, 'anago.sim_delay' => 20);
my $long = 'select sum(length(x.pad) + y.v + length(z.pad)) from a x join b y on y.aid = x.id join a z on z.k = y.id % 20000 join b u on u.aid = z.id join b w on w.aid = z.id where x.k >= 0';

watch($node);

# Until SQL says t, looked at all the time by the server itself; in ms, or -1.
seen('create function until(question text, out ms float) language plpgsql as $$
declare
	begun timestamptz := clock_timestamp();
	holds boolean;
begin
	for i in 1 .. 20000 loop
		execute question into holds;
		ms := extract(epoch from clock_timestamp() - begun) * 1000;
		exit when holds or ms > 10000;
		perform pg_sleep(0.0005);
	end loop;
	if holds is not true then ms := -1; end if;
end $$');

# A session that runs a query, which has so many processes at work.
sub start
{
	my ($sql, $awake, %settings) = @_;
	my $session = Anago::session($node, %slow, %settings);
	my $pid = $session->query_safe('select pg_backend_pid()');

	Anago::start($session, $sql);
	becomes("count(*) > 0 from anago_activity where leader_pid = $pid and awake = $awake and rows > 0",
		"a query of $awake processes") if defined $awake;
	return ($session, $pid);
}

sub stop
{
	my ($session, $pid) = @_;

	seen("select pg_cancel_backend($pid)");
	Anago::finish($session);
	$session->quit;
	return;
}

sub awake
{
	my ($pid, $n) = @_;
	return "coalesce(min(awake), 0) = $n from anago_activity where leader_pid = $pid";
}

# --- by hand ---

my ($session, $pid) = start($long, 4);
seen("select anago_set_resources($pid, 2)");
becomes(awake($pid, 2), 'two are parked');
becomes("count(*) = 2 from anago_activity where waiting_for = 'parked' and in_flight = 0 and wanted = 0 and allowed is null",
	'they are shown, and have nothing in flight');
becomes("count(*) >= 2 from pg_stat_activity where wait_event = '" . ($major >= 17 ? 'AnagoParked' : 'Extension') . "'",
	'they have a wait event');
is(seen("select count(*) from anago_activity where pid = leader_pid and waiting_for = 'parked'"), 0, 'the leader is not');
my (@parks, @wakes);
my $left = 0;
for (1 .. 8)
{
	push @wakes, seen("with s as materialized (select anago_set_resources($pid, 4)) select until('select ${\ awake($pid, 4)}') from s");
	usleep(30_000);
	push @parks, seen("with s as materialized (select anago_set_resources($pid, 1)) select until('select ${\ awake($pid, 1)}') from s");
	$left += seen("select coalesce(sum(in_flight), 0) from anago_activity where waiting_for = 'parked'");
	usleep(30_000);
}
note("woken in @wakes ms, parked in @parks ms");
cmp_ok(min(@wakes), '<=', 10, 'they wake within 10 ms');
cmp_ok(min(@wakes), '>=', 0, 'each time') or diag("@wakes");
cmp_ok(min(@parks), '<=', 20, 'and are parked as soon as the reads on their way have come');
is($left, 0, 'all of them');

seen("select anago_set_resources($pid, 3, 6)");
becomes("sum(in_flight) <= 6 and min(awake) = 3 from anago_activity", 'fewer reads, and three processes');
usleep(20_000);
my ($most, $sum) = (0, 0);
for (1 .. 100)
{
	my $n = seen('select sum(in_flight) from anago_activity');
	$most = $n if $n > $most;
	$sum += $n;
}
cmp_ok($most, '<=', 6, 'no more than that');
cmp_ok($sum / 100, '>', 4, 'and hardly less');
seen("select anago_set_resources($pid, null, 30)");
becomes('sum(in_flight) > 20 from anago_activity', 'more reads');
becomes(awake($pid, 3), 'NULL leaves the processes');
seen("select anago_set_resources($pid, 0, 0)");
becomes("min(awake) = 4 and count(allowed) = 0 from anago_activity", '0 ends both limits');
seen("select anago_set_resources($pid, 1, 2)");
becomes(awake($pid, 1), 'parked again');
seen("select pg_cancel_backend($pid)");
Anago::finish($session);
Anago::start($session, $long);
becomes(awake($pid, 4), 'limits end with the query');
stop($session, $pid);
is(seen('select count(*) from anago_activity'), 0, 'nothing is left');

# A worker's number stands for its query as well.
($session, $pid) = start($long, 4);
seen('select anago_set_resources(max(pid), 1) from anago_activity where pid <> leader_pid');
becomes(awake($pid, 1), 'by the number of a worker');
stop($session, $pid);

# Who may: the query's own user, and members of pg_signal_backend, but not of a superuser's.
seen("create role $_ login") for qw(one other signals);
seen('grant pg_signal_backend to signals; grant select on a, b to one');
my $of_one = $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'one' ]);
$pid = $of_one->query_safe('select pg_backend_pid()');
is(($node->psql('postgres', "select anago_set_resources($pid, 1)"))[2] =~ s/\d+/N/gr =~ s/^psql.*?ERROR/ERROR/r,
	'ERROR:  process N runs no query of anago', 'no query of anago');
seen("alter system set $_ = '$slow{$_}'") for sort keys %slow;
seen('select pg_reload_conf()');
Anago::start($of_one, $long);
becomes(awake($pid, 4), 'a query of a user');
like(($node->psql('postgres', "select anago_set_resources($pid, 1)", extra_params => [ '-U', 'other' ]))[2],
	qr/ERROR:  permission denied to set resources of process \d+\nDETAIL:  Only its own user, and members of role pg_signal_backend, may/, 'another may not');
for my $user (qw(one signals))
{
	is(($node->psql('postgres', "select anago_set_resources($pid, 1)", extra_params => [ '-U', $user ]))[2], '', "$user may");
	becomes(awake($pid, 1), "$user: parked");
	seen("select anago_set_resources($pid, 0)");
	becomes(awake($pid, 4), "$user: awake");
}
stop($of_one, $pid);
seen("alter system reset $_") for sort keys %slow;
seen('select pg_reload_conf()');
($session, $pid) = start($long, 4);
like(($node->psql('postgres', "select anago_set_resources($pid, 1)", extra_params => [ '-U', 'signals' ]))[2],
	qr/ERROR:  permission denied.*\nDETAIL:  Only superusers may set those of a superuser's query/, "a superuser's");
stop($session, $pid);

# The leader only collects.
($session, $pid) = start($long, 3, parallel_leader_participation => 'off');
is(seen('select max(planned) from anago_activity'), 3, 'without the leader: three are planned');
seen("select anago_set_resources($pid, 1)");
becomes(awake($pid, 1), 'without the leader: one goes on');
my $tasks = seen('select sum(tasks) from anago_activity');
becomes("sum(tasks) > $tasks + 500 from anago_activity", 'without the leader: it does');
stop($session, $pid);

# --- the end, while they are parked ---

sub ends
{
	my ($name, $sql, $how, $expected) = @_;
	my ($mine, $leader) = start($sql, 4);
	my $start;

	seen("select anago_set_resources($leader, 1)");
	becomes(awake($leader, 1), "$name: parked");
	$start = time;
	$how->($leader);
	my ($out, $err) = eval { Anago::finish($mine) };
	cmp_ok(time - $start, '<', $Anago::SOON, "$name: it ends at once");
	like("$out\n$err", $expected, "$name: as it should");
	becomes("count(*) = 0 from pg_stat_activity where leader_pid = $leader", "$name: no worker is left");
	is(seen('select count(*) from anago_activity'), 0, "$name: nothing is shown of it");
	eval { $mine->quit };
	return;
}

ends('cancel', $long, sub { seen("select pg_cancel_backend($_[0])") }, qr/canceling statement/);
ends('a parked worker is terminated', $long,
	sub { seen("select pg_terminate_backend(max(pid)) from anago_activity where waiting_for = 'parked'") }, qr/FATAL|ERROR/);
ends('the leader is terminated', $long, sub { seen("select pg_terminate_backend($_[0])") }, qr/terminating connection|^\s*$/);
ends('statement_timeout', "set statement_timeout = '2s'; $long", sub { }, qr/statement timeout/)
  if $major >= 15;
seen('create table go (n int); create function fails(int) returns int language plpgsql stable parallel safe as $$ begin
	if exists (select from go) then raise exception \'told to fail\'; end if; return $1; end $$');
# LIMIT: the leader has enough while its workers are parked.
my ($limited, $leader) = start('select count(*) from (select w.id from a x join b y on y.aid = x.id join a z on z.k = y.id % 20000
	join b u on u.aid = z.id join b w on w.aid = z.id where x.k >= 0 limit 250000) s');
becomes("count(*) = 4 from anago_activity where leader_pid = $leader and rows > 0", 'LIMIT: a query of four processes');
seen("select anago_set_resources($leader, 1)");
becomes("count(*) = 3 from anago_activity where waiting_for = 'parked'", 'LIMIT: parked');
like((Anago::finish($limited))[0], qr/^250000$/m, 'LIMIT: so many rows');
$limited->quit;
becomes("count(*) = 0 from pg_stat_activity where leader_pid = $leader", 'LIMIT: no worker is left');

# --- rows ---

# One session parks and wakes whatever runs, at random.
seen('create table enough (n int); create table parked (n int)');
my $control = Anago::session($node, 'anago.enable' => 'off');
Anago::start($control, 'do $$
declare
	n int := 0;
	p int;
begin
	loop
		exit when exists (select from enough);
		for p in select distinct leader_pid from anago_activity loop
			begin
				perform anago_set_resources(p, (random() * 4)::int, case when random() < 0.5 then (random() * 20)::int end);
			exception when others then
				null;
			end;
		end loop;
		n := n + (select count(*) from anago_activity where waiting_for = \'parked\');
		perform pg_sleep(random() * 0.008);
	end loop;
	insert into parked values (n);
end $$');

my $some = 'from a join b on b.aid = a.id where a.k between 100 and 6000';
my %queries = (
	'scan' => 'select id, k from a where k between 100 and 9000',
	'IN list' => 'select id from a where k in (' . join(', ', map { 47 * $_ } 1 .. 400) . ')',
	'join' => "select a.id, b.id as bid, a.k, b.v $some",
	'three tables' => 'select x.id, b.id, y.id from a x join b on b.aid = x.id join a y on y.k = b.id % 20000 where x.k < 2500',
	'left join' => 'select a.id, b.id from a left join b on b.aid = a.id and b.v < 20 where a.k < 3500',
	'antijoin' => 'select id from a where k < 5500 and not exists (select from b where b.aid = a.id and b.v < 30)',
	'aggregate' => "select b.v, count(*), sum(a.k) $some group by b.v",
	'a hash join on top' => 'select c.id, b.id from a c, b, a d where b.aid = c.id and c.k between 0 and 3000 and d.pad || d.id = c.pad || (c.id + 1)');
my @variants = (
	{%fast},
	{ %fast, parallel_leader_participation => 'off' },
	{ %fast, 'anago.mode' => 'static' },
	{ 'anago.mode' => 'serial' },
	{ 'anago.io_method' => 'uring' },
	$major >= 18 ? { 'anago.io_method' => 'pgaio' } : ());
for my $name (sort keys %queries)
{
	my $stock = $node->safe_psql('postgres', Anago::set('anago.enable' => 'off') . Anago::digest($queries{$name}));

	for my $variant (@variants)
	{
		Anago::drop_from_page_cache($node, qw(a b a_k b_aid));
		is($node->safe_psql('postgres', Anago::set(%$variant) . (Anago::digest($queries{$name}) . ";\n") x 3),
			join("\n", ($stock) x 3), "$name: stock's rows" . Anago::describe($variant));
	}
}

# In order, below a Gather Merge.
my %merging = (cpu_tuple_cost => 10, cpu_operator_cost => 0, enable_sort => 'off');
my $merged = "select md5(string_agg(id || ' ' || bid, ',')), bool_and(k >= before) from
	(select id, bid, k, coalesce(lag(k) over (), 0) as before from
		(select x.id, b.id as bid, x.k from a x join b on b.aid = x.id where x.k between 0 and 5000 order by x.k offset 0) s) t";
like($node->safe_psql('postgres', Anago::set(%merging) . "explain (costs off) $merged"), qr/Gather Merge/, 'rows in order: of several processes');
like($node->safe_psql('postgres', Anago::set(%merging, %fast) . "$merged; $merged"), qr/\|t\n.*\|t$/s, 'rows in order: they are');
is($node->safe_psql('postgres', Anago::set(%merging, %fast) . "select count(*), sum(id), sum(bid) from (select x.id, b.id as bid from a x join b on b.aid = x.id where x.k between 0 and 5000 order by x.k offset 0) s"),
	$node->safe_psql('postgres', "set anago.enable = off; select count(*), sum(x.id), sum(b.id) from a x join b on b.aid = x.id where x.k between 0 and 5000"),
	"rows in order: stock's");

# LIMIT, and a cursor that is closed early.
is($node->safe_psql('postgres', Anago::set(%fast) . "select count(*) from (select a.id $some limit 3000) s; " x 3), join("\n", (3000) x 3),
	'LIMIT');
seen('insert into enough values (1)');
Anago::finish($control);
$control->quit;
cmp_ok(seen('select n from parked'), '>', 20, 'processes were parked meanwhile');

# --- an error ---

my $fails = "select sum(fails(u.v)) from a x join b y on y.aid = x.id join a z on z.k = y.id % 20000 join b u on u.aid = z.id where x.k >= 0";
($session, $pid) = start($fails, 4);
seen("select anago_set_resources($pid, 1)");
becomes(awake($pid, 1), 'an error: parked');
stop($session, $pid);
$node->safe_psql('postgres', 'insert into go values (1)');
my ($ret, $out, $err) = $node->psql('postgres', Anago::set(%fast) . $fails);
like($err, qr/told to fail/, 'an error is one');

# --- the server's limit ---

configure('anago.server_processes', 5);
my ($first, $p1) = start($long);
becomes(awake($p1, 4), 'one query has all that it has use for');
my ($second, $p2) = start($long);
becomes("min(awake) filter (where leader_pid = $p1) + min(awake) filter (where leader_pid = $p2) = 5 from anago_activity", 'two queries: a limit of five');
becomes("array_agg(n order by n) = '{2,3}' from (select leader_pid, min(awake) as n from anago_activity group by 1) s", 'two queries: each has its part');
configure('anago.server_processes', 1);
becomes('bool_and(awake = 1) from anago_activity', 'one at least of each');
$tasks = seen("select min(n) from (select sum(tasks) as n from anago_activity group by leader_pid) s");
becomes("min(n) > $tasks + 500 from (select sum(tasks) as n from anago_activity group by leader_pid) s", 'both go on');
configure('anago.server_processes', 4);
becomes('bool_and(awake = 2) from anago_activity', 'a limit of four');
stop($second, $p2);
becomes(awake($p1, 4), 'where one has ended another wakes');
stop($first, $p1);

# By share; a transaction with an XID is not held back.
configure('anago.server_processes', 4);
($first, $p1) = start($long, undef, 'anago.share' => 300);
($second, $p2) = start($long, undef, 'anago.share' => 100);
becomes("min(awake) filter (where leader_pid = $p1) = 3 and min(awake) filter (where leader_pid = $p2) = 1 from anago_activity", 'the limit by share');
stop($second, $p2);
my $changes = Anago::session($node, %slow);
$p2 = $changes->query_safe('select pg_backend_pid()');
$changes->query_safe('begin; select pg_current_xact_id()');
Anago::start($changes, $long);
becomes(awake($p2, 4), 'a transaction that has an XID is not held back');
is(seen("select count(*) from anago_activity where leader_pid = $p2 and waiting_for = 'parked'"), 0, 'none of its processes is');
stop($changes, $p2);
stop($first, $p1);
configure('anago.server_processes', 0);

# --- a crash ---

($session, $pid) = start($long, 4);
seen("select anago_set_resources($pid, 1)");
becomes(awake($pid, 1), 'a crash: parked');
my $victim = seen("select max(pid) from anago_activity where waiting_for = 'parked'");
kill 'KILL', $victim;
eval { $session->{run}->finish };
unwatch();
$node->poll_query_until('postgres', 'select true') or BAIL_OUT('the server did not come back');
watch($node);
($session, $pid) = start($long, 4);
stop($session, $pid);
unwatch();
$node->stop;

# --- not preloaded ---

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'\n");
$node->start;
watch($node);
if ($major < 17)
{
	($ret, $out, $err) = $node->psql('postgres', 'select anago_set_resources(pg_backend_pid(), 1)');
	like($err, qr/ERROR:  resources of other processes cannot be set\nDETAIL:  Before PostgreSQL 17, this needs anago in shared_preload_libraries/,
		'before 17: what it needs');
}
else
{
	($session, $pid) = start($long, 4);
	seen("select anago_set_resources($pid, 1)");
	becomes(awake($pid, 1), 'not preloaded: parked');
	seen("select anago_set_resources($pid, 4)");
	becomes(awake($pid, 4), 'not preloaded: awake');
	stop($session, $pid);
}
unwatch();
$node->stop;
Anago::log_is_clean($node, undef, qr/PID $victim\) was terminated by signal 9/);
done_testing();
