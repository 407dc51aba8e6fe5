# The balancer's control groups: quotas of classes, whose processes are in which, and what it
# does where they cannot be had.  A directory tree plays the kernel's.

use strict;
use warnings FATAL => 'all';
use Cwd qw(abs_path);
use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $tree = abs_path(PostgreSQL::Test::Utils::tempdir()) . '/classes';
my @classes = qw(oltp olap shipping);

my $node = Anago::new_server('cgroup',
	'session_preload_libraries' => '',
	'shared_preload_libraries' => 'anago',
	'anago.balancer' => 'on',
	'anago.balancer_actuators' => 'budgets, cgroup',
	'anago.balancer_oltp' => 'application_name:oltp, application_name:pgbench',
	'anago.balancer_period' => '100ms');
watch($node, view => 'anago_balancer', pause => 0.1);

# A directory as the kernel makes one: its files are there from the start.
sub make_group
{
	my ($path, %files) = @_;

	mkdir $path or die "$path: $!";
	%files = ('cgroup.procs' => '', 'cpu.max' => "max 100000\n", %files);
	append_to_file("$path/$_", $files{$_}) for keys %files;
	return;
}

sub make_tree
{
	my ($path, $controllers) = @_;

	make_group($path, 'cgroup.controllers' => "$controllers\n", 'cgroup.subtree_control' => '');
	make_group("$path/$_") for @classes;
	return;
}

sub quota
{
	my ($class) = @_;
	return -e "$tree/$class/cpu.max" ? slurp_file("$tree/$class/cpu.max") =~ s/\n//r : '';
}

# Those that were put there, the latest last.
sub processes
{
	my ($class) = @_;
	return -e "$tree/$class/cgroup.procs" ? split(/\n/, slurp_file("$tree/$class/cgroup.procs")) : ();
}

sub is_in
{
	my ($class, $pid) = @_;
	return grep { $_ eq $pid } processes($class);
}

sub times_said
{
	my ($what) = @_;
	my @said = slurp_file($node->logfile) =~ /LOG:  anago's balancer could not use control group file "[^"]*\/$what"/g;

	return scalar @said;
}

sub goes_on
{
	my ($name) = @_;
	my $then = seen('select decided_at from anago_balancer');

	eventually(sub { seen("select state = 'favour OLAP' and grouped = 0 and decided_at > '$then'::timestamptz + interval '1s' from anago_balancer") eq 't' }, $name);
	return;
}

my $session = Anago::session($node, 'application_name' => 'oltp');
my $pid = $session->query_safe('select pg_backend_pid()');
my $other = seen('select pg_backend_pid()');

# --- where it cannot be had ---

goes_on('no directory is named: nothing is done');
is(times_said('.*'), 0, 'and nothing is said');
configure('anago.balancer_cgroup', $tree);
goes_on('there is no such directory: it goes on');
is(times_said('cgroup.controllers'), 1, 'which is said once');
make_tree($tree, 'cpuset io memory');
goes_on('a directory without the controller: the same');
is(times_said('cgroup.controllers'), 1, 'of which nothing new is said');
is(join(',', map { processes($_) } @classes), '', 'no process is moved');

# --- processes and quotas ---

append_to_file("$tree/cgroup.controllers", '');
unlink "$tree/cgroup.controllers";
append_to_file("$tree/cgroup.controllers", "cpuset cpu io memory\n");
eventually(sub { is_in('oltp', $pid) && is_in('olap', $other) }, 'with the controller: processes are in the groups of their classes');
is(slurp_file("$tree/cgroup.subtree_control"), '+cpu', 'which have it, too');
eventually(sub { seen('select grouped >= 2 from anago_balancer') eq 't' }, 'the view counts them');
is_deeply([ map { quota($_) } @classes ], [ ('max 10000') x 3 ], 'no transactions: no quotas');
ok(!is_in($_, seen("select pid from pg_stat_activity where backend_type = 'checkpointer'")), "the checkpointer is not in $_") for @classes;
my $times = processes('oltp');
usleep(1_000_000);
is(scalar processes('oltp'), $times, 'a process is put there once');
$session->query_safe("set application_name = 'reports'");
eventually(sub { is_in('olap', $pid) }, 'a session that is called otherwise moves');
$session->query_safe("set application_name = 'oltp'");
eventually(sub { (processes('oltp'))[-1] eq $pid }, 'and back');

chomp(my $cores = `nproc`);
my $script = PostgreSQL::Test::Utils::tempdir() . '/script.sql';
append_to_file($script, "select count(*) from generate_series(1, 20000);\n");
local $ENV{PGAPPNAME} = 'pgbench';
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 8 * $cores, '-T', 300, '-f', $script, '-h', $node->host, '-p', $node->port, 'postgres' ],
	'>', \my $out, '2>', \my $err);
eventually(sub { quota('oltp') =~ /^\d+ 10000$/ && quota('olap') =~ /^\d+ 10000$/ }, 'transactions: quotas');
eventually(sub { seen("select oltp_cores > olap_cores from anago_balancer") eq 't' && (quota('oltp') =~ s/ .*//r) > (quota('olap') =~ s/ .*//r) },
	'more for those who have more cores');
eventually(
	sub {
		my ($oltp, $olap) = split(/\|/, seen('select oltp_cores, olap_cores from anago_balancer'));
		return quota('oltp') eq sprintf('%d 10000', $oltp * 10000) && quota('olap') eq sprintf('%d 10000', $olap * 10000 < 1000 ? 1000 : $olap * 10000);
	},
	'as many microseconds of ten thousand as cores, one thousand at least');
is(quota('shipping') =~ /^(max|1000) 10000$/, 1, 'nobody ships: nothing to speak of');

# --- the end ---

configure('anago.balancer_actuators', 'budgets');
eventually(sub { !grep { quota($_) ne 'max' } @classes }, 'without it among the actuators: no quotas');
configure('anago.balancer_actuators', 'cgroup');
eventually(sub { quota('oltp') =~ /^\d/ }, 'with it: quotas');
configure('anago.balancer', 'off');
eventually(sub { !grep { quota($_) ne 'max' } @classes }, 'switched off: none');
configure('anago.balancer', 'on');
eventually(sub { quota('oltp') =~ /^\d/ }, 'switched on: quotas');
my $new = "$tree.new";
my $old = $tree;
make_tree($new, 'cpu');
configure('anago.balancer_cgroup', $new);
eventually(sub { !grep { quota($_) ne 'max' } @classes }, 'another directory: none in the old one');
$tree = $new;
eventually(sub { quota('oltp') =~ /^\d/ && is_in('oltp', $pid) }, 'and all in the new one');
my $balancer = seen('select pid from anago_balancer');
truncate("$tree/oltp/cgroup.procs", 0);
kill 'TERM', $balancer;
eventually(sub { seen("select pid <> $balancer and grouped > 0 from anago_balancer") eq 't' && is_in('oltp', $pid) }, 'terminated: the next one begins anew');
eventually(sub { quota('oltp') =~ /^\d/ }, 'with quotas');

# --- groups that go away and come back ---

rename($tree, "$tree.gone") or die "rename: $!";
eventually(sub { times_said('(cpu.max|cgroup.controllers)') > 0 }, 'the directory is gone: it is said');
make_tree("$tree.again", 'cpu');
rename("$tree.again", $tree) or die "rename: $!";
eventually(sub { quota('oltp') =~ /^\d/ && quota('olap') =~ /^\d/ && is_in('oltp', $pid) }, 'it is there again: with quotas and processes');

# --- where it breaks ---

unlink "$tree/oltp/cpu.max";
mkdir "$tree/oltp/cpu.max";
configure('anago.balancer_oltp_waiting', '1000000');
# (a quota that stays is not written again, but by a balancer that begins)
kill 'TERM', seen('select pid from anago_balancer');
eventually(sub { times_said('cpu.max') == 1 }, 'a file that cannot be written: it is said');
usleep(500_000);
is(times_said('cpu.max'), 1, 'once');
eventually(sub { seen("select state = 'favour OLAP' from anago_balancer") eq 't' }, 'the rest goes on');
$load->kill_kill;
for my $wrong ('classes', '../x')
{
	like(($node->psql('postgres', "alter system set anago.balancer_cgroup = '$wrong'"))[2], qr/invalid value for parameter.*\n.*It is an absolute path/,
		"refused: $wrong");
}
$session->quit;
unwatch();
$node->stop;
Anago::log_is_clean($node);
done_testing();
