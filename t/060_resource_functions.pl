# How budgets are divided, decided for claims and clocks that need not be there
# (resource_test.c), without any server.

use strict;
use warnings FATAL => 'all';
use FindBin;

require "$FindBin::RealBin/program.pl";

run_program('resource_test', 'resource/level.c', 'resource/parking.c');
