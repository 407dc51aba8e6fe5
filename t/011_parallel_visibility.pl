# What workers see is what the session sees: its own uncommitted rows, its
# snapshot, under serializable with its predicate locks; and a standby's.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $rows = 6000;
my $primary = Anago::new_parallel_server('primary',
	init => { allows_streaming => 1 },
	shared_buffers => '2MB',
	jit => 'off');
Anago::make_tables($primary, $rows);
$primary->backup('backup');

my $query = 'select a.id, a.k, b.id, b.v, b.pad from a join b on b.aid = a.id where a.k between 100 and 2000';
my @variants = (
	{ 'anago.io_method' => 'sim', 'anago.sim_hit_rate' => 0 },
	{ 'anago.io_method' => 'uring' },
	{ 'anago.io_method' => 'sync', parallel_leader_participation => 'off' },
	Anago::major_version($primary) >= 18 ? { 'anago.io_method' => 'pgaio' } : ());

# Within a session's transaction: stock's rows by each variant, in workers
# unless no parallel plan may be made there.  Returns their digest.
sub same_here
{
	my ($session, $name) = @_;
	my $stock = $session->query_safe(
		'set local anago.enable = off; ' . Anago::digest($query));
	my $plan = $session->query_safe(
		"set local anago.enable = on; explain (costs off) " . Anago::digest($query));

	like($plan, qr/Gather.*Anago(Scan|Join)/s, "$name: workers run anago") or diag($plan);
	for my $settings (@variants)
	{
		my $set = Anago::set(%$settings) =~ s/set /set local /gr;
		is($session->query_safe($set . Anago::digest($query)),
			$stock, "$name: stock's rows" . Anago::describe($settings));
	}
	$session->query_safe('set local parallel_leader_participation = on');
	return $stock;
}

# ---- rows of the transaction itself ----

# Each step changes what the query gives; rows of the transaction are changed
# again by it (combo command ids), in subtransactions that end both ways.
sub own_rows
{
	my $session = Anago::session($primary);
	my @steps = (
		[ 'inserted', "insert into a select $rows + g, 100 + g, 'new' from generate_series(1, 300) g;
			insert into b select 3 * $rows + g, $rows + 1 + g % 300, g % 100, 'new' from generate_series(1, 900) g" ],
		[ 'updated', 'update a set k = k + 1 where id % 3 = 0; update b set v = v + 1, pad = pad where id % 5 = 0' ],
		[ 'own rows updated', "update a set k = k + 2 where pad = 'new'; update b set pad = 'newer' where pad = 'new'" ],
		[ 'a savepoint', "savepoint one; update a set pad = 'sub' where k % 7 = 0; delete from b where v % 11 = 0" ],
		[ 'a savepoint inside', "savepoint two; delete from a where k % 5 = 0; insert into b select 4 * $rows + g, g, 1, 'two' from generate_series(1, 2000) g" ],
		[ 'rolled back', 'rollback to two' ],
		[ 'released', "savepoint three; update b set v = -v where aid % 2 = 0; release one" ],
		[ 'many subtransactions', 'do $$ begin for i in 1 .. 100 loop
			begin
				update a set k = k + 3 where id = i * 50;
				if i % 3 = 0 then raise division_by_zero; end if;
			exception when division_by_zero then null; end;
			end loop; end $$' ],
		[ 'own rows deleted', "delete from b where pad = 'newer' and id % 2 = 0; delete from a where pad = 'sub' and k % 2 = 0" ]);
	my $last = '';

	for my $end (qw(rollback commit))
	{
		my $before = $session->query_safe(Anago::digest($query));

		$session->query_safe('begin');
		for my $step (@steps)
		{
			my ($name, $sql) = @$step;
			$session->query_safe($sql);
			my $now = same_here($session, "$name, before $end");
			isnt($now, $last, "$name, before $end: something changed");
			$last = $now;
		}
		$session->query_safe($end);
		my $after = $session->query_safe(Anago::digest($query));
		is($after, $end eq 'commit' ? $last : $before, "after $end");
	}
	$session->quit;
	Anago::same_rows_parallel($primary, $query, 'committed', @variants);
	return;
}

# ---- snapshots that stay ----

my $others_write = "
	update a set k = (k + 13) % $rows where id % 4 = 1;
	delete from b where id % 6 = 2;
	insert into b select (select max(id) from b) + g, g, g % 50, 'other' from generate_series(1, 500) g";

sub old_snapshot
{
	for my $level ('repeatable read', 'serializable', 'serializable read only')
	{
		my $session = Anago::session($primary);

		$session->query_safe("begin isolation level $level");
		my $first = same_here($session, $level);
		for my $round (1 .. 2)
		{
			$primary->safe_psql('postgres', $others_write);
			$primary->safe_psql('postgres', 'vacuum a, b');
			is(same_here($session, "$level, after others wrote"), $first, "$level: the snapshot stays");
		}
		if ($level !~ /only/)
		{
			$session->query_safe("insert into b select -g, g, 7, 'mine' from generate_series(1, 700) g");
			isnt(same_here($session, "$level, own rows"), $first, "$level: own rows are seen");
		}
		$session->query_safe('rollback');
		isnt($session->query_safe(Anago::digest($query)), $first, "$level: others' rows are seen afterwards");
		$session->quit;
	}
	return;
}

# Each of two transactions reads what the other writes: one must fail, as the
# workers' reads count as the session's.
sub write_skew
{
	for my $settings ({ 'anago.enable' => 'off' }, @variants)
	{
		my $name = 'write skew' . Anago::describe($settings);
		my @sessions = map { Anago::session($primary, %$settings) } 1 .. 2;
		my @errors;

		for my $session (@sessions)
		{
			$session->query_safe('begin isolation level serializable');
			$session->query_safe('select count(*), sum(b.v) from a join b on b.aid = a.id where a.k between 0 and 300');
		}
		for my $i (0, 1)
		{
			push @errors, Anago::error_of($sessions[$i],
				"update b set v = v + 1 where aid = (select min(id) + $i from a where k between 0 and 300)");
		}
		push @errors, Anago::error_of($_, 'commit') for @sessions;
		my @failed = grep { $_ ne '' } @errors;
		is(scalar(grep { /^40001: / } @failed), 1, "$name: one of the two fails") or diag("@errors");
		is(scalar(@failed), 1, "$name: with no other error") or diag("@errors");
		$_->quit for @sessions;
	}
	return;
}

# ---- standby ----

sub standby
{
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	$standby->append_conf('postgresql.conf', q{
		hot_standby_feedback = on
		wal_receiver_status_interval = 1
		max_standby_streaming_delay = -1});
	$standby->start;
	Anago::replayed($primary, $standby);
	Anago::same_rows_parallel($standby, $query, 'standby', @variants);

	my $session = Anago::session($standby);
	$session->query_safe('begin isolation level repeatable read');
	my $first = same_here($session, 'standby, repeatable read');

	# else what the primary prunes would have to wait for this transaction
	my $snapshot = $session->query_safe('select pg_snapshot_xmin(pg_current_snapshot())');
	$primary->poll_query_until('postgres',
		"select backend_xmin = '$snapshot' from pg_stat_replication") or die 'no feedback';
	$primary->safe_psql('postgres', $others_write);
	Anago::replayed($primary, $standby);
	is(same_here($session, 'standby, after the primary wrote'), $first, 'standby: the snapshot stays');
	$session->query_safe('commit');

	like( Anago::error_of($session,
			'select count(*) from a join b on b.aid = a.id where a.k >= 0 and 1 / (a.id - 300) > -5'),
		qr/^22012: /, 'standby: the error of a worker');
	is( Anago::error_of($session, "begin; set local statement_timeout = 50; select count(*) from a x join b on b.aid = x.id join a y on y.k = b.id % $rows join b z on z.aid = y.id join a u on u.k > z.id; rollback"),
		'57014: canceling statement due to statement timeout', 'standby: time-out');
	$session->quit;
	Anago::same_rows_parallel($standby, $query, 'standby, afterwards', @variants);
	Anago::log_is_clean($standby, 'nothing leaked, nothing crashed: standby');
	return;
}

Anago::same_rows_parallel($primary, $query, 'at rest', @variants);
own_rows();
old_snapshot();
write_skew();
standby();
Anago::log_is_clean($primary, 'nothing leaked, nothing crashed: primary');
done_testing();
