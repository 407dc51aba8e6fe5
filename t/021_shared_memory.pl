# Shared memory: a parallel query takes little more than stock's, however many
# nodes it has, so that it runs where /dev/shm is as small as in a container; and
# where there is none left, nothing fails for the sake of a counter.
#
# Runs in a mount namespace of its own with a /dev/shm of 64 MB.

use strict;
use warnings FATAL => 'all';
use FindBin;

# The account of servers cannot mount: so it is root in a namespace of users,
# which mounts, and itself again in another one below that.  Before the test
# modules take standard output.
BEGIN
{
	if (!$ENV{ANAGO_SMALL_SHM})
	{
		my ($uid, $gid) = ($>, (split / /, $))[0]);
		my $again = "unshare -U --map-user=$uid --map-group=$gid";
		my $mount = 'mount -t tmpfs -o size=64m tmpfs /dev/shm';

		if (system("unshare -rm sh -c '$mount && $again true' >/dev/null 2>&1") != 0)
		{
			print "1..0 # SKIP no namespaces of users and mounts here\n";
			exit 0;
		}
		$ENV{ANAGO_SMALL_SHM} = 1;
		exec('unshare', '-rm', 'sh', '-c', "$mount && exec $again \"\$@\"", 'sh',
			$^X, (map { "-I$_" } grep { !ref } @INC), $0)
		  or die "cannot run unshare: $!";
	}
}

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

# Bytes that each node may have more than stock's, and the query once, with
# four workers.  (Core's own queues take 80 kB for each of them.)
my $EACH_NODE = 4000;
my $ONCE = 200_000;

my $node = Anago::new_parallel_server('shm',
	max_worker_processes => 16,
	max_parallel_workers => 16,
	max_parallel_workers_per_gather => 4,
	parallel_leader_participation => 'off',
	jit => 'off',
	enable_seqscan => 'off',
	enable_bitmapscan => 'off');

$node->safe_psql(
	'postgres', q[
	create table pt (id int, part int, k int, pad text) partition by list (part);
	do $$ begin for i in 0 .. 399 loop
		execute format('create table pt_%s partition of pt for values in (%s)', i, i);
	end loop; end $$;
	alter table pt_0 set (parallel_workers = 4);
	insert into pt select g, g % 400, g / 400 % 50, repeat('p', 300) from generate_series(1, 40000) g;
	create index on pt (k);
	vacuum analyze pt;
	-- the largest piece of shared memory that is there for a query alone
	create table of_server (name text);
	create function largest() returns bigint volatile parallel restricted language plpgsql as
		$$ begin return (select max((pg_stat_file('/dev/shm/' || f, true)).size) from pg_ls_dir('/dev/shm') f
			where f not in (select name from of_server)); end $$]);

sub query
{
	my ($partitions) = @_;
	return "select id, k from pt where k = 7 and part < $partitions";
}

# What a query of so many nodes takes, seen from above its Gather.
sub taken
{
	my ($partitions, $anago) = @_;
	my $set = Anago::set('anago.enable' => $anago);
	my $of_query = query($partitions) . ' offset 0';

	$node->safe_psql('postgres',
		"truncate of_server; insert into of_server select pg_ls_dir('/dev/shm')");
	my $plan = $node->safe_psql('postgres', "$set explain (costs off) $of_query");
	like($plan, $anago eq 'on' ? qr/Gather.*AnagoScan/s : qr/Gather.*Index Scan/s,
		"$partitions partitions, anago $anago: planned for workers") or diag($plan);
	return $node->safe_psql('postgres', "$set select distinct seen from
		(select case when row_number() over () = 1 then largest() end as seen from ($of_query) q) s
		where seen is not null");
}

# ---- what a query takes ----

Anago::same_rows_parallel($node, query(400), '400 partitions, 64 MB of /dev/shm',
	{}, { 'anago.mode' => 'static' }, { 'anago.io_method' => 'sim' });

# Relations' plan texts are sent to workers, too: stock's for the same number.
my (%stock, %more);
for my $partitions (10, 400)
{
	$stock{$partitions} = taken($partitions, 'off');
	$more{$partitions} = taken($partitions, 'on') - $stock{$partitions};
	note("$partitions nodes: $more{$partitions} bytes more than stock");
}
cmp_ok($more{10}, '<', $ONCE + 10 * $EACH_NODE, 'what is shared is small');
cmp_ok(($more{400} - $more{10}) / 390, '<', $EACH_NODE, 'so is what each node has');

# ---- none is left ----

my $filler = '/dev/shm/anago_filler';

# So that so many bytes are left.
sub fill
{
	my ($left) = @_;
	my ($room) = `df --output=avail -B1 /dev/shm` =~ /(\d+)/;

	system('head -c ' . ($room - $left) . " /dev/zero >$filler") == 0
	  or die "cannot fill /dev/shm";
	return;
}

sub counters
{
	my ($session) = @_;
	return $session->query_safe('select scope, queries from anago_stats');
}

my %ends = (
	'its last row' => 'select count(*) from pt_0 where k = 7;',
	'LIMIT' => 'select 2 from (select id from pt_0 where k = 7 limit 2) q limit 1;',
	'CLOSE' => 'begin; declare c cursor for select 2 from pt_0 where k = 7; fetch 1 from c; close c; commit;');

# Does a query run with so many bytes left?  In a session of its own, of which
# nothing is left when the next one comes.
sub runs
{
	my ($anago, $left) = @_;

	$node->poll_query_until('postgres', "select count(*) = 1 from pg_stat_activity
		where backend_type in ('client backend', 'parallel worker')");
	fill($left);
	my ($rc, $out, $err) = $node->psql('postgres',
		"set anago.enable = $anago; " . Anago::digest(query(10)));
	unlink $filler;
	return $err eq '';
}

# What is enough for stock is enough: the least, to 64 kB, and that much more,
# which is less than what is shared otherwise.
my $enough = 64 * 1024 * int($stock{10} / 2 / 64 / 1024);
$enough += 64 * 1024 while $enough < 16 * 1024 * 1024 && !runs('off', $enough);
$enough += 64 * 1024;
ok(runs('off', $enough), "stock's query runs with $enough bytes left");
ok(runs('on', $enough), 'so does ours');
ok(!runs('off', 64 * 1024), 'with far less neither would');

# Where not even core's registry of segments is there.
$node->restart;
fill(0);
my $from = -s $node->logfile;
my $session;
for my $end (sort keys %ends)
{
	$session->quit if $session;
	$session = Anago::session($node, max_parallel_workers_per_gather => 0);
	my ($out, $err) = Anago::run($session, "$ends{$end} $ends{$end}");

	is("$out$err", "2\n2", "no shared memory is left: nothing of it at $end");
	is(counters($session), 'process|2', "no shared memory is left: the process counts at $end");
}
my $told = () = slurp_file($node->logfile, $from) =~ /LOG:  anago's counters are of this process/g;
is($told, scalar(keys %ends), 'no shared memory is left: told once by each session');

# Errors of the query's own are as ever, and so is what comes after.
like(Anago::error_of($session, 'select 1 / (k - 7) from pt_0 where k = 7'),
	qr/division by zero/, 'no shared memory is left: errors');
is($session->query_safe("begin; savepoint s; $ends{'its last row'} rollback to s; select 5; commit"),
	"2\n5", 'no shared memory is left: a savepoint');

unlink $filler;
$session->query_safe($ends{'its last row'}) for 1 .. 64;
is(counters($session), 'server|67', 'there is room again: the server has what was counted');
$session->query_safe('select anago_stats_reset()');
$session->query_safe($ends{'its last row'});
$session->quit;
$session = Anago::session($node);
is(counters($session), 'server|1', 'there is room again: another session');
$session->quit;

$node->stop;
Anago::log_is_clean($node);
done_testing();
