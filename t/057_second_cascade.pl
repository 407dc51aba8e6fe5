# A cascade to a table from which others cascade on: looks go from the rows that they find
# to what refers to these, so that core's triggers hardly read anything themselves.

use strict;
use warnings FATAL => 'all';

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $node = PostgreSQL::Test::Cluster->new('second_cascade');
$node->init(extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'anago'
shared_buffers = 64MB
autovacuum = off
anago.residency = off
});
$node->start;

# Each row that refers to another is in a block of its own, as good as.
$node->safe_psql('postgres', q{
	create extension anago;
	create table p (id int primary key);
	insert into p select generate_series(1, 600);
	create table c (id text primary key, pid int references p on delete cascade, note text) with (fillfactor = 10);
	insert into c select 'c' || g, g * 7919 % 600 + 1, repeat('x', 700) from generate_series(1, 1200) g;
	create index c_pid on c (pid);
	create table g (id int primary key, cid text references c on delete cascade, note text) with (fillfactor = 10);
	insert into g select g, 'c' || g * 7907 % 1200 + 1, repeat('x', 700) from generate_series(1, 3000) g;
	create index g_cid on g (cid);
	create table n (gid int references g on delete set null, note text) with (fillfactor = 20);
	insert into n select g * 7901 % 3000 + 1, repeat('x', 700) from generate_series(1, 3000) g;
	create index n_gid on n (gid);
	vacuum analyze;
});

my $rest = q{select (select count(*) || ' ' || sum(id) from p), (select count(*) || ' ' || sum(hashtext(id)) from c),
	(select count(*) || ' ' || sum(id) from g), (select count(*) || ' ' || sum(gid) from n)};
my $delete = 'delete from p where id between 100 and 220';
my $on = 'set anago.enable = on; set anago.debug_force = on;';

for my $method ('uring', 'sync')
{
	my ($stock) = Anago::blocks_read($node, '', $delete);
	my ($core, $all) = Anago::blocks_read($node, "$on set anago.io_method = $method;", $delete);

	note("$method: core reads $core of $all blocks, stock $stock");
	cmp_ok($core, '<', $stock / 10, "$method: triggers find their pages read");
	cmp_ok($all, '<', $stock * 1.3, "$method: few blocks are read twice");
}
like($node->safe_psql('postgres', "$on explain (costs off) $delete"),
	qr/Look 1: .* on c\n.*\n.*Look 2: .* on g\n.*Index Key: c.id\n.*Look 3: .* on n\n.*Index Key: g.id/,
	'looks go on from each other');

my ($stock, @ours) = map { $node->restart; $node->safe_psql('postgres', "$_ begin; $delete; $rest; rollback") }
  '', $on, "$on set work_mem = '64kB';", "$on set anago.max_rows_ahead = 3;", 'set anago.enable = on;';
is($ours[$_], $stock, "the same is left, $_") for 0 .. $#ours;

# Blocks that only looks come to are damaged: rows of c stay, by a trigger.
$node->safe_psql('postgres', q{
	create function stay() returns trigger language plpgsql as 'begin return null; end';
	create trigger stay before delete on c for each row execute function stay();
	checkpoint;
});
my $file = $node->data_dir . '/' . $node->safe_psql('postgres', q{select pg_relation_filepath('g')});
my $blocks = $node->safe_psql('postgres', q{select pg_relation_size('g') / 8192});
$node->stop;
open my $fh, '+<:raw', $file or die "$file: $!";
for (my $i = 0; $i < $blocks; $i += 7)
{
	seek $fh, $i * 8192 + 4000, 0;
	print $fh 'damaged' x 10;
}
close $fh;
$node->start;
for my $method ('uring', 'sync')
{
	my ($rc, $out, $err) = $node->psql('postgres',
		"$on set anago.io_method = $method; begin; $delete; select count(*) from p; rollback", on_error_stop => 1);

	is($out, 600 - 121, "$method: what looks meet is nobody's affair") or diag($err);
	unlike($err, qr/leak|not closed|still referenced|ERROR/, "$method: no leak, no error");
	$node->restart;
}

$node->stop;
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|TRAP|leak|was not closed/, 'the log is clean');
done_testing();
