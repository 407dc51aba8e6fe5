# A time-out, a cancel, a terminate, an early close or an error in an
# expression, while many reads are in flight, is heard soon; nothing leaks and
# the session goes on.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

require "$FindBin::RealBin/common.pl";

# 200 MB in tables and indexes, of which 2 MB fit into shared buffers.
my $rows = 150_000;
my $node = Anago::new_server('cancel',
	shared_buffers => '2MB', work_mem => '64MB', jit => 'off');
Anago::make_tables($node, $rows);
Anago::make_partitions($node);

# Filters are evaluated within tasks, the select list above them.
$node->safe_psql(
	'postgres', q[
	create function slow(int) returns boolean stable language plpgsql as
		$$ begin perform pg_sleep(0.002); return true; end $$;
	-- How many milliseconds after its time-out does a statement end?
	create function late(query text, ms int) returns int language plpgsql as $$
	begin
		execute query;
		return null;
	exception when query_canceled then
		return 1000 * extract(epoch from clock_timestamp() - statement_timestamp()) - ms;
	end $$]);
my $all = "from a join b on b.aid = a.id where a.k between 0 and $rows and a.pad > '' and b.pad > ''";
my $half = $rows / 2;
my %endless = (
	'reads' => "select count(*) from a x join b on b.aid = x.id join a y on y.k = b.id % $rows join b z on z.aid between y.id and y.id + 99 and z.pad > y.pad where x.k between 0 and $rows",
	'partitions' => "select count(*) from a x join p on p.id = x.id join a y on y.k = p.aid % $rows left join p q on q.aid = y.id and q.v > p.v where x.k between 0 and $rows",
	'an OR' => "select count(*) from a x join b on b.aid = x.id join a y on y.k = b.id % $rows or y.id = b.id % $half join b z on z.aid between y.id and y.id + 99 and z.pad > y.pad where x.k between 0 and $rows",
	'rows in order' => "select count(*) from (select x.id from a x join b on b.aid = x.id join a y on y.k = b.id % $rows join b z on z.aid between y.id and y.id + 99 and z.pad > y.pad where x.k between 0 and $rows order by x.k desc offset 0) s",
	'the first rows' => "select x.id from a x join b on b.aid = x.id join a y on y.k = b.id % $rows join b z on z.aid between y.id and y.id + 99 and z.pad > y.pad where x.k between 0 and $rows and x.pad || z.pad < 'a' limit 5",
	'the first rows in order' => "select x.id from a x join b on b.aid = x.id join a y on y.k = b.id % $rows join b z on z.aid between y.id and y.id + 99 and z.pad > y.pad where x.k between 0 and $rows and x.pad || z.pad < 'a' order by x.k limit 5",
	'a slow filter' => "select count(*) $all and slow(b.v)",
	'a slow select list' => "select count(a.id + (select pg_sleep(0.002) is null and b.v < 0)::int) $all");

my $next = 'select a.id, b.id from a join b on b.aid = a.id where a.k between 500 and 800';
my $next_rows = $node->safe_psql('postgres', 'set anago.enable = off; ' . Anago::digest($next));

# Made-up delays, and real ones: blocks that are in no cache.
my @variants = (
	{
		'anago.io_method' => 'sim',
		'anago.sim_hit_rate' => 0,
		'anago.sim_delay' => 1000,
		'anago.max_inflight_reads' => 4096
	},
	{ 'anago.io_method' => 'uring', 'anago.max_inflight_reads' => 1024 },
	{ 'anago.io_method' => 'pgaio' });

sub cold { Anago::drop_from_page_cache($node, qw(a b a_k b_aid)); return; }

sub descriptors
{
	my ($session) = @_;
	my $pid = $session->query_safe('select pg_backend_pid()');
	my @open = glob("/proc/$pid/fd/*");

	return scalar(@open);
}

# What ended a statement: that error, soon, and the next query is right.
sub ended
{
	my ($session, $name, $expected, $query, $start, $err) = @_;
	my $seconds = time() - $start;

	like($err, $expected, "$name: its error") or diag($query);
	cmp_ok($seconds, '<', $Anago::SOON, "$name: soon") or diag($query);
	is($session->query_safe(Anago::digest($next)),
		$next_rows, "$name: the next query is right");
	return;
}

sub time_out
{
	my ($session, $how) = @_;

	for my $kind (sort keys %endless)
	{
		for my $ms (10, 150)
		{
			cold();
			$session->query_safe("set statement_timeout = $ms");
			my $start = time();
			my (undef, $err) = Anago::run($session, $endless{$kind});
			my $stop = $start + $ms / 1000;
			$session->query_safe('set statement_timeout = 0');
			ended($session, "time-out after $ms ms in $kind$how",
				qr/canceling statement due to statement timeout/,
				$endless{$kind}, $stop, $err);
		}
	}
	return;
}

# The same by the server's clock, which no other process has a share in.  On a busy
# machine one try may have to wait for the CPU: the best of some counts.
my $PROMPT_MS = 100;
sub prompt
{
	my ($session, $how) = @_;

	for my $kind (sort keys %endless)
	{
		my @late;
		for my $ms (40, 70, 100, 150, 200)
		{
			cold();
			$session->query_safe("set statement_timeout = $ms");
			push @late, $session->query_safe("select late(\$q\$$endless{$kind}\$q\$, $ms)");
			$session->query_safe('set statement_timeout = 0');
			last if $late[-1] ne '' && $late[-1] < $PROMPT_MS;
		}
		cmp_ok($late[-1] eq '' ? 1e6 : $late[-1], '<', $PROMPT_MS,
			"time-out in $kind$how: ends within $PROMPT_MS ms")
		  or diag("tries: @late ms\n$endless{$kind}");
	}
	return;
}

# Wait until the session has been at it for a while.
sub busy
{
	my ($pid) = @_;
	$node->poll_query_until('postgres',
		"select state = 'active' and clock_timestamp() - query_start > '100 ms' from pg_stat_activity where pid = $pid")
	  or die 'the session never became active';
	return;
}

sub cancel
{
	my ($session, $how) = @_;
	my $pid = $session->query_safe('select pg_backend_pid()');

	for my $kind (sort keys %endless)
	{
		cold();
		Anago::start($session, $endless{$kind});
		busy($pid);
		my $start = time();
		$node->safe_psql('postgres', "select pg_cancel_backend($pid)");
		my (undef, $err) = Anago::finish($session);
		ended($session, "cancel in $kind$how",
			qr/canceling statement due to user request/,
			$endless{$kind}, $start, $err);
	}
	return;
}

sub terminate
{
	my ($settings, $how) = @_;

	for my $kind (sort keys %endless)
	{
		my $session = Anago::session($node, %$settings);
		my $pid = $session->query_safe('select pg_backend_pid()');
		cold();
		Anago::start($session, $endless{$kind});
		busy($pid);
		my $start = time();
		my $gone = $node->safe_psql('postgres',
			"select pg_terminate_backend($pid, 1000 * $Anago::SOON)");
		is($gone, 't', "terminate in $kind$how: the process is gone soon")
		  or diag($endless{$kind});
		eval { $session->quit };
	}
	return;
}

# An error of some row; stock has it too.  It is not in order, so "soon" is
# not claimed of it.
my %errors = (
	'a filter' => "select count(*) from a join b on b.aid = a.id where a.k between 0 and 600 and 1 / (a.k - 300) > -5 and b.pad > ''",
	'an index condition' => "select count(*) from a join b on b.aid = 1000 / (a.k - 300) where a.k between 0 and 600",
	'one partition' => "select count(*) from a join p on p.aid = a.id where a.k between 0 and 600 and 1 / (p.tableoid <> 'p2'::regclass)::int > -5",
	'rows in order' => "select max(s.pad) from (select a.pad from a join b on b.aid = a.id where a.k between 0 and 600 and 1 / (a.k - 300) > -5 order by a.k desc offset 0) s",
	'the select list' => "select a.pad, b.pad, 1 / (a.k - 300) from a join b on b.aid = a.id where a.k between 0 and 600",
	'a function' => "select count(*) from a join b on b.aid = a.id where a.k between 0 and 600 and (b.pad || case when a.k = 300 then '' else '1' end)::text::varchar(300) > '' and (case when a.k = 300 then 'x' else '1' end)::int > 0");

sub expression
{
	my ($session, $how) = @_;

	for my $place (sort keys %errors)
	{
		cold();
		my (undef, $err) = Anago::run($session, $errors{$place});
		like($err, qr/division by zero|invalid input syntax/, "error in $place$how: raised")
		  or diag($errors{$place});
		is($session->query_safe(Anago::digest($next)),
			$next_rows, "error in $place$how: the next query is right");
	}
	return;
}

sub early_close
{
	my ($session, $how) = @_;
	my $query = "select a.id, b.id from a join b on b.aid = a.id where a.k between 0 and $half";

	cold();
	my $start = time();
	is($session->query_safe("select count(*) from ($query limit 5) q"),
		5, "LIMIT$how: rows");
	cmp_ok(time() - $start, '<', $Anago::SOON, "LIMIT$how: soon") or diag($query);

	cold();
	$start = time();
	my ($out, $err) = Anago::run($session,
		"begin; declare c cursor for $query; move 7 in c; close c; commit; select 'closed'");
	is("$out$err", 'closed', "early close$how");
	($out, $err) = Anago::run($session,
		"begin; declare c cursor for $query; move 7 in c; rollback; select 'rolled back'");
	is("$out$err", 'rolled back', "rollback with an open cursor$how");
	cmp_ok(time() - $start, '<', 2 * $Anago::SOON, "early close$how: soon") or diag($query);

	is($session->query_safe("select count(*) from generate_series(1, 50) g where exists ($query and a.id <> g)"),
		50, "EXISTS$how: each stops at its first row");
	return;
}

# Descriptors of a process are as many after hundreds of errors as before.
sub descriptors_stay
{
	my ($session, $how) = @_;
	my $many = join(";\n", map {
			"set statement_timeout = " . (1 + $_ % 7) . "; $endless{reads}; set statement_timeout = 0;"
			. $errors{ (sort keys %errors)[$_ % 4] } } 1 .. 20);

	my (undef, $err) = Anago::run($session, $many);
	my $before = descriptors($session);
	my $errors = () = $err =~ /ERROR:/g;
	Anago::run($session, $many) for 1 .. 5;
	is($errors, 40, "file descriptors$how: each statement failed");
	cmp_ok(descriptors($session), '<=', $before,
		"file descriptors$how: no more after 200 errors");
	is($session->query_safe(Anago::digest($next)),
		$next_rows, "file descriptors$how: the next query is right");
	return;
}

Anago::same_rows($node, $next, 'all methods', @variants);

# Are reads really in flight together?
like($node->safe_psql('postgres', Anago::set(%{ $variants[0] })
			. "explain (analyze, buffers, costs off) select * from a where k < 5000"),
	qr/In Flight: peak=[1-9]\d\d/, 'more than 100 simulated reads are in flight');

for my $settings (@variants)
{
	my $how = Anago::describe($settings);
	my $session = Anago::session($node, %$settings);

	time_out($session, $how);
	prompt($session, $how);
	cancel($session, $how);
	expression($session, $how);
	early_close($session, $how);
	descriptors_stay($session, $how);
	$session->quit;
	terminate($settings, $how);
}

Anago::log_is_clean($node);
done_testing();
