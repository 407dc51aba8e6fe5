# Tests that need no server: a C program that prints its results itself.

use strict;
use warnings FATAL => 'all';
use File::Temp qw(tempdir);
use FindBin;

# Compile that test and the sources it is about, run it, and exit as it does.
# What it is about is plain C: it must compile without PostgreSQL's headers.
sub run_program
{
	my ($test, @sources) = @_;
	my $root = "$FindBin::RealBin/..";
	my $program = tempdir(CLEANUP => 1) . "/$test";

	system($ENV{CC} // 'cc', qw(-std=gnu99 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror),
		'-Wno-missing-field-initializers', "-I$root/src", '-o', $program,
		"$FindBin::RealBin/$test.c", (map { "$root/src/$_" } @sources), '-lm') == 0
	  or die "cannot compile $test";
	system($program);
	exit($? != 0);
}

1;
