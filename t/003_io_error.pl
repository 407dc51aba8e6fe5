# A damaged, shortened or missing page gets stock's error for that block,
# whatever the method, and the session goes on.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $blcksz = 8192;
my $node = PostgreSQL::Test::Cluster->new('io_error');
$node->init(extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'anago'
shared_buffers = 8MB
autovacuum = off
enable_seqscan = off
enable_bitmapscan = off
});
$node->start;
$node->safe_psql('postgres', 'create extension anago');
my $major = $node->safe_psql('postgres', 'show server_version_num') / 10000;

# A table of about 15 rows a page, a thousand pages.
sub make_table
{
	my ($name) = @_;
	$node->safe_psql('postgres', qq{
		create table $name (a int primary key, b text);
		insert into $name select g, repeat('x', 500) from generate_series(1, 15000) g;
		vacuum analyze $name;
	});
	return $node->data_dir . '/'
	  . $node->safe_psql('postgres', "select pg_relation_filepath('$name')");
}

sub index_file
{
	my ($name) = @_;
	return $node->data_dir . '/'
	  . $node->safe_psql('postgres', "select pg_relation_filepath('${name}_pkey')");
}

# Overwrite the middle of a block.
sub damage
{
	my ($file, $block) = @_;
	open my $fh, '+<:raw', $file or die "$file: $!";
	seek $fh, $block * $blcksz + 4000, 0;
	print $fh 'damaged' x 10;
	close $fh;
}

# Settings of every way in which the query may run; stock's first.
my @ways = (
	[ 'stock', 'set anago.enable = off;' ],
	map { [ "anago, $_", "set anago.enable = on; set anago.debug_force = on;
			set anago.io_method = $_;" ] }
	  ('auto', 'uring', 'sync', ($major >= 18 ? 'pgaio' : ())));
push @ways, [ 'anago, serial', 'set anago.enable = on; set anago.debug_force = on;
		set anago.mode = serial;' ];

# The error must be stock's, and the session must go on with right rows.
sub same_error
{
	my ($what, $query, $good, $expected) = @_;
	my $stock;

	for my $way (@ways)
	{
		my ($name, $settings) = @$way;
		my ($rc, $out, $err) = $node->psql('postgres', "$settings $query; $good;",
			on_error_stop => 0);
		my ($error) = $err =~ /ERROR:  (.*)/;
		$stock //= $error;
		like($error // '(no error)', $expected, "$what: $name: an error") if $name eq 'stock';
		is($error, $stock, "$what: $name: stock's error");
		like($out, qr/^300$/m, "$what: $name: the session goes on");
		unlike($err, qr/leak|not closed|still referenced/, "$what: $name: no leak");
	}
}

my $good = 'select count(b) from %s where a between 1 and 300';

# --- one damaged heap page among many

my $file = make_table('heap_page');
$node->stop;
damage($file, 500);
$node->start;
same_error('damaged heap page', 'select count(b) from heap_page where a between 5000 and 14000',
	sprintf($good, 'heap_page'), qr/invalid page in block 500/);

# --- a damaged index leaf

make_table('leaf');
$file = index_file('leaf');
$node->stop;
damage($file, 25);
$node->start;
same_error('damaged leaf', 'select count(b) from leaf where a between 301 and 15000',
	sprintf($good, 'leaf'), qr/invalid page in block 25/);

# --- a page of zeros is a valid, empty page: rows are missing, in both

$file = make_table('zeros');
$node->stop;
open my $fh, '+<:raw', $file or die;
seek $fh, 500 * $blcksz, 0;
print $fh "\0" x $blcksz;
close $fh;
$node->start;
my %rows;
for my $way (@ways)
{
	my ($name, $settings) = @$way;
	$rows{$name} = $node->safe_psql('postgres',
		"$settings select count(b) from zeros where a between 5000 and 14000");
	is($rows{$name}, $rows{stock}, "page of zeros: $name: stock's rows");
}

# --- a file that ends too early, at a block's boundary and within a block

$file = make_table('short');
$node->stop;
truncate $file, 900 * $blcksz or die;
$node->start;
my $row = 15 * 950;
same_error('file too short', "select b from short where a = $row",
	sprintf($good, 'short'), qr/could not read blocks? \d+/);
$node->stop;
truncate $file, 700 * $blcksz + 100 or die;
$node->start;
my ($at_700) = $node->safe_psql('postgres', q{set anago.enable = off; set enable_seqscan = on;
	set enable_indexscan = off; set enable_indexonlyscan = off;
	select max(a) + 5 from short where ctid < '(700,0)'}) =~ /(\d+)/;
same_error('half a block', "select b from short where a = $at_700",
	sprintf($good, 'short'), qr/could not read blocks? 700/);

# Many blocks are beyond the end: which of them is told first is not defined.
for my $way (@ways)
{
	my ($name, $settings) = @$way;
	my ($rc, $out, $err) = $node->psql('postgres',
		"\\set VERBOSITY sqlstate\n$settings select count(b) from short where a > 300; "
		  . sprintf($good, 'short'), on_error_stop => 0);
	like($err, qr/ERROR:  XX001/, "many missing blocks: $name: data_corrupted");
	like($out, qr/^300$/m, "many missing blocks: $name: the session goes on");
}

# --- the file is gone

$file = make_table('gone');
$node->stop;
rename $file, "$file.away" or die;
$node->start;
my $first;
for my $way (@ways)
{
	my ($name, $settings) = @$way;
	my ($rc, $out, $err) = $node->psql('postgres',
		"$settings select b from gone where a = 7; select count(b) from heap_page where a < 301",
		on_error_stop => 0);
	my ($error) = $err =~ /ERROR:  (.*)/;
	$first //= $error;
	is($error, $first, "missing file: $name: stock's error");
	like($out, qr/^300$/m, "missing file: $name: the session goes on");
}
rename "$file.away", $file;

# --- a join: the error comes from an inner table

$node->safe_psql('postgres', q{
	create table outer_side (a int primary key, k int);
	insert into outer_side select g, g + 7000 from generate_series(1, 2000) g;
	vacuum analyze outer_side;
	set enable_seqscan = off;
});
same_error('damaged inner page',
	'set enable_hashjoin = off; set enable_mergejoin = off;
	 select count(h.b) from outer_side o join heap_page h on h.a = o.k where o.a between 1 and 1900',
	sprintf($good, 'heap_page'), qr/invalid page in block 500/);

# --- in order, from either end

same_error("damaged heap page, in order$_",
	"select max(b) from (select b from heap_page where a between 5000 and 14000 order by a$_ offset 0) s",
	sprintf($good, 'heap_page'), qr/invalid page in block 500/) for ('', ' desc');

# --- one of several partitions: a row says which is read

$node->safe_psql('postgres', q{
	create table parted (a int, b text) partition by range (a);
	create table parted1 partition of parted for values from (0) to (7500);
	create table parted2 partition of parted for values from (7500) to (20000);
	insert into parted select g, repeat('x', 500) from generate_series(1, 15000) g;
	create index parted_a on parted (a);
	vacuum analyze parted;
});
my $by_index = 'set enable_hashjoin = off; set enable_mergejoin = off;';
my $parted = "$by_index
	 select count(p.b) from outer_side o join parted p on p.a = o.k where o.k between %d and %d";
my $good_partition =
  'select count(p.b) from outer_side o join parted p on p.a = o.k where o.k between 7101 and 7400';
$file = $node->data_dir . '/'
  . $node->safe_psql('postgres', "select pg_relation_filepath('parted2')");
like($node->safe_psql('postgres', "$ways[1][1] $by_index explain (costs off) $good_partition"),
	qr/AnagoJoin.*Index Scan on parted p \(2 tables, pruned by row\)/s, 'partitions: a step of ours');
$node->stop;
damage($file, 50);
$node->start;
same_error('damaged page of a partition', sprintf($parted, 7100, 8900), $good_partition,
	qr/invalid page in block 50 of relation/);
same_error('damaged page of a partition, in order',
	sprintf($parted, 7100, 8900) =~ s/select count\(p.b\) (.*)/select count(s.b) from (select p.b $1 order by o.a desc offset 0) s/sr,
	$good_partition, qr/invalid page in block 50 of relation/);
$node->stop;
rename $file, "$file.away" or die;
$node->start;
same_error('file of a partition is gone', sprintf($parted, 8000, 8000), sprintf($good, 'heap_page'),
	qr/could not open file/);
rename "$file.away", $file or die;

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|leak: /,
	'nothing bad in the log');
done_testing();
