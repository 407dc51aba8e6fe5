# Where the kernel refuses io_uring, the query runs by the next method, and the
# server says so once in each session.

use strict;
use warnings FATAL => 'all';

use Errno qw(EPERM);
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

# As under the seccomp filters of containers.
plan skip_all => 'this kernel does not let us refuse io_uring'
  unless Anago::refuse(Anago::IO_URING_SETUP(), EPERM);

my $node = PostgreSQL::Test::Cluster->new('refused');
$node->init;
$node->append_conf('postgresql.conf', q{
session_preload_libraries = 'anago'
anago.enable = on
anago.debug_force = on
shared_buffers = 1MB
autovacuum = off
});
$node->start;
$node->safe_psql('postgres', q{
	create extension anago;
	create table t (a int primary key, b text);
	insert into t select g, repeat('x', 500) from generate_series(1, 20000) g;
	vacuum analyze t;
});

# More pages than shared buffers: reads are needed every time.
my $query = 'select count(b) from t where a between 1000 and 19000;';
my $complaint = qr/LOG:  anago cannot use I\/O method "uring"/;

for my $method ('uring', 'auto')
{
	my $from = -s $node->logfile;
	is( $node->safe_psql('postgres', "set anago.io_method = $method; " . $query x 3),
		"18001\n18001\n18001", "$method: the query runs");
	my $log = slurp_file($node->logfile, $from);
	my $lines = () = $log =~ /$complaint/g;
	is($lines, 1, "$method: one line in the log, for three queries");
	like($log, qr/$complaint.*\n.*HINT:  /, "$method: with a hint");
	unlike($log, qr/ERROR|WARNING/, "$method: no error, no warning");
}

# What runs instead is what EXPLAIN says.
unlike($node->safe_psql('postgres', "set anago.io_method = uring; explain (analyze) $query"),
	qr/method=uring/, 'EXPLAIN shows another method');

# Methods that do not need io_uring have nothing to complain about.
my $from = -s $node->logfile;
is($node->safe_psql('postgres', "set anago.io_method = sync; $query"), '18001', 'sync runs');
unlike(slurp_file($node->logfile, $from), $complaint, 'sync: no complaint');

# Each session says it once.
$from = -s $node->logfile;
for my $session (1 .. 5)
{
	$node->safe_psql('postgres', "set anago.io_method = uring; " . $query x 5);
}
my $lines = () = slurp_file($node->logfile, $from) =~ /$complaint/g;
is($lines, 5, 'one line for each of five sessions');

$node->stop;
done_testing();
