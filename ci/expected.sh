#!/bin/bash
# Run the regression tests on one server (default: 18) and take what they print
# as expected.  Look at `git diff expected` before you commit it.
#
#   ci/expected.sh [VERSION]

. "$(dirname "$0")/lib.sh"

version=${1:-18}
"$anago_root/ci/pg.sh" install "$version"
results=$(mktemp -d /tmp/anago-results.XXXXXX)
trap 'rm -rf "$results"' EXIT
ANAGO_RESULTS=$results "$anago_root/ci/installcheck.sh" \
	"$("$anago_root/ci/pg.sh" config "$version")" >/dev/null 2>&1 || true
for kind in regress isolation; do
	[ -d "$results/$kind" ] || continue
	for file in "$results/$kind"/*.out; do
		cp "$file" "$anago_root/expected/"
	done
done
