# An error in an expression while many reads are in flight: stock's error, no
# leak, and whatever the session does next is right.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('expression_error');
$node->init;
$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'anago'
anago.enable = on
anago.debug_force = on
shared_buffers = 4MB
autovacuum = off
});
$node->start;
my $major = int($node->safe_psql('postgres', 'show server_version_num') / 10000);
$node->safe_psql('postgres', q{
	create extension anago;
	create table t (a int primary key, k int, b text);
	insert into t select g, g * 7919 % 20000 + 1, repeat('x', 300) from generate_series(1, 20000) g;
	create table u (k int, v int, b text);
	insert into u select g * 31 % 20000 + 1, g, repeat('y', 100) from generate_series(1, 40000) g;
	create index u_k on u (k);
	vacuum analyze t, u;
	create function fails(x int) returns int language plpgsql as
		$$ begin if x = 12345 then raise exception 'failed at %', x; end if; return x; end $$;
	create function asks(x int) returns bigint language plpgsql as
		$$ begin return (select count(*) from u where u.k = x) + fails(x) * 0; end $$;
});

my $good = 'select count(t.b), sum(u.v) from t join u on u.k = t.k where t.a between 1000 and 5000';
my $answer = $node->safe_psql('postgres', "set anago.enable = off; $good");

# Where an expression may fail: [name, query, error]
my @queries = (
	[ 'filter', 'select count(*) from t where a > 5 and 1 / (k - 777) > -10', 'division by zero' ],
	[ 'filter of an inner table', 'select count(*) from t join u on u.k = t.k and 1 / (u.v - 30000) > -10',
		'division by zero' ],
	[ 'join condition', 'select count(*) from t left join u on u.k = t.k and 1 / (u.v + t.k * 0 - 30000) > -10',
		'division by zero' ],
	[ 'output', 'select sum(1 / (u.v - 30000)) from t join u on u.k = t.k', 'division by zero' ],
	[ 'key', 'select count(*) from t join u on u.k = 20000 / (t.k - 777)', 'division by zero' ],
	[ 'function', 'select count(*) from t where a > 5 and fails(k) > 0', 'failed at 12345' ],
	[ 'function that queries', 'select count(*) from t where a > 5 and asks(k) >= 0', 'failed at 12345' ],
	[ 'cast', q{select count(*) from t join u on u.k = t.k and (u.b || 'z')::text::int > 0 where t.a < 9000},
		'invalid input syntax' ],
);
my @methods = ('auto', 'uring', 'sync', 'sim', ($major >= 18 ? 'pgaio' : ()));

for my $case (@queries)
{
	my ($name, $query, $error) = @$case;
	for my $method (@methods)
	{
		my ($rc, $out, $err) = $node->psql('postgres',
			"set anago.io_method = $method; $query; $good;", on_error_stop => 0);
		like($err, qr/ERROR:  .*\Q$error\E/, "$name, $method: the error");
		is($out, $answer, "$name, $method: the next query is right");
		unlike($err, qr/WARNING/, "$name, $method: no leak is told");
	}
}

# --- caught in PL/pgSQL, many times in one transaction

is( $node->safe_psql('postgres', qq{
		do \$\$ declare n int := 0; begin
			for i in 1 .. 20 loop
				begin
					perform count(*) from t where a > i and 1 / (k - 777) > -10;
				exception when division_by_zero then n := n + 1;
				end;
			end loop;
			if n <> 20 then raise exception 'caught only %', n; end if;
		end \$\$;
		$good;}), $answer, 'caught twenty times in one transaction');

# --- undone to a savepoint, with a cursor of ours open across it

my ($rc, $out, $err) = $node->psql('postgres', qq{
	begin;
	declare c cursor for select t.a from t join u on u.k = t.k where t.a between 1000 and 1100 order by t.a;
	fetch 3 from c;
	savepoint s;
	$queries[1][1];
	rollback to s;
	$good;
	fetch 3 from c;
	commit;
	$good;}, on_error_stop => 0);
my @lines = split /\n/, $out;
is($lines[3], $answer, 'savepoint: the next query is right');
is($lines[7], $answer, 'savepoint: after commit, too');
is(scalar(@lines), 8, 'savepoint: the cursor went on');

# --- the error of another query that runs inside of ours, and an abandoned one

is( $node->safe_psql('postgres', qq{
		create function catches(x int) returns int language plpgsql as \$\$
		begin
			perform count(*) from u where u.k between x and x + 50 and 1 / (u.k - x - 20) > -10;
			return 0;
		exception when division_by_zero then return 1;
		end \$\$;
		select sum(catches(a)) from t where a between 100 and 149;
		$good;}), "50\n$answer", 'errors inside of our running query');

# --- memory: errors again and again do not grow the session

is( $node->safe_psql('postgres', qq{
		create function grown() returns boolean language plpgsql as \$\$
		declare before bigint; after bigint;
		begin
			for i in 1 .. 300 loop
				if i = 50 then select sum(total_bytes) into before from pg_backend_memory_contexts; end if;
				begin
					perform count(*) from t where a between i and i + 2000 and 1 / (k - k) > 0;
				exception when division_by_zero then null;
				end;
			end loop;
			select sum(total_bytes) into after from pg_backend_memory_contexts;
			return after > before + 1024 * 1024;
		end \$\$;
		select grown();}), 'f', '250 errors do not take a megabyte');

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP:|terminated by signal/, 'no crash in the log');
unlike($log, qr/leak: |refcount leak|still referenced|not closed/, 'no leak in the log');
done_testing();
