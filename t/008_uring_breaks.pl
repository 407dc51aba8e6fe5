# A ring that the kernel made but then takes no reads, and the reasons for which
# it makes none: the query at work still gives stock's rows, those after it use
# the next method, and one line of the log gives the reason and what to do.
#
# The kernel is made to refuse by seccomp filters.  They need no privilege and
# hold for this test and its servers alone.

use strict;
use warnings FATAL => 'all';
use Errno qw(EPERM ENOSYS ENOMEM EBADF);
use FindBin;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

plan skip_all => 'this kernel does not let us refuse io_uring' unless Anago::may_refuse();

my $query =
  'select a.id, b.id, b.v from a join b on b.aid = a.id where a.k between 100 and 400';
# so few processes that each may have some blocks pinned, and more data than
# buffers
my $node = Anago::new_server('breaks',
	shared_buffers => '6MB',
	max_connections => 5,
	max_worker_processes => 2,
	autovacuum_worker_slots => 1,
	max_wal_senders => 0);
Anago::make_tables($node, 10000);
plan skip_all => 'no uring here: refused already, or a build without it'
  if Anago::method_used($node, 'uring') ne 'uring';

# One process with this io_method: its rows, the method of its last query, and
# what it logs.
sub refused_process
{
	my ($name, $method, $why, $hint) = @_;
	my $offset = -s $node->logfile;
	my $session = Anago::session($node, 'anago.io_method' => $method);
	my $stock = $session->query_safe(
		'set anago.enable = off; ' . Anago::digest($query));

	$name = "$name, io_method=$method";
	$session->query_safe('set anago.enable = on');
	is($session->query_safe(Anago::digest($query)), $stock, "$name: stock's rows, query $_")
	  for 1 .. 3;
	like($session->query_safe("explain (analyze, buffers) $query"),
		qr/method=pgaio/, "$name: pgaio in the end");
	$session->quit;

	my $log = slurp_file($node->logfile, $offset);
	my @why = $log =~ /LOG: .*anago cannot use I\/O method "uring": (.*)/g;
	my @hints = $log =~ /HINT: +(.*)/g;
	is("@why", "io_uring failed: $why", "$name: one line, with the reason") or diag($log);
	like("@hints", $hint, "$name: the hint");
	return;
}

Anago::refuse(Anago::IO_URING_ENTER(), EBADF) or BAIL_OUT("seccomp: $!");
$node->restart;
refused_process('no reads are taken', $_, POSIX::strerror(EBADF), qr/^Set anago\.io_method/) for qw(uring auto);

my @refusals = (
	[ EPERM, qr/^Check the kernel setting kernel\.io_uring_disabled/ ],
	[ ENOSYS, qr/^The kernel does not support io_uring/ ],
	[ ENOMEM, qr/^Raise the limit on locked memory/ ]);
for my $refusal (@refusals)
{
	my ($errno, $hint) = @$refusal;
	my $why = POSIX::strerror($errno);

	Anago::refuse(Anago::IO_URING_SETUP(), $errno) or BAIL_OUT("seccomp: $!");
	$node->restart;
	refused_process($why, $_, $why, $hint) for qw(uring auto);
}

$node->safe_psql('postgres', 'select anago_stats_reset()');
$node->safe_psql('postgres', $query) for 1 .. 2;
is($node->safe_psql('postgres', 'select fallbacks from anago_stats'),
	2, 'anago_stats counts refusals');

Anago::log_is_clean($node);
done_testing();
