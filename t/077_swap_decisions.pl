# When two standbys change places, decided for standbys that need not be there: invented
# ones (swap_test.c), without any server.

use strict;
use warnings FATAL => 'all';
use FindBin;

require "$FindBin::RealBin/program.pl";

run_program('swap_test', 'resource/swap.c');
