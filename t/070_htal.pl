# Who gets which cores (HTAL), decided for machines that need not be there: invented
# measurements (htal_test.c), without any server.

use strict;
use warnings FATAL => 'all';
use FindBin;

require "$FindBin::RealBin/program.pl";

run_program('htal_test', 'resource/htal.c');
