# Two standbys change places: one answers with its replay paused, the other one applies; by
# freshness, by the clock, and when one is gone.  No query is cancelled by it, and rows of
# the one that answers stay those of its snapshot.

use strict;
use warnings FATAL => 'all';
use FindBin;
use IO::Socket::UNIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

require "$FindBin::RealBin/common.pl";

my $PATIENCE = 60;

my $primary = Anago::new_server('primary',
	init => { allows_streaming => 1 },
	'session_preload_libraries' => '',
	'shared_preload_libraries' => 'anago',
	'max_standby_streaming_delay' => 0,
	'wal_receiver_status_interval' => 1);
$primary->safe_psql('postgres', q[
	create table t (a int, pad text);
	create table victim as select g as a from generate_series(1, 1000) g;
	create role swapper login replication in role pg_read_all_stats;
	create role analyst login;
	create role other login;
	grant select on t, victim to analyst]);
$primary->backup('backup');

sub new_standby
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init_from_backup($primary, 'backup', has_streaming => 1);
	return $node;
}

# Where that one is, for the role that asks.
sub place_of
{
	my ($node, $user) = @_;
	return join(' ', 'host=' . $node->host, 'port=' . $node->port, 'dbname=postgres', "user=$user");
}

my ($one, $two) = map { new_standby($_) } qw(one two);
for ([ $one, $two ], [ $two, $one ])
{
	my ($this, $that) = @$_;
	my $place = place_of($that, 'swapper');
	$this->append_conf('postgresql.conf', qq(
anago.swap = on
anago.swap_other = '$place'
anago.swap_interval = 0
anago.swap_freshness = 0
anago.swap_patience = 3
anago.swap_drain = 60
anago.swap_roles = 'analyst, "some body"'
));
}

# configure NODE, SETTING, VALUE
sub configure
{
	my ($node, $name, $value) = @_;

	$node->append_conf('postgresql.conf', "$name = '$value'");
	$node->reload;
	return;
}

# Of a standby that may be applying: replay waits for nobody here, and cancels a look, or
# a connection that is just made, if what it applies conflicts with the catalogs they read.
sub of_standby
{
	my ($node, $sql) = @_;
	my $start = time;
	my ($rc, $out, $err);

	do
	{
		($rc, $out, $err) = $node->psql('postgres', $sql);
		return $out if $rc == 0;
		usleep(100_000);
	} while ($err =~ /due to conflict with recovery/ && time - $start < $PATIENCE);
	die "$sql: $err";
}

sub swap
{
	my ($node, $column) = @_;
	return of_standby($node, "select $column from anago_swap");
}

# A test: sooner or later that standby is in that state.
sub becomes
{
	my ($node, $state, $name) = @_;
	my $start = time;
	my $now = '';

	while (time - $start < $PATIENCE)
	{
		$now = swap($node, 'state');
		last if $now eq $state;
		usleep(200_000);
	}
	is($now, $state, "$name: " . $node->name)
	  or diag(swap($one, '*'), "\n", swap($two, '*'));
	return;
}

sub rows
{
	my ($node) = @_;
	return of_standby($node, 'select count(*) from t');
}

# So much that less than 85% of the last minute's changes is applied where replay stands still.
my $written = 0;
sub write_rows
{
	my ($n) = @_;

	$primary->safe_psql('postgres', "insert into t select g, repeat('x', 500) from generate_series(1, $n) g");
	$written += $n;
	return;
}

sub has_all_rows
{
	my ($node, $name) = @_;
	ok($node->poll_query_until('postgres', "select count(*) = $written from t"), $name);
	return;
}

# Which of the two a client of that role comes to, or the error.
sub comes_to
{
	my ($user, @nodes) = @_;
	my ($rc, $out, $err);
	my $start = time;

	do
	{
		($out, $err) = ('', '');
		$rc = IPC::Run::run([ 'psql', '-XAtq', '-c', 'show port',
				'-d', "dbname=postgres user=$user host=" . join(',', map { $_->host } @nodes) . ' port=' . join(',', map { $_->port } @nodes) ],
			'>', \$out, '2>', \$err);
	} while ($err =~ /due to conflict with recovery/ && time - $start < $PATIENCE);
	chomp $out;
	return $rc ? $out : $err;
}

# ---- the first and the second ----

is($primary->safe_psql('postgres', 'select state, pid is null from anago_swap'), 'off|t', 'a server without another one has no process for it');
$one->start;
becomes($one, 'answering alone', 'the first one answers alone');
is(swap($one, 'paused, other_state is null, other_error is not null'), 'f|t|t', 'and applies, as no other one can be asked');
like(swap($one, 'other_error'), qr/could not connect|connection to server/, 'the view says why');
$two->start;
becomes($two, 'applying', 'the second one applies');
becomes($one, 'answering', 'and the first one\'s replay stands still');
is(swap($one, 'paused, why, wish, other_state'), 't|replay stands still|none|applying', 'as the view says');

my $rows = rows($one);
write_rows(200);
has_all_rows($two, 'what the primary writes is applied at the second');
is(rows($one), $rows, 'and not at the first: its rows stay those of its snapshot');

is(comes_to('analyst', $two, $one), $one->port, 'a client with both in its connection string comes to the one that answers');
is(comes_to('analyst', $one, $two), $one->port, 'in either order');
is(comes_to('other', $two, $one), $two->port, 'roles that are not named come in anywhere');
like(comes_to('analyst', $two), qr/FATAL:  this standby applies changes, another one answers queries/, 'the one that applies says why it refuses');

# ---- what would happen without ----

# Rows that a snapshot sees go away: replay would cancel who has it.
sub conflict
{
	$primary->safe_psql('postgres', 'delete from victim where a in (select a from victim limit 10)');
	$primary->safe_psql('postgres', 'vacuum victim');
	return;
}

sub long_query
{
	my ($node) = @_;
	my $session = Anago::session($node);

	$session->query_safe('begin isolation level repeatable read');
	$session->query_safe('select count(*) from t');
	$session->query_safe('select count(*) from victim');
	return $session;
}

my $session = Anago::session($two);
Anago::start($session, 'select count(*), pg_sleep(30) from victim');
usleep(500_000);
conflict();
like((Anago::finish($session))[1], qr/canceling statement due to conflict with recovery/, 'a long query of the one that applies is cancelled by replay');
$session->quit;

# ---- by freshness; a long query goes on ----

$session = long_query($one);
conflict();
configure($_, 'anago.swap_freshness', 0.85) for $one, $two;
write_rows(4000);
becomes($two, 'answering', 'the first one\'s data is old: the second answers');
becomes($one, 'draining', 'a query runs at the first one: it does not apply yet');
is(swap($two, 'paused'), 't', 'the second one\'s replay stands still');
cmp_ok(rows($two), '>', $rows, 'it has newer rows');
is(comes_to('analyst', $one, $two), $two->port, 'clients come to it');
usleep(4_000_000);
is(swap($one, 'state, paused, transactions >= 1'), 'draining|t|t', 'as long as the query runs');
my ($count, $error) = Anago::run($session, 'select count(*) from t');
is($count, $rows, 'it has the rows of its snapshot');
is($error, '', 'and no error');
($count, $error) = Anago::run($session, 'select count(*) from victim; commit');
is($error, '', 'no query is cancelled');
becomes($one, 'applying', 'when it has ended the first one applies');
is(swap($one, 'why'), 'no transaction is left', 'which is why');
has_all_rows($one, 'all that it has missed');
like(slurp_file($one->logfile), qr/LOG:  anago's swap: draining, was answering\n.*DETAIL:  Reason: the other one answers/, 'the log tells');
$session->quit;

# ---- by the clock ----

# Until one answers and the other one applies: which is which.
sub settled
{
	my ($name) = @_;

	for (1 .. 5 * $PATIENCE)
	{
		my ($first, $second) = map { swap($_, 'state') } $one, $two;
		return ($one, $two) if $first eq 'answering' && $second eq 'applying';
		return ($two, $one) if $second eq 'answering' && $first eq 'applying';
		usleep(200_000);
	}
	die "$name: neither";
}

configure($_, 'anago.swap_freshness', 0) for $one, $two;
usleep(2_000_000);
my ($answers, $applies) = settled('without wishes');
configure($_, 'anago.swap_interval', '3s') for $one, $two;
write_rows(10);
becomes($applies, 'answering', 'by the clock');
like(slurp_file($applies->logfile), qr/DETAIL:  Reason: the other one's time is over/, 'as the log says');
configure($_, 'anago.swap_interval', '0') for $one, $two;
usleep(2_000_000);
($answers, $applies) = settled('without the clock');
my $since = swap($answers, 'since');
write_rows(10);
usleep(5_000_000);
is(swap($answers, 'since'), $since, 'no more, when it is switched off');

# ---- WAL ceases to come, and who would start that again stands still ----

configure($_, 'anago.swap_freshness', 0.85) for $one, $two;
has_all_rows($applies, 'all is applied at one');
kill 'TERM', of_standby($answers, 'select pid from pg_stat_wal_receiver');
ok($answers->poll_query_until('postgres', 'select count(*) = 0 from pg_stat_wal_receiver'), 'WAL comes no longer to the one that answers');
write_rows(10);
becomes($applies, 'answering', 'it is cut off: the other one answers');
has_all_rows($answers, 'and its replay has WAL come again');
configure($_, 'anago.swap_freshness', 0) for $one, $two;
usleep(2_000_000);
($answers, $applies) = settled('all is well again');

# ---- drain time ----

configure($_, 'anago.swap_drain', '1s') for $one, $two;
$session = long_query($answers);
configure($_, 'anago.swap_freshness', 0.85) for $one, $two;
write_rows(6000);
becomes($answers, 'applying', 'a query that takes longer than drain time does not hold replay up for ever');
like(swap($answers, 'why'), qr/as much time as anago.swap_drain says/, 'as the view says');
eval { $session->quit };
configure($_, 'anago.swap_drain', '60s') for $one, $two;
($answers, $applies) = ($applies, $answers);
becomes($answers, 'answering', 'the other one answers');
has_all_rows($applies, 'and replay has gone on');

# ---- one is gone ----

configure($_, 'anago.swap_freshness', 0) for $one, $two;
$answers->stop('immediate');
becomes($applies, 'answering alone', 'the one that answers is gone: the other one answers');
is(comes_to('analyst', $one, $two), $applies->port, 'clients come to it');
my $before = rows($applies);
write_rows(10);
has_all_rows($applies, 'and it applies');
$answers->start;
becomes($answers, 'applying', 'back: it applies');
becomes($applies, 'answering', 'and the other one\'s replay stands still');
($answers, $applies) = ($applies, $answers);

$applies->stop;
$before = rows($answers);
write_rows(10);
usleep(6_000_000);
is(swap($answers, 'state, paused'), 'answering|t', 'the one that applies is gone: the other one goes on to answer');
is(rows($answers), $before, 'its rows stay');
configure($answers, 'anago.swap_max_pause', '2s');
becomes($answers, 'answering alone', 'replay does not stand still for ever');
has_all_rows($answers, 'it goes on');
configure($answers, 'anago.swap_max_pause', '1h');
my $refused = () = slurp_file($answers->logfile) =~ /LOG:  anago's swap cannot ask the other standby/g;
cmp_ok($refused, '<=', 8, 'what cannot be asked is not said again and again');
$applies->start;
becomes($applies, 'applying', 'both are there again');
becomes($answers, 'answering', 'both are there again');

# ---- the processes ----

my $pid = swap($answers, 'pid');
kill 'TERM', $pid;
ok($answers->poll_query_until('postgres', "select pid <> $pid from anago_swap"), 'the process is ended: there is another one');
ok($one->poll_query_until('postgres', "select state in ('answering', 'applying') and other_state in ('answering', 'applying') and state <> other_state from anago_swap"),
	'which finds its place');
($answers, $applies) = swap($one, 'state') eq 'answering' ? ($one, $two) : ($two, $one);
my $asks = of_standby($answers, "select pid from pg_stat_activity where backend_type = 'anago swap asks'");
of_standby($answers, "select pg_terminate_backend($asks)");
ok($answers->poll_query_until('postgres', "select pid <> $asks from pg_stat_activity where backend_type = 'anago swap asks'"), 'so for the one that asks');

# ---- a pause of somebody else ----

of_standby($applies, 'select pg_wal_replay_pause()');
usleep(2_000_000);
is(swap($applies, 'state, paused'), 'applying|t', 'who pauses replay by hand has it paused');
of_standby($applies, 'select pg_wal_replay_resume()');

# ---- bad input ----

my $right = place_of($applies, 'swapper');
for my $wrong ([ 'host=one two', qr/missing "=" after "two"|could not establish connection/ ],
	[ place_of($answers, 'swapper'), qr/it is this standby itself/ ],
	[ place_of($applies, 'other'), qr/permission denied/ ],
	[ place_of($applies, 'swapper') =~ s/dbname=\w+/dbname=template1/r, qr/extension "anago" is not in that database/ ])
{
	my ($place, $why) = @$wrong;
	configure($answers, 'anago.swap_other', $place);
	$answers->poll_query_until('postgres', "select other_error like '%' from anago_swap");
	my $start = time;
	my $error = '';
	while (time - $start < $PATIENCE && $error !~ $why)
	{
		$error = swap($answers, 'other_error');
		usleep(200_000);
	}
	# (15 and 16 ask by a connection for replication)
	like($error, Anago::major_version($answers) < 17 && $place =~ /user=other/ ? qr/must be superuser or replication role|replication/ : $why, "said: $why");
	is(swap($answers, 'state'), 'answering', 'who answers goes on to do so');
	next unless $place =~ /user=other/;
	my $before = -s $applies->logfile;
	usleep(6_000_000);
	my $asked = () = slurp_file($applies->logfile, $before) =~ /(?:ERROR|FATAL): .*(?:permission denied|must be superuser)/g;
	cmp_ok($asked, '<=', 4, 'the other one\'s log is not filled with it');
}

my $long = $right =~ s/ user=/' ' x 2000 . 'user='/er;
configure($answers, 'anago.swap_other', $long);
ok($answers->poll_query_until('postgres', 'select other_error is null from anago_swap'), 'a connection string may be long');

# somebody who never answers
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $mute = IO::Socket::UNIX->new(Local => "$dir/.s.PGSQL.7299", Listen => 5) or die "listen: $!";
chmod 0777, $dir, "$dir/.s.PGSQL.7299";
configure($answers, 'anago.swap_other', "host=$dir port=7299 dbname=postgres user=swapper");
ok($answers->poll_query_until('postgres', "select other_error like '%timeout%' from anago_swap"), 'one that never answers is not waited for');
my $start = time;
$answers->stop;
cmp_ok(time - $start, '<', 20, 'nor is a shutdown held up');
$answers->start;
configure($answers, 'anago.swap_other', $right);
($answers, $applies) = settled('heard again');

for my $wrong ([ 'anago.swap_freshness', 1.1 ], [ 'anago.swap_drain', '-1s' ], [ 'anago.swap_max_pause', 0 ], [ 'anago.swap_max_wal', 0 ], [ 'anago.swap_roles', 'a,,b' ])
{
	like(($primary->psql('postgres', "alter system set $wrong->[0] = '$wrong->[1]'"))[2], qr/outside the valid range|invalid value|zero-length|syntax/, "refused: $wrong->[0] = $wrong->[1]")
	  unless $wrong->[0] eq 'anago.swap_roles';
}
like(($one->psql('postgres', 'set anago.swap = off'))[2], qr/cannot be changed now/, 'not for a session');
like(($one->psql('postgres', 'select * from anago_swap', extra_params => [ '-U', 'other' ]))[2], qr/permission denied/, 'the view is not for everybody');

# ---- off, and promoted ----

configure($answers, 'anago.swap', 'off');
ok($answers->poll_query_until('postgres', "select state = 'off' and not pg_is_wal_replay_paused() from anago_swap"), 'switched off: replay goes on');
becomes($applies, 'answering alone', 'and the other one does without');
configure($answers, 'anago.swap', 'on');
becomes($answers, 'applying', 'on again');
becomes($applies, 'answering', 'on again');
$applies->promote;
becomes($applies, 'primary', 'the one that answers is promoted, its replay being paused: it is a primary');
becomes($answers, 'answering alone', 'the other one answers alone');
is(of_standby($applies, "insert into t values (1, 'x') returning a"), 1, 'which can be written to');
is(comes_to('analyst', $applies), $applies->port, 'and refuses nobody');

$_->stop for $one, $two, $primary;
Anago::log_is_clean($_, 'nothing leaked, nothing crashed: ' . $_->name) for $primary, $one, $two;
done_testing();
