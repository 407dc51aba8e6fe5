# Values that are stored outside of their rows are read ahead of a client: core hardly
# reads a block itself.  Damage is reported where core meets it, and not elsewhere.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $blcksz = 8192;
my $node = PostgreSQL::Test::Cluster->new('toast');
$node->init(extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'anago'
shared_buffers = 8MB
autovacuum = off
anago.residency = off
});
$node->start;
$node->safe_psql('postgres', q{
	create extension anago;
	create table t (id int, note text);
	alter table t alter note set storage external;
	insert into t select g, repeat(md5(g::text), 100 + g % 300) from generate_series(1, 400) g;
	create table c (id int, note text);
	create function hide() returns trigger language plpgsql as
		'begin return case when new.id > 390 then null else new end; end';
	create trigger hide before insert on c for each row execute function hide();
	create table big (id int, note text);
	alter table big alter note set storage external;
	insert into big select g, repeat(md5(g::text), 60000) from generate_series(1, 12) g;
	vacuum analyze;
});

# What a client got, blocks of TOAST tables that were read, and those that looks read.
sub run
{
	my ($settings, $statement) = @_;
	my $read = q{select sum(toast_blks_read + tidx_blks_read) from pg_statio_user_tables};
	my $ours = q{select reads + sync_reads from anago_stats};
	my @before;
	my @after;
	my $out;

	$node->restart;
	@before = map { $node->safe_psql('postgres', $_) } $read, $ours;
	$out = $node->safe_psql('postgres', "$settings $statement");
	@after = map { $node->safe_psql('postgres', $_) } $read, $ours;
	return ($out, $after[0] - $before[0], $after[1] - $before[1]);
}

my $on = 'set anago.enable = on; set anago.debug_force = on;';
my $all = 'select id, note from t order by id desc;';

for my $method ('uring', 'sync')
{
	my ($stock, $stock_read) = run('', $all);
	my ($out, $read, $ours) = run("$on set anago.io_method = $method;", $all);

	ok($out eq $stock, "$method: a client gets the same");
	cmp_ok($read, '<', $stock_read * 1.3, "$method: few blocks are read twice");
	cmp_ok($read - $ours, '<', $stock_read / 10, "$method: looks have read them");
	note("$method: $read blocks, looks $ours; stock $stock_read");
}

# values of 2 MB, of which a look reads a part, and buffers hold four
{
	my ($stock, $stock_read) = run('', 'select id, note from big');
	my ($out, $read, $ours) = run($on, 'select id, note from big');

	ok($out eq $stock, 'large values are the same');
	cmp_ok($read, '<', $stock_read * 1.2, 'of large values few blocks are read twice');
	cmp_ok($ours, '>', 0, 'and some by looks');
	note("$read blocks, looks $ours; stock $stock_read");
}

# who does not fetch values has no looks
{
	my ($out, $read, $ours) = run($on, "explain (analyze, costs off, timing off) $all");

	like($out, qr/Look 1: TOAST of t.note/, 'the plan has a look');
	unlike($out, qr/Probes: [1-9]/, 'EXPLAIN does not fetch values');
	is($read, 0, 'and nothing is read');
}

# The last values' chunks: of rows that a trigger drops.
my $toast = $node->safe_psql('postgres', q{select reltoastrelid::regclass from pg_class where relname = 't'});
my $file = $node->data_dir . '/'
  . $node->safe_psql('postgres', "select pg_relation_filepath('$toast')");
my $block = $node->safe_psql('postgres', "select pg_relation_size('$toast') / $blcksz - 2");

$node->stop;
open my $fh, '+<:raw', $file or die "$file: $!";
seek $fh, $block * $blcksz + 4000, 0;
print $fh 'damaged' x 10;
close $fh;
$node->start;
for my $method ('uring', 'sync')
{
	my $settings = "$on set anago.io_method = $method;";
	my $insert = 'insert into c select id, note from t';
	my ($rc, $out, $err);

	$node->restart;
	($rc, $out, $err) = $node->psql('postgres', "$settings explain (costs off) $insert");
	like($out, qr/Look 1: TOAST of t.note/, "$method: there is a look");
	$node->restart;
	($rc, $out, $err) = $node->psql('postgres',
		"$settings begin; $insert; select count(*), sum(length(note)) from c; rollback");
	is($out, $node->safe_psql('postgres', "begin; $insert; select count(*), sum(length(note)) from c; rollback"),
		"$method: damage that core does not meet is not reported") or diag($err);
	unlike($err, qr/ERROR|leak|not closed/, "$method: no error, no leak");
	($rc, $out, $err) = $node->psql('postgres', "$settings select id, note from t");
	like($err, qr/invalid page in block $block/, "$method: core meets it");
}

my ($rc, $out, $err) = $node->psql('postgres', "$on set anago.io_method = sim;
	set anago.sim_hit_rate = 0; set anago.sim_delay = 1000; set anago.max_inflight_reads = 1;
	set statement_timeout = '1ms'; select note from t where id between 100 and 300");
like($err, qr/canceling statement due to statement timeout/, 'a cancel is heard');

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|leak|was not closed/, 'the log is clean');
done_testing();
