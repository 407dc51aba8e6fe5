# The balancer puts processes on the CPUs of their class, and back; and what it knows on
# a standby.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $primary = Anago::new_server('places',
	'session_preload_libraries' => '',
	'shared_preload_libraries' => 'anago',
	'restart_after_crash' => 'on',
	'wal_level' => 'replica',
	'max_wal_senders' => 4,
	'anago.balancer' => 'on',
	'anago.balancer_actuators' => 'budgets, affinity',
	'anago.balancer_oltp' => 'application_name:oltp',
	'anago.balancer_period' => '100ms');
my $all = cpus($$);

sub cpus
{
	my ($pid) = @_;
	return slurp_file("/proc/$pid/status") =~ /^Cpus_allowed_list:\s*(\S+)/m ? $1 : '';
}

watch($primary, view => 'anago_balancer');
my $oltp = Anago::session($primary, 'application_name' => 'oltp');
my $olap = Anago::session($primary, 'application_name' => 'reports');
my ($oltp_pid, $olap_pid) = map { $_->query_safe('select pg_backend_pid()') } $oltp, $olap;

SKIP:
{
	chomp(my $cores = `nproc`);
	skip 'one CPU, which is everybody\'s', 18 if $cores < 2;

	eventually(sub { cpus($oltp_pid) ne $all && cpus($olap_pid) ne $all }, 'sessions have the CPUs of their class');
	my ($of_oltp, $of_olap) = (cpus($oltp_pid), cpus($olap_pid));
	isnt($of_oltp, $of_olap, "transactions other ones ($of_oltp) than queries ($of_olap)");
	becomes('placed >= 2', 'the view counts them');
	my $checkpointer = $primary->safe_psql('postgres', "select pid from pg_stat_activity where backend_type = 'checkpointer'");
	is(cpus($checkpointer), $all, 'the checkpointer is left alone');

	$oltp->query_safe("set application_name = 'reports'");
	eventually(sub { cpus($oltp_pid) eq $of_olap }, 'a session that is called otherwise moves');
	$oltp->query_safe("set application_name = 'oltp'");
	eventually(sub { cpus($oltp_pid) eq $of_oltp }, 'and back');

	configure('anago.balancer_actuators', 'budgets');
	eventually(sub { cpus($oltp_pid) eq $all && cpus($olap_pid) eq $all }, 'without affinity: all CPUs');
	configure('anago.balancer_actuators', 'budgets,affinity');
	eventually(sub { cpus($oltp_pid) eq $of_oltp && cpus($olap_pid) eq $of_olap }, 'with it: those of their class');
	configure('anago.balancer', 'off');
	eventually(sub { cpus($oltp_pid) eq $all && cpus($olap_pid) eq $all }, 'switched off: all CPUs');

	# one that somebody has put elsewhere
	my ($first) = $all =~ /^(\d+)/;
	system("taskset -cp $first $olap_pid >/dev/null") == 0 or die 'taskset';
	configure('anago.balancer', 'on');
	eventually(sub { cpus($oltp_pid) ne $all }, 'switched on');
	becomes('placed >= 1', 'sessions are placed');
	is(cpus($olap_pid), $first, 'but one that others have placed is not');
	system("taskset -cp $all $olap_pid >/dev/null") == 0 or die 'taskset';

	# its own CPUs are its own affair, the postmaster's are those that are divided
	my $itself = $primary->safe_psql('postgres', 'select pid from anago_balancer');
	my $postmaster = (split(/\n/, slurp_file($primary->data_dir . '/postmaster.pid')))[0];
	system("taskset -cp $first $itself >/dev/null") == 0 or die 'taskset';
	usleep(500_000);
	isnt(cpus($oltp_pid), cpus($olap_pid), 'the balancer has a CPU: sessions keep theirs');
	system("taskset -cp $first $postmaster >/dev/null") == 0 or die 'taskset';
	eventually(sub { cpus($oltp_pid) eq $first && cpus($olap_pid) eq $first }, 'the server has a CPU: so have sessions');
	system("taskset -cp $all $postmaster >/dev/null") == 0 or die 'taskset';
	eventually(sub { cpus($oltp_pid) ne $all && cpus($olap_pid) ne $all && cpus($oltp_pid) ne cpus($olap_pid) },
		'it has all: sessions have those of their class');

	# nothing is left behind by one that ends, nor for the next one
	eventually(sub { cpus($olap_pid) ne $all }, 'unless they let it go');
	my $pid = $primary->safe_psql('postgres', 'select pid from anago_balancer');
	kill 'TERM', $pid;
	eventually(sub { cpus($oltp_pid) eq $all && cpus($olap_pid) eq $all }, 'terminated: all CPUs');
	eventually(sub { cpus($oltp_pid) ne $all && cpus($olap_pid) ne $all }, 'and those of their class with the next one');
}

# --- a standby ---

$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('places_standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;
becomes('shipping_processes = 1 and shipping_cores > 0 and freshness = 1', 'a walsender has cores');
watch($standby, view => 'anago_balancer');
becomes("shipping_processes = 2 and shipping_cores > 0 and freshness = 1 and state = 'favour OLAP'",
	'so have receiver and replay; all is applied');
$_->quit for $oltp, $olap;
$primary->stop;
becomes("freshness is null and state = 'favour nobody' and decision = 'stay' and why = 'it is not known how fresh the data is'",
	'the primary is gone: not known how fresh, nothing moves');
$standby->promote;
becomes("freshness = 1 and state = 'favour OLAP' and shipping_cores is null", 'promoted: its data is its own');
unwatch();
$standby->stop;

# --- where the kernel does not tell ---

SKIP:
{
	skip 'no compiler', 2 unless Anago::preload($primary, 'no_proc');
	watch($primary, view => 'anago_balancer');
	my $session = Anago::session($primary, 'application_name' => 'oltp');
	becomes('oltp_processes = 1', 'without /proc: sessions are seen');
	usleep(500_000);
	is($primary->safe_psql('postgres', 'select state, decision, transactions is null, oltp_cpu is null, olap_iowait is null, placed from anago_balancer'),
		'favour nobody|stay|t|t|t|0', 'without /proc: what they take is not known, nothing moves');
	$session->quit;
	unwatch();
	$primary->stop;
}

# --- where the kernel refuses ---

SKIP:
{
	my $set_affinity = { x86_64 => 203, aarch64 => 122, riscv64 => 122 }->{ (POSIX::uname())[4] };
	chomp(my $cores = `nproc`);
	skip 'one CPU', 3 if $cores < 2;
	skip 'no system call can be refused here', 3
	  unless defined $set_affinity && Anago::may_refuse() && Anago::refuse($set_affinity, Errno::EPERM);
	$primary->start;
	watch($primary, view => 'anago_balancer');
	my $session = Anago::session($primary, 'application_name' => 'oltp');
	becomes("state = 'favour OLAP' and placed = 0 and oltp_processes >= 1", 'sched_setaffinity() is refused: it goes on');
	eventually(sub { slurp_file($primary->logfile) =~ /could not set the CPUs of process \d+: Operation not permitted/ }, 'the log says so');
	usleep(500_000);
	my @said = slurp_file($primary->logfile) =~ /could not set the CPUs/g;
	is(scalar @said, 1, 'once');
	$session->quit;
	unwatch();
	$primary->stop;
}
Anago::log_is_clean($_, 'nothing leaked, nothing crashed: ' . $_->name) for $primary, $standby;
done_testing();
