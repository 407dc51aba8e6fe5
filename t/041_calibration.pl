# A calibration is kept by the server, and whatever goes wrong leaves nothing
# behind: two at once, a cancel, a killed process, a read error, a full disk, a
# standby; restart, dump and restore; figures that queries contradict.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
require 'common.pl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
our $SOON = $Anago::SOON;

my $node = Anago::new_server(
	'calibration',
	'init' => { allows_streaming => 1 },
	'anago.debug_force' => 'off',
	'anago.residency' => 'off',
	'max_parallel_workers_per_gather' => 0,
	'restart_after_crash' => 'on',
	'shared_buffers' => '16MB');
$node->safe_psql('postgres', q{
	create table t (a int, pad text);
	insert into t select g * 7919 % 40000, repeat('x', 700) from generate_series(1, 40000) g;
	create index t_a on t (a);
	vacuum (freeze, analyze) t;
	checkpoint});

my $quick = "select in_flight is not null from anago_calibrate(duration => '200 ms', max_in_flight => 8)";
my $long = "select anago_calibrate(duration => '5 minutes')";
my $rows = 'select count(*) from anago_calibration';
my $source = 'select source from anago_device()';

sub value
{
	my ($sql, $db) = @_;
	return $node->safe_psql($db // 'postgres', $sql);
}

# --- the device of this machine ---

# (a file system without direct I/O gives a warning)
is(value($quick), 't', 'a device is measured');
is( value('select reads_per_second[1] > 0 and latency_us[1] > 0 and sequential_mb_per_second > 0 and kernel_page_us > 0
	and buffer_page_us > 0 and cardinality(in_flight) = 4 from anago_calibration'),
	't', 'all its figures are greater than 0');
is(value($source), 'calibration', 'sessions go by it');

# --- another session, without reconnecting ---

my $session = Anago::session($node);
my ($out) = Anago::run($session, $source);
is($out, 'calibration', 'as one does that was there before');
value(q{set anago.io_method = sim; set anago.sim_device_latency = 777; select count(*) from anago_calibrate(duration => '1 s')});
($out) = Anago::run($session, 'select round(latency_us) from anago_device()');
is($out, '777', 'and goes by a newer one at once');

# --- two at once; a cancel ---

my $first = Anago::session($node);
my $pid = (Anago::run($first, 'select pg_backend_pid()'))[0];
Anago::start($first, $long);
$node->poll_query_until('postgres',
	"select query like 'anago_calibrate: tablespace \"pg_default\", % in flight, %\\%' from pg_stat_activity where pid = $pid")
  or die 'no progress is reported';
pass('pg_stat_activity tells what it is at');
my ($rc, undef, $err) = $node->psql('postgres', $quick);
like($err, qr/ERROR:  another calibration is running/, 'a second one is refused');
like($err, qr/HINT:/, 'with a hint');
my $start = time;
value("select pg_cancel_backend($pid)");
(undef, $err) = Anago::finish($first);
like($err, qr/canceling statement due to user request/, 'one that is cancelled ends');
cmp_ok(time - $start, '<=', $SOON, 'soon');
is(value($rows), 2, 'and leaves nothing behind');
($out) = Anago::run($first, $quick);
is($out, 't', 'the session can calibrate again');
($out) = Anago::run($first, 'select count(*) from t where a < 100');
is($out, 100, 'and run queries');

# --- a time-out, and a query that is thrown away in the middle ---

($rc, undef, $err) = $node->psql('postgres', "set statement_timeout = 300; $long");
like($err, qr/statement timeout/, 'a time-out ends one');

# --- a process that is killed ---

is(value($rows), 3, 'three are kept');
Anago::start($first, $long);
$node->poll_query_until('postgres',
	"select count(*) = 1 from pg_stat_activity where pid = $pid and query like 'anago_calibrate:%'");
kill 'KILL', $pid;
eval { $first->quit };
eval { $session->quit };
$node->poll_query_until('postgres', 'select 1', '1') or die 'the server did not come back';
is(value($rows), 3, 'a process killed in the middle leaves the figures of before');
is(value($source), 'calibration', 'which are used');
is(value($quick), 't', 'and it can be done again');

# --- a full disk: the row cannot be written ---

value(q{
	create function full_disk() returns trigger language plpgsql as
		$$ begin raise exception using errcode = 'disk_full', message = 'could not extend file: No space left on device'; end $$;
	create trigger full_disk before insert on anago_calibration for each row execute function full_disk()});
($rc, undef, $err) = $node->psql('postgres', $quick);
like($err, qr/No space left on device/, 'a row that cannot be written is an error');
is(value($rows), 4, 'and nothing is left behind');
value('drop function full_disk cascade');

# --- a tablespace of its own: empty, then with too little ---

my $folder = PostgreSQL::Test::Utils::tempdir();
value("create tablespace small location '$folder'");
($rc, undef, $err) = $node->psql('postgres', q{select anago_calibrate('small')});
like($err, qr/ERROR:  tablespace "small" has too little data/, 'an empty tablespace is refused');
value(q{create table s tablespace small as select g from generate_series(1, 10000) g});
($rc, undef, $err) = $node->psql('postgres', q{select anago_calibrate('small')});
like($err, qr/ERROR:  tablespace "small" has too little data/, 'one with too little is, too');
is(value($rows), 4, 'and nothing is left behind');
is(value(q{select source from anago_device('small')}), 'default', 'nothing is known of it');

value('drop table s');
value('drop tablespace small');

# --- restart, dump and restore ---

my $figures = q{select md5(string_agg(c::text, ';' order by taken_at)) from anago_calibration c};
my $before = value($figures);
$node->restart;
is(value($figures), $before, 'figures survive a restart');
is(value($source), 'calibration', 'and are used');
my $dump = "$PostgreSQL::Test::Utils::tmp_check/dump.sql";
$node->safe_psql('postgres', 'create database restored');
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $node->connstr('restored') ], 'restore');
is(value($figures, 'restored'), $before, 'figures are dumped and restored');
is(value($source, 'restored'), 'calibration', 'and are used there');

# --- a standby ---

$node->backup('one');
my $standby = PostgreSQL::Test::Cluster->new('calibration_standby');
$standby->init_from_backup($node, 'one', has_streaming => 1);
$standby->start;
Anago::replayed($node, $standby);
($rc, undef, $err) = $standby->psql('postgres', $quick);
like($err, qr/ERROR:  cannot calibrate during recovery/, 'a standby keeps nothing');
is($standby->safe_psql('postgres', $source), 'calibration', 'but goes by what the primary has');
$standby->stop;

# --- a table that was changed: said once ---

my $position = -s $node->logfile;
value("begin; alter table anago_calibration drop column in_flight; $source; $source; rollback") for 1 .. 2;
my $said = () = substr(slurp_file($node->logfile), $position) =~ /LOG:  anago's table "anago_calibration" lacks columns/g;
is($said, Anago::major_version($node) >= 17 ? 1 : 2, 'a table without its columns is named once');
$position = -s $node->logfile;
is(value("begin; alter extension anago drop table anago_calibration; $source; rollback"), 'default', 'a table that is gone is ignored');
like(substr(slurp_file($node->logfile), $position), qr/LOG:  anago's table "anago_calibration" is missing; .*\n.*HINT:/, 'and named');
$position = -s $node->logfile;
value(q{update anago_calibration set in_flight = '{}'; select source from anago_device()}) for 1 .. 2;
$said = () = substr(slurp_file($node->logfile), $position) =~ /LOG:  a calibration of tablespace "pg_default" is ignored/g;
cmp_ok($said, '>=', 1, 'as are rows that cannot be');
value('truncate anago_calibration');
is(value($source), 'default', 'then nothing is known');

# --- figures that queries contradict: another disk since ---

# A read takes a second, it says.
value(q{insert into anago_calibration values ('pg_default', now(), 'somebody', '18', 'by hand', true, 1,
	'{1,256}', '{1,2}', '{1000000,128000000}', 500, 1, 1)});
$position = -s $node->logfile;
my $other = Anago::session($node, 'anago.debug_force' => 'on');
my $seen;
is((Anago::run($other, $source))[0], 'calibration', 'figures that may be are used');
for (1 .. 3)
{
	Anago::drop_from_page_cache($node, 't');
	(undef, $err) = Anago::run($other, 'select count(pad) from t where a >= 0');
	($seen) = Anago::run($other, 'select together_reads from anago_stats');
}
SKIP:
{
	skip 'reads here wait for no device', 4 if $seen < 3000;
	my ($now) = Anago::run($other, "set anago.debug_force = off; $source");
	isnt($now, 'calibration', 'a session whose queries contradict it twice ignores it');
	$said = () = substr(slurp_file($node->logfile), $position) =~
	  /LOG:  reads of tablespace \d+ take \d+ us, which its calibration contradicts.*\n.*DETAIL:.*\n.*HINT:  Run anago_calibrate/g;
	is($said, 1, 'and says so once, with a hint');
	($now) = Anago::run($other, "$quick; $source");
	like($now, qr/calibration/, 'a new one is used');
	Anago::drop_from_page_cache($node, 't');
	Anago::run($other, 'set anago.debug_force = on; select count(pad) from t where a >= 0');
	Anago::drop_from_page_cache($node, 't');
	Anago::run($other, 'select count(pad) from t where a >= 0');
	($now) = Anago::run($other, "set anago.debug_force = off; $source");
	is($now, 'calibration', 'and not contradicted, as it is of this device');
}
$other->quit;

unlike(slurp_file($node->logfile), qr{TRAP:|WARNING:.*leak|was not closed|still referenced}, 'nothing leaked');
$node->stop;
done_testing();
