# A calibration where there is no io_uring, where reads fail, and of a tablespace
# in which nothing may be created: other reads, or an error, and the figures of before.
#
# The kernel is made to refuse by seccomp filters.

use strict;
use warnings FATAL => 'all';
use Errno qw(EPERM EBADF);
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $node = Anago::new_server(
	'calibration_faults',
	'anago.debug_force' => 'off',
	'anago.residency' => 'off',
	'max_parallel_workers_per_gather' => 0,
	'shared_buffers' => '16MB');
$node->safe_psql('postgres', q{
	create table t as select g as a, repeat('x', 700) as pad from generate_series(1, 40000) g;
	create index t_a on t (a);
	vacuum (freeze, analyze) t;
	checkpoint});

my $quick = "select method from anago_calibrate(duration => '300 ms', max_in_flight => 8)";
my $figures = q{select count(*), md5(string_agg(c::text, ';' order by taken_at)) from anago_calibration c};
my $read_error = qr/ERROR:  could not read a file of the tablespace: Input\/output error/;

sub value
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

# The figures of before are there and used, and the session goes on.
sub is_as_before
{
	my ($session, $before, $name) = @_;

	is((Anago::run($session, $figures))[0], $before, "$name: nothing is left behind");
	is((Anago::run($session, 'select source from anago_device()'))[0], 'calibration',
		"$name: the figures of before are used");
	is((Anago::run($session, 'select count(*) from t where a <= 100'))[0], 100,
		"$name: the session goes on");
	return;
}

# --- a tablespace in which nothing may be created ---

my $folder = PostgreSQL::Test::Utils::tempdir();
value("create tablespace fixed location '$folder'");
value(q{create table f tablespace fixed as select g, repeat('x', 700) from generate_series(1, 40000) g; checkpoint});
my @folders = split /\n/, `find '$folder' -type d`;
chmod 0500, @folders;
my $with_ring = value($quick);
is(value("select method from anago_calibrate('fixed', '300 ms', 8)"), $with_ring,
	'a tablespace in which nothing may be created is measured');
is(value(q{select source from anago_device('fixed')}), 'calibration', 'and its figures are used');
chmod 0700, @folders;

# --- reads that fail ---

sub fail_reads
{
	my ($on) = @_;
	my $file = $node->data_dir . '/fail_reads';

	$on ? append_to_file($file, 'x') : unlink($file);
	return;
}

my $may_fail = Anago::preload($node, 'failing_reads');

sub failing_reads
{
	my ($name) = @_;
	my $session = Anago::session($node);
	my $before = (Anago::run($session, $figures))[0];

	fail_reads(1);
	like((Anago::run($session, $quick))[1], $read_error, "$name: reads that fail are an error");
	fail_reads(0);
	is_as_before($session, $before, $name);
	is((Anago::run($session, $quick))[0], $name, "$name: it can be done again");
	$session->quit;
	return;
}

# Where all reads can be made to fail, not just the first ones.
sub failing_in_the_middle
{
	my ($name) = @_;
	my $session = Anago::session($node);
	my $before = (Anago::run($session, $figures))[0];
	my $pid = (Anago::run($session, 'select pg_backend_pid()'))[0];

	Anago::start($session, "select anago_calibrate(duration => '5 minutes')");
	$node->poll_query_until('postgres',
		"select query like 'anago_calibrate:%' from pg_stat_activity where pid = $pid")
	  or die 'no progress is reported';
	fail_reads(1);
	my (undef, $err) = Anago::finish($session);
	fail_reads(0);
	like($err, $read_error, "$name: also in the middle");
	is_as_before($session, $before, "$name, in the middle");
	$session->quit;
	return;
}

SKIP:
{
	skip 'nothing here makes reads fail', 5 unless $may_fail;
	failing_reads($with_ring);
}

# --- a ring that takes no reads; then none at all ---

SKIP:
{
	skip 'no io_uring here, or it cannot be refused', 12
	  unless $with_ring eq 'uring' && Anago::may_refuse();

	Anago::refuse(Anago::IO_URING_ENTER(), EBADF) or BAIL_OUT("seccomp: $!");
	$node->restart;
	my $session = Anago::session($node);
	my $before = (Anago::run($session, $figures))[0];
	like((Anago::run($session, $quick))[1], $read_error, 'a ring that takes no reads is an error');
	is_as_before($session, $before, 'a ring that takes no reads');
	is((Anago::run($session, $quick))[0], 'posix_fadvise', 'after which there is another way');
	$session->quit;

	Anago::refuse(Anago::IO_URING_SETUP(), EPERM) or BAIL_OUT("seccomp: $!");
	$may_fail = Anago::preload($node, 'failing_reads');
	is(value($quick), 'posix_fadvise', 'without io_uring the kernel is told what will be read');
	is(value(q{
		select not direct and reads_per_second[1] > 0 and latency_us[1] > 0 and sequential_mb_per_second > 0
				and kernel_page_us > 0 and buffer_page_us > 0 and cardinality(in_flight) = 4
			from anago_calibration order by taken_at desc limit 1}),
		't', 'all its figures are greater than 0');
	is(value('select source from anago_device()'), 'calibration', 'and used');
	skip 'nothing here makes reads fail', 1 unless $may_fail;
	failing_reads('posix_fadvise');
	failing_in_the_middle('posix_fadvise');
}

Anago::log_is_clean($node);
$node->stop;
done_testing();
