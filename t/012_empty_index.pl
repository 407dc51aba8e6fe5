# Write skew on an index without a root, under SERIALIZABLE: one transaction is
# stopped after it has seen that the index is empty, and before it locks that.
# What another has inserted meanwhile is noticed, as with stock.

use strict;
use warnings FATAL => 'all';

use File::Spec;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $config = $ENV{PG_CONFIG} // 'pg_config';
my $include = `$config --includedir-server`;
chomp $include;
my $has_points = slurp_file("$include/pg_config.h") =~ /^#define USE_INJECTION_POINTS 1/m;
plan skip_all => 'the server has no injection points' unless $has_points;

my $module = PostgreSQL::Test::Utils::tempdir . '/anago_injection';
my @cc = split ' ', ($ENV{CC} // 'cc');
system(@cc, qw(-shared -fPIC -O1 -D_GNU_SOURCE), "-I$include", '-o', "$module.so",
	"$FindBin::RealBin/injection.c") == 0
  or die 'cannot compile the test module';

# the server looks for it below its own library directory
my $libdir = `$config --pkglibdir`;
chomp $libdir;
my $library = File::Spec->abs2rel($module, $libdir);

my $node = PostgreSQL::Test::Cluster->new('empty_index');
$node->init;
$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'anago'
anago.debug_force = on
enable_seqscan = off
enable_bitmapscan = off
autovacuum = off
max_parallel_workers_per_gather = 0
});
$node->start;
$node->safe_psql('postgres', qq{
	create extension anago;
	create function attach(text, text) returns void language c strict as '$module', 'anago_test_attach';
	select attach('anago-empty-index', '$library');
	create table outer_t as select g as k from generate_series(1, 100) g;
	analyze outer_t;
});

sub background
{
	my ($settings) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	$session->query_safe($settings);
	return $session;
}

# Does one of two transactions that each read and then insert fail?  Name,
# settings, query, whether the plan is ours.
sub skew
{
	my ($name, $settings, $query, $ours) = @_;

	$node->safe_psql('postgres', q{
		drop table if exists e;
		create table e (id int, v int) with (parallel_workers = 2);
		create index e_id on e (id);});
	my $plan = $node->safe_psql('postgres', "$settings explain (costs off) $query");
	like($plan, $name eq "static" ? qr/Gather.*Anago/s : $ours ? qr/Anago/ : qr/Index/, "$name: the plan");
	unlike($plan, qr/Seq Scan on e\b/, "$name: no other look at the table");

	my $gate = background("select pg_advisory_lock(4711)");
	my $first = background($settings);
	$first->query_safe('begin isolation level serializable');
	if ($ours)
	{
		# it stops; before, it reads no page, and what it has read is nothing
		$first->query_until(qr/begun/, "\\echo begun\n$query;\n\\echo done\n");
		$node->poll_query_until('postgres',
			q{select count(*) > 0 from pg_locks where locktype = 'advisory' and not granted})
		  or die 'the reader has not come to the injection point';
	}
	else
	{
		$first->query_safe($query);
	}
	my $second = background('set anago.enable = off');
	$second->query_safe('begin isolation level serializable');
	$second->query_safe('select count(*) from e where id between 1 and 10');
	$second->query_safe('insert into e values (2, 2)');
	$second->query_safe('commit');
	$gate->query_safe('select pg_advisory_unlock(4711)');
	$first->query_until(qr/done/, '') if $ours;
	my ($out, $failed) = $first->query('insert into e values (1, 1)');
	my $errors = $first->{stderr};
	$first->query('commit');
	$errors .= $first->{stderr};
	like($errors, qr/could not serialize access/, "$name: one of the two fails");
	is($node->safe_psql('postgres', 'set enable_indexscan = off; select count(*) from e'), '1',
		"$name: one row");
	$_->quit for $gate, $first, $second;
}

my $scan = 'select count(*) from e where id between 1 and 10';
my $join = 'select count(e.v) from outer_t o join e on e.id = o.k where o.k <= 10';
my $nested = 'set enable_seqscan = on; set enable_hashjoin = off; set enable_mergejoin = off; set enable_material = off;';
skew('stock', 'set anago.enable = off;', $scan, 0);
skew('scan', 'set anago.enable = on;', $scan, 1);
skew('serial', 'set anago.enable = on; set anago.mode = serial;', $scan, 1);
skew('list', 'set anago.enable = on;', 'select count(*) from e where id in (1, 2, 3)', 1);
skew('join', "set anago.enable = on; $nested", $join, 1);
skew('static', q{set anago.enable = on; set anago.mode = static; set max_parallel_workers_per_gather = 2;
	set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
	set min_parallel_index_scan_size = 0; set cpu_tuple_cost = 100;}, $scan, 1);

$node->stop;
done_testing();
