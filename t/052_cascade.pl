# A cascade over more rows than shared buffers keep pages of: looks go on while core's
# triggers run, so that these hardly read anything themselves; the tables are as without.

use strict;
use warnings FATAL => 'all';

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $node = PostgreSQL::Test::Cluster->new('cascade');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'anago'
shared_buffers = 8MB
autovacuum = off
anago.residency = off
});
$node->start;

# 900 rows with two rows each that refer to them, each in a block of its own; looks
# are made for 128 rows before any trigger runs.
$node->safe_psql('postgres', q{
	create extension anago;
	create table p (id int primary key, v int);
	insert into p select g, 0 from generate_series(1, 900) g;
	create table c (pid int references p on delete cascade, v int, note text)
		with (fillfactor = 10);
	insert into c select g * 7919 % 900 + 1, g, repeat('x', 500) from generate_series(1, 1800) g;
	create index c_pid on c (pid);
	create table n (pid int references p on delete set null, v int, note text)
		with (fillfactor = 20);
	insert into n select g * 7907 % 900 + 1, g, repeat('x', 700) from generate_series(1, 900) g;
	create index n_pid on n (pid);
	vacuum analyze;
});

# What is left of the tables.
my $rest = q{select (select count(*) || ' ' || sum(id) from p),
	(select count(*) || ' ' || sum(v) || ' ' || sum(pid) from c),
	(select count(*) || ' ' || sum(v) || ' ' || sum(pid) from n)};

# Forced, as the kernel has the pages: looks would rest.
my $delete = 'delete from p where id between 30 and 800';
my $on = 'set anago.enable = on;';

for my $method ('uring', 'sync')
{
	my $settings = "$on set anago.debug_force = on; set anago.io_method = $method;";
	my ($core, $all) = Anago::blocks_read($node, $settings, $delete);
	my ($stock) = Anago::blocks_read($node, '', $delete);

	note("$method: core reads $core of $all blocks, stock $stock");
	cmp_ok($core, '<', $stock / 10, "$method: triggers find their pages read");
	cmp_ok($all, '<', $stock * 1.5, "$method: few blocks are read twice");
}

for my $statement ($delete, "$delete and v = 0; delete from p where id > 700",
	'insert into c select id, 0 from p', 'delete from p')
{
	my @left = map { $node->restart; $node->safe_psql('postgres',
			"$_ begin; $statement; $rest; rollback") } '', $on,
	  "$on set anago.debug_force = on;", "$on set work_mem = '64kB';";

	is($left[$_], $left[0], "$statement: the same is left, $_") for 1 .. $#left;
}

# Sessions that a trigger stops, or that ask for other rows in one
$node->safe_psql('postgres', q{
	create function stop() returns trigger language plpgsql as $$begin
		if old.pid = 700 then raise 'enough'; end if; return old; end$$;
	create trigger stop before delete on c for each row execute function stop();
	create function again() returns trigger language plpgsql as $$begin
		begin
			delete from p where id = old.id + 90;
			if old.id % 50 = 0 then raise 'undo'; end if;
		exception when raise_exception then null; end;
		return null; end$$;
	create trigger again after delete on p for each row execute function again();
});
{
	my $twice = 'delete from p where id between 30 and 600';
	my ($rc, $out, $err) = $node->psql('postgres', "$on $delete; $rest", on_error_stop => 0);

	like($err, qr/enough/, 'an error of a trigger is raised');
	is($out, $node->safe_psql('postgres', $rest), 'and nothing has changed');
	($rc, $out, $err) = $node->psql('postgres',
		"$on begin; savepoint s; $delete; rollback to s; delete from p where id < 100; $rest; rollback",
		on_error_stop => 0);
	is((split /\n/, $out)[-1], $node->safe_psql('postgres',
			"begin; delete from p where id < 100; $rest; rollback"),
		'a statement that failed leaves nothing behind in its session');
	is($node->safe_psql('postgres', "$on begin; $twice; $rest; rollback"),
		$node->safe_psql('postgres', "begin; $twice; $rest; rollback"),
		'triggers delete rows themselves');
}

# Rows of a statement that has failed are not looked for any more, though its memory may
# still be there.
$node->safe_psql('postgres', q{
	drop trigger again on p;
	create function gone(low int, high int) returns bigint language sql as
		'delete from p where id between low and high; select count(*) from p';
	create function reads() returns bigint language sql as
		'select pg_stat_get_xact_blocks_fetched(c) - pg_stat_get_xact_blocks_hit(c)
			from cast(''c'' as regclass) c';
	create function reads_after_failure() returns bigint language plpgsql as $$
	declare
		n bigint;
	begin
		begin
			n := gone(100, 850);
		exception when raise_exception then null; end;
		perform set_config('anago.enable', 'off', true);
		n := reads();
		delete from p where id between 20 and 90;
		return reads() - n;
	end$$;
});
{
	my $force = 'set anago.debug_force = on; set anago.io_method = sync;';
	my ($stock, $reads) = map {
		$node->safe_psql('postgres', "$_ begin; select reads_after_failure(); rollback")
	} '', "$on $force";

	note("$reads reads after a failure, stock $stock");
	cmp_ok($reads, '<', $stock + 20, 'nothing is looked for after a failure');
}

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|leak|was not closed/, 'the log is clean');
done_testing();
