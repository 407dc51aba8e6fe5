# Where parallel workers run, decided for machines that need not be there: invented
# topologies (placement_test.c), without any server.

use strict;
use warnings FATAL => 'all';
use FindBin;

require "$FindBin::RealBin/program.pl";

run_program('placement_test', 'shared/placement.c');
