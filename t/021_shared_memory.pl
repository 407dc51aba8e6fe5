# Shared memory: a parallel query takes little more than stock's, however many
# nodes it has, so that it runs where /dev/shm is as small as in a container.
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
my $EACH_NODE = 2000;
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
		$$ begin return (select max((pg_stat_file('/dev/shm/' || f)).size) from pg_ls_dir('/dev/shm') f
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

Anago::same_rows_parallel($node, query(400), '400 partitions, 64 MB of /dev/shm',
	{}, { 'anago.mode' => 'static' }, { 'anago.io_method' => 'sim' });

# Relations' plan texts are sent to workers, too: stock's for the same number.
my %more;
for my $partitions (10, 400)
{
	$more{$partitions} = taken($partitions, 'on') - taken($partitions, 'off');
	note("$partitions nodes: $more{$partitions} bytes more than stock");
}
cmp_ok($more{10}, '<', $ONCE + 10 * $EACH_NODE, 'what is shared is small');
cmp_ok(($more{400} - $more{10}) / 390, '<', $EACH_NODE, 'so is what each node has');

$node->stop;
Anago::log_is_clean($node);
done_testing();
