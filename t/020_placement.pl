# Where parallel workers run, decided for machines that need not be there: a
# program of invented topologies (placement_test.c), without any server.

use strict;
use warnings FATAL => 'all';
use File::Temp qw(tempdir);
use FindBin;

my $root = "$FindBin::RealBin/..";
my $program = tempdir(CLEANUP => 1) . '/placement_test';

# The decision is plain C: it must compile without PostgreSQL's headers.
system($ENV{CC} // 'cc', qw(-std=gnu99 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror),
	'-Wno-missing-field-initializers',
	"-I$root/src", '-o', $program,
	"$FindBin::RealBin/placement_test.c", "$root/src/shared/placement.c") == 0
  or die 'cannot compile the test of the placement';

# It prints the results itself.
system($program);
exit($? != 0);
