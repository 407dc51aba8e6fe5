# Late looks that are made while triggers run are a batch, and another query's run has them
# made.  A cancel that comes then is that query's; where the trigger catches it, the change
# goes on, and has no more looks.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

require "$FindBin::RealBin/common.pl";
require "$FindBin::RealBin/lib/watch.pl";

my $node = Anago::new_server('batch_cancelled',
	'shared_buffers' => '4MB',
	'anago.io_method' => 'sim',
	'anago.sim_hit_rate' => 0,
	'anago.sim_delay' => 0,
	'anago.max_inflight_reads' => 1);

# From the first row's trigger on reads of ours take a second each, until one is cancelled, and
# those of batches are the only ones.  Of ten queries that name the table nine are the
# trigger's, and so is the one that a batch is made for.
$node->safe_psql('postgres', q[
	create table a (id int primary key);
	create table b (id int, a int references a on delete cascade);
	insert into a select generate_series(1, 1000);
	insert into b select g, g * 7919 % 1000 + 1 from generate_series(1, 3000) g;
	create index b_a on b (a);
	create function look_at_b() returns trigger language plpgsql as $$
	begin
		if old.id = 1 then
			perform set_config('anago.sim_latency', '1000000', false), set_config('anago.enable', 'off', false);
		end if;
		perform set_config('application_name', 'row ' || old.id, false);
		for i in 1 .. 9 loop
			perform 1 from b where false;
		end loop;
		return null;
	exception when query_canceled then
		raise notice 'canceled';
		perform set_config('anago.sim_latency', '0', false);
		return null;
	end $$;
	create trigger "A_before_those_of_foreign_keys" after delete on a for each row execute function look_at_b();
	vacuum analyze a, b]);

my $session = Anago::session($node);
my $pid = $session->query_safe('select pg_backend_pid()');

watch($node);
like($session->query_safe('explain (costs off) delete from a where id <= 800'), qr/AnagoAhead.*Look 1: Index Scan using b_a on b/s, 'there are looks');
Anago::start($session, 'delete from a where id <= 800');
my $row = '';
eventually(
	sub {
		my $before = $row;

		usleep(500_000);
		$row = seen("select application_name from pg_stat_activity where pid = $pid");
		return $row =~ /^row/ && $row eq $before;
	},
	'a batch waits for its reads');
seen("select pg_cancel_backend($pid)");
my (undef, $said) = Anago::finish($session);
is(() = $said =~ /NOTICE: +canceled/g, 1, 'one query is cancelled');
unlike($said, qr/ERROR/, 'the change is not');
is($session->query_safe('select count(*) from a'), 200, 'all rows are deleted');
is($session->query_safe('select count(*) from b'), 600, 'and those that refer to them');
is($session->query_safe("select pg_backend_pid() = $pid"), 't', 'the session goes on');
$session->quit;
unwatch();
$node->stop;
Anago::log_is_clean($node);
done_testing();
