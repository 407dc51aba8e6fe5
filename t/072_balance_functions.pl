# What the balancer makes of what it sees of a server, for machines that need not be
# there (balance_test.c), without any server.

use strict;
use warnings FATAL => 'all';
use FindBin;

require "$FindBin::RealBin/program.pl";

run_program('balance_test', 'resource/balance.c', 'resource/htal.c', 'resource/htal_text.c');
