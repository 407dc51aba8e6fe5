# Before Linux 5.11 a wait for the ring has no time-out, and liburing queues a
# request of its own in its place: our counts of reads are right, and no query
# hangs.  old_kernel.c, preloaded into the server, takes the time-out away.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $node = Anago::new_server('old_kernel', shared_buffers => '1MB');
Anago::make_tables($node, 20000);

plan skip_all => 'no uring here: refused, or a build without it'
  if Anago::method_used($node, 'uring') ne 'uring';


sub cold { Anago::drop_from_page_cache($node, qw(a b a_k b_aid)); return; }

my $query =
  'select a.id, b.id, b.v from a join b on b.aid = a.id where a.k between 100 and 4000';
my $scan = 'select id, k, pad from a where k between 1000 and 9000';
my %stock;
for my $q ($query, $scan)
{
	$stock{$q} = $node->safe_psql('postgres',
		'set anago.enable = off; ' . Anago::digest($q));
}

plan skip_all => 'no compiler, or no headers of liburing'
  unless Anago::preload($node, 'old_kernel');
my $offset = -s $node->logfile;

# One session, so that what one query leaves in the ring meets the next.
my $session = Anago::session($node,
	'anago.io_method' => 'uring', 'statement_timeout' => '60s');
for my $round (1 .. 3)
{
	cold();
	is($session->query_safe(Anago::digest($query)), $stock{$query}, "join, round $round");
	cold();
	# given up with reads on their way
	is($session->query_safe("select count(*) from ($scan limit 20) s"), 20, "limit, round $round");
	is($session->query_safe(Anago::digest($scan)), $stock{$scan}, "scan, round $round");
}
cold();
like($session->query_safe("explain (analyze, buffers, costs off) $scan"),
	qr/method=uring issued=[1-9]/, 'reads were issued through the ring to the end');
$session->quit;

my $log = slurp_file($node->logfile, $offset);
like($log, qr/old_kernel: a ring as of Linux 5\.10/, 'on a ring of the older kind');
unlike($log, qr/anago cannot use I\/O method/, 'which was not given up');
Anago::log_is_clean($node);
done_testing();
