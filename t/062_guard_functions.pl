# How the guard decides, in worlds that need not be there: a
# program (guard_test.c), without any server.

use strict;
use warnings FATAL => 'all';
use File::Temp qw(tempdir);
use FindBin;

my $root = "$FindBin::RealBin/..";
my $program = tempdir(CLEANUP => 1) . '/guard_test';

# The decision is plain C: it must compile without PostgreSQL's headers.
system($ENV{CC} // 'cc', qw(-std=gnu99 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror),
	"-I$root/src", '-o', $program,
	"$FindBin::RealBin/guard_test.c", "$root/src/resource/guard.c", '-lm') == 0
  or die 'cannot compile the test of the guard';

# It prints the results itself.
system($program);
exit($? != 0);
