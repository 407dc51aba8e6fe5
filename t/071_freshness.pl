# anago_freshness() on a standby: the share that is applied of what the primary
# has lately written; nothing where that is not known.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $primary = Anago::new_server('primary', init => { allows_streaming => 1 });
$primary->safe_psql('postgres', q[
	create table t (a int, pad text);
	create role watcher login in role pg_read_all_stats;
	create role user_of_data login]);
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
$primary->wait_for_replay_catchup($standby);

# One session: before 17 samples are the session's.
my $session = $standby->background_psql('postgres', on_error_stop => 0);

sub freshness
{
	my ($arguments) = @_;
	return $session->query_safe("select anago_freshness($arguments)");
}

# Soon all is applied.  The primary may write some record of its own at any time.
sub becomes_fresh
{
	my ($name) = @_;
	my $fresh = '';

	for (1 .. 100)
	{
		$fresh = freshness('');
		last if $fresh eq '1';
		select(undef, undef, undef, 0.1);
	}
	is($fresh, '1', $name);
}

# Rows on new pages, whose WAL is the same for the same number of rows.
sub write_rows
{
	my ($n) = @_;
	$primary->safe_psql('postgres',
		"insert into t select g, repeat('x', 500) from generate_series(1, $n) g");
}

# The standby knows where the primary's WAL ends now.
sub wait_until_told
{
	my $end = $primary->lsn('flush');
	$standby->poll_query_until('postgres',
		"select latest_end_lsn >= '$end' from pg_stat_wal_receiver")
	  or die 'the standby did not hear of the end of WAL';
}

is($primary->safe_psql('postgres', 'select anago_freshness() is null'),
	't', 'on a primary it is not known');

becomes_fresh('nothing is left to apply: all is applied');

# ---- half applied ----

sleep(2);    # that sample is of a second before
write_rows(4000);
$primary->wait_for_replay_catchup($standby);
$standby->safe_psql('postgres', 'select pg_wal_replay_pause()');
$standby->poll_query_until('postgres',
	"select pg_get_wal_replay_pause_state() = 'paused'")
  or die 'replay does not pause';
write_rows(4000);
wait_until_told();
my $half = freshness('');
cmp_ok($half, '>', 0.4, "as much was applied as is left to be ($half)");
cmp_ok($half, '<', 0.6, "and no more ($half)");
is(freshness("'5 minutes'"), $half, 'a longer time has the same sample');

write_rows(8000);
wait_until_told();
my $quarter = freshness('');
cmp_ok($quarter, '>', 0.2, "more is left: less fresh ($quarter)");
cmp_ok($quarter, '<', 0.3, "a quarter ($quarter)");

sleep(2);
is(freshness("'1 second'"), '0', 'nothing is applied of the latest changes');

SKIP:
{
	skip 'samples are of the session before PostgreSQL 17', 1
	  if Anago::major_version($standby) < 17;
	my $other = $standby->safe_psql('postgres', "select anago_freshness('5 minutes')");
	is($other, freshness("'5 minutes'"), 'another session has the same samples');
}

$standby->safe_psql('postgres', 'select pg_wal_replay_resume()');
becomes_fresh('applied again');

# ---- who may ask, and what ----

like(
	($standby->psql('postgres', 'select anago_freshness()',
		extra_params => [ '-U', 'user_of_data' ]))[2],
	qr/permission denied for function anago_freshness/,
	'not for everybody');
is( $standby->safe_psql('postgres', 'select anago_freshness() >= 0 is not false',
		extra_params => [ '-U', 'watcher' ]),
	't', 'members of pg_read_all_stats may ask');

for my $wrong ("'0'", "'301 s'", "'-1 s'", "'1 month'", "'1 day'")
{
	like(
		($standby->psql('postgres', "select anago_freshness($wrong)"))[2],
		qr/freshness is of changes of 1 second to 300 seconds/,
		"refused: $wrong");
}
is($standby->safe_psql('postgres', 'select anago_freshness(null) is null'),
	't', 'of an unknown time it is not known');

# ---- without a primary ----

$primary->stop;
$standby->poll_query_until('postgres', 'select anago_freshness() is null')
  or die 'the standby still believes in its primary';
pass('the primary is gone: not known');
$standby->promote;
is($standby->safe_psql('postgres', 'select anago_freshness() is null'),
	't', 'promoted: not known');
$session->quit;

Anago::log_is_clean($_, 'nothing leaked, nothing crashed: ' . $_->name)
  for $primary, $standby;
done_testing();
