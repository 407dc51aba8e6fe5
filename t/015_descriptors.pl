# File descriptors of hint reads: a process has one small cache of them, so that
# however many scans a query has, none is short of them; they are closed with
# the transaction, or what it drops would keep its space; and where none is to
# be had, rows are right all the same, and EXPLAIN and anago_stats say so.

use strict;
use warnings FATAL => 'all';
use Fcntl qw(O_ACCMODE O_RDONLY);
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

# PostgreSQL keeps 10 for itself and grants a third of the rest for files that
# it does not open itself; we take half of that.
my $files_per_process = 130;
my $most = int(($files_per_process - 10) / 6);
my $partitions = 60;

my $node = Anago::new_server('descriptors',
	'shared_buffers' => '1MB',
	'max_files_per_process' => $files_per_process,
	'anago.io_method' => 'uring',
	'max_parallel_workers_per_gather' => 0);
Anago::make_tables($node, 2000);
plan skip_all => 'no uring here: refused, or a build without it'
  if Anago::method_used($node, 'uring') ne 'uring';

# 240 blocks in the heap of each partition, and most of them are wanted.
$node->safe_psql('postgres', qq[
	create table pt (ts int, k int, pad text) partition by range (ts);
	select format('create table pt_%s partition of pt for values from (%s) to (%s)',
		i, i * 500, (i + 1) * 500) from generate_series(0, $partitions - 1) i \\gexec
	insert into pt select i, (i::bigint * 7919 % 50)::int, repeat('p', 700)
		from generate_series(0, $partitions * 500 - 1) i;
	create index pt_k on pt (k);
	vacuum (freeze, analyze) pt;
	checkpoint]);
my @files = map { ("pt_$_", "pt_${_}_k_idx") } 0 .. $partitions - 1;

# Paths of read-only descriptors of relations' files in a process.
sub descriptors
{
	my ($pid) = @_;
	my @paths;

	for my $link (glob "/proc/$pid/fd/*")
	{
		my $path = readlink($link) // next;
		my ($fd) = $link =~ /(\d+)$/;
		next unless $path =~ m{/base/};
		my ($flags) = slurp_file("/proc/$pid/fdinfo/$fd") =~ /^flags:\s+(\d+)/m;
		push @paths, $path if (oct($flags) & O_ACCMODE) == O_RDONLY;
	}
	return @paths;
}

my $query = 'select k, count(*), sum(length(pad)) from pt where k between 3 and 12 group by k';
my $stock = $node->safe_psql('postgres', 'set anago.enable = off; ' . Anago::digest($query));
my $session = Anago::session($node);
my $pid = $session->query_safe('select pg_backend_pid()');

# every scan
Anago::drop_from_page_cache($node, @files);
my $plan = $session->query_safe("explain (analyze, buffers, costs off) $query");
my @issued = $plan =~ /method=uring issued=([1-9]\d*)/g;
is(scalar(@issued), $partitions, 'every one of many scans has reads on their way') or diag($plan);
unlike($plan, qr/no_descriptor/, 'none was short of descriptors');
is(scalar(descriptors($pid)), 0, 'nothing is open after the query');

# what is open meanwhile
$session->query_safe('begin');
is($session->query_safe(Anago::digest($query)), $stock, "stock's rows");
my @open = descriptors($pid);
cmp_ok(scalar(@open), '>', 0, 'descriptors are kept for the next query of the transaction');
cmp_ok(scalar(@open), '<=', $most, 'and some are left for others');
$session->query_safe('commit');
is(scalar(descriptors($pid)), 0, 'nothing is open after a commit');

# what nodes that have ended keep beside that
$session->query_safe('begin; declare c no scroll cursor for select k, pad from pt where k between 3 and 12');
$session->query_safe('move 5800 in c');
is( $session->query_safe("select count(*) from pg_backend_memory_contexts where name = 'anago reads'"),
	1, 'the memory of reads is that of one scan of many');
$session->query_safe('commit');

# what the transaction drops, or takes back
my $drop = 'select k, pad from pt_7 where k between 3 and 12';
$session->query_safe('begin');
$session->query_safe(Anago::digest($drop));
$session->query_safe('savepoint s; truncate pt_9; insert into pt select 4500 + i, i % 50, repeat(\'q\', 700)
	from generate_series(0, 499) i');
$session->query_safe(Anago::digest('select k, pad from pt_9 where k between 3 and 12'));
Anago::run($session, 'rollback to savepoint s');
is(join(' ', grep { /deleted/ } descriptors($pid)), '', 'no file of a subtransaction that was rolled back');
$session->query_safe(Anago::digest($drop));
$session->query_safe('drop table pt_7; commit');
is(scalar(descriptors($pid)), 0, 'nothing is open of a table that was dropped');

$session->query_safe('begin');
Anago::drop_from_page_cache($node, qw(pt_3 pt_3_k_idx));
my (undef, $err) = Anago::run($session, 'select 1 / (k - 7), pad from pt_3 where k between 3 and 12');
like($err, qr/division by zero/, 'an error');
is(scalar(descriptors($pid)), 0, 'nothing is open after an error');
Anago::run($session, 'rollback');

# a node that has ended is begun again
my $again = 'select o.id, (select sum(length(i.pad)) from b i where i.aid between o.k and o.k + 20) from a o where o.k < 40';
Anago::drop_from_page_cache($node, qw(a b a_k b_aid));
Anago::same_rows($node, $again, 'rescans', {}, { 'anago.io_method' => 'auto' }, { 'anago.io_method' => 'pgaio' });
$session->quit;

# no descriptor at all
SKIP:
{
	skip 'no compiler', 3 unless Anago::preload($node, 'no_descriptors');

	my $join = 'select a.id, b.id, b.v from a join b on b.aid = a.id where a.k between 100 and 400';
	my $rows = $node->safe_psql('postgres', 'set anago.enable = off; ' . Anago::digest($join));

	Anago::drop_from_page_cache($node, qw(a b a_k b_aid));
	$node->safe_psql('postgres', 'select anago_stats_reset()');
	is($node->safe_psql('postgres', Anago::digest($join)), $rows, "no descriptor: stock's rows");
	is( $node->safe_psql('postgres', 'select reads, no_descriptor > 0 from anago_stats'),
		'0|t', 'no descriptor: anago_stats counts such reads');
	$plan = $node->safe_psql('postgres', "explain (analyze, buffers, costs off) $join");
	like($plan, qr/method=uring issued=0 .*\n\s+Synchronous: .*no_descriptor=[1-9]/,
		'no descriptor: EXPLAIN says so') or diag($plan);
}

Anago::log_is_clean($node);
done_testing();
