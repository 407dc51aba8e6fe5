# Where no two reads can be on their way together, the planner keeps core's
# plans, the server says once why, and what is forced reads synchronously.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
require 'common.pl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('nothing_overlaps');
$node->init;
$node->start;
plan skip_all => "PostgreSQL's asynchronous reads are of 18 and later"
  if Anago::major_version($node) < 18;

$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'anago'
anago.enable = on
anago.residency = off
anago.io_method = pgaio
io_method = worker
io_workers = 3
shared_buffers = 128MB
autovacuum = off
});
$node->restart;
$node->safe_psql('postgres', q{
	create extension anago;
	create table t (a int, b text);
	insert into t select g * 7919 % 20000, repeat('x', 700) from generate_series(1, 20000) g;
	create index on t (a);
	vacuum analyze t;
});
my $query = 'select count(b) from t where a < 150';
my $complaint = qr/LOG:  anago cannot use I\/O method "pgaio": /;

sub planned
{
	return $node->safe_psql('postgres', ($_[0] // '') . "explain (costs off) $query");
}

sub forced
{
	return $node->safe_psql('postgres',
		"set anago.debug_force = on; explain (analyze) $query; $query; explain (analyze) $query;");
}

like(planned(), qr/AnagoScan/, 'with room for reads it is our plan');
$node->restart;
like(forced(), qr/method=pgaio/, 'and these are PostgreSQL\'s own reads');
unlike(planned('set anago.io_method = sync; '), qr/Anago/, 'sync: core\'s plan');
unlike(planned('set anago.max_inflight_reads = 1; '), qr/Anago/, 'one read: core\'s plan');
unlike(planned('set anago.mode = serial; '), qr/Anago/, 'serial: core\'s plan');

# What leaves room for no more than one read, and what to do about it.
my @cases = (
	[ 'few buffers', 'shared_buffers', '8MB', qr/shared_buffers/ ],
	[ 'many connections', 'max_connections', '2000', qr/max_connections/ ],
	[ 'few handles', 'io_max_concurrency', '2', qr/io_max_concurrency/ ]);

$node->append_conf('postgresql.conf', "include_if_exists = 'case.conf'");
for my $case (@cases)
{
	my ($name, $setting, $value, $hint) = @$case;

	open my $conf, '>', $node->data_dir . '/case.conf' or die $!;
	print $conf "$setting = $value\n";
	close $conf;
	$node->restart;

	my $from = -s $node->logfile;
	my $ran = forced();
	unlike($ran, qr/method=pgaio/, "$name: another method runs");
	like($ran, qr/^150$/m, "$name: with the same rows");
	my $log = slurp_file($node->logfile, $from);
	my $lines = () = $log =~ /$complaint/g;
	is($lines, 1, "$name: one line in the log, for three queries");
	like($log, qr/$complaint.*\n.*HINT:  .*$hint/, "$name: with a hint");
}

# One I/O worker reads one block at a time.
open my $conf, '>', $node->data_dir . '/case.conf' or die $!;
print $conf $node->safe_psql('postgres', 'show server_version_num') < 190000
  ? "io_workers = 1\n" : "io_min_workers = 1\nio_max_workers = 1\n";
close $conf;
$node->restart;
unlike(planned(), qr/Anago/, 'one I/O worker: core\'s plan');
unlike(slurp_file($node->logfile), qr/ERROR|WARNING|PANIC/, 'no error, no warning');

$node->stop;
done_testing();
