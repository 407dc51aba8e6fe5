# How the guard decides, in worlds that need not be there (guard_test.c), without any
# server.

use strict;
use warnings FATAL => 'all';
use FindBin;

require "$FindBin::RealBin/program.pl";

run_program('guard_test', 'resource/guard.c', 'resource/tail.c');
