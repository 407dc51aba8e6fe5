# Looks read the blocks that the executor will read, and where these are more than shared
# buffers hold a part of them, so that nothing is pushed out that would have been found there.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('looks_pages');
$node->init;
$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'anago'
shared_buffers = 8MB
autovacuum = off
anago.residency = off
enable_hashjoin = off
enable_mergejoin = off
enable_seqscan = off
max_parallel_workers_per_gather = 0
});
$node->start;

# 40 rows, each of which leads to 300 blocks; there are 1024 buffers.
$node->safe_psql('postgres', q{
	create extension anago;
	create table p (id int primary key);
	insert into p select generate_series(1, 40);
	create table c (pid int references p on delete cascade, v int, note text)
		with (fillfactor = 20);
	insert into c select i * 7919 % 40 + 1, 0, repeat('x', 700) from generate_series(1, 12000) i;
	create index c_pid on c (pid);
	create table t (a int, b int, c int, d int, e int);
	insert into t select i, i, i, i, i from generate_series(1, 120000) i;
	create index on t (a);
	create index on t (b);
	create index on t (c);
	create index on t (d);
	create index on t (e);
	vacuum analyze p, c, t;
	-- entries of one key fill three leaves, and new rows find room in the middle of the table
	create table d (kind int, note text);
	insert into d select i % 1000, repeat('x', 50) from generate_series(0, 59999) i;
	create index on d (rpad(kind::text, 400)) with (deduplicate_items = off);
	delete from d where ctid in (select ctid from d offset 20000 limit 20000)
		and (ctid::text::point)[0]::int / 20 % 2 = 0;
	vacuum analyze d;
	-- eight rows of the same key and day, each in a block of its own
	create table e (pid int, day int, note text) with (fillfactor = 10);
	insert into e select i * 7919 % 200 + 1, 5, repeat('x', 900) from generate_series(1, 1600) i;
	create index e_pid_day on e (pid, day);
	vacuum analyze e;
});

# Blocks that the statement reads, triggers included, and the looks of its plan.
sub blocks_read
{
	my ($settings, $statement) = @_;
	my $plan;
	my $before;
	my $after;
	my $read = q{select sum(heap_blks_read + idx_blks_read) from pg_statio_user_tables};

	# the plan first: it is not to be counted
	$plan = $node->safe_psql('postgres', "$settings explain (costs off) $statement");
	$node->restart;
	$before = $node->safe_psql('postgres', $read);
	$node->safe_psql('postgres', "$settings begin; $statement; rollback");
	$after = $node->safe_psql('postgres', $read);
	return ($after - $before, $plan =~ /Look 1/);
}

my %statements = (
	'a scan for each row' =>
	  'select p.id, x.* from p, lateral (select count(v), max(note) from c where pid = p.id) x',
	'the last ones of equal entries' => q{select g, x.* from generate_series(1, 200) g,
		lateral (select note from e where pid = g order by day desc limit 3) x},
	'leaves of many indexes' => q{insert into t select i * 7919 % 120000, i * 7907 % 120000,
		i * 7901 % 120000, i * 7883 % 120000, i * 7877 % 120000 from generate_series(1, 3000) i},
	'leaves among those of the same key' =>
	  q{insert into d select i * 7919 % 1000, 'y' from generate_series(1, 1000) i},
	'rows that refer to deleted ones' => 'delete from p where id < 20');

for my $name (sort keys %statements)
{
	my ($stock) = blocks_read('', $statements{$name});
	my ($ours, $looks) = blocks_read(
		'set anago.enable = on; set anago.debug_force = on;', $statements{$name});

	ok($looks, "$name: there is a look");
	cmp_ok($ours, '<=', $stock * 1.5, "$name: few blocks are read twice");
	note("$name: $ours blocks, stock $stock");
}

$node->stop;
done_testing();
