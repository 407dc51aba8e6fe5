# The balancer on a running server: what it decides follows the load, what queries have
# follows what it decides, and whatever becomes of it, they go on.

use strict;
use warnings FATAL => 'all';
use FindBin;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $node = Anago::new_parallel_server('balancer',
	'session_preload_libraries' => '',
	'shared_preload_libraries' => 'anago',
	'restart_after_crash' => 'on',
	'anago.balancer' => 'on',
	'anago.balancer_oltp' => 'application_name:pgbench, role:app',
	'anago.balancer_period' => '200ms');
Anago::make_tables($node, 20000);
$node->safe_psql('postgres', 'create role app login; create role watcher login; grant pg_read_all_stats to watcher;
	grant select on a to app');

watch($node, view => 'anago_balancer', pause => 0.1);

# Lookups that wait for each other's CPUs, in the background.
sub transactions
{
	my ($application, $seconds, @options) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir() . '/lookup.sql';

	append_to_file($script,
		"\\set k random(1, 20000)\nselect count(*) from generate_series(1, 20000) g, a where a.id = :k and length(a.pad) + g > 0;\n");
	local $ENV{PGAPPNAME} = $application;
	local $ENV{PGOPTIONS} = '-c anago.enable=off -c max_parallel_workers_per_gather=0';
	return IPC::Run::start([ 'pgbench', '-n', '-c', 16, '-T', $seconds, '-f', $script, @options,
			'-h', $node->host, '-p', $node->port, 'postgres' ],
		'>', \my $out, '2>', \my $err);
}

# --- decisions ---

chomp(my $cores = `nproc`);
becomes("state = 'favour OLAP' and freshness = 1 and waiting = 0 and inflight_limit is null", 'no transactions: OLAP is favoured, no limits');
becomes('oltp_cores > 0 and olap_cores > 0 and shipping_cores is null and shipping_processes = 0', 'each has cores, log shipping is absent');
my $load = transactions('pgbench', 300);
my $start = time;
becomes("state = 'favour OLTP' and waiting >= 2 and transactions > 2 and oltp_processes = 16", 'transactions wait: OLTP is favoured');
my $delay = time - $start;
cmp_ok($delay, '<', 10, "soon: after $delay s");
becomes('inflight_limit is not null and process_limit >= 1', 'queries have limits');
becomes('olap_cores < oltp_cores / 3 and oltp_cpu > 0.1', 'more and more is transactions\'');
my ($reads, $processes) = split(/\|/, seen('select inflight_limit, process_limit from anago_balancer'));
cmp_ok($reads, '<', 100, "few reads are left ($reads)");
cmp_ok($processes, '<', $cores, "and few processes ($processes)");
becomes("why like '% transactions wait for each OLTP core, at least 2.00'", 'it says why');

# --- what comes of it ---

Anago::same_rows_parallel($node, 'select a.id, b.v from a join b on b.aid = a.id', 'held back');
my $query = Anago::session($node,
	'anago.io_method' => 'sim', 'anago.sim_latency' => 300, 'anago.sim_delay' => 0, 'anago.sim_hit_rate' => 0);
Anago::start($query, 'do $$begin for i in 1..5000 loop perform sum(length(a.pad) + b.v) from a join b on b.aid = a.id; end loop; end$$');
SKIP:
{
	skip 'one CPU: no limit of processes below that', 1 if $cores < 2;
	my $parked = 0;
	for (1 .. 50)
	{
		last if $parked = seen("select count(*) from anago_activity where waiting_for = 'parked'");
		usleep(100_000);
	}
	cmp_ok($parked, '>', 0, 'workers of a query are parked');
}
becomes('olap_processes > 0', 'sessions that run queries of anago are OLAP');
configure('anago.balancer_actuators', '');
becomes("inflight_limit is null and process_limit is null and state = 'favour OLTP'", 'without budgets among the actuators: no limits');
configure('anago.balancer_actuators', 'budgets');
becomes('inflight_limit is not null', 'with them: limits');
configure('anago.balancer', 'off');
becomes("state = 'off' and inflight_limit is null and process_limit is null and decision is null and oltp_cores is null", 'switched off: no limits, nothing known');
configure('anago.balancer', 'on');
becomes("state = 'favour OLTP' and inflight_limit is not null", 'switched on');

# --- thresholds ---

configure('anago.balancer_oltp_waiting', '1000');
becomes("state = 'favour OLAP'", 'another threshold: another decision');
configure('anago.balancer_oltp_waiting', '2');

# --- settings out of range ---

for my $wrong (['anago.balancer_period', '50ms'], ['anago.balancer_freshness', '1.5'], ['anago.balancer_oltp_waiting', '-1'],
	['anago.balancer_olap_cpu', 'NaN'])
{
	like(($node->psql('postgres', "alter system set $wrong->[0] = '$wrong->[1]'"))[2], qr/is outside the valid range|invalid value/,
		"refused: $wrong->[0] = $wrong->[1]");
}
like(($node->psql('postgres', "alter system set anago.balancer_oltp = 'user:app'"))[2],
	qr/"user:app" is not role:NAME or application_name:NAME/, 'refused: no such kind of name');
like(($node->psql('postgres', "alter system set anago.balancer_actuators = 'budgets,magic'"))[2],
	qr/"magic" is not one of "budgets", "affinity" and "cgroup"/, 'refused: no such actuator');
like(($node->psql('postgres', 'set anago.balancer = on'))[2], qr/cannot be changed now/, 'not for a session');
$node->append_conf('postgresql.conf', "anago.balancer_period = '99ms'\n");
seen('alter system reset anago.balancer_period');
seen('select pg_reload_conf()');
becomes("state = 'favour OLTP'", 'a configuration file with a wrong value: it goes on as before');
is(seen('show anago.balancer_period'), '200ms', 'with the value of before');
$node->adjust_conf('postgresql.conf', 'anago.balancer_period', "'200ms'");

# --- who may look ---

like(($node->psql('postgres', 'select * from anago_balancer', extra_params => [ '-U', 'app' ]))[2],
	qr/permission denied for view anago_balancer/, 'not for everybody');
is($node->safe_psql('postgres', 'select count(*) from anago_balancer', extra_params => [ '-U', 'watcher' ]), 1,
	'members of pg_read_all_stats may look');

# --- a catalog that somebody has for himself ---

{
	my $locker = Anago::session($node, 'anago.enable' => 'off');

	$locker->query_safe('begin; lock table pg_authid in access exclusive mode');
	seen('select pg_terminate_backend(pid) from anago_balancer');
	becomes("state = 'starts' and pid is not null", 'roles cannot be looked up: it knows of nobody');
	configure('anago.balancer', 'off');
	becomes("state = 'off'", 'and is not in the way of what it is told');
	configure('anago.balancer', 'on');
	$locker->query_safe('rollback');
	$locker->quit;
	becomes("state = 'favour OLTP' and inflight_limit is not null", 'they can: it goes on');
}

# --- what becomes of it ---

my $pid = seen('select pid from anago_balancer');
kill 'TERM', $pid;
becomes("pid <> $pid and inflight_limit is not null", 'terminated: it is there again');
$load->kill_kill;
seen("select pg_cancel_backend(pid) from pg_stat_activity where query like 'do %' and backend_type = 'client backend'");
Anago::finish($query);
$query->quit;
becomes("state = 'favour OLAP' and inflight_limit is null and waiting = 0", 'transactions are over: OLAP is favoured, no limits');

# roles: those of `app` are transactions, whatever their application is called
$load = transactions('other', 100, '-U', 'app');
becomes("oltp_processes = 16 and waiting > 0", 'a role is named');
$load->kill_kill;
unwatch();

like(slurp_file($node->logfile),
	qr/LOG:  anago's balancer: favour OLTP, [\w ,]+\n.*DETAIL:  OLTP has [\d.]+ cores, OLAP [\d.]+, log shipping 0.00; [\d.]+ transactions wait/,
	'the log tells of it');

# killed, the server begins anew, and it with it
$pid = $node->safe_psql('postgres', 'select pid from anago_balancer');
kill 'KILL', $pid;
my $again = 0;
for (1 .. 150)
{
	# (the server may be away just then)
	$again = eval { ($node->psql('postgres', "select pid <> $pid and state = 'favour OLAP' from anago_balancer"))[1] eq 't' };
	last if $again;
	usleep(100_000);
}
ok($again, 'killed: the server is there again, and so is it');

$node->stop;
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'\n");
$node->start;
is($node->safe_psql('postgres', 'select state, pid is null, inflight_limit is null, oltp_cores is null from anago_balancer'), 'no process|t|t|t',
	'not preloaded: there is none, and no limit');
$node->stop;
Anago::log_is_clean($node, 'nothing leaked, nothing crashed',
	qr/anago balancer" \(PID \d+\) was terminated by signal 9|terminating (connection|any other active)|server process .* exited|because of crash|interrupted; last known up|not properly shut down/);
done_testing();
