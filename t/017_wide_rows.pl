# A backend that joins wide rows takes about as much memory as stock's, and
# what EXPLAIN says that our node took.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

plan skip_all => 'needs /proc/PID/status' unless -r '/proc/self/status';

my $node = Anago::new_server('wide_rows',
	'shared_buffers' => '4MB',
	'work_mem' => '4MB',
	'hash_mem_multiplier' => '2',
	'max_parallel_workers_per_gather' => 0,
	'jit' => 'off');
$node->safe_psql(
	'postgres', q[
	create table inside as select g as id, 't' || g as t from generate_series(1, 20000) g;
	create unique index inside_id on inside (id);
	vacuum analyze inside]);

# Most memory that a new session's process had, in kB, and what it printed.
sub high_water
{
	my ($query, %settings) = @_;
	my $session = Anago::session($node, %settings);
	my ($pid) = Anago::run($session, 'select pg_backend_pid()');
	my ($out, $err) = Anago::run($session, $query);
	my ($peak) = slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB/m;

	is($err, '', 'no error');
	$session->quit;
	return ($peak, $out);
}

# So many rows, of so many bytes.
sub query
{
	my ($width, $rows) = @_;
	return qq[select sum(length(s.big)), count(inside.t)
		from (select g, repeat('x', $width + g) as big
			from generate_series(1, $rows) g offset 0) s
		join inside on inside.id = s.g * 100];
}

# 200 MB of rows, of which some at a time have room in 8 MB.
my $bound = 16 * 1024;
my %stock = ('anago.enable' => 'off', 'enable_hashjoin' => 'off', 'enable_mergejoin' => 'off');
my ($stock, $rows) = high_water(query(1_000_000, 200), %stock);

for my $method ('auto', 'sim')
{
	my %ours = ('anago.io_method' => $method);
	my ($ours, $out) = high_water(query(1_000_000, 200), %ours);

	is($out, $rows, "the same rows, method $method");
	cmp_ok($ours, '<', $stock + $bound,
		"the process takes less than 16 MB more than stock's, method $method");

	my (undef, $plan) = high_water(
		'explain (analyze, buffers, costs off, timing off) ' . query(1_000_000, 200), %ours);
	my ($memory) = $plan =~ /Memory: (\d+)kB/;
	like($plan, qr/AnagoJoin/, "planned by anago, method $method");
	cmp_ok($memory, '<', $bound, "EXPLAIN says less than 16 MB, method $method");
	cmp_ok($memory, '>=', 977, "and no less than one row, method $method");
}

# Rows that are each greater than the bound.
my %little = ('work_mem' => '64kB', 'hash_mem_multiplier' => '1');
my (undef, $wide) = high_water(query(9_000_000, 20), %stock);
my ($peak, $out) = high_water(query(9_000_000, 20), %little);
is($out, $wide, 'rows that are greater than the bound');
cmp_ok($peak, '<', $stock + 64 * 1024, 'of which one is in memory at a time');

Anago::log_is_clean($node);
$node->stop;
done_testing();
