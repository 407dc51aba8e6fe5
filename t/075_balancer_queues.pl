# What waits in a pooler, before the server, is part of what the balancer decides by: as a
# table says that plays one, and as pgbouncer says where it is installed.

use strict;
use warnings FATAL => 'all';
use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $node = Anago::new_server('queues',
	'session_preload_libraries' => '',
	'shared_preload_libraries' => 'anago',
	'anago.balancer' => 'on',
	'anago.balancer_oltp' => 'application_name:pgbench',
	'anago.balancer_period' => '200ms');
watch($node, view => 'anago_balancer', pause => 0.1);

sub queues
{
	my (@lengths) = @_;

	seen('begin; delete from pools; ' . join('', map { "insert into pools values ($_); " } @lengths) . 'commit');
	return;
}

sub times_said
{
	my ($what) = @_;
	my @said = slurp_file($node->logfile) =~ /LOG:  anago's balancer $what/g;

	return scalar @said;
}

sub is_said
{
	my ($what, $times, $name) = @_;

	eventually(sub { times_said($what) >= $times }, "$name: sooner or later");
	is(times_said($what), $times, $name);
	return;
}

my $process = "from pg_stat_activity where backend_type = 'anago queues'";

# --- a table that plays a pooler ---

seen('create table pools (cl_waiting int)');
chomp(my $cores = `nproc`);
my $many = 40 * $cores;
becomes("state = 'favour OLAP' and waiting = 0 and queues is null and queueing_before is null", 'nobody is asked: none wait');
is(seen("select count(*) $process"), 0, 'and there is no process for that');
queues(0, 0, 0);
configure('anago.balancer_queues', 'select cl_waiting from public.pools -- each');
becomes("state = 'favour OLAP' and queues = 3 and queueing_before = 0 and queue_variance = 0", 'empty queues: as without');
queues($many, 0, 0);
becomes("state = 'favour OLTP' and waiting >= 2 and queueing_before = $many and queue_variance > 8", 'transactions wait before the server: OLTP is favoured');
becomes("oltp_cores > olap_cores and decision ~ '(more for|no class can give to) OLTP'", 'queues of unlike lengths: more cores for it');
queues($many, $many, $many);
becomes("state = 'favour OLTP' and queue_variance = 0 and decision = 'move borders'", 'queues of the same length: borders are to be moved, which are the pooler\'s');
queues($many, 0, 0);
configure('anago.balancer_queue_variance', 1e6);
becomes("decision = 'move borders'", 'another threshold: another decision');
configure('anago.balancer_queue_variance', 8);
queues($many);
becomes("queues = 1 and queue_variance is null and decision ~ '(more for|no class can give to) OLTP'", 'a single queue: more cores');
queues(-5, 'null', 3);
becomes('queues = 3 and queueing_before = 3', 'a length that is none counts as 0');
queues();
becomes("queues is null and state = 'favour OLAP' and waiting = 0", 'no queue: none wait');
is(seen("select current_setting('anago.balancer_queues') = query and application_name = '' $process"), 't', 'its process is shown');

# --- queries that fail ---

queues($many);
becomes("state = 'favour OLTP'", 'again they wait');
configure('anago.balancer_queues', 'select cl_waiting from pools');
becomes("state = 'favour nobody' and decision = 'stay' and waiting is null and why = 'it is not known how many transactions wait'",
	'a name without its schema is not found: it is not known what waits, nothing moves');
my $then = seen('select oltp_cores from anago_balancer');
usleep(1_000_000);
is(seen('select oltp_cores from anago_balancer'), $then, 'cores stay where they are');
is_said('cannot see what waits: relation "pools" does not exist', 1, 'the log says so once');
configure('anago.balancer_queues', 'select cl_waiting from public.pools');
becomes("state = 'favour OLTP'", 'it tries again');
is_said('sees again what waits', 1, 'and says so');
seen('create function public.spoil() returns int language sql as $$insert into public.pools values (1) returning 1$$');
for my $wrong ([ 'select 1; select 2', 'syntax error' ], [ 'select $$many$$', 'invalid input syntax for type double precision' ],
	[ 'select public.spoil()', 'cannot execute INSERT in a read-only transaction' ])
{
	seen("alter system set anago.balancer_queues = \$q\$$wrong->[0]\$q\$");
	seen('select pg_reload_conf()');
	becomes("state = 'favour nobody'", "not known: $wrong->[0]");
	is_said("cannot see what waits: $wrong->[1]", 1, "it is said why: $wrong->[1]");
}
configure('anago.balancer_queues', 'select 1 from pg_sleep(1000)');
my $start = seen('select decided_at from anago_balancer');
becomes("state = 'favour nobody' and decided_at > '$start'::timestamptz + interval '2s'", 'one that takes long: the balancer does not wait for it');
becomes("state = 'favour nobody'", 'and it is not known what waits');
configure('anago.balancer_queues', 'select cl_waiting from public.pools');
becomes("state = 'favour OLTP'", 'it is ended, and the next one is asked');
is_said('cannot see what waits: canceling statement due to statement timeout', 1, 'which is said, too');

# --- queries that say much ---

seen("create function public.complain() returns int language plpgsql as
	\$\$ begin raise warning 'something new'; raise exception 'at %', clock_timestamp(); end \$\$");
configure('anago.balancer_queues', 'select public.complain()');
eventually(sub { times_said('cannot see what waits: at ') > 0 }, 'an error that is another one each time: it is said');
my $before = times_said('cannot see what waits: at ');
usleep(3_000_000);
cmp_ok(times_said('cannot see what waits: at ') - $before, '<=', 2, 'but not each time');
unlike(slurp_file($node->logfile), qr/WARNING:  something new/, 'and no warnings');
configure('anago.balancer_queues', 'select cl_waiting from public.pools');
becomes("state = 'favour OLTP'", 'again one that works');

# --- its process ---

for my $type ('anago balancer', 'anago queues')
{
	my $it = "from pg_stat_activity where backend_type = '$type'";
	my $pid = seen("select pid $it");
	seen("select pg_cancel_backend($pid)");
	usleep(1_500_000);
	is(seen("select pid $it"), $pid, "$type: a cancel does nothing");
}

my $locker = Anago::session($node);
configure('anago.balancer_queues', '');
becomes("state = 'favour OLAP' and (select count(*) = 0 $process)", 'no process');
$locker->query_safe('begin; lock table pg_database in access exclusive mode');
configure('anago.balancer_queues', 'select cl_waiting from public.pools');
usleep(1_000_000);
my $now = seen('select clock_timestamp()');
becomes("decided_at > '$now'::timestamptz + interval '2s'", 'databases are locked: the balancer does not wait for that');
$locker->query_safe('rollback');
$locker->quit;
becomes("state = 'favour OLTP'", 'they are not any more: it asks');


my $pid = seen("select pid $process");
seen("select pg_terminate_backend($pid)");
becomes("(select count(*) = 1 and min(pid) <> $pid $process) and state = 'favour OLTP'", 'terminated: there is another one');
configure('anago.balancer_database', 'nowhere');
becomes("state = 'favour nobody' and (select count(*) = 0 $process)", 'a database that there is not: not known what waits');
usleep(6_000_000);
is_said('cannot start the process that asks for queues', 1, 'which is said once');
configure('anago.balancer_database', 'template0');
usleep(6_000_000);
unlike(slurp_file($node->logfile), qr/FATAL:.*template0/, 'nor is one asked that takes no connections');
configure('anago.balancer_database', 'template1');
configure('anago.balancer_queues', "select $many, current_database() where current_database() = 'template1'");
becomes("state = 'favour OLTP' and queues = 1", 'another database');
configure('anago.balancer', 'off');
becomes("state = 'off' and (select count(*) = 0 $process)", 'switched off: no process');
configure('anago.balancer', 'on');
becomes("state = 'favour OLTP'", 'switched on: it is there');
configure('anago.balancer_queues', '');
becomes("state = 'favour OLAP' and (select count(*) = 0 $process)", 'no query: no process');
like(($node->psql('postgres', "set anago.balancer_queues = 'select 1'"))[2], qr/cannot be changed now/, 'not for a session');
seen('create role someone login');
is(($node->psql('postgres', 'show anago.balancer_queues', extra_params => [ '-U', 'someone' ]))[0], 3,
	'nor may everybody see it, as it may have passwords');

# --- pgbouncer ---

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';

SKIP:
{
	skip 'no pgbouncer', 9 unless defined $pgbouncer;
	skip 'no dblink', 9 unless seen("select count(*) from pg_available_extensions where name = 'dblink'");

	my $dir = PostgreSQL::Test::Utils::tempdir_short();
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $user = seen('select current_user');
	append_to_file("$dir/users", qq("$user" ""\n));
	append_to_file("$dir/ini", join("\n",
			'[databases]',
			(map { "keys_$_ = host=${\ $node->host} port=${\ $node->port} dbname=postgres pool_size=1" } 1 .. 2),
			'[pgbouncer]', "listen_port = $port", "unix_socket_dir = $dir", 'auth_type = trust', "auth_file = $dir/users",
			"admin_users = $user", 'pool_mode = transaction', "pidfile = $dir/pid", "logfile = $dir/log", ''));
	my $bouncer = sub {
		return system($pgbouncer, '-q', '-d', "$dir/ini") == 0;
	};
	skip 'pgbouncer does not start here', 9 unless $bouncer->();

	# it may be a daemon before it listens; columns are other ones in each version
	my $names = '';
	for (1 .. 300)
	{
		($names) = run_command([ 'psql', '-XA', '-h', $dir, '-p', $port, '-U', $user, '-d', 'pgbouncer', '-c', 'show pools' ]);
		last if $names =~ /\|/;
		usleep(100_000);
	}
	my $columns = join(', ', map { qq("$_" text) } split(/\|/, (split(/\n/, $names))[0]));
	seen('create extension dblink');
	configure('anago.balancer_database', 'postgres');
	configure('anago.balancer_queues', "select cl_waiting from public.dblink('host=$dir port=$port user=$user dbname=pgbouncer connect_timeout=2', 'show pools') "
		  . "as pools($columns) where database like 'keys%'");
	usleep(1_000_000);
	my @loads = map {
		my $script = "$dir/script";
		append_to_file($script, "select pg_sleep(0.01);\n") unless -e $script;
		IPC::Run::start([ 'pgbench', '-n', '-c', $_->[1] * $cores, '-T', 300, '-f', $script, '-h', $dir, '-p', $port, '-U', $user, "keys_$_->[0]" ],
			'>', \my $out, '2>', \my $err);
	} [ 1, 20 ], [ 2, 2 ];
	becomes("queues = 2 and queueing_before > 10 * $cores", 'pgbouncer: what waits in its pools');
	becomes("state = 'favour OLTP' and waiting >= 2 and queue_variance >= 8", 'OLTP is favoured; pools of unlike lengths');
	chomp(my $bouncer_pid = slurp_file("$dir/pid"));
	kill 'TERM', $bouncer_pid;
	$_->kill_kill for @loads;
	becomes("state = 'favour nobody' and decision = 'stay'", 'pgbouncer is gone: not known what waits, nothing moves');
	usleep(1_000_000);
	is_said('cannot see what waits: could not establish connection', 1, 'which is said once');
	like(slurp_file($node->logfile), qr/DETAIL:  .*(No such file|Connection refused|could not connect)/, 'with the reason');
	for (1 .. 50)
	{
		last unless -e "$dir/pid";
		usleep(100_000);
	}
	my $said = times_said('sees again what waits');
	ok($bouncer->(), 'pgbouncer is there again');
	becomes("state = 'favour OLAP'", 'it is asked again, and nothing waits');
	is_said('sees again what waits', $said + 1, 'which is said');
	chomp($bouncer_pid = slurp_file("$dir/pid"));
	kill 'TERM', $bouncer_pid;
}

# --- a server to which nobody has connected yet ---

configure('anago.balancer_queues', 'select 1');
unwatch();
$node->stop;
my $from = -s $node->logfile;
$node->start;
usleep(3_000_000);
unlike(slurp_file($node->logfile, $from), qr/FATAL|exited with/, 'the balancer begins before anybody has connected');
watch($node, view => 'anago_balancer', pause => 0.1);
becomes('queues = 1', 'and what waits is known');
unwatch();
$node->stop;
Anago::log_is_clean($node);
done_testing();
