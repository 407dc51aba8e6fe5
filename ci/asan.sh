#!/bin/bash
# make check-asan: the regression and isolation tests with server and extension
# built with AddressSanitizer (and assertions).  See ci/valgrind.sh for what
# knows PostgreSQL's memory contexts.

. "$(dirname "$0")/lib.sh"

"$anago_root/ci/pg.sh" install 18-asan

# Leaks at exit are PostgreSQL's way; a fake stack confuses its stack-depth check.
# An error ends the process, which the test and the server's log then show.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:disable_coredump=1
"$anago_root/ci/installcheck.sh" "$("$anago_root/ci/pg.sh" config 18-asan)"
