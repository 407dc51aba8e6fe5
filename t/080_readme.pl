# What README.md tells a new user to type, on a server with PostgreSQL's own
# settings, gives the plan that stands there.

use strict;
use warnings FATAL => 'all';
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

require "$FindBin::RealBin/common.pl";

my $readme = slurp_file("$FindBin::RealBin/../README.md");
my ($section) = $readme =~ /^## Try it\n(.*?)^## /ms
  or die 'README.md has no such section';
my ($typed, $shown) = $section =~ /((?:^    .*\n)+)/mg;

my $node = PostgreSQL::Test::Cluster->new('reader');
$node->init;
$node->start;

my $plan = $node->safe_psql('postgres', $typed);
my @told = grep { /Custom Scan|Step \d|Index Cond|Probes: / } split(/\n/, $shown);

is(scalar @told, 7, 'the plan is shown');
s/^\s+// for @told;
like($plan, qr/\Q$_\E/, $_) for @told;

Anago::log_is_clean($node, 'as README.md has it');
$node->stop;
done_testing();
