# What a query made the device read, and how long it waited for that, is found
# where PostgreSQL counts such things: BUFFERS, pg_statio_*, pg_stat_io, and
# with track_io_timing the times.

use strict;
use warnings FATAL => 'all';
use FindBin;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $node = Anago::new_server('accounting',
	shared_buffers => '1MB', 'max_parallel_workers_per_gather' => 0);
Anago::make_tables($node, 20000);
plan skip_all => 'no uring here: refused, or a build without it'
  if Anago::method_used($node, 'uring') ne 'uring';

my $version = Anago::major_version($node);
# times are split by kind of block since 17
my $read_time = $version >= 17 ? 'Shared I/O Read Time' : 'I/O Read Time';

sub cold { Anago::drop_from_page_cache($node, qw(a b a_k b_aid)); return; }

# The plan node of ours, somewhere below this one.
sub our_node
{
	my ($plan) = @_;

	return $plan if ($plan->{'Custom Plan Provider'} // '') =~ /^Anago/;
	for my $child (@{ $plan->{Plans} // [] })
	{
		my $found = our_node($child);
		return $found if $found;
	}
	return;
}

# Runs a query on cold data: EXPLAIN's figures, and what the server has counted.
sub measured
{
	my ($session, $query) = @_;

	cold();
	$session->query_safe('select pg_stat_reset(), pg_stat_force_next_flush()');
	$session->query_safe("select pg_stat_reset_shared('io'), pg_stat_force_next_flush()") if $version >= 16;
	my $explain = decode_json($session->query_safe(
			"explain (analyze, buffers, costs off, format json) $query"))->[0];
	my $ours = our_node($explain->{Plan});
	$session->query_safe('select pg_stat_force_next_flush()');
	return {
		explain => $explain,
		ours => $ours,
		planning => $explain->{Planning}{'Shared Read Blocks'} // 0,
		statio => $session->query_safe('select sum(heap_blks_read + idx_blks_read) from pg_statio_user_tables'),
		database_time => $session->query_safe('select blk_read_time from pg_stat_database where datname = current_database()'),
		stat_io => $version >= 16 ? $session->query_safe(
			q{select sum(reads) from pg_stat_io where object = 'relation' and context in ('normal', 'bulkread')}) : undef,
		stat_io_time => $version >= 16 ? $session->query_safe(
			q{select sum(read_time) from pg_stat_io where object = 'relation' and context = 'normal'}) : undef };
}

# Behind a filter of core's nobody knows how many rows LIMIT wants of ours.
sub stops_early
{
	my ($query, $rows) = @_;
	return "select * from ($query offset 0) s(one) where one % 7 <> 3 limit $rows";
}

# A fast device may have answered all by the time of the last row, but not each
# time: at one of these numbers of rows reads are on their way.
my @rows_wanted = map { 290 + 7 * $_ } 1 .. 40;

my $scan = 'select id, k, pad from a where k between 1000 and 9000';
my $join = 'select a.id, b.id, b.v from a join b on b.aid = a.id where a.k between 100 and 2000';
my $semi = 'select id from a where k between 100 and 2000 and exists (select from b where aid = a.id and v > 10)';

for my $method ('uring', 'pgaio')
{
	# (a table that a step has turned to is read by PostgreSQL, see below)
	my $session = Anago::session($node, 'anago.io_method' => $method, 'anago.hash_fallback' => 'off');
	my @rows = $method eq 'uring' ? @rows_wanted : $rows_wanted[0];

	for my $case (['scan', $scan], ['LIMIT', map { stops_early($scan, $_) } @rows],
		['join', $join], ['join with LIMIT', map { stops_early($join, $_) } @rows],
		['semijoin', $semi])
	{
		my ($name, @queries) = ("$method, $case->[0]", @$case[1 .. $#$case]);
		my $got;
		for my $query (@queries)
		{
			$got = measured($session, $query);
			last if $got->{ours}{'Reads Given Up'} > 0;
		}
		my $ours = $got->{ours};
		my $read = $ours->{'Shared Read Blocks'};

		note("$name: $read read, issued $ours->{'Reads Issued'}, given up $ours->{'Reads Given Up'}, ",
			"synchronous $ours->{'Synchronous Reads'}, pg_statio $got->{statio}");
		# the first page of an index is read by PostgreSQL itself
		my $first_pages = $read - $ours->{'Reads Issued'} - $ours->{'Synchronous Reads'};
		ok($first_pages >= 0 && $first_pages <= 2, "$name: BUFFERS has all reads");
		cmp_ok($ours->{'Reads Given Up'}, '>', 0, "$name: some were given up") if $name =~ /^uring.*LIMIT/;
		is($ours->{'Reads Given Up'}, 0, "$name: none was given up") if $name =~ /scan$|join$/ && $name !~ /semi/;
		ok( $got->{statio} >= $read && $got->{statio} <= $read + $got->{planning},
			"$name: so have pg_statio_user_tables");
		cmp_ok($got->{stat_io}, '>=', $read, "$name: and pg_stat_io") if $version >= 16;
	}
	$session->quit;
}

# The table that a step has turned to is read by a scan of PostgreSQL's.
{
	my $session = Anago::session($node, 'anago.io_method' => 'uring', 'anago.debug_turn_after' => 50);
	my $got = measured($session, $join);
	my $read = $got->{ours}{'Shared Read Blocks'};

	like(encode_json($got->{ours}), qr/"Turns into Hash":1/, 'a step turns');
	cmp_ok($read, '>', $got->{ours}{'Reads Issued'} + $got->{ours}{'Synchronous Reads'} + 2, 'BUFFERS has the scan\'s reads as well');
	ok($got->{statio} >= $read && $got->{statio} <= $read + $got->{planning}, 'so have pg_statio_user_tables');
	cmp_ok($got->{stat_io}, '>=', $read, 'and pg_stat_io') if $version >= 16;
	$session->quit;
}

# Others bring in what is on its way: it was read all the same, and what was
# counted once is not taken back.
SKIP:
{
	skip 'no pg_stat_statements', 2
	  unless $node->safe_psql('postgres', "select count(*) from pg_available_extensions where name = 'pg_stat_statements'");
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements'\nshared_buffers = '64MB'\n");
	$node->restart;
	$node->safe_psql('postgres', 'create extension pg_stat_statements');
	cold();
	my $session = Anago::session($node, 'anago.io_method' => 'uring');
	$session->query_safe("begin; declare c no scroll cursor for $scan");
	$session->query_safe('fetch 1 in c');
	$session->query_safe('set anago.enable = off; select count(pad) from a; set enable_seqscan = off; set enable_bitmapscan = off');
	$session->query_safe('select count(k) from a where k >= 0');
	$session->query_safe('move 99999 in c');
	$session->query_safe('commit');
	my ($first, $rest) = split /\n/, $session->query_safe(
		"select shared_blks_read from pg_stat_statements where query ~ ' in c\$' order by query");
	note("read by the first FETCH: $first, by the other: $rest");
	cmp_ok($first, '>', 0, 'a cursor: the first FETCH has issued reads');
	cmp_ok($rest, '>=', 0, 'and the next one counts none less than nothing');
	$session->quit;
}

# Half a second's wait is a read's time, once.
SKIP:
{
	skip 'no compiler, or no headers of liburing', 5 unless Anago::preload($node, 'slow_wait');
	my $session = Anago::session($node, 'anago.io_method' => 'uring', 'track_io_timing' => 'on');
	my $got = measured($session, $scan);
	my $time = $got->{ours}{$read_time};

	cmp_ok($time, '>=', 500, 'BUFFERS has the time that was waited');
	cmp_ok($time, '<=', $got->{explain}{'Execution Time'}, 'and no more than the query took');
	cmp_ok($got->{database_time}, '>=', $time * 0.99, 'so has pg_stat_database');
	cmp_ok($got->{stat_io_time} // $time, '>=', $time * 0.99, 'and pg_stat_io');
	$session->quit;

	$session = Anago::session($node, 'anago.io_method' => 'uring', 'track_io_timing' => 'off');
	$got = measured($session, $scan);
	is($got->{ours}{$read_time} // 0, 0, 'without track_io_timing there are no times');
	$session->quit;
}

Anago::log_is_clean($node);
done_testing();
