# A hot standby runs anago's queries with stock's rows while the primary
# changes them; recovery conflicts cancel as they do in stock; and dead index
# entries are neither marked nor believed there.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $primary = Anago::new_server('primary',
	init => { allows_streaming => 1 },
	max_standby_streaming_delay => -1);
Anago::make_tables($primary, 3000);
$primary->safe_psql('postgres', 'create extension pageinspect');
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->wait_for_replay_catchup($standby);

my $query = 'select a.id, a.k, b.id, b.v from a join b on b.aid = a.id where a.k between 100 and 900';
my @variants = map { { 'anago.io_method' => $_ } } qw(uring pgaio sync);

Anago::same_rows($standby, $query, 'at rest', @variants,
	{ 'anago.io_method' => 'sim', 'anago.sim_hit_rate' => 0 });

# ---- while the primary writes ----

my $writes = q[
do $$
begin
	for i in 1 .. 400 loop
		update a set k = (k + 7) % 3000, pad = repeat('u', 1 + i) where id % 53 = i % 53;
		delete from b where id % 211 = i % 211;
		insert into b select 100000 + i * 100 + g, 1 + (i * 13 + g) % 3000, g, 'new'
			from generate_series(1, 40) g;
		commit;
	end loop;
end $$];
my $writer = $primary->background_psql('postgres', on_error_stop => 0);
my $vacuum = $primary->background_psql('postgres', on_error_stop => 0);
Anago::start($writer, $writes);
Anago::start($vacuum, join(';', ('vacuum a, b', 'select pg_sleep(0.1)') x 20));

# Stock and anago with one snapshot.
my $reader = Anago::session($standby);
my ($rounds, $differ) = (0, 0);
my %seen;
for my $round (1 .. 40)
{
	my $settings = $variants[ $round % @variants ];
	my $set = Anago::set(%$settings);
	my ($out, $err) = Anago::run($reader,
		"begin isolation level repeatable read; set local anago.enable = off; "
		  . Anago::digest($query)
		  . "; set local anago.enable = on; $set"
		  . Anago::digest($query) . '; commit');
	my ($stock, $ours) = split /\n/, $out;

	$rounds++;
	$seen{$stock} = 1;
	next if $err eq '' && $stock eq $ours;
	$differ++;
	diag("round $round: stock $stock, anago $ours $err\n$set\n$query");
}
is($differ, 0, "stock's rows in $rounds snapshots while the primary writes");
cmp_ok(scalar(keys %seen), '>', 1, 'which were not all the same');
my (undef, $write_errors) = Anago::finish($writer);
is($write_errors, '', 'the writer was not disturbed');
Anago::finish($vacuum);
$_->quit for $writer, $vacuum, $reader;

$primary->wait_for_replay_catchup($standby);
Anago::same_rows($standby, $query, 'after the writes', @variants);

# ---- dead index entries ----
#
# Heap pages are half empty, so that no scan on the primary prunes them: replay
# of that would wait for the old snapshot on the standby.

my $dead = q[
	select count(*) from generate_series(1, pg_relation_size('d_k') / 8192 - 1) blkno,
		bt_page_items('d_k', blkno::int) where dead];
my $gone = 'select id, k, pad from d where k between 200 and 400';

$primary->safe_psql('postgres', q[
	create table d (id int, k int, pad text) with (fillfactor = 50);
	insert into d select g, g % 1000, repeat('x', 300) from generate_series(1, 5000) g;
	create index d_k on d (k);
	vacuum (freeze, analyze) d;
	alter table d set (fillfactor = 100)]);
$primary->wait_for_replay_catchup($standby);
my $old = Anago::session($standby);
$old->query_safe('begin isolation level repeatable read');
my $before = $old->query_safe('set local anago.enable = off; ' . Anago::digest($gone));

$primary->safe_psql('postgres', 'delete from d where k between 200 and 400');
$primary->wait_for_replay_catchup($standby);
for my $settings (@variants)
{
	my $how = Anago::describe($settings);
	is( $standby->safe_psql('postgres', Anago::set(%$settings) . Anago::digest($gone)),
		'0|', "deleted rows are gone$how");
}
is($standby->safe_psql('postgres', $dead),
	0, 'a scan on the standby marks no index entry dead');

# On the primary it does, and a full-page image takes the marks across.
$primary->safe_psql('postgres', "checkpoint; " . Anago::digest($gone));
cmp_ok($primary->safe_psql('postgres', $dead), '>', 0, 'a scan on the primary does');
$primary->safe_psql('postgres', 'insert into d values (1, 300, 0)');
$primary->wait_for_replay_catchup($standby);
cmp_ok($standby->safe_psql('postgres', $dead), '>', 0, 'the marks come to the standby');
for my $settings (@variants)
{
	is( $old->query_safe('set local anago.enable = on; ' . Anago::set(%$settings)
			. Anago::digest($gone)),
		$before, 'where an older snapshot still sees the rows' . Anago::describe($settings));
}
$old->quit;

# ---- recovery conflicts ----

$standby->safe_psql('postgres', 'alter system set max_standby_streaming_delay = 0');
$standby->reload;
$standby->poll_query_until('postgres', "select current_setting('max_standby_streaming_delay') = '0'");
$primary->safe_psql('postgres', q[
	create function slow(int) returns boolean stable language plpgsql as
		$$ begin perform pg_sleep(0.01); return true; end $$]);
$primary->wait_for_replay_catchup($standby);

my $in_order = 'select count(*) from (select b.v from a join b on b.aid = a.id '
  . 'where a.k >= 0 and slow(b.v) order by a.k desc offset 0) s';

# The error of a query on the standby whose rows are vacuumed away.
sub conflict
{
	my ($round, $slow, %settings) = @_;
	my $how = Anago::describe(\%settings);
	my $session = Anago::session($standby, %settings);
	my $pid = $session->query_safe('select pg_backend_pid()');

	$session->query_safe('\set VERBOSITY verbose');
	Anago::start($session, $slow);
	$standby->poll_query_until('postgres',
		"select wait_event = 'PgSleep' from pg_stat_activity where pid = $pid");
	$primary->safe_psql('postgres', "delete from a where id % 100 = $round");
	$primary->safe_psql('postgres', 'vacuum a');
	my (undef, $err) = Anago::finish($session);
	my @said = $err =~ /((?:ERROR|DETAIL): .*)/g;

	# With no delay allowed, what is still to be replayed may cancel this too.
	$primary->wait_for_replay_catchup($standby);
	is( $session->query_safe("select count(*) from a where k >= 0 and id % 100 = $round"),
		0, "recovery conflict: the session goes on$how");
	$session->quit;
	return join("\n", @said);
}

my $unordered = 'select count(*) from a join b on b.aid = a.id where a.k >= 0 and slow(b.v)';
like($standby->safe_psql('postgres', "explain (costs off) $in_order"),
	qr/Order Kept: Backward/, 'rows in order on a standby');

# Which conflict replay meets first is chance, also where stock runs: rows that the query's
# snapshot sees, or a page that it has pinned just then.
my $cancelled = qr/\AERROR:  40001: canceling statement due to conflict with recovery
DETAIL:  User (?:query might have needed to see row versions that must be removed|was holding shared buffer pin for too long)\.\z/;
like(conflict(1, $unordered, 'anago.enable' => 'off'), $cancelled, 'recovery conflict: stock is cancelled');
my $round = 1;
for my $settings (@variants, { 'anago.io_method' => 'sim', 'anago.sim_hit_rate' => 0 })
{
	like(conflict(++$round, $unordered, %$settings), $cancelled,
		'recovery conflict: as stock' . Anago::describe($settings));
	like(conflict(++$round, $in_order, %$settings), $cancelled,
		'recovery conflict, rows in order: as stock' . Anago::describe($settings));
}

# ---- promotion ----

my $open = Anago::session($standby);
$open->query_safe("begin; declare c cursor for $query; move 5 in c");
$standby->promote;
my ($out, $err) = Anago::run($open, "move all in c; commit; select 'done'");
is("$out$err", 'done', 'a cursor stays open over promotion');
$open->quit;
Anago::same_rows($standby, $query, 'after promotion', @variants);

Anago::log_is_clean($_, 'nothing leaked, nothing crashed: ' . $_->name)
  for $primary, $standby;
done_testing();
