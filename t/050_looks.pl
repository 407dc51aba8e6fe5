# What looks of AnagoAhead meet is not the query's: a damaged page that only they
# come to raises nothing, whatever the method; a cancel is heard.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $blcksz = 8192;
my $node = PostgreSQL::Test::Cluster->new('looks');
$node->init(extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'anago'
shared_buffers = 8MB
autovacuum = off
enable_hashjoin = off
enable_mergejoin = off
enable_seqscan = off
enable_bitmapscan = off
});
$node->start;
$node->safe_psql('postgres', q{
	create extension anago;
	create table c (id int primary key);
	insert into c select g from generate_series(1, 400) g;
	create table o (cid int, k int, note text);
	insert into o select g, k, repeat('x', 500) from generate_series(1, 4) k, generate_series(1, 400) g;
	create index o_cid on o (cid);
	vacuum analyze c, o;
	create table t (a int);
	insert into t select g from generate_series(1, 20000) g;
	create index t_a on t (a);
	create table few (a int);
	insert into few select g * 10 from generate_series(1, 2000) g;
	create function hide() returns trigger language plpgsql as
		'begin return case when new.a between 6000 and 8500 then null else new end; end';
	create trigger hide before insert on t for each row execute function hide();
	vacuum analyze t, few;
});
my $major = $node->safe_psql('postgres', 'show server_version_num') / 10000;

# The first entry of each cid will do; the fourth ones are in the last blocks.  (With a
# condition that is no equality the rows of o cannot be made unique instead.)
my $query = q{select count(*) from (select c.id from c
	where exists (select 1 from o where cid = c.id and note <> c.id::text) for update of c) x};
my $file = $node->data_dir . '/'
  . $node->safe_psql('postgres', q{select pg_relation_filepath('o')});
my $last = $node->safe_psql('postgres', q{select pg_relation_size('o') / 8192 - 3});

# A leaf that only rows go to which a trigger drops.
my $insert = 'insert into t select a from few';
my $leaves = $node->data_dir . '/'
  . $node->safe_psql('postgres', q{select pg_relation_filepath('t_a')});
my $leaf = 20;

sub damage
{
	my ($path, $block) = @_;

	open my $fh, '+<:raw', $path or die "$path: $!";
	seek $fh, $block * $blcksz + 4000, 0;
	print $fh 'damaged' x 10;
	close $fh;
}

$node->stop;
damage($file, $last);
damage($leaves, $leaf);
$node->start;

for my $method ('uring', 'sync', ($major >= 18 ? 'pgaio' : ()), 'auto')
{
	my $settings = "set anago.enable = on; set anago.debug_force = on; set anago.io_method = $method;";
	my ($rc, $out, $err);

	$node->restart;
	($rc, $out, $err) = $node->psql('postgres', "$settings explain (costs off) $query");
	like($out, qr/Look 1: Index Scan using o_cid on o/, "$method: there is a look");
	($rc, $out, $err) = $node->psql('postgres',
		"$settings explain (analyze, costs off, timing off, summary off) $query");
	is($rc, 0, "$method: no error") or diag($err);
	unlike($out, qr/Probes: 400/, "$method: looks have met the page")
	  if $out =~ /Probes/;
	$node->restart;
	($rc, $out, $err) = $node->psql('postgres', "$settings $query; $query");
	is($out, "400\n400", "$method: all rows, twice");
	unlike($err, qr/leak|not closed|still referenced/, "$method: no leak");

	# core comes to that page itself
	($rc, $out, $err) = $node->psql('postgres',
		"$settings select count(*) from (select o.k from c, o where cid = c.id for update of o) x");
	like($err, qr/invalid page in block $last/, "$method: the error where core meets it");
}

for my $method ('uring', 'sync', ($major >= 18 ? 'pgaio' : ()))
{
	my $settings = "set anago.enable = on; set anago.debug_force = on; set anago.io_method = $method;";
	my ($rc, $out, $err);

	$node->restart;
	($rc, $out, $err) = $node->psql('postgres', "$settings explain (costs off) $insert");
	like($out, qr/Look 1: Index Insertion using t_a on t/, "$method: there is a look at the leaf");
	$node->restart;
	($rc, $out, $err) = $node->psql('postgres', "$settings begin; $insert; set anago.enable = off; set enable_seqscan = on;
			set enable_indexscan = off; set enable_indexonlyscan = off; select count(*) from t where a % 10 = 0; rollback");
	is($out, 2000 + 2000 - 251, "$method: all rows are inserted") or diag($err);
	unlike($err, qr/leak|not closed|still referenced|ERROR/, "$method: no leak, no error");
	($rc, $out, $err) = $node->psql('postgres',
		"$settings begin; alter table t disable trigger hide; $insert; rollback");
	like($err, qr/invalid page in block $leaf/, "$method: the error where core goes there");
}

# time of the simulator passes by polls
my ($rc, $out, $err) = $node->psql('postgres', "set anago.enable = on; set anago.debug_force = on;
	set anago.io_method = sim; set anago.sim_hit_rate = 0; set anago.sim_delay = 1000;
	set anago.max_inflight_reads = 1;
	set statement_timeout = '1ms'; $query");
like($err, qr/canceling statement due to statement timeout/, 'a cancel is heard');

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|leak|was not closed/, 'the log is clean');
done_testing();
