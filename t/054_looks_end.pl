# Looks that end with reads on their way (io_method pgaio): core keeps such a read in
# the list of the resource owner that it was begun under, and none may be left there
# when the looks' own owner goes.  The processes that read stand still meanwhile.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $config = $ENV{PG_CONFIG} // 'pg_config';
chomp(my $include = `$config --includedir-server`);
plan skip_all => 'the server has no asynchronous reads' unless -e "$include/storage/aio_internal.h";

my $module = PostgreSQL::Test::Utils::tempdir() . '/reads_on_their_way';
system(split(' ', $ENV{CC} // 'cc'), qw(-shared -fPIC -O1 -D_GNU_SOURCE), "-I$include", '-o', "$module.so",
	"$FindBin::RealBin/reads_on_their_way.c") == 0
  or die 'cannot compile the test module';

my $node = Anago::new_server('looks_end',
	'io_method' => 'worker',
	'anago.io_method' => 'pgaio',
	'enable_hashjoin' => 'off',
	'enable_mergejoin' => 'off',
	'enable_seqscan' => 'off',
	'enable_bitmapscan' => 'off',
	'enable_material' => 'off',
	# so few that reads are not put off to be issued together
	'anago.max_rows_ahead' => 7);

# Each row of c leads to a block of o of its own.
$node->safe_psql('postgres', qq[
	create function reads(owned bool) returns int language c strict as '$module', 'anago_test_reads';
	create extension pg_prewarm;
	create table c (id int primary key);
	insert into c select g from generate_series(1, 2000) g;
	create table o (cid int, note text);
	alter table o alter note set storage plain;
	insert into o select g, repeat('x', 5000) from generate_series(1, 2000) g;
	create index o_cid on o (cid);
	vacuum (freeze, analyze) c, o;
	checkpoint]);
my $query = q{select c.id from c where exists (select 1 from o where cid = c.id and note <> c.id::text) for update of c};
like($node->safe_psql('postgres', "explain (costs off) $query"), qr/AnagoAhead.*Look 1: Index Scan using o_cid on o/s, 'there are looks');

my @readers;

END
{
	kill 'CONT', @readers if @readers;
}

for my $end ('close c', 'rollback to s', 'commit')
{
	$node->restart;
	my $session = Anago::session($node);

	watch($node);
	@readers = split(/\n/, seen("select pid from pg_stat_activity where backend_type = 'io worker'"));
	$session->query_safe(q[select reads(false), pg_prewarm('c'), pg_prewarm('c_pkey'), pg_prewarm('o_cid')]);
	$session->query_safe("begin; savepoint s; declare c cursor for $query; move 400 in c");
	becomes("count(*) = 0 from pg_aios where state = 'SUBMITTED'", "$end: what was on its way has come");

	# a row whose page is there leaves, others go ahead to pages that do not come
	kill 'STOP', @readers;
	$session->query_safe('move 1 in c');
	my $on_their_way = $session->query_safe('select reads(false)');
	cmp_ok($on_their_way, '>', 0, "$end: reads are on their way");
	is($session->query_safe('select reads(true)'), $on_their_way, "$end: the looks' owner has them");
	$session->query_safe($end);
	is($session->query_safe('select reads(false)'), $on_their_way, "$end: they are still on their way");
	is($session->query_safe('select reads(true)'), 0, "$end: no owner has them any more");
	kill 'CONT', @readers;
	@readers = ();
	is($session->query_safe("select count(*) from ($query) x"), 2000, "$end: all rows after that");
	$session->quit;
	unwatch();
}

$node->stop;
Anago::log_is_clean($node);
done_testing();
