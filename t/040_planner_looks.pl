# What planning looks up in tables and indexes: what is cached makes our plan no
# cheaper than core's; a damaged index, a standby and a parallel worker raise no
# errors.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib $FindBin::RealBin;
require 'common.pl';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Anago::new_server(
	'looks',
	'init' => { allows_streaming => 1, extra => ['--data-checksums'] },
	'anago.debug_force' => 'off',
	'anago.io_method' => 'sim',
	'max_parallel_workers_per_gather' => 0,
	'shared_buffers' => '128MB');
$node->safe_psql('postgres', q{
	create table t (a int, pad text);
	insert into t select g * 7919 % 20000, repeat('x', 700) from generate_series(1, 20000) g;
	create index t_a on t (a);
	create table ord (id int primary key, c int);
	insert into ord select g, g * 7919 % 20000 from generate_series(1, 20000) g;
	create index ord_c on ord (c);
	create table line (ord int, pad text);
	insert into line select g / 4, repeat('x', 700) from generate_series(4, 80003) g;
	create index line_ord on line (ord);
	alter table line alter ord set (n_distinct = 40);
	vacuum (freeze, analyze) t, ord, line;
	checkpoint});
my $query = 'select count(pad) from t where a < 150';
my $join = 'select count(pad) from ord join line on ord = id where c < 300';

# Each in a session of its own, as what was found is kept for a while.
sub value
{
	return $node->safe_psql('postgres', $_[0]);
}

sub planned
{
	my ($q, %settings) = @_;
	return value(Anago::set(%settings) . "explain $q");
}

# Where core has no bitmap scan and no sequential scan to offer.
sub price
{
	my (%settings) = @_;
	my $plan = planned($query, enable_seqscan => 'off', enable_bitmapscan => 'off', %settings);

	die $plan unless $plan =~ /cost=[0-9.]+\.\.([0-9.]+)/;
	return $1;
}
sub file_of
{
	return $node->data_dir . '/' . value("select pg_relation_filepath('$_[0]')");
}

# Have the kernel forget files: as GNU dd's manual has it.
sub forget
{
	foreach my $file (@_)
	{
		return 0 if system("dd of=$file oflag=nocache conv=notrunc,fdatasync count=0 status=none 2>/dev/null");
	}
	return 1;
}

# --- what is cached ---

my @files = map { file_of($_) } qw(t t_a);
$node->stop;
my $forgotten = forget(@files);
$node->start;
SKIP:
{
	skip 'files cannot be put out of the page cache here', 2
	  unless $forgotten && value(q{select anago_resident('t') + anago_resident('t_a') < 0.1}) eq 't';
	like(planned($query), qr/AnagoScan/, 'nothing is cached: our plan');
	cmp_ok(price(), '<', 1.1 * price('anago.residency' => 'off'),
		'at the price that it has where that is not looked up, or nearly');
}

# The first rows in order, which are read again and again, while all else is not
# cached: core's plan for these, ours for others; and ours where that is not looked up.
my $first = 'select a, pad from t where a >= 100 order by a limit 200';
my $others = 'select a, pad from t where a >= 9000 order by a limit 200';
my $last = 'select a, pad from t where a < 18000 order by a desc limit 200';
my $any = 'select a, pad from t order by a limit 200';
my $more = 'select a, pad from t where a >= 100 order by a limit 8000';

$node->stop;
$forgotten = forget(@files);
$node->start;
SKIP:
{
	skip 'files cannot be put out of the page cache here', 11
	  unless $forgotten && value(q{select anago_resident('t') + anago_resident('t_a') < 0.1}) eq 't';
	like(planned($_), qr/AnagoScan/, "nothing is cached: our plan of $_")
	  foreach ($first, $last, $any);
	my $rows = value("set anago.enable = off; set enable_seqscan = off; set enable_bitmapscan = off; $first; $last");
	is(value("$first; $last"), $rows, 'the same rows');
	unlike(planned($first), qr/Anago/, 'its pages are cached: core\'s plan');
	unlike(planned($last), qr/Anago/, 'also of the last ones');
	like(planned($others), qr/AnagoScan/, 'ours of rows elsewhere');
	like(planned($more), qr/AnagoScan/, 'ours of many more rows than are cached');
	like(planned($first, 'anago.residency' => 'off'), qr/AnagoScan/, 'ours, where that is not looked up');
	value("set anago.enable = off; set enable_seqscan = off; set enable_bitmapscan = off; $any");
	unlike(planned($any), qr/Anago/, 'also without a condition');
	is(value("$first; $last"), $rows, 'the same rows');
}

value('select count(pad) from t; set enable_seqscan = off; set enable_bitmapscan = off; select count(a) from t where a >= 0');
is(value(q{select anago_resident('t'), anago_resident('t_a')}), '1|1', 'all is in shared buffers');
unlike(planned($query), qr/Anago/, 'then core\'s plan');
like(planned($query, 'anago.residency' => 'off'), qr/AnagoScan/, 'ours, where that is not looked up');

# The price of ours is core's, but for what it takes to set up.
is(price(), price('anago.enable' => 'off'), 'nothing is taken off core\'s price');
cmp_ok(price('anago.residency' => 'off'), '<', 0.8 * price(), 'else much is');

$node->restart;
SKIP:
{
	skip 'the kernel does not tell what it has cached', 1
	  if value(q{select anago_resident('t')}) < 0.5;
	unlike(planned($query), qr/Anago/, 'after a restart the page cache has it: core\'s plan');
}

# --- a standby ---

$node->backup('one');
my $standby = PostgreSQL::Test::Cluster->new('looks_standby');
$standby->init_from_backup($node, 'one', has_streaming => 1);
$standby->start;
Anago::replayed($node, $standby);
my $looked_up = Anago::set('anago.residency' => 'off') . "explain $join";
my $not = Anago::set('anago.dive_pages' => 0) . $looked_up;
like($standby->safe_psql('postgres', $looked_up), qr/AnagoJoin/, 'a standby looks into indexes');
unlike($standby->safe_psql('postgres', $not), qr/AnagoJoin/, 'which statistics alone would not have');
is($standby->safe_psql('postgres', "select count(*) from anago_index_groups('line_ord')"), 1,
	'and shows them');
$standby->stop;

# --- planning in a parallel worker ---

my $always = Anago::major_version($node) >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
is( value(qq{
	create function lines(int) returns bigint language plpgsql parallel safe as
		'begin return (select count(pad) from ord join line on ord = id where c < \$1); end';
	set $always = on; set anago.residency = off;
	select lines(300)}),
	1200, 'a worker plans a query of a function');

# --- functions of users ---

# Core calls a stable one for its value, and anago's questions do once more.
value(q{create function given(i int) returns int stable language plpgsql as
	$$begin raise notice 'called'; return i; end$$});

sub calls
{
	my ($settings, $where) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "$settings explain select count(pad) from ord join line on ord = id
		join t on a = c where $where");
	my $calls = () = $err =~ /called/g;

	return $calls;
}

foreach my $where ('id > given(500) and c < given(300)', 'ord > given(500) and c < given(300)')
{
	my $functions = () = $where =~ /given/g;

	cmp_ok(calls('set anago.residency = off;', $where), '<=', calls('set anago.enable = off;', $where) + $functions,
		"functions are asked for their values once: $where");
}

# --- a damaged index ---

my $damaged = file_of('line_ord');
$node->stop;
open(my $file, '+<:raw', $damaged) or die "$damaged: $!";
my $blocks = (-s $damaged) / 8192;
# (core itself reads the first and the last leaf of some indexes when planning)
foreach my $block (10 .. $blocks - 10)
{
	sysseek($file, $block * 8192 + 4000, 0);
	syswrite($file, "\xa5" x 64);
}
close($file);
$node->start;
my $position = -s $node->logfile;
my ($rc, $out, $err) = $node->psql('postgres',
	"set anago.residency = off; set client_min_messages = debug1; explain $join");
is($rc, 0, 'an index that cannot be read fails no planning');
unlike($out, qr/line_ord/, 'statistics decide, and the index is not used');
like($err, qr/DEBUG:  anago could not look at relation/, 'which is told at DEBUG1');
is(value("set anago.residency = off; $join"), 1200, 'nor the query');
unlike(substr(slurp_file($node->logfile), $position), qr/ERROR|FATAL|PANIC/, 'no error in the log');
$node->stop;

done_testing();
