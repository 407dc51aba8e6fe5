# Where a step has found blocks in shared buffers it remembers.  With far fewer buffers than the
# tables have pages, most of them hold another page when they are come to again: the rows are
# stock's all the same, and no error is raised.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $node = Anago::new_server('near_evicted',
	'shared_buffers' => '2MB',
	'max_parallel_workers_per_gather' => 0);

$node->safe_psql('postgres', q{
	create table a (id int primary key, k int);
	create table b (id int primary key, a int, v int, pad text) with (fillfactor = 10);
	insert into a select g, g % 10 from generate_series(1, 8000) g;
	insert into b select g, g * 7919 % 8000 + 1, g, repeat('x', 20) from generate_series(1, 24000) g;
	create index b_a on b (a, id) with (fillfactor = 10);
	vacuum analyze a, b;
});

my $query = q{select count(*), sum(b.id::bigint * b.v), sum(a.k)
	from a join b on b.a = a.id where a.k < 8};
my $plan = "set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off;
	set enable_mergejoin = off; set enable_memoize = off;";
my $stock = $node->safe_psql('postgres', "$plan set anago.enable = off; $query");

like($node->safe_psql('postgres', "$plan explain (costs off) $query"),
	qr/AnagoJoin.*using b_a on b/s, 'the join is ours');
for my $method ('auto', 'sync')
{
	for my $hits (0, 1)
	{
		# a run of hits before it, after which pages are asked for without a look
		my $before = $hits ? 'select count(*) from generate_series(1, 50) g, lateral
			(select b.v from a join b on b.a = a.id where a.id = 1) s;' : '';
		my $rows = $node->safe_psql('postgres',
			"$plan set anago.io_method = $method; $before $query");
		is((split /\n/, $rows)[-1], $stock, "rows, io_method $method, hits before $hits");
	}
}
Anago::log_is_clean($node);

done_testing();
