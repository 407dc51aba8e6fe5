# A simulated read that fails gives md.c's error, one that brings nothing costs
# time only; the session goes on.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my %queries = (
	'a join' =>
	  'select a.id, a.pad, b.id, b.v from a join b on b.aid = a.id where a.k between 0 and 900',
	'rows in order' =>
	  'select row_number() over (), s.* from (select a.k, a.pad from a where a.k < 300 '
	  . 'and exists (select from b where b.aid = a.id and b.v > 20) order by a.k desc offset 0) s',
	'partitions, all of them' =>
	  'select a.id, p.id, p.v from a left join p on p.id = a.id where a.k between 0 and 600',
	'partitions by row, in order' =>
	  'select row_number() over (), s.* from (select a.k, a.pad from a where a.k < 900 '
	  . 'and exists (select from p where p.aid = a.id and p.v > 20) order by a.k offset 0) s');
my $sim = { 'anago.io_method' => 'sim', 'anago.sim_hit_rate' => 0 };
my $node = Anago::new_server('faults', shared_buffers => '1MB');
Anago::make_tables($node, 2000);
Anago::make_partitions($node);

like($node->safe_psql('postgres', "explain $queries{'rows in order'}"),
	qr/Order Kept: Backward/, 'rows in order: kept');
like($node->safe_psql('postgres', "explain $queries{'partitions by row, in order'}"),
	qr/Order Kept: Forward.*4 tables, pruned by row/s, 'partitions by row, in order: kept');

for my $name (sort keys %queries)
{
	my $query = $queries{$name};
	my $rows =
	  $node->safe_psql('postgres', 'set anago.enable = off; ' . Anago::digest($query));
	my $session = Anago::session($node, %$sim);

	$session->query_safe('set anago.sim_fault_rate = 1');
	like(Anago::error_of($session, $query),
		qr/^58030: could not read blocks (\d+)\.\.\1 in file "base\/\d+\/\d+": Input\/output error$/,
		"$name: every read fails: md.c's error");
	$session->query_safe('set anago.sim_fault_rate = 0');
	is($session->query_safe(Anago::digest($query)), $rows, "$name: the session goes on");

	my ($errors, $right) = (0, 0);
	for my $seed (1 .. 40)
	{
		$session->query_safe("set anago.sim_fault_rate = 0.0005; set anago.sim_seed = $seed");
		my ($out, $err) = Anago::run($session, Anago::digest($query));
		my $failed = $err =~ /could not read blocks/;

		$errors += $failed;
		$right += $out eq $rows;
		$failed || $out eq $rows
		  or diag("anago.sim_seed = $seed: $out $err\n" . Anago::set(%$sim) . "\n$query");
	}
	is($errors + $right, 40, "$name: few reads fail: the error or all rows");
	cmp_ok($errors, '>', 0, "$name: some of those queries failed");
	cmp_ok($right, '>', 0, "$name: some did not");
	$session->quit;

	Anago::same_rows($node, $query, "$name: reads bring nothing",
		map { { %$sim, 'anago.sim_hint_fault_rate' => $_ } } 0.5, 1);
}
Anago::log_is_clean($node);
done_testing();
