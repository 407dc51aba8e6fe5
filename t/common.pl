# What the TAP tests share: a server with anago forced on, tables, rows as
# stock gives them, and what a server's log must not have.
#
# To run one test by hand: ci/tap.sh t/004_cancel.pl

package Anago;

use strict;
use warnings FATAL => 'all';
use Errno ();
use File::Temp qw(tempdir);
use FindBin;
use File::Basename;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# Sessions beside the test itself.
plan skip_all => 'the test modules of this server have no BackgroundPsql'
  unless eval { require PostgreSQL::Test::BackgroundPsql };

# "Soon": for a busy machine, and far below what the queries would take.
our $SOON = 2;

# What a server's log must not say, and what may stand beside it.
our ($BAD_LOG, $FINE_LOG) = map { log_rule($_) } qw(never fine);

# log_rule KIND: the patterns of one kind in ci/bad-log.txt, as one.
sub log_rule
{
	my ($kind) = @_;
	my $rules = slurp_file(dirname(__FILE__) . '/../ci/bad-log.txt');
	my $any = join('|', $rules =~ /^$kind (.*)$/mg);

	die "ci/bad-log.txt has no line \"$kind\"" unless $any;
	return qr/$any/;
}

# new_server NAME, init => {...}, SETTING => VALUE...: a server on which every
# eligible plan is one of anago's.
sub new_server
{
	my ($name, %conf) = @_;
	my $init = delete $conf{init} // {};
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%$init);
	%conf = (
		'session_preload_libraries' => 'anago',
		'anago.enable' => 'on',
		'anago.debug_force' => 'on',
		'autovacuum' => 'off',
		'max_wal_size' => '4GB',
		%conf);
	$node->append_conf('postgresql.conf',
		join('', map { "$_ = '$conf{$_}'\n" } sort keys %conf));
	$node->start;
	$node->safe_psql('postgres', 'create extension anago');
	return $node;
}

# The same, on which plans are for two workers wherever they may be parallel.
sub new_parallel_server
{
	my ($name, %conf) = @_;

	return new_server(
		$name,
		'max_parallel_workers_per_gather' => 2,
		'min_parallel_index_scan_size' => 0,
		'min_parallel_table_scan_size' => 0,
		'parallel_setup_cost' => 0,
		'parallel_tuple_cost' => 0,
		%conf);
}

sub major_version
{
	my ($node) = @_;
	return int($node->safe_psql('postgres', 'show server_version_num') / 10000);
}

# Wait until a standby has replayed all that the primary has written.
sub replayed
{
	my ($primary, $standby) = @_;
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

# Two tables, b's rows three for each of a's, in no order that an index has.
# About 1 kB for each row of a.
sub make_tables
{
	my ($node, $rows) = @_;

	$node->safe_psql(
		'postgres', qq[
		create table a as
			select g as id, (g * 7919) % $rows as k, repeat('x', 400) as pad
			from generate_series(1, $rows) g;
		create table b as
			select g as id, 1 + (g * 104729::bigint) % $rows as aid, g % 100 as v,
				repeat('y', 200) as pad
			from generate_series(1, 3 * $rows) g;
		alter table a add primary key (id);
		create index a_k on a (k);
		alter table b add primary key (id);
		create index b_aid on b (aid);
		vacuum (freeze, analyze) a, b;
		checkpoint]);
	return;
}

# b's rows once more, with less padding, in a table of four partitions.
sub make_partitions
{
	my ($node) = @_;

	$node->safe_psql(
		'postgres', q[
		create table p (id int, aid bigint, v int, pad text) partition by hash (aid);
		create table p0 partition of p for values with (modulus 4, remainder 0);
		create table p1 partition of p for values with (modulus 4, remainder 1);
		create table p2 partition of p for values with (modulus 4, remainder 2);
		create table p3 (pad text, v int, id int, aid bigint);
		alter table p attach partition p3 for values with (modulus 4, remainder 3);
		insert into p select id, aid, v, left(pad, 20) from b;
		create index p_aid on p (aid);
		create index p_id on p (id);
		vacuum (freeze, analyze) p;
		checkpoint]);
	return;
}

# SET statements of a hash.
sub set
{
	my (%settings) = @_;
	return join('', map { "set $_ = '$settings{$_}'; " } sort keys %settings);
}

# A query that gives the number of rows and a digest of them, in any order.
# With OFFSET 0 the conversion to text is part of what workers may do, so that
# they are worth their while whatever forced plans cost.
sub digest
{
	my ($query) = @_;
	return "select count(*), md5(string_agg(t, ';' order by t)) "
	  . "from (select r::text as t from ($query) r offset 0) s";
}

# The same rows as stock, by a plan of ours, under each of these settings.
sub same_rows
{
	compare_rows('planned by anago', qr/Anago(Scan|Join)/, @_);
	return;
}

# The same, by a plan of ours in several processes.
sub same_rows_parallel
{
	compare_rows('planned by anago for workers', qr/Gather.*Anago(Scan|Join)/s, @_);
	return;
}

sub compare_rows
{
	my ($claim, $shape, $node, $query, $name, @variants) = @_;
	my $digest = digest($query);
	my $stock =
	  $node->safe_psql('postgres', set('anago.enable' => 'off') . $digest);

	for my $settings (@variants ? @variants : {})
	{
		my ($set, $how) = (set(%$settings), describe($settings));
		my $plan =
		  $node->safe_psql('postgres', "$set explain (costs off) $digest");
		my ($rc, $out, $err) = $node->psql('postgres', $set . $digest);

		like($plan, $shape, "$name: $claim$how")
		  or diag("$set\n$query\n$plan");
		is($out, $stock, "$name: stock's rows$how")
		  or diag("$set\n$query\n$err");
	}
	return;
}

sub describe
{
	my ($settings) = @_;
	return '' unless %$settings;
	return ' with '
	  . join(', ', map { s/^anago\.//r . "=$settings->{$_}" } sort keys %$settings);
}

# A session that outlives its errors.
sub session
{
	my ($node, %settings) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->set_query_timer_restart;	# else the time is for all its queries
	$session->query_safe(set(%settings)) if %settings;
	return $session;
}

# run SESSION, SQL: (rows, messages) of SQL.
sub run
{
	my ($session, $sql) = @_;
	my $out;

	$session->{stderr} = '';
	$out = $session->query($sql);
	my $err = $session->{stderr};
	$session->{stderr} = '';
	return ($out, $err);
}

# Blocks of tables and indexes that a statement has core read, and all that it reads, in a
# server that has just been started.  What it does is undone.
sub blocks_read
{
	my ($node, $settings, $statement) = @_;
	my $read = q{select sum(heap_blks_read + coalesce(idx_blks_read, 0)) from pg_statio_user_tables};
	my $ours = q{select reads + sync_reads from anago_stats};
	my @before;
	my @after;

	$node->restart;
	@before = map { $node->safe_psql('postgres', $_) } $read, $ours;
	$node->safe_psql('postgres', "$settings begin; $statement; rollback");
	@after = map { $node->safe_psql('postgres', $_) } $read, $ours;
	return ($after[0] - $before[0] - ($after[1] - $before[1]), $after[0] - $before[0]);
}

# Until SQL says t in a session, in ms; undef: not within so many seconds.
sub until_true
{
	my ($session, $sql, $seconds, $pause_us) = @_;
	my $start = time;

	while (time - $start < $seconds)
	{
		return int((time - $start) * 1000) if $session->query_safe($sql) eq 't';
		usleep($pause_us);
	}
	return;
}

# The SQLSTATE and the text of a statement's error, or '' if it has none.
sub error_of
{
	my ($session, $sql) = @_;
	my (undef, $err) = run($session, "\\set VERBOSITY verbose\n$sql");

	run($session, '\set VERBOSITY default');
	return $err =~ /(?:ERROR|FATAL):\s+(\w{5}: .*)/ ? $1 : '';
}

# start SESSION, SQL: without waiting for the end; finish SESSION does.
sub start
{
	my ($session, $sql) = @_;

	$session->{stderr} = '';
	$session->query_until(qr/^started$/m,
		"\\echo started\n$sql;\n\\echo finished\n");
	return;
}

sub finish
{
	my ($session) = @_;
	my $out = $session->query_until(qr/^finished$/m, '');
	my $err = $session->{stderr};

	$session->{stderr} = '';
	return ($out, $err);
}

# From now on the server has t/NAME.c preloaded, which stands between it and a
# library.  False if that cannot be compiled here.
sub preload
{
	my ($node, $name) = @_;
	my $compiler = $ENV{CC} || 'cc';
	my $dir = tempdir(CLEANUP => 1);

	chmod 0755, $dir;
	return 0
	  if system("$compiler -Wall -shared -fPIC -o $dir/$name.so "
		  . "$FindBin::RealBin/$name.c -ldl >/dev/null 2>&1") != 0;
	$node->stop;
	local $ENV{LD_PRELOAD} = "$dir/$name.so";
	$node->start;
	return 1;
}

# The same numbers on all architectures; that of prctl() is not.
use constant { IO_URING_SETUP => 425, IO_URING_ENTER => 426 };
my $sys_prctl = { x86_64 => 157, aarch64 => 167, riscv64 => 167 }->{ (POSIX::uname())[4] };

# refuse CALL, ERRNO: from now on this system call fails in this process and its
# children.  A filter cannot be taken away, but a later one can answer otherwise.
sub refuse
{
	my ($call, $errno) = @_;
	my $filter = join '',
	  pack('SCCL', 0x20, 0, 0, 0),						# load the call's number
	  pack('SCCL', 0x15, 0, 1, $call),					# another: skip one
	  pack('SCCL', 0x06, 0, 0, 0x00050000 | $errno),	# fail
	  pack('SCCL', 0x06, 0, 0, 0x7fff0000);				# allow
	my $program = pack('S x![P] P', 4, $filter);

	# PR_SET_NO_NEW_PRIVS; PR_SET_SECCOMP with SECCOMP_MODE_FILTER
	return defined $sys_prctl
	  && syscall($sys_prctl, 38, 1, 0, 0, 0) == 0
	  && syscall($sys_prctl, 22, 2, $program, 0, 0) == 0;
}

# The same in a process that ends at once.
sub may_refuse
{
	my $pid = fork() // die "fork: $!";
	POSIX::_exit(refuse(IO_URING_SETUP, Errno::EPERM) ? 0 : 1) if $pid == 0;
	waitpid($pid, 0);
	return $? == 0;
}

# Is a method there, or do we get another one in its place?
sub method_used
{
	my ($node, $method) = @_;
	my $plan = $node->safe_psql('postgres',
		set('anago.io_method' => $method)
		  . 'explain (analyze, buffers, costs off) select * from a where k < 100');

	return $plan =~ /method=(\w+)/ ? $1 : '';
}

# From now on the file's blocks are read from the device.
sub drop_from_page_cache
{
	my ($node, @relations) = @_;

	for my $relation (@relations)
	{
		my $path = $node->data_dir . '/'
		  . $node->safe_psql('postgres',
			"select pg_relation_filepath('$relation')");
		system("dd of='$path' oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null");
	}
	return;
}

# `fine` is what the test has brought about itself.
sub log_is_clean
{
	my ($node, $name, $fine) = @_;
	my @bad = grep { $_ =~ $BAD_LOG && $_ !~ $FINE_LOG && !($fine && $_ =~ $fine) }
	  split(/\n/, slurp_file($node->logfile));

	is(join("\n", @bad), '', $name // 'nothing leaked, nothing crashed');
	return;
}

1;
