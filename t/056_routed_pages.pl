# Rows that go to partitions: the leaves of these partitions' indexes are read by looks,
# so that core finds them in shared buffers, and few blocks twice.

use strict;
use warnings FATAL => 'all';

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $node = PostgreSQL::Test::Cluster->new('routed_pages');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'anago'
shared_buffers = 8MB
autovacuum = off
anago.residency = off
max_parallel_workers_per_gather = 0
});
$node->start;

# Eight partitions, by range and then by hash, with two indexes each of some 100 leaves
$node->safe_psql('postgres', q{
	create extension anago;
	create table t (k int, a int, b int) partition by range (k);
	create table t1 partition of t for values from (0) to (4);
	create table t2 (b int, gone int, k int, a int) partition by hash (a);
	alter table t2 drop gone;
	alter table t attach partition t2 for values from (4) to (8);
	create table t20 (a int, b int, k int);
	alter table t2 attach partition t20 for values with (modulus 2, remainder 0);
	create table t21 partition of t2 for values with (modulus 2, remainder 1);
	insert into t select i % 8, i, i from generate_series(1, 120000) i;
	create index on t (a);
	create index on t (b);
	create table s (k int, a int, b int);
	insert into s select i % 8, i * 7919 % 120000, i * 7907 % 120000 from generate_series(1, 1500) i;
	vacuum analyze t, s;
});

my $insert = 'insert into t select * from s';

for my $method ('uring', 'sync')
{
	my $settings = "set anago.enable = on; set anago.debug_force = on; set anago.io_method = $method;";
	my ($stock) = Anago::blocks_read($node, '', $insert);
	my ($core, $all) = Anago::blocks_read($node, $settings, $insert);

	like($node->safe_psql('postgres', "$settings explain (costs off) $insert"),
		qr/Look 2: Index Insertion using t_b_idx on t/, "$method: there are looks");
	note("$method: core reads $core of $all blocks, stock $stock");
	cmp_ok($core, '<', $stock / 4, "$method: core finds its pages read");
	cmp_ok($all, '<', $stock * 1.3, "$method: few blocks are read twice");
}

my ($stock, $ours) = map {
	$node->safe_psql('postgres', "$_ begin; $insert;
		select tableoid::regclass, count(*), sum(a), sum(b), sum(k) from t group by 1 order by 1; rollback")
} '', 'set anago.enable = on; set anago.debug_force = on;';
is($ours, $stock, 'the partitions are as without looks');

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|leak|was not closed/, 'the log is clean');
done_testing();
