#!/bin/bash
# The two long runs, in short or in full.
#
#   ci/long.sh concurrent SECONDS [OPTION...]   queries against change
#   ci/long.sh sim SEEDS [OPTION...]            simulated reads, random and faulty
#
# On the server that PG_CONFIG names, or the assert build of 18.  Builds and
# installs the checkout there first.

. "$(dirname "$0")/lib.sh"

[ $# -ge 2 ] || die "usage: ci/long.sh concurrent SECONDS | sim SEEDS"
what=$1
amount=$2
shift 2

need_server 18
need_packages python3 python3-venv
[ "$(id -u)" != 0 ] || export PYTHON=${PYTHON:-/usr/bin/python3}
need_account

build=$(mktemp -d /tmp/anago-build.XXXXXX)
trap 'rm -rf "$build"' EXIT
trap 'exit 130' INT TERM
install_anago "$build" "$ANAGO_CACHE/log/long-build.log" || die "cannot build anago"
logged "$ANAGO_CACHE/log/long-python.log" "$anago_root/bench/python" -c pass ||
	die "cannot install the Python parts"

case $what in
concurrent) options=(--duration "$amount") ;;
sim) options=(--seeds "$amount") ;;
*) die "no such run: $what" ;;
esac
log=$ANAGO_CACHE/log/$what.log
mkdir -p "$ANAGO_CACHE/log"
rc=0
"$anago_root/bench/python" "$anago_root/t/$what.py" "${options[@]}" "$@" 2>&1 |
	tee "$log" >&2 || rc=$?
if [ $rc = 0 ]; then
	echo "ok $what $amount: $(tail -n 1 "$log" | tr -s ' ')"
else
	echo "not ok $what $amount: see $log"
fi
exit $rc
