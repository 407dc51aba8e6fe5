# An upgrade below a running server: sessions keep the library that they have
# loaded, while new sessions, and new workers of old ones, load the new file.

use strict;
use warnings FATAL => 'all';
use File::Copy;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $pg_config = "$ENV{PATH}" =~ s/:.*//r . '/pg_config';
my $sources = PostgreSQL::Test::Utils::tempdir();
my $library = PostgreSQL::Test::Utils::tempdir() . '/anago.so';

sub command_output
{
	my (@command) = @_;
	my ($stdout, $stderr) = run_command(\@command);
	return $stdout;
}

# The next version: the same with other layouts.
sub build_next
{
	my $root = "$FindBin::RealBin/..";

	system("cp -r '$root/Makefile' '$root/anago.control' $root/anago--*.sql '$root/src' '$sources'") == 0
	  or return 0;
	return system("env -u MAKELEVEL CCACHE_DISABLE=1 make -s -C '$sources' PG_CONFIG='$pg_config' "
		  . "COPT='-O0 -DANAGO_LAYOUT_VERSION=1000' anago.so >'$sources/log' 2>&1") == 0;
}

plan skip_all => 'no make here, or no sources' if !build_next() && !-e "$sources/log";
ok(-e "$sources/anago.so", 'the next version can be built')
  or BAIL_OUT(slurp_file("$sources/log"));

sub install
{
	my ($file) = @_;
	# another file of that name, as by a package: who has the old one keeps it
	copy($file, "$library.new") && rename("$library.new", $library)
	  or die "cannot install $file: $!";
	return;
}

install(command_output($pg_config, '--pkglibdir') . '/anago.so');
my $directory = $library =~ s/\/[^\/]*$//r;
my $node = Anago::new_parallel_server('upgrade',
	dynamic_library_path => "$directory:\$libdir");
Anago::make_tables($node, 5000);

# Those of the extension would load the file in $libdir as a second library.
my $columns = $node->safe_psql('postgres', "select pg_get_function_arguments('anago_stats()'::regprocedure)");
$node->safe_psql('postgres', "create function counters($columns) as 'anago', 'anago_stats' language c");

my $parallel = Anago::digest('select id, k from a where k < 2000');
my $alone = "set max_parallel_workers_per_gather = 0; $parallel; reset max_parallel_workers_per_gather";
my $stock = $node->safe_psql('postgres', "set anago.enable = off; $parallel");

sub counted
{
	my ($session) = @_;
	return $session->query_safe('select queries, scope from counters()');
}

my $old = Anago::session($node);
is($old->query_safe($parallel), $stock, 'before: workers');
is(counted($old), '1|server', 'before: counters');

install("$sources/anago.so");
my $new = Anago::session($node);

# who is of the new version throughout
is($new->query_safe($parallel), $stock, 'a new session: workers');
is(counted($new), '1|server', 'a new session: counters of its own version');

# whose workers are of another
my (undef, $err) = Anago::run($old, $parallel);
like($err, qr/ERROR:  parallel worker has loaded another version of anago than its session/,
	'an old session with new workers: an error');
like($err, qr/HINT:  Reconnect/, 'an old session with new workers: what to do');
is($old->query_safe($alone), $stock, 'an old session goes on without workers');
is($old->query_safe("set anago.enable = off; $parallel; reset anago.enable"), $stock,
	'an old session goes on with plans of core');
is(counted($old), '2|server', 'an old session: counters of its own version');
is(counted($new), '1|server', 'they are apart');

# The budget of reads is the old ones', who were first: told in the log, and to
# whoever would need it.
my $log = slurp_file($node->logfile);
like($log, qr/LOG:  anago's budgets are of this process until those of the server can be had/,
	'a new session: no budget of the server, which is told');
like($log, qr/DETAIL:  The error was: another version of anago has made segment "anago_budgets".*HINT:  Restart the server/s,
	'a new session: why, and what to do');
$node->safe_psql('postgres', 'alter system set anago.server_inflight_reads = 10');
$node->reload;
my $limited = Anago::session($node);
my (undef, $warning) = Anago::run($limited, $parallel);
like($warning, qr/WARNING:  anago's limits of reads hold for this process alone/, 'a new session with a limit: a warning');
is((Anago::run($limited, $parallel))[0], $stock, 'a new session with a limit: the same rows');
$limited->quit;
$node->safe_psql('postgres', 'alter system reset anago.server_inflight_reads');
$node->reload;
$_->quit for $old, $new;

# and the other way, as when an upgrade is taken back
$new = Anago::session($node);
is($new->query_safe($alone), $stock, 'reconnected');
install(command_output($pg_config, '--pkglibdir') . '/anago.so');
like((Anago::run($new, $parallel))[1], qr/another version of anago/, 'downgrade: an error');
$new->quit;
is($node->safe_psql('postgres', $parallel), $stock, 'downgrade: reconnected');

$node->stop;
Anago::log_is_clean($node);
done_testing();
