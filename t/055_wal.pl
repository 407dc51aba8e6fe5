
# A statement that changes or locks rows wakes the WAL writer as it goes on, so that it
# need not write the log out itself.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('wal');
$node->init;
$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'anago'
anago.enable = on
shared_buffers = 64MB
wal_buffers = 1MB
wal_writer_delay = 10s
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 4GB
enable_hashjoin = off
enable_mergejoin = off
enable_seqscan = off
max_parallel_workers_per_gather = 0
anago.debug_force = on
});
$node->start;
$node->safe_psql('postgres', q{
	create extension anago;
	create table t (id int primary key, kind int, note text) with (fillfactor = 90);
	insert into t select i, i % 2, repeat('x', 700) from generate_series(1, 20000) i;
	create table wanted (id int);
	insert into wanted select i * 7919 % 20000 + 1 from generate_series(1, 20000) i;
	create index on t (kind, id);
	vacuum analyze;
});

# Rounds in which the WAL writer wrote something while a statement ran; by itself it has
# one every ten seconds.
sub rounds
{
	my ($settings, $statement) = @_;
	my $read = q{select sum(writes) from pg_stat_io where backend_type = 'walwriter' and object = 'wal'};
	my $before;

	$node->safe_psql('postgres', 'checkpoint');
	$before = $node->safe_psql('postgres', $read);
	$node->safe_psql('postgres', "$settings $statement");
	return $node->safe_psql('postgres', $read) - $before;
}

my %statements = (
	'update by join' => [ 'AnagoAhead',
		q{update t set note = repeat('y', 700) from wanted where t.id = wanted.id} ],
	'rows locked' => [ 'AnagoScan',
		'select count(note) from (select * from t where kind = 1 for update) x' ]);

for my $name (sort keys %statements)
{
	my ($node_name, $statement) = @{ $statements{$name} };
	my $stock = rounds('set anago.enable = off;', $statement);
	my $ours = rounds('', $statement);

	like($node->safe_psql('postgres', "explain (costs off) $statement"),
		qr/$node_name/, "$name: the plan");
	cmp_ok($ours, '>', $stock + 3, "$name: the WAL writer writes meanwhile")
	  or diag("rounds with stock: $stock, with anago: $ours");
}

done_testing();
