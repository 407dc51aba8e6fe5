# Cursors: a pipeline that stands still between FETCHes disturbs nobody, and
# goes on with stock's rows.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $node = Anago::new_server('cursor', shared_buffers => '1MB');
Anago::make_tables($node, 2000);
# Some rows that VACUUM can remove.
$node->safe_psql('postgres', 'delete from a where id % 10 = 7; delete from b where id % 10 = 3');

my $join = 'select a.id, b.id from a join b on b.aid = a.id where a.k between 100 and 300';
my $scan = 'select id, k, pad from a where k between 100 and 300';
my $index_only = 'select k from a where k between 100 and 300';
my @variants = (
	{ 'anago.io_method' => 'auto' },
	{ 'anago.io_method' => 'pgaio' },
	{ 'anago.io_method' => 'sim', 'anago.sim_hit_rate' => 0, 'anago.sim_delay' => 40 },
	{ 'anago.mode' => 'serial' });

sub sorted { return join("\n", sort split(/\n/, $_[0])); }

# All rows of a query, as stock has them.
sub stock
{
	my ($query) = @_;
	return sorted($node->safe_psql('postgres', "set anago.enable = off; $query"));
}

# What a script says with anago is what it says without.  Rows of each
# statement are compared as a set.
sub as_stock
{
	my ($name, $settings, @script) = @_;
	my @said;

	for my $enable ('off', 'on')
	{
		my $session = Anago::session($node, %$settings, 'anago.enable' => $enable);
		my @results = map {
			my ($out, $err) = Anago::run($session, $_);
			sorted($out) . join('', map { s/^psql:<stdin>:\d+: //r } split /^/, $err)
		} @script;
		push @said, join("\n--\n", @results);
		$session->quit;
	}
	is($said[1], $said[0], $name . Anago::describe($settings))
	  or diag(join(";\n", @script));
	return;
}

for my $settings (@variants)
{
	my $how = Anago::describe($settings);
	my ($out, $err);

	# Pins over FETCHes, and others at work on the same tables meanwhile.
	for my $query ($scan, $join, $index_only)
	{
		my $session = Anago::session($node, %$settings);
		$session->query_safe("begin; declare c no scroll cursor for $query");
		my $got = $session->query_safe('fetch 3 from c');
		($out, $err) = ('', '');
		for my $sql (
			'vacuum (index_cleanup on) a, b',
			'vacuum (analyze, skip_locked) a, b',
			'update a set pad = pad where id = 1',
			"insert into a select 50000 + g, 200, 'late' from generate_series(1, 200) g",
			'delete from a where id > 50000',
			'vacuum (index_cleanup on, truncate off) a, b')
		{
			my ($rc, $o, $e) = $node->psql('postgres', "set statement_timeout = '20s'; $sql");
			$err .= "$sql: $e" if $rc != 0;
		}
		is($err, '', "others go on while a cursor is open$how: $query");
		$got .= "\n" . $session->query_safe('fetch all from c');
		$session->query_safe('commit');
		is(sorted($got), stock($query), "its rows are right$how: $query");
		$session->quit;
	}

	# TRUNCATE has to wait for the cursor, which can still be read.
	my $session = Anago::session($node, %$settings);
	$session->query_safe("begin; declare c no scroll cursor for $join");
	my $got = $session->query_safe('fetch 3 from c');
	(undef, undef, $err) = $node->psql('postgres', "set lock_timeout = '100ms'; truncate b");
	like($err, qr/canceling statement due to lock timeout/, "TRUNCATE has to wait$how");
	$got .= "\n" . $session->query_safe('fetch all from c');
	is(sorted($got), stock($join), "and disturbs nothing$how");
	$session->query_safe('commit');
	$session->quit;

	# Subtransactions.
	as_stock('a cursor of an outer transaction survives a subtransaction', $settings,
		"begin; declare c no scroll cursor for $join", 'savepoint s', '\o /dev/null',
		'fetch 10 from c', '\o', 'rollback to s', '\o /dev/null', 'fetch 10 from c', '\o',
		'move all in c', 'commit');
	as_stock('a cursor of an aborted subtransaction is gone', $settings,
		'begin', 'savepoint s', "declare c cursor for $join", 'move 10 in c',
		'rollback to s', 'fetch 1 from c', 'rollback to s', "$join", 'commit');
	as_stock('an error in a subtransaction leaves the outer cursor alone', $settings,
		"begin; declare c cursor for $join", 'move 10 in c', 'savepoint s',
		'select 1 / (k - 200) from a where k between 100 and 300', 'rollback to s',
		'move all in c', 'commit');
	as_stock('an error in FETCH ends that cursor', $settings,
		'begin; declare c cursor for select 1 / (k - 250) from a where k between 100 and 300',
		'savepoint s', 'move all in c', 'rollback to s', 'move 1 in c', 'rollback to s',
		"select count(*) from ($join) q", 'commit');
	as_stock('a subtransaction for each row of a loop', $settings, q[
		do $$
		declare r record; n int := 0; failed int := 0;
		begin
			for r in select a.id, b.v from a join b on b.aid = a.id where a.k between 100 and 300 loop
				begin
					perform 1 / (r.v % 3) from a where k between r.v and r.v + 3;
					n := n + 1;
				exception when division_by_zero then
					failed := failed + 1;
				end;
			end loop;
			raise notice '% rows, % failed', n, failed;
		end $$]);
	as_stock('a transaction for each row of a loop', $settings, q[
		do $$
		declare r record; n int := 0;
		begin
			for r in select a.id, b.v from a join b on b.aid = a.id where a.k between 100 and 300 loop
				n := n + 1;
				if n % 20 = 0 then commit; end if;
			end loop;
			raise notice '% rows', n;
		end $$]);

	# Kept over the end of the transaction.
	as_stock('WITH HOLD', $settings,
		"begin; declare c cursor with hold for $join; move 5 in c", 'commit',
		'move all in c', 'move backward all in c', 'fetch all from c', 'close c');
	as_stock('WITH HOLD in a transaction that fails', $settings,
		"begin; declare c cursor with hold for $join; move 5 in c", 'select 1 / 0',
		'commit', 'fetch 1 from c');

	# Backward.
	as_stock('SCROLL, ordered', $settings,
		"begin; declare c scroll cursor for $join order by 2",
		map({ "fetch $_ from c" } 'forward 7', 'backward 3', 'last', 'prior', 'first',
			'absolute 10', 'relative -4', 'absolute -2', 'backward all', 'forward all'),
		'commit');
	$session = Anago::session($node, %$settings);
	$session->query_safe("begin; declare c scroll cursor for $join");
	my $forward = $session->query_safe('fetch all from c');
	my $backward = $session->query_safe('fetch backward all from c');
	is(join("\n", reverse split(/\n/, $backward)), $forward,
		"SCROLL without an order: backward is the same rows$how");
	$session->query_safe('commit');
	as_stock('NO SCROLL goes not backward', $settings,
		"begin; declare c no scroll cursor for $join", 'move 5 in c', 'fetch prior from c', 'rollback');

	# The row where the cursor stands, however far tasks have run ahead.
	$session->query_safe(Anago::set(%$settings));
	$session->query_safe('begin; create temp table moved (id int) on commit drop');
	$session->query_safe(q[
		do $$
		declare c cursor for select * from a where k between 100 and 300; r record;
		begin
			open c;
			loop
				fetch c into r;
				exit when not found;
				if r.id % 3 = 0 then
					update a set pad = 'moved' where current of c;
					insert into moved values (r.id);
				elsif r.id % 3 = 1 then
					delete from a where current of c;
				end if;
			end loop;
		end $$]);
	is( $session->query_safe(q[
			select count(*) > 20, count(*) filter (where pad = 'moved' and id % 3 = 0) = (select count(*) from moved),
				count(*) filter (where pad = 'moved') = (select count(*) from moved),
				count(*) filter (where id % 3 = 1)
			from a where k between 100 and 300]),
		't|t|t|0', "WHERE CURRENT OF hits the row of the last FETCH$how");
	$session->query_safe('rollback');
	as_stock('WHERE CURRENT OF a join', $settings,
		"begin; declare c cursor for $join; move 1 in c", 'delete from a where current of c', 'rollback');
	as_stock('WHERE CURRENT OF with a row that was changed meanwhile', $settings,
		'begin; declare c cursor for select id from a where id = 55; move 1 in c',
		"update a set pad = '1' where id = 55", "update a set pad = '2' where current of c",
		'select id, pad from a where id = 55', 'rollback');

	# It sees its snapshot, not what its own transaction did later.
	as_stock('a cursor does not see later changes', $settings,
		"begin; declare c no scroll cursor for $scan", 'move 5 in c',
		'update a set k = k + 1000 where k between 100 and 200',
		'delete from a where k between 201 and 300', 'move all in c', $scan, 'rollback');
	$session->quit;
}

Anago::log_is_clean($node);
done_testing();
