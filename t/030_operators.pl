# Operators from another library: rows are stock's, and a library that is
# missing, of another version, or broken takes nothing away.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $pg_config = "$ENV{PATH}" =~ s/:.*//r . '/pg_config';
my $where = PostgreSQL::Test::Utils::tempdir();

# build NAME, FLAGS: the sample, against the headers that are installed.
sub build
{
	my ($name, $flags) = @_;
	my $dir = "$where/$name";

	system("cp -r '$FindBin::RealBin/operator_module' '$dir'") == 0 or die;
	system("env -u MAKELEVEL CCACHE_DISABLE=1 make -s -C '$dir' PG_CONFIG='$pg_config' "
		  . "COPT='$flags' >'$dir/log' 2>&1") == 0
	  or return '';
	return "$dir/sample_operators";
}

my $sample = build('whole', '-O1');
ok($sample, 'a library is built with the headers that were installed')
  or BAIL_OUT(slurp_file("$where/whole/log"));
my %broken = (
	'another version' => build('version', '-O1 -DSAMPLE_VERSION=99'),
	'other headers' => build('sizes', '-O1 -DSAMPLE_PADDING=8'),
	'an error while it loads' => build('raises', '-O1 -DSAMPLE_RAISES'));

my $all = 'heap_visit=backwards, range=leaf_by_leaf, sink=counting';
my $node = Anago::new_parallel_server('operators');
Anago::make_tables($node, 5000);
my $parallel = Anago::digest('select a.id, b.pad from a join b on b.aid = a.id where a.k < 2000');
my $alone = "set max_parallel_workers_per_gather = 0; $parallel; reset max_parallel_workers_per_gather";
my $stock = $node->safe_psql('postgres', "set anago.enable = off; $parallel");

# --- as it should be

$node->append_conf('postgresql.conf', qq{
session_preload_libraries = 'anago, $sample'
anago.operators = '$all'});
$node->reload;
my $session = Anago::session($node);
like($session->query_safe("explain (costs off) $parallel"), qr/Operators: range=leaf_by_leaf, heap_visit=backwards|Operators: sink=counting/,
	'chosen by the configuration, before the library is loaded');
is($session->query_safe($parallel), $stock, 'workers: rows');
is($session->query_safe($alone), $stock, 'one process: rows');
$session->query_safe(qq{
	create function sample_leaves() returns bigint language c as '$sample';
	create function sample_rows() returns bigint language c as '$sample'});
my ($leaves, $rows) = split(/\|/, $session->query_safe('select sample_leaves(), sample_rows()'));
cmp_ok($leaves, '>', 1000, 'it was its walk');
cmp_ok($rows, '>', 5000, 'and its sink');
$session->query_safe(q{set anago.operators = 'sink=counting'});
like($session->query_safe("explain (costs off) $parallel"), qr/Operators: sink=counting$/m,
	'chosen by a session');
is($session->query_safe($parallel), $stock, 'that alone: rows');
$session->quit;
Anago::same_rows_parallel($node, $_->[1], $_->[0],
	{}, { 'anago.io_method' => 'sim', 'anago.sim_hit_rate' => 0 }, { 'anago.mode' => 'static' })
  for (
	[ 'scan', 'select id, pad from a where k between 100 and 3000' ],
	[ 'IN lists', 'select id, pad from a where k in (1, 17, 400, 401, 402, 4999)' ],
	[ 'left join', 'select a.id, b.v from a left join b on b.aid = a.id and b.v < 10 where a.k < 500' ],
	[ 'antijoin', 'select a.id from a where a.k < 500 and not exists (select from b where b.aid = a.id and b.v < 10)' ]);

# --- the order in which libraries are loaded

$node->append_conf('postgresql.conf', "session_preload_libraries = '$sample, anago'");
$node->reload;
my ($rc, undef, $err) = $node->psql('postgres', 'select 1');
isnt($rc, 0, 'a library of functions that call anago, loaded before it');
like($err, qr/could not load library .*undefined symbol/, 'says what it misses');

# --- it is missing

$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'");
$node->reload;
my $warning = qr/WARNING:  there is no implementation "leaf_by_leaf" of "range"; anago takes its own/;
$session = Anago::session($node);
my ($out, $said) = Anago::run($session, $parallel);
is($out, $stock, 'no library: rows');
like($said, $warning, 'no library: a warning');
($out, $said) = Anago::run($session, $alone);
is($out, $stock, 'no library: the next query: rows');
is($said =~ /WARNING/ ? $said : '', '', 'no library: no second warning');
unlike($session->query_safe("explain (costs off) $parallel"), qr/Operators/, 'no library: our own');
(undef, $said) = Anago::run($session, q{set anago.operators = 'range=leaf_by_leaf'});
like($said, qr/ERROR:  invalid value for parameter "anago.operators"/, 'no library: a session is told at once');
like($said, qr/There are: "parent", "right_links"/, 'no library: what there is');

# it comes, and the same session has it
$session->query_safe("load '$sample'");
$session->query_safe("set anago.operators = '$all'");
is($session->query_safe($parallel), $stock, 'loaded by the session: workers have it, too');
like($session->query_safe("explain (costs off) $parallel"), qr/leaf_by_leaf/, 'loaded by the session: used');

# workers cannot have it
rename("$sample.so", "$sample.gone") or die;
(undef, $said) = Anago::run($session, $parallel);
like($said, qr/ERROR:  could not access file/, 'its file is gone: workers say so');
is($session->query_safe($alone), $stock, 'its file is gone: the session goes on alone');
rename("$sample.gone", "$sample.so") or die;
is($session->query_safe($parallel), $stock, 'its file is there again');
$session->quit;

# --- it is of another version

for my $fault ('another version', 'other headers')
{
	my $library = $broken{$fault};

	$session = Anago::session($node);
	$session->query_safe("load '$library'");
	(undef, $said) = Anago::run($session, q{set anago.operators = 'sink=counting'});
	like($said, qr/Library "sample_operators" was built for another version of anago/, "$fault: a session is told");
	$session->query_safe("set anago.operators = 'range=right_links'");
	is($session->query_safe($parallel), $stock, "$fault: our own are there");
	$session->quit;

	$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago, $library'");
	$node->reload;
	$session = Anago::session($node);
	($out, $said) = Anago::run($session, $parallel);
	is($out, $stock, "$fault: rows");
	like($said, $warning, "$fault: a warning");
	like($said, qr/was built for another version of anago/, "$fault: and why");
	$session->quit;
	$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'");
	$node->reload;
}

# --- it raises an error while it loads

my $raises = $broken{'an error while it loads'};
$session = Anago::session($node);
for my $time (1 .. 3)
{
	(undef, $said) = Anago::run($session, "load '$raises'");
	like($said, qr/ERROR:  the sample raises an error while it loads/, "an error while it loads, time $time");
	is($session->query_safe($alone), $stock, "an error while it loads, time $time: rows");
}
# what it had registered by then is there
$session->query_safe("set anago.operators = '$all'");
is($session->query_safe($alone), $stock, 'what it had registered: rows');
$session->quit;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago, $raises'");
$node->reload;
($rc, undef, $err) = $node->psql('postgres', 'select 1');
isnt($rc, 0, 'preloaded, it keeps sessions from beginning');
like($err, qr/the sample raises an error while it loads/, 'which says why');

# --- it is not there at all

$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago, $where/nothing'");
$node->reload;
($rc, undef, $err) = $node->psql('postgres', 'select 1');
isnt($rc, 0, 'no such file: no session');
like($err, qr/could not access file/, 'no such file: says so');
$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'\nanago.operators = 'no such thing'");
$node->reload;
is($node->safe_psql('postgres', $parallel), $stock, 'a value that is none: rows');
$node->append_conf('postgresql.conf', "anago.operators = ''");
$node->reload;

$node->stop;
Anago::log_is_clean($node);
done_testing();
