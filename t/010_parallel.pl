# Several processes run one query: stock's rows with as many workers as there
# are, one error whoever meets it, and all of them stop soon.

use strict;
use warnings FATAL => 'all';
use FindBin;
use List::Util qw(max sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

require "$FindBin::RealBin/common.pl";

# Within what half of all interrupted queries must have ended, with all their
# workers; each of them within $Anago::SOON.
my $PROMPT = 0.1;

# Tables and indexes do not fit into shared buffers.
my $rows = 30_000;
my $node = Anago::new_parallel_server('parallel',
	shared_buffers => '4MB',
	work_mem => '64MB',
	jit => 'off',
	log_statement => 'none',
	max_worker_processes => 16,
	max_parallel_workers => 16);
Anago::make_tables($node, $rows);
my $major = Anago::major_version($node);
my $force = $major >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';

$node->safe_psql(
	'postgres', q[
	create function slow(int) returns boolean stable parallel safe language plpgsql as
		$$ begin perform pg_sleep(0.002); return true; end $$;
	create view workers as
		select pid, leader_pid from pg_stat_activity where leader_pid is not null]);

# ---- queries ----

my $half = $rows / 2;
my $some = 'from a join b on b.aid = a.id where a.k between 100 and 2000';
my $most = "from a join b on b.aid = a.id where a.k between 0 and $rows and a.pad > '' and b.pad > ''";

my $join = "select a.id, b.id as bid, a.k, b.v $some";
my %queries = (
	'scan' => 'select id, k from a where k between 100 and 2000',
	'index-only scan' => 'select k from a where k between 100 and 4000',
	'IN list' => 'select id from a where k in (' . join(', ', map { 97 * $_ } 1 .. 400) . ')',
	'join' => $join,
	'three tables' => "select x.id, b.id, y.id from a x join b on b.aid = x.id join a y on y.k = b.id % $rows where x.k < 1500",
	'left join' => 'select a.id, b.id from a left join b on b.aid = a.id and b.v < 20 where a.k < 1500',
	'semijoin' => 'select id from a where k < 1500 and exists (select from b where b.aid = a.id and b.v < 30)',
	'antijoin' => 'select id from a where k < 1500 and not exists (select from b where b.aid = a.id and b.v < 30)',
	'aggregate' => "select b.v, count(*), sum(a.k) $some group by b.v",
	'nothing found' => "select id from a where k between 100 and 2000 and k + 0 < k",
	'an InitPlan' => 'select id from a where k < (select 500 + count(*) from b where aid < 40)');

# Core takes a Gather Merge of these rows where passing them on costs nothing, and a sort
# cannot be had.
my $merged = "select count(*) from (select x.id from a x join b on b.aid = x.id join a y on y.k = b.id % $rows join b z on z.aid between y.id and y.id + 99 and z.pad > y.pad join a u on u.k = z.id % $rows where x.k between 0 and $rows order by x.k offset 0) s";
my %merging = (cpu_tuple_cost => 10, cpu_operator_cost => 0, enable_sort => 'off');

like($node->safe_psql('postgres', Anago::set(%merging) . "explain (costs off) $merged"),
	qr/Gather Merge.*Parallel Custom Scan .AnagoJoin.*Order Kept/s,
	'rows that are merged: by core, in the order of ours');

# Without end, for what is measured here, and each in another place.  (A hundred times as many
# rows as b has: less of them are had before a busy machine comes to interrupt anybody.)
my %endless = (
	'rows that are merged' => $merged,
	'reads' => "select count(*) from a x join b on b.aid = x.id join a y on y.k = b.id % $rows join b z on z.aid between y.id and y.id + 99 and z.pad > y.pad join a u on u.k = z.id % $rows where x.k between 0 and $rows",
	'a slow filter' => "select count(*) $most and slow(b.v)",
	'a slow select list' => "select count(case when slow(b.v) then 1 end) $most");

# One row's error.  In which process is chance, but that of a worker if the
# leader does not take part.
my %errors = (
	'a filter' => 'select count(*) from a join b on b.aid = a.id where a.k between 0 and 600 and 1 / (a.k - 300) > -5',
	'an index condition' => 'select count(*) from a join b on b.aid = 1000 / (a.k - 300) where a.k between 0 and 600',
	'the select list' => 'select a.pad, b.pad, 1 / (a.k - 300) from a join b on b.aid = a.id where a.k between 0 and 600',
	'an aggregate' => 'select sum(1 / (a.k - 300)) from a join b on b.aid = a.id where a.k between 0 and 600');

# Made-up delays, and real ones: blocks that are in no cache.
my %sim = (
	'anago.io_method' => 'sim',
	'anago.sim_hit_rate' => 0,
	'anago.sim_delay' => 1000);
my @variants = (
	{ %sim, 'anago.max_inflight_reads' => 4096 },
	{ 'anago.io_method' => 'uring', 'anago.max_inflight_reads' => 1024 },
	$major >= 18 ? { 'anago.io_method' => 'pgaio' } : ());

my $stock = $node->safe_psql('postgres',
	Anago::set('anago.enable' => 'off') . Anago::digest($join));

# The one session that looks on; a psql for each look would be too slow.
my $observer = Anago::session($node);

sub cold { Anago::drop_from_page_cache($node, qw(a b a_k b_aid)); return; }

sub no_workers
{
	my ($name) = @_;
	is($observer->query_safe('select count(*) from workers'),
		0, "$name: no worker is left");
	return;
}

# The session is as if nothing had been.
sub goes_on
{
	my ($session, $name) = @_;
	is($session->query_safe(Anago::digest($join)),
		$stock, "$name: the next query is right");
	return;
}

# (workers planned, workers launched) of a statement.
sub workers_of
{
	my ($session, $sql) = @_;
	my $plan = $session->query_safe(
		"explain (analyze, costs off, timing off, summary off) $sql");
	my ($planned) = $plan =~ /Workers Planned: (\d+)/;
	my ($launched) = $plan =~ /Workers Launched: (\d+)/;

	return ($planned // 'none', $launched // 'none');
}

# ---- rows ----

sub rows
{
	for my $name (sort keys %queries)
	{
		Anago::same_rows_parallel($node, $queries{$name}, $name,
			(map { { %$_, max_parallel_workers_per_gather => 4 } } @variants),
			{ 'anago.io_method' => 'sync' },
			{ 'anago.mode' => 'serial' },
			{ %sim, 'anago.max_inflight_reads' => 1 },
			{ %sim, parallel_leader_participation => 'off' },
			{ 'anago.pin_workers' => 'on' });
	}

	# A plan that need not be parallel is made to run in one worker.
	for my $name (sort keys %queries)
	{
		Anago::same_rows($node, $queries{$name}, "$name in one worker",
			map { { $force => $_, max_parallel_workers_per_gather => 1, %sim } }
			  qw(on regress));
	}
	return;
}

# What is not for workers, or not for more than one process, runs in one.
sub surroundings
{
	my $session = Anago::session($node);

	$session->query_safe("create table copied as $join");
	is($session->query_safe(Anago::digest('select * from copied')),
		$stock, 'CREATE TABLE AS');
	$session->query_safe("truncate copied; insert into copied $join");
	is($session->query_safe(Anago::digest('select * from copied')),
		$stock, 'INSERT ... SELECT');
	$session->query_safe("create materialized view seen as $join; refresh materialized view seen");
	is($session->query_safe(Anago::digest('select * from seen')),
		$stock, 'REFRESH MATERIALIZED VIEW');
	$session->query_safe('drop table copied; drop materialized view seen');

	$session->query_safe("begin; declare c cursor for " . Anago::digest($join));
	is($session->query_safe('fetch all from c'), $stock, 'a cursor');
	$session->query_safe('commit');

	# PL/pgSQL and SQL ask for one row of a plan that was made for many
	# processes: it then runs in one.
	$session->query_safe(
		'create function into_variable() returns text language plpgsql as $f$ '
		  . 'declare got record; begin ' . (Anago::digest($join) =~ s/ from / into got from /r)
		  . "; return got.count || '|' || got.md5; end \$f\$;"
		  . "create function one_row() returns int language plpgsql as \$f\$ "
		  . "declare x int; begin select a.k into x $some; return x; end \$f\$;"
		  . "create function of_sql() returns bigint language sql as "
		  . "\$f\$ select count(*) $some \$f\$");
	is($session->query_safe('select into_variable()'), $stock, 'SELECT INTO a variable');
	is($session->query_safe('select bool_and(one_row() between 100 and 2000) from generate_series(1, 20)'),
		't', 'SELECT INTO closes early');
	is($session->query_safe('select of_sql()'), (split /\|/, $stock)[0], 'an SQL function');
	$session->quit;
	no_workers('surroundings');
	return;
}

# What EXPLAIN says of all processes agrees with what it says of each.
sub in_flight
{
	for my $settings (@variants)
	{
		my $how = Anago::describe($settings);

		cold();
		my $plan = $node->safe_psql('postgres',
			Anago::set(%$settings) . 'explain (analyze, buffers, costs off) ' . Anago::digest($join));
		my ($all, @each) = $plan =~ /In Flight: peak=(\d+)/g;

		cmp_ok($all, '<=', sum(@each), "reads in flight$how: no more than the processes had")
		  or diag($plan);
		cmp_ok($all, '>=', max(@each), "reads in flight$how: no fewer than one of them had")
		  or diag($plan);
	}
	return;
}

# ---- workers that there are not ----

# A plan that was made for four, executed again and again: the server says
# nothing of it.
sub few_workers
{
	my $session = Anago::session($node,
		max_parallel_workers_per_gather => 4, plan_cache_mode => 'force_generic_plan');

	$session->query_safe('prepare q as ' . Anago::digest($join));
	is($session->query_safe('execute q'), $stock, 'four workers');
	is(join(' of ', reverse workers_of($session, 'execute q')), '4 of 4', 'four are launched');

	for my $there (0, 1, 3)
	{
		for my $leader (qw(on off))
		{
			my $name = "$there of 4 workers, leader participation $leader";
			my $from = -s $node->logfile;

			$session->query_safe("set max_parallel_workers = $there; set parallel_leader_participation = $leader");
			is(join(' of ', reverse workers_of($session, 'execute q')),
				"$there of 4", "$name: so many are launched");
			my ($out, $err) = Anago::run($session, 'execute q; ' x 20);
			is($out, join("\n", ($stock) x 20), "$name: stock's rows");
			is($err, '', "$name: nothing is told");
			is(slurp_file($node->logfile, $from), '', "$name: nor is it logged");
		}
	}
	$session->quit;
	return;
}

# More queries at a time than there are workers for.
sub competition
{
	my $from = -s $node->logfile;
	my @sessions = map {
		Anago::session($node, %sim, 'anago.sim_seed' => $_, max_parallel_workers => 5,
			max_parallel_workers_per_gather => 4)
	} 1 .. 6;

	Anago::start($_, join(';', (Anago::digest($join)) x 5)) for @sessions;
	my @answers = map { (Anago::finish($_))[0] =~ /^(\d+\|\w+)$/mg } @sessions;
	is(join(' ', @answers), join(' ', ($stock) x 30), 'six sessions, five workers: stock\'s rows');
	is(slurp_file($node->logfile, $from), '',
		'six sessions, five workers: nothing is logged');
	$_->quit for @sessions;
	no_workers('six sessions, five workers');
	return;
}

# ---- errors ----

sub error_once
{
	my ($session, $place, $how) = @_;

	cold();
	my (undef, $err) = Anago::run($session, $errors{$place});
	my $times = () = $err =~ /ERROR:  division by zero/g;

	is($times, 1, "error in $place$how: once") or diag("$errors{$place}\n$err");
	unlike($err, qr/WARNING|FATAL/, "error in $place$how: nothing else");
	goes_on($session, "error in $place$how");
	no_workers("error in $place$how");
	return $err;
}

sub errors
{
	my ($session, $how) = @_;

	for my $place (sort keys %errors)
	{
		error_once($session, $place, $how);
		$session->query_safe('set parallel_leader_participation = off');
		like(error_once($session, $place, "$how, in a worker"),
			qr/CONTEXT:.*parallel worker/s, "error in $place$how, in a worker: it was there");
		$session->query_safe('reset parallel_leader_participation');
	}

	# caught, and then the same transaction goes on in parallel
	is( $session->query_safe(
			"do \$\$ declare n int := 0; begin for i in 1 .. 10 loop
				begin execute '$errors{'a filter'}';
				exception when division_by_zero then n := n + 1; end;
			end loop; if n <> 10 then raise 'caught %', n; end if; end \$\$; "
			  . Anago::digest($join)),
		$stock, "ten errors caught in one transaction$how");
	no_workers("ten errors caught$how");
	return;
}

# ---- interruptions ----

my @seconds;		# from an interruption to the session's being ready again

# Settings under which core plans it in the way that is meant.
sub plan_as
{
	my ($session, $kind) = @_;

	$session->query_safe($kind eq 'rows that are merged' ? Anago::set(%merging) :
		  join('', map { "reset $_; " } sort keys %merging));
	return;
}

# Start without waiting for the end; returns when workers have been at it for
# a while.
sub under_way
{
	my ($session, $kind) = @_;
	my $pid = $session->query_safe('select pg_backend_pid()');

	plan_as($session, $kind);
	cold();
	Anago::start($session, $endless{$kind});
	$node->poll_query_until('postgres',
		"select count(*) > 0 and bool_and(clock_timestamp() - backend_start > '50 ms')
			from pg_stat_activity where leader_pid = $pid")
	  or die "no workers for: $endless{$kind}";
	return $pid;
}

# What ended a statement: that error, once, soon; and nothing is left of it.
sub ended
{
	my ($session, $name, $expected, $start, $err) = @_;
	my $seconds = time() - $start;
	my $times = () = $err =~ /ERROR:/g;

	push @seconds, $seconds;
	like($err, $expected, "$name: its error");
	is($times, 1, "$name: once") or diag($err);
	cmp_ok($seconds, '<', $Anago::SOON, "$name: soon");
	no_workers($name);
	goes_on($session, $name);
	return;
}

sub interrupted
{
	my ($session, $how) = @_;
	my %ways = (
		'cancel' => [ 'select pg_cancel_backend(%d)', qr/canceling statement due to user request/ ],
		'cancel of a worker' => [
			'select pg_cancel_backend(pid) from workers where leader_pid = %d limit 1',
			qr/canceling statement due to user request/ ],
		'terminated worker' => [
			'select pg_terminate_backend(pid) from workers where leader_pid = %d limit 1',
			qr/terminating .*due to administrator command/ ],
		'terminated workers' => [
			'select bool_or(pg_terminate_backend(pid)) from workers where leader_pid = %d',
			qr/terminating .*due to administrator command/ ]);

	for my $kind (sort keys %endless)
	{
		for my $way (sort keys %ways)
		{
			my ($sql, $error) = @{ $ways{$way} };
			my $pid = under_way($session, $kind);
			my $start = time();
			my ($done) = Anago::run($observer, sprintf($sql, $pid));
			my (undef, $err) = Anago::finish($session);

			is($done, 't', "$way in $kind$how: sent");
			ended($session, "$way in $kind$how", $error, $start, $err);
		}
	}
	return;
}

sub time_out
{
	my ($session, $how) = @_;

	for my $kind (sort keys %endless)
	{
		plan_as($session, $kind);
		for my $ms (1, 20, 200)
		{
			cold();
			my $stop = time() + $ms / 1000;
			my (undef, $err) = Anago::run($session,
				"begin; set local statement_timeout = $ms; $endless{$kind}; rollback");
			ended($session, "time-out after $ms ms in $kind$how",
				qr/canceling statement due to statement timeout/, $stop, $err);
		}
	}
	return;
}

# The leader goes, and its workers with it.
sub terminated_leader
{
	my ($settings, $how) = @_;

	for my $kind (sort keys %endless)
	{
		my $session = Anago::session($node, %$settings);
		my $pid = under_way($session, $kind);

		is($observer->query_safe("select pg_terminate_backend($pid, 1000 * $Anago::SOON)"),
			't', "terminated leader in $kind$how: gone soon");
		ok( $node->poll_query_until('postgres', 'select count(*) = 0 from workers'),
			"terminated leader in $kind$how: no worker is left");
		eval { $session->quit };
	}
	return;
}

# ---- who has enough ----

sub early_end
{
	my ($session, $how) = @_;
	my $query = "select a.id, b.id, b.pad from a join b on b.aid = a.id where a.k between 0 and $half and a.pad > ''";
	my $slow = "select b.id, slow(b.v) $most";

	for my $limited ($query, $slow)
	{
		cold();
		my $start = time();
		is($session->query_safe("select count(*) from ($limited limit 5) q"),
			5, "LIMIT$how: rows");
		cmp_ok(time() - $start, '<', $Anago::SOON, "LIMIT$how: soon") or diag($limited);
		no_workers("LIMIT$how");
	}
	is($session->query_safe("select exists ($query)"), 't', "EXISTS$how");
	no_workers("EXISTS$how");

	# the reader of the rows goes away
	cold();
	my $start = time();
	my (undef, $err) = Anago::run($session, "copy ($query) to program 'head -c 10 >/dev/null'");
	like($err, qr/ERROR:  (could not write to COPY program|program .* failed)/, "closed pipe$how: an error")
	  or diag($err);
	cmp_ok(time() - $start, '<', $Anago::SOON, "closed pipe$how: soon");
	goes_on($session, "closed pipe$how");
	no_workers("closed pipe$how");
	return;
}

# ---- again ----

# A Gather on the inner side of a nested loop is run again for each outer row.
sub rescan
{
	my %nested = (
		enable_material => 'off', enable_hashjoin => 'off', enable_mergejoin => 'off',
		enable_memoize => 'off');
	my %again = (
		'to its end' => 'select x, s.id from generate_series(0, 6) x left join '
		  . '(select id, k from a where k < 900 offset 0) s on s.k % 7 <> x',
		'from its middle' => 'select x from generate_series(0, 30) x where exists '
		  . '(select from (select id, k from a where k < 3000 offset 0) s where s.k % 31 = x)',
		'a join' => 'select x, s.v from generate_series(0, 6) x left join '
		  . "(select b.v $some offset 0) s on s.v % 7 = x");

	for my $name (sort keys %again)
	{
		Anago::same_rows_parallel($node, $again{$name}, "run again $name",
			map { { %$_, %nested } } @variants,
			{ 'anago.io_method' => 'sync' }, { %sim, parallel_leader_participation => 'off' });
		my $plan = $node->safe_psql('postgres',
			Anago::set(%nested) . "explain (analyze, costs off, timing off) $again{$name}");
		like($plan, qr/Nested Loop.*Gather[^\n]*loops=(?!1\))/s, "run again $name: it was")
		  or diag($plan);
	}
	no_workers('run again');
	return;
}

# ---- pinned ----

sub cpus_of
{
	my ($pid) = @_;
	return slurp_file("/proc/$pid/status") =~ /^Cpus_allowed_list:\s+(\S+)/m ? $1 : '';
}

sub pinned
{
	my $session = Anago::session($node, 'anago.pin_workers' => 'on');
	my $before = cpus_of($session->query_safe('select pg_backend_pid()'));
	my $pid = under_way($session, 'a slow filter');
	my @cpus = map { cpus_of($_) }
	  split /\n/, $observer->query_safe("select pid from workers where leader_pid = $pid");

	ok(@cpus > 0 && !grep({ !/^\d+$/ } @cpus), 'pinned: each worker is on one CPU') or diag("@cpus");
	my %different = map { $_ => 1 } @cpus;
	ok(keys %different > 1 || $before =~ /^\d+$/, 'pinned: not all are on the same one') or diag("@cpus");
	is(cpus_of($pid), $before, 'pinned: the leader is left where it was');
	$observer->query_safe("select pg_cancel_backend($pid)");
	Anago::finish($session);
	$session->quit;
	return;
}

# ---- all of it ----

rows();
in_flight();
surroundings();
few_workers();
competition();
rescan();
pinned();
for my $settings (@variants)
{
	my $how = Anago::describe($settings);
	my $session = Anago::session($node, %$settings);

	errors($session, $how);
	interrupted($session, $how);
	time_out($session, $how);
	early_end($session, $how);
	$session->quit;
	terminated_leader($settings, $how);
}

@seconds = sort { $a <=> $b } @seconds;
cmp_ok($seconds[ $#seconds / 2 ], '<', $PROMPT,
	scalar(@seconds) . " interruptions: half of them end within $PROMPT s");
note("the slowest took $seconds[-1] s");

$observer->quit;
Anago::log_is_clean($node);
done_testing();
