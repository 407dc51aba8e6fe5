# Who gets which cores (HTAL), decided for machines that need not be there: a
# program of invented measurements (htal_test.c), without any server.

use strict;
use warnings FATAL => 'all';
use File::Temp qw(tempdir);
use FindBin;

my $root = "$FindBin::RealBin/..";
my $program = tempdir(CLEANUP => 1) . '/htal_test';

# The decision is plain C: it must compile without PostgreSQL's headers.
system($ENV{CC} // 'cc', qw(-std=gnu99 -O1 -g -Wall -Wextra -Werror),
	'-Wno-missing-field-initializers',
	"-I$root/src", '-o', $program,
	"$FindBin::RealBin/htal_test.c", "$root/src/resource/htal.c", '-lm') == 0
  or die 'cannot compile the test of HTAL';

# It prints the results itself.
system($program);
exit($? != 0);
