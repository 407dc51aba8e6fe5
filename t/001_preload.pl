# anago works after LOAD, session_preload_libraries and
# shared_preload_libraries; it is inert in a database without its extension; it
# leaves other libraries' hooks alone.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('preload');
$node->init;
$node->start;

my $table = q{
	create table t (a int primary key, b int);
	insert into t select g, g % 7 from generate_series(1, 2000) g;
	vacuum analyze t;
};
my $forced = q{
	set anago.enable = on;
	set anago.debug_force = on;
};
my $explain = 'explain (costs off) select * from t where a < 100;';
my $count = 'select count(*) from t where a < 100;';

$node->safe_psql('postgres', 'create database bare');
$node->safe_psql('postgres', "create extension anago; $table");
$node->safe_psql('bare', $table);

# --- LOAD

like($node->safe_psql('postgres', "load 'anago'; $forced $explain"),
	qr/AnagoScan/, 'LOAD: our plan');
is($node->safe_psql('postgres', "load 'anago'; $forced $count"),
	'99', 'LOAD: right rows');
unlike($node->safe_psql('postgres', "load 'anago'; set anago.debug_force = on; $explain"),
	qr/Anago/, 'LOAD: off by default');
unlike($node->safe_psql('bare', "load 'anago'; $forced $explain"),
	qr/Anago/, 'LOAD: inert without CREATE EXTENSION');
is($node->safe_psql('bare', "load 'anago'; $forced $count"),
	'99', 'LOAD, no extension: right rows');

# A session in which the extension comes and goes.
is( $node->safe_psql('bare', qq{
		load 'anago'; $forced
		create function used() returns boolean language plpgsql as \$\$
		declare line text; found_it boolean := false;
		begin
			for line in execute 'explain (costs off) select * from t where a < 100' loop
				found_it := found_it or line ~ 'Anago';
			end loop;
			return found_it;
		end \$\$;
		select used();
		create extension anago;
		select used();
		drop extension anago;
		select used();
		begin; create extension anago; select used(); rollback;
		select used();}),
	"f\nt\nf\nt\nf", 'the extension comes and goes in one session');

# A setting from before the library is loaded.
is($node->safe_psql('postgres', "set anago.max_inflight_reads = 7; load 'anago';
		show anago.max_inflight_reads"), '7', 'a setting from before LOAD is kept');
my ($rc, $out, $err) = $node->psql('postgres',
	"set anago.max_inflight_reads = 70000; load 'anago'; show anago.max_inflight_reads");
is($out, '256', 'a bad setting from before LOAD is not');

# --- session_preload_libraries

$node->append_conf('postgresql.conf', "session_preload_libraries = 'anago'");
$node->reload;
like($node->safe_psql('postgres', "$forced $explain"),
	qr/AnagoScan/, 'session_preload_libraries: our plan');
unlike($node->safe_psql('bare', "$forced $explain"),
	qr/Anago/, 'session_preload_libraries: inert without CREATE EXTENSION');

# --- shared_preload_libraries, with settings in the configuration file

$node->adjust_conf('postgresql.conf', 'session_preload_libraries', "''");
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'anago'
anago.enable = on
anago.debug_force = on
});
$node->restart;
like($node->safe_psql('postgres', $explain), qr/AnagoScan/,
	'shared_preload_libraries: our plan');
unlike($node->safe_psql('bare', $explain), qr/Anago/,
	'shared_preload_libraries: inert without CREATE EXTENSION');
is($node->safe_psql('bare', $count), '99', 'no extension: right rows');
$node->safe_psql('postgres', 'select anago_stats_reset()');
$node->safe_psql('postgres', $count);
is($node->safe_psql('postgres', 'select queries, scope from anago_stats'),
	'1|server', 'shared_preload_libraries: counters of the server');

# --- with other libraries, before and after ours

for my $order ('auto_explain, pg_stat_statements, anago',
	'anago, pg_stat_statements, auto_explain')
{
	$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'$order'");
	$node->append_conf('postgresql.conf', q{
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
auto_explain.log_nested_statements = on
});
	$node->restart;
	$node->safe_psql('postgres', 'create extension if not exists pg_stat_statements;
		select pg_stat_statements_reset();');
	my $from = -s $node->logfile;
	is($node->safe_psql('postgres', $count), '99', "$order: right rows");
	like(slurp_file($node->logfile, $from), qr/Custom Scan \(AnagoScan\)/,
		"$order: auto_explain logs our plan");
	is($node->safe_psql('postgres', q{select calls, rows from pg_stat_statements
			where query like 'select count(*) from t %'}), '1|1',
		"$order: pg_stat_statements counts the query");
}

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP:|terminated by signal|leak/,
	'nothing bad in the log');
done_testing();
